/* plugin.h - a method outside this tree: a shared object that `--plugin FILE.so` loads.
 *
 *     #include "methods/plugin.h"
 *     static const gn_method tilted = {.name = "tilted", ...};
 *     GN_PLUGIN(&tilted);
 *
 *     cc -O2 -shared -fPIC $(pkg-config --cflags gerne-method) tilted.c -o tilted.so
 *
 * See docs/plugins.md.
 */
#ifndef GN_METHODS_PLUGIN_H
#define GN_METHODS_PLUGIN_H

#include "methods/interface.h"
#include "methods/method.h"

/* The two texts are what it was compiled for. They stay the first members in every version, as they
 * are read before anything else is trusted. */
typedef struct gn_plugin {
    char interface[16], version[16];
    const gn_method *const *methods; /* and estimators; ends with a NULL */
} gn_plugin;

#define GN_PLUGIN_SYMBOL "gerne_plugin"

/* Exports methods and estimators, given by their addresses; once in a plug-in. */
#define GN_PLUGIN(...)                                                                             \
    extern const gn_plugin gerne_plugin;                                                           \
    GERNE_API const gn_plugin gerne_plugin = {GN_METHOD_INTERFACE, GN_METHOD_VERSION,              \
                                              (const gn_method *const[]){__VA_ARGS__, NULL}}

#endif
