/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.c: from FTQ counts to noise figures [Betti09 §VI-A], by the definitions in analysis.h. Pure C, no
 * system call, no allocation; runs after the measuring window and in the host tests.
 */
#include "analysis.h"

#include "order.h"

#include <string.h>

/* One quantum in so many must have reached the nominal count. */
#define NOMINAL_ONE_IN 20

/* The largest count that ceil(samples / 20) quanta reached. */
static uint64_t nominal_find(const uint64_t *counts, size_t samples, uint64_t *scratch)
{
    memcpy(scratch, counts, samples * sizeof *counts);
    order_sort(scratch, samples);
    return scratch[samples - 1 - (samples - 1) / NOMINAL_ONE_IN];
}

static uint64_t loss_of(uint64_t count, uint64_t nominal)
{
    return count < nominal ? nominal - count : 0;
}

static bool is_disturbed(uint64_t count, uint64_t nominal)
{
    return loss_of(count, nominal) >= FTQ_DISTURBED_LOSS;
}

/* The index after the end of the detour that begins in the disturbed quantum `first`. */
static size_t detour_end(const uint64_t *counts, size_t samples, size_t first, uint64_t nominal)
{
    size_t end = first + 1;

    while (end < samples &&
           (counts[end] == 0 || (counts[end - 1] == 0 && is_disturbed(counts[end], nominal))))
        end++;
    return end;
}

static void detours_sum(const uint64_t *counts, size_t samples, struct ftq_analysis *result)
{
    const uint64_t nominal = result->nominal_count;
    size_t i = 0;

    while (i < samples) {
        size_t end;
        uint64_t loss = 0;

        if (!is_disturbed(counts[i], nominal)) {
            i++;
            continue;
        }
        end = detour_end(counts, samples, i, nominal);
        for (size_t k = i; k < end; k++)
            loss += loss_of(counts[k], nominal);
        if (loss > result->largest_loss) {
            result->largest_loss = loss;
            result->largest_loss_at = i;
        }
        result->detours++;
        result->disturbed_quanta += end - i;
        result->disturbed_loss += loss;
        i = end;
    }
}

bool ftq_analyse(const uint64_t *counts, size_t samples, uint64_t quantum_ns, uint64_t *scratch,
                 struct ftq_analysis *result)
{
    uint64_t undisturbed = 0, undisturbed_count = 0;
    double capacity;

    memset(result, 0, sizeof *result);
    if (samples == 0 || quantum_ns == 0)
        return false;
    result->nominal_count = nominal_find(counts, samples, scratch);
    if (result->nominal_count < FTQ_DISTURBED_LOSS)
        return false;
    for (size_t i = 0; i < samples; i++) {
        uint64_t loss = loss_of(counts[i], result->nominal_count);

        result->total_count += counts[i];
        result->raw_loss += loss;
        result->one_short_quanta += loss == 1;
        result->lost_quanta += counts[i] == 0;
        if (counts[i] > result->maximum_count)
            result->maximum_count = counts[i];
        if (loss < FTQ_DISTURBED_LOSS) {
            undisturbed++;
            undisturbed_count += counts[i];
        }
    }
    detours_sum(counts, samples, result);

    capacity = (double)result->nominal_count * (double)samples;
    result->operation_ns = (double)quantum_ns * (double)undisturbed / (double)undisturbed_count;
    result->largest_loss_ns = (double)result->largest_loss * result->operation_ns;
    result->detours_per_second = (double)result->detours * 1e9 / ((double)samples * (double)quantum_ns);
    result->noise_ratio = (double)result->disturbed_loss / capacity;
    result->raw_ratio = (double)result->raw_loss / capacity;
    result->floor_ns = result->operation_ns;
    result->floor_ratio = 1.0 / (double)result->nominal_count;
    result->measured_floor_ratio = (double)result->one_short_quanta / capacity;
    return true;
}
