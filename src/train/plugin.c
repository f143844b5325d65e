#include "train/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sha256.h"
#include "methods/list.h"
#include "methods/plugin.h"
#include "train/options.h"

/* The system's list of loaded objects belongs to the process, and so does this. */
static const gn_plugin *loaded;
static char sha256[GN_SHA256_HEX];

const char *gn_plugin_sha256(const gn_method *method)
{
    for (size_t i = 0; method && loaded && loaded->methods[i]; i++)
        if (loaded->methods[i] == method)
            return sha256;
    return NULL;
}

static void hint_compile(gerne_ctx *ctx)
{
    gn_hint(ctx, "compile it with the headers of this gerne: cc -O2 -shared -fPIC "
                 "$(pkg-config --cflags gerne-method) FILE.c -o FILE.so");
}

static gerne_status check_interface(gerne_ctx *ctx, const gn_plugin *plugin)
{
    if (strncmp(plugin->interface, GN_METHOD_INTERFACE, sizeof plugin->interface) == 0)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EDATA,
            "it was compiled for the method interface %.*s of gerne %.*s, and this is %s of gerne "
            "%s",
            (int)sizeof plugin->interface, plugin->interface, (int)sizeof plugin->version,
            plugin->version, GN_METHOD_INTERFACE, GN_METHOD_VERSION);
    hint_compile(ctx);
    return GERNE_EDATA;
}

static gerne_status check_methods(gerne_ctx *ctx, const gn_method *const *methods)
{
    if (!methods || !methods[0])
        return gn_fail(ctx, GERNE_EDATA, "it has no methods");
    for (; *methods; methods++) {
        const gn_method *m = *methods;
        GN_TRY(gn_method_check(ctx, m));
        for (size_t i = 0; i < m->option_count; i++)
            if (gn_is_common_method_option(m->options[i].name))
                return gn_fail(ctx, GERNE_EDATA,
                               "method '%s': every method has an option '%s' already", m->name,
                               m->options[i].name);
    }
    return GERNE_OK;
}

static gerne_status take(gerne_ctx *ctx, void *object)
{
    const gn_plugin *plugin = dlsym(object, GN_PLUGIN_SYMBOL);
    if (!plugin) {
        gn_fail(ctx, GERNE_EDATA, "it is not a plug-in: it has no symbol " GN_PLUGIN_SYMBOL);
        gn_hint(ctx, "end its source with GN_PLUGIN(&METHOD); of methods/plugin.h");
        return GERNE_EDATA;
    }
    GN_TRY(check_interface(ctx, plugin));
    GN_TRY(check_methods(ctx, plugin->methods));
    GN_TRY(gn_methods_add(ctx, plugin->methods));
    loaded = plugin;
    return GERNE_OK;
}

/* By its absolute path, as dlopen looks a bare name up where the environment says. */
static gerne_status open_object(gerne_ctx *ctx, const char *path, void **out)
{
    char full[PATH_MAX];
    if (!realpath(path, full))
        return gn_fail_errno(ctx, GERNE_EIO, "cannot open it");
    *out = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    if (*out)
        return GERNE_OK;
    const char *reason = dlerror();
    size_t prefix = strlen(full); /* "/full/path.so: invalid ELF header" */
    if (reason && strncmp(reason, full, prefix) == 0 && strncmp(reason + prefix, ": ", 2) == 0)
        reason += prefix + 2;
    gn_fail(ctx, GERNE_EDATA, "it cannot be loaded: %s", reason ? reason : "no reason given");
    hint_compile(ctx);
    return GERNE_EDATA;
}

static gerne_status load(gerne_ctx *ctx, const char *path)
{
    unsigned char digest[GN_SHA256_SIZE];
    void *object;
    if (loaded)
        return gn_fail(ctx, GERNE_EUSAGE, "another one is loaded already");
    if (!gn_path_exists(path))
        return gn_fail(ctx, GERNE_EUSAGE, "there is no such file");
    GN_TRY(gn_sha256_file(ctx, path, digest));
    GN_TRY(open_object(ctx, path, &object));
    gn_sha256_hex(digest, sha256);
    gerne_status status = take(ctx, object);
    if (status != GERNE_OK)
        dlclose(object);
    return status;
}

gerne_status gn_plugin_load(gerne_ctx *ctx, const char *path)
{
    gerne_status status = load(ctx, path);
    return status == GERNE_OK ? status : gn_fail_in(ctx, status, "plug-in '%s'", path);
}
