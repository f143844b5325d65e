/* launch.h - whether mpirun, mpiexec or srun has started this process with others, as the
 * environment tells; nothing of MPI is called. */
#ifndef GN_RANKS_LAUNCH_H
#define GN_RANKS_LAUNCH_H

typedef struct gn_launch {
    int rank;         /* 0 where it is not told */
    int size;         /* 1 when started alone */
    const char *with; /* "mpirun" or "srun" */
} gn_launch;

gn_launch gn_launched(void);

#endif
