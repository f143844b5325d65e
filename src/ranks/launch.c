#include "ranks/launch.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !text[0])
        return otherwise;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value >= 0 && value <= INT_MAX ? (int)value : otherwise;
}

/* The size of a step, not of a job: a batch script that starts the program itself starts one. */
gn_launch gn_launched(void)
{
    static const struct {
        const char *size, *rank, *with;
    } launchers[] = {
        {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
        {"PMI_SIZE", "PMI_RANK", "mpirun"},
        {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
    };
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        int size = number(launchers[i].size, 0);
        if (size > 0)
            return (gn_launch){number(launchers[i].rank, 0), size, launchers[i].with};
    }
    return (gn_launch){0, 1, "mpirun"};
}
