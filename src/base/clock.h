/* clock.h - seconds since an arbitrary start, for durations. */
#ifndef GN_BASE_CLOCK_H
#define GN_BASE_CLOCK_H

double gn_seconds(void);

/* Seconds since 1970, for time stamps in logs. */
double gn_wall_clock(void);

#endif
