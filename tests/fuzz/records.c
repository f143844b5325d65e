/* Files of records as JSON lines: every row that is taken has its cells, as texts. */
#include "target.h"

#include <string.h>

#include "data/record_file.h"

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    static const char *const names[] = {"y", "a", "text"};
    enum { COLUMNS = sizeof names / sizeof names[0] };
    ptrdiff_t columns[COLUMNS];
    gn_record_file *file;
    const char *path = fuzz_put("records.jsonl", data, size);
    if (!fuzz_accepted(ctx, gn_record_file_open(ctx, path, &file), GERNE_EDATA))
        return;
    for (int i = 0; i < COLUMNS; i++)
        fuzz_check(gn_record_file_column(file, names[i], &columns[i]) == GERNE_OK);
    bool more = true;
    for (size_t rows = 0; more && rows <= size; rows++) {
        if (!fuzz_accepted(ctx, gn_record_file_next(file, &more), GERNE_EDATA))
            break;
        fuzz_check(rows < size || !more);
        for (int i = 0; i < COLUMNS && more; i++)
            if (columns[i] >= 0)
                fuzz_check(strlen(gn_record_file_cell(file, columns[i])) <= 8 * size + 32);
    }
    gn_record_file_close(file);
}
