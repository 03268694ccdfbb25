/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.c: from FWQ samples to noise figures, by the definitions in analysis.h. Pure C, no system call, no
 * allocation; runs after the measuring window and in the host tests.
 */
#include "analysis.h"

#include "order.h"

#include <string.h>

/* A twentieth of the samples is not longer than the nominal length. */
#define NOMINAL_PER_MILLION 50000

bool fwq_analyse(const uint64_t *samples, size_t count, uint64_t threshold_ticks, uint64_t *scratch,
                 struct fwq_analysis *result)
{
    memset(result, 0, sizeof *result);
    if (count == 0)
        return false;
    memcpy(scratch, samples, count * sizeof *samples);
    order_sort(scratch, count);
    result->minimum = scratch[0];
    result->nominal = order_quantile(scratch, count, NOMINAL_PER_MILLION);
    result->median = order_quantile(scratch, count, 500000);
    result->maximum = scratch[count - 1];
    if (result->nominal == 0)
        return false;
    while (samples[result->maximum_at] != result->maximum)
        result->maximum_at++;
    for (size_t i = 0; i < count; i++) {
        uint64_t excess = samples[i] > result->nominal ? samples[i] - result->nominal : 0;

        result->total += samples[i];
        result->raw_excess += excess;
        if (excess > threshold_ticks) {
            result->disturbed++;
            result->disturbed_excess += excess;
        }
    }
    result->noise_ratio = (double)result->disturbed_excess / (double)result->total;
    result->raw_ratio = (double)result->raw_excess / (double)result->total;
    return true;
}
