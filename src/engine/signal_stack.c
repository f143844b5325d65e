#include "engine/signal_stack.h"

#include <signal.h>
#include <stddef.h>

enum { BYTES = 1 << 16 }; /* a frame with the registers of AVX-512 and AMX takes 12 KB */

static _Thread_local char bytes[BYTES];

static void make_one(void)
{
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE)
        sigaltstack(&(stack_t){.ss_sp = bytes, .ss_size = BYTES}, NULL);
}

void gn_make_signal_stacks(void)
{
    make_one();
#pragma omp parallel
    make_one();
}
