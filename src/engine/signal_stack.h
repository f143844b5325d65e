/* signal_stack.h - a stack of their own for signal handlers.
 *
 * oneDNN's fp32 products (before 3.11.2) point the stack register into a block of the heap while
 * they run. A handler that is called then, and has no stack of its own, writes over what lies
 * there. */
#ifndef GN_ENGINE_SIGNAL_STACK_H
#define GN_ENGINE_SIGNAL_STACK_H

/* The calling thread and those that OpenMP gives it get one, unless they have one: handlers that
 * are installed with SA_ONSTACK use it. */
void gn_make_signal_stacks(void);

#endif
