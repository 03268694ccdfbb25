/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.c: shares of decode slots, and their effect on an iteration.
 */
#include "model.h"

double model_share(unsigned own, unsigned other)
{
    const unsigned apart = own > other ? own - other : other - own;
    const double lower = 1.0 / (double)(2U << apart);

    return own < other ? lower : 1.0 - lower;
}

static double speed(const struct model *model, double share)
{
    return share < model->need ? share / model->need : 1.0;
}

static uint64_t whole_ns(double ns)
{
    return (uint64_t)(ns + 0.5);
}

void model_iteration(const struct model *model, const uint64_t work_ns[2], const unsigned priority[2],
                     uint64_t running_ns[2])
{
    double speeds[2];

    for (int i = 0; i < 2; i++) {
        speeds[i] = speed(model, model_share(priority[i], priority[1 - i]));
        running_ns[i] = whole_ns((double)work_ns[i] / speeds[i]);
    }
    const int later = running_ns[1] > running_ns[0];
    if (!model->yields)
        return;
    /* Once the other rank waits, the later one is as fast as alone. */
    const double done_ns = (double)running_ns[1 - later] * speeds[later];
    running_ns[later] = running_ns[1 - later] + whole_ns((double)work_ns[later] - done_ns);
}
