/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.c: computes noise figures from FTQ counts [Betti09 §VI-A], by the definitions in analysis.h. Pure
 * C: no system call, no allocation. Runs after the measuring window and in the host tests.
 */
#include "analysis.h"

#include "order.h"

#include <math.h>
#include <string.h>

/* One quantum in this number must have reached the nominal count. */
#define NOMINAL_ONE_IN 20
/* Larger counts might overflow sums, and order_floor_find. */
#define COUNT_MAX ((uint64_t)1 << 48)

/* Returns how many of rising values are in `from` .. `to`. */
static size_t within(const uint64_t *sorted, size_t samples, uint64_t from, uint64_t to)
{
    size_t above_to = order_above(sorted, samples, to);

    return (from ? order_above(sorted, samples, from - 1) : samples) - above_to;
}

/* Finds the mode of the quanta that did any work, and its reach. Turns the rising counts into rising
 * losses. */
static void floor_find(uint64_t *sorted, size_t samples, uint64_t best, struct ftq_analysis *result)
{
    const size_t working = order_above(sorted, samples, 0);
    const uint64_t maximum = sorted[samples - 1];
    struct order_floor floor;
    size_t faster;

    for (size_t i = 0; i < samples / 2; i++) {
        uint64_t other = sorted[i];

        sorted[i] = sorted[samples - 1 - i];
        sorted[samples - 1 - i] = other;
    }
    for (size_t i = 0; i < samples; i++)
        sorted[i] = maximum - sorted[i];
    floor = order_floor_find(sorted, working);
    result->nominal_count = maximum - floor.mode;
    result->disturbed_from = floor.reach + 1 > FTQ_DISTURBED_LOSS ? floor.reach + 1 : FTQ_DISTURBED_LOSS;
    faster =
        floor.mode > floor.reach ? samples - order_above(sorted, samples, floor.mode - floor.reach - 1) : 0;
    result->separable = floor.reach < result->nominal_count / 2 && faster <= samples / NOMINAL_ONE_IN;
    if (!result->separable) {
        result->nominal_count = best;
        result->disturbed_from = best - best / 2;
    }
}

/* Takes the median as nominal count, and as least loss the operations that last as long as the threshold. */
static void threshold_apply(const uint64_t *sorted, size_t samples, uint64_t quantum_ns,
                            uint64_t threshold_ns, struct ftq_analysis *result)
{
    uint64_t count = sorted[samples - 1 - (samples - 1) / 2];
    double operations = ceil((double)threshold_ns * (double)count / (double)quantum_ns);

    result->nominal_count = count;
    result->disturbed_from = operations > FTQ_DISTURBED_LOSS ? (uint64_t)operations : FTQ_DISTURBED_LOSS;
}

/* Finds the nominal count and the least loss of a disturbed quantum; false if the counts have none. */
static bool nominal_find(const uint64_t *counts, size_t samples, uint64_t quantum_ns, uint64_t threshold_ns,
                         uint64_t *scratch, struct ftq_analysis *result)
{
    uint64_t best;

    memcpy(scratch, counts, samples * sizeof *counts);
    order_sort(scratch, samples);
    best = scratch[samples - 1 - (samples - 1) / NOMINAL_ONE_IN];
    if (best < FTQ_DISTURBED_LOSS || scratch[samples - 1] >= COUNT_MAX)
        return false;
    result->nominal_count = best;
    result->disturbed_from = FTQ_DISTURBED_LOSS;
    result->separable = true;
    if (threshold_ns)
        threshold_apply(scratch, samples, quantum_ns, threshold_ns, result);
    else if (within(scratch, samples, best - 1, best) < (samples + NOMINAL_ONE_IN - 1) / NOMINAL_ONE_IN)
        floor_find(scratch, samples, best, result);
    return result->nominal_count >= FTQ_DISTURBED_LOSS;
}

static uint64_t loss_of(uint64_t count, uint64_t nominal)
{
    return count < nominal ? nominal - count : 0;
}

static bool is_disturbed(uint64_t count, const struct ftq_analysis *result)
{
    return loss_of(count, result->nominal_count) >= result->disturbed_from;
}

/* Returns the index after the end of the detour that begins in the disturbed quantum `first`. */
static size_t detour_end(const uint64_t *counts, size_t samples, size_t first,
                         const struct ftq_analysis *result)
{
    size_t end = first + 1;

    while (end < samples && (counts[end] == 0 || (counts[end - 1] == 0 && is_disturbed(counts[end], result))))
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

        if (!is_disturbed(counts[i], result)) {
            i++;
            continue;
        }
        end = detour_end(counts, samples, i, result);
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

bool ftq_floor_is_high(const struct ftq_analysis *result)
{
    return result->separable && result->disturbed_from > result->nominal_count / FTQ_FLOOR_ONE_IN;
}

/* Returns the share of a quantum, ns, that a loss of `count` operations is; exact for a quantum lost whole.
 */
static double price_ns(uint64_t count, uint64_t quantum_ns, uint64_t nominal)
{
    return (double)count * (double)quantum_ns / (double)nominal;
}

bool ftq_analyse(const uint64_t *counts, size_t samples, uint64_t quantum_ns, uint64_t threshold_ns,
                 uint64_t *scratch, struct ftq_analysis *result)
{
    uint64_t undisturbed = 0, undisturbed_count = 0;
    double capacity;

    memset(result, 0, sizeof *result);
    if (samples == 0 || quantum_ns == 0)
        return false;
    if (!nominal_find(counts, samples, quantum_ns, threshold_ns, scratch, result))
        return false;
    for (size_t i = 0; i < samples; i++) {
        uint64_t loss = loss_of(counts[i], result->nominal_count);

        result->total_count += counts[i];
        result->raw_loss += loss;
        result->one_short_quanta += loss == 1;
        result->lost_quanta += counts[i] == 0;
        if (counts[i] > result->maximum_count)
            result->maximum_count = counts[i];
        if (loss < result->disturbed_from) {
            undisturbed++;
            undisturbed_count += counts[i];
        }
    }
    detours_sum(counts, samples, result);

    capacity = (double)result->nominal_count * (double)samples;
    result->operation_ns = (double)quantum_ns * (double)undisturbed / (double)undisturbed_count;
    result->largest_loss_ns = price_ns(result->largest_loss, quantum_ns, result->nominal_count);
    result->detours_per_second = (double)result->detours * 1e9 / ((double)samples * (double)quantum_ns);
    result->noise_ratio = (double)result->disturbed_loss / capacity;
    result->raw_ratio = (double)result->raw_loss / capacity;
    result->floor_ns = price_ns(1, quantum_ns, result->nominal_count);
    result->floor_ratio = 1.0 / (double)result->nominal_count;
    result->measured_floor_ratio = (double)result->one_short_quanta / capacity;
    return true;
}
