/* json_memory.h - jansson without memory: what base/json.c needs to be right then. */
#ifndef GN_BASE_JSON_MEMORY_H
#define GN_BASE_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

/* Whether an allocation of jansson's failed in this thread since the last call: what was built in
 * the meantime may lack a part. */
bool gn_json_memory_failed(void);

/* json_loadb, which refuses duplicate keys; *no_memory: it had to be left. A document that is being
 * built is not concerned. */
json_t *gn_json_load(const char *bytes, size_t size, json_error_t *error, bool *no_memory);

#endif
