/* decimal.h - numbers as text, many of them. */
#ifndef GN_BASE_DECIMAL_H
#define GN_BASE_DECIMAL_H

#include <stddef.h>

enum { GN_DECIMAL_SIZE = 24 };

/* Writes what printf's %.9g does, and returns its length. Numbers from 1e-14 up to 10, as
 * probabilities are, take a tenth of the time. */
size_t gn_decimal(double value, char out[GN_DECIMAL_SIZE]);

#endif
