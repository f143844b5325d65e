/* style.h - the looks of the page: one style sheet, and a script that only adds comfort. */
#ifndef GN_REPORT_STYLE_H
#define GN_REPORT_STYLE_H

extern const char gn_report_style[];
extern const char gn_report_script[];

#endif
