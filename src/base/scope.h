/* scope.h - locals that clean up after themselves when their scope ends, whichever way it ends, so
 * that steps which can fail read from top to bottom:
 *
 *     GN_LOCAL(gn_text) text = {0};
 *     GN_LOCAL(gn_arena) *arena = NULL;
 *     GN_FREED double *values = NULL;                                   (base/memory.h)
 *     GN_TRY(gn_arena_new(ctx, &arena));
 *     GN_TRY(describe(ctx, arena, &text));
 *     return gn_file_write(ctx, path, text.bytes, text.size);
 *
 * Each is initialised where it is declared. gn_give hands one to the caller, at the end of an open.
 */
#ifndef GN_BASE_SCOPE_H
#define GN_BASE_SCOPE_H

#define GN_LOCAL(type) __attribute__((cleanup(type##_leave_))) type

/* Allows it for a struct, freed through its address, and for a handle, whose close takes NULL. */
#define GN_LOCAL_STRUCT(type, free)                                                                \
    static inline void type##_leave_(type *object)                                                 \
    {                                                                                              \
        free(object);                                                                              \
    }
#define GN_LOCAL_HANDLE(type, close)                                                               \
    static inline void type##_leave_(type **handle)                                                \
    {                                                                                              \
        close(*handle);                                                                            \
    }

#endif
