/* threads.h - which thread of a parallel region runs; 0 in a build without OpenMP. */
#ifndef GN_ENGINE_THREADS_H
#define GN_ENGINE_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void)
{
    return 0;
}
#endif

#endif
