/* average.c - train.average: the mean weights of network 0, which are evaluated in their place. */
#include <math.h>

#include "train/trainer.h"

void gn_update_average(gn_trainer *t)
{
    const gn_train_options *train = &t->config->train;
    if (!t->now.average)
        return;
    gn_block block = gn_store_block(gn_network_store(t->now.networks[0]));
    double keep = 0;
    if (train->average == GN_AVERAGE_EMA) {
        /* The start is forgotten faster, so that the first means are not those of nothing. */
        double warm = (double)(t->at.averaged + 1) / (double)(t->at.averaged + 10);
        keep = t->at.averaged ? fmin(train->average_decay, warm) : 0;
        t->at.averaged++;
    } else if ((double)t->at.step + 1 > train->average_from * (double)t->run.steps) {
        keep = (double)t->at.averaged / (double)(t->at.averaged + 1);
        t->at.averaged++;
    }
    float old = (float)keep, new = (float)(1 - keep);
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < block.size; i++)
        t->now.average[i] = old * t->now.average[i] + new *block.values[i];
}

void gn_swap_average(gn_trainer *t)
{
    if (!t->now.average || !t->at.averaged)
        return;
    gn_block block = gn_store_block(gn_network_store(t->now.networks[0]));
    for (size_t i = 0; i < block.size; i++) {
        float value = block.values[i];
        block.values[i] = t->now.average[i];
        t->now.average[i] = value;
    }
}
