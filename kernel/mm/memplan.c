/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memplan.c: who owns which byte of physical memory (memplan.h).
 *
 * Four steps: merge what is usable and subtract what is reserved; round the remaining spans inwards to pages;
 * take the pool from the tightest span that holds it; cut the rest, laid end to end in address order, into
 * one run per rank.
 *
 * The cut. A position is an offset into the spans laid end to end. Cuts are allowed where a span begins and
 * on large-page addresses, so two neighbouring cuts lie at most M = MEMPLAN_LARGE_PAGE apart. Slices of t ..
 * t + M bytes are wanted, with the largest t. Going down from the end in steps of at least t gives for every
 * rank the latest start that leaves the ranks behind it their t; t is possible exactly when this ends at or
 * above zero. Going up from zero, every slice then takes t + M bytes or stops at that latest start, whichever
 * comes first, and the last one arrives exactly at the end. (That blocks equal to within one item always
 * exist: Bárány and Grinberg, "Block partitions of sequences", 2015.)
 *
 * With NUMA domains the spans are first cut where the domain changes. Of each domain's spans, every rank that
 * belongs there takes a run of at most T, the size of an average slice, and at most its part of them. What is
 * left, of all domains, is cut as above, only that a rank with L bytes of its own wants t - L .. t + M - L of
 * it. The argument is the same, as long as L <= t + M: and t >= T - M always, because ranks that want T - M -
 * L take less than T - L each, and there is that much for all.
 *
 * Context: once, on the boot CPU, before anything is allocated. Owns the static work area.
 */
#include "mm/memplan.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define FIRST_BYTE     (1ULL << 20) /* below lie firmware data and the start-up code of further CPUs */
#define LIMIT_MAX      (1ULL << 63) /* keeps every sum below from wrapping */
#define INPUT_SPANS    640          /* merged ones of each kind; BOOT_RANGES_MAX and some */
#define FREE_SPANS_MAX (2 * INPUT_SPANS)
#define PARTS_MAX \
    (FREE_SPANS_MAX + 2 * MEMPLAN_NUMA_RANGES_MAX) /* each bound of a domain's range cuts one span */

struct span {
    uint64_t start, end; /* [start, end), not empty */
};

/* A free span, or a piece of one, that is of one domain. */
struct part {
    struct span span;
    uint32_t domain;
};

/* What a rank has of its own domain. */
struct own_piece {
    struct span span;
    unsigned place;
};

/* The ranks stand in a row: in order of their numbers, or of their domains; a rank's index there is its
 * place.
 */
static struct {
    struct span usable[INPUT_SPANS], reserved[INPUT_SPANS], free[PARTS_MAX];
    unsigned usable_count, reserved_count, free_count;
    uint64_t position[PARTS_MAX + 1]; /* of each free span's first byte; the last one is the total */
    uint64_t cuts[MEMPLAN_RANKS_MAX + 1];
    unsigned rank_at[MEMPLAN_RANKS_MAX];   /* of each place */
    uint64_t own_bytes[MEMPLAN_RANKS_MAX]; /* of each place: what it has without any of the free spans */

    struct part parts[PARTS_MAX]; /* all of the memory, ascending */
    unsigned part_count;
    struct own_piece own[PARTS_MAX + MEMPLAN_RANKS_MAX];
    unsigned own_count;
    struct span rest[PARTS_MAX]; /* of the parts, behind what was taken */
    unsigned rest_count;
    struct span pieces[PARTS_MAX];  /* of one run */
    struct span slice[INPUT_SPANS]; /* one slice while it is gathered */
    unsigned slice_count;
} work;

static uint64_t round_down(uint64_t value, uint64_t unit)
{
    return value / unit * unit;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return round_down(value + unit - 1, unit);
}

/* Puts a span into a sorted table of disjoint spans, merged with all that it overlaps or touches. */
static int span_insert(struct span *table, unsigned *count, struct span new)
{
    unsigned first = 0, last;

    while (first < *count && table[first].end < new.start)
        first++;
    for (last = first; last < *count && table[last].start <= new.end; last++) {
        new.start = table[last].start < new.start ? table[last].start : new.start;
        new.end = table[last].end > new.end ? table[last].end : new.end;
    }
    if (last == first && *count == INPUT_SPANS)
        return -E2BIG;
    memmove(&table[first + 1], &table[last], (*count - last) * sizeof(*table));
    table[first] = new;
    *count = *count + 1 - (last - first);
    return 0;
}

/* Collects ranges, clipped to [FIRST_BYTE, limit). A sum that wraps is nonsense: such RAM is not used, such a
 * reservation reaches to the end. */
static int spans_collect(const struct memory_range *ranges, unsigned range_count, bool usable, uint64_t limit,
                         struct span *table, unsigned *count)
{
    for (unsigned i = 0; i < range_count; i++) {
        struct span span = { ranges[i].base, 0 };

        if (__builtin_add_overflow(ranges[i].base, ranges[i].bytes, &span.end)) {
            if (usable)
                continue;
            span.end = UINT64_MAX;
        }
        if (span.start < FIRST_BYTE)
            span.start = FIRST_BYTE;
        if (span.end > limit)
            span.end = limit;
        if (span.start >= span.end)
            continue;
        int error = span_insert(table, count, span);
        if (error)
            return error;
    }
    return 0;
}

static uint64_t spans_bytes(const struct span *table, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += table[i].end - table[i].start;
    return sum;
}

/* Every reserved span ends at most one free span early and begins one more, so the table holds them all. */
static void free_add(uint64_t start, uint64_t end)
{
    if (start < end)
        work.free[work.free_count++] = (struct span){ start, end };
}

static void subtract_reserved(void)
{
    unsigned r = 0;

    for (unsigned u = 0; u < work.usable_count; u++) {
        uint64_t start = work.usable[u].start, end = work.usable[u].end;

        while (r < work.reserved_count && work.reserved[r].end <= start)
            r++;
        for (unsigned i = r; i < work.reserved_count && work.reserved[i].start < end; i++) {
            free_add(start, work.reserved[i].start);
            start = work.reserved[i].end;
        }
        free_add(start, end);
    }
}

static void round_to_pages(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < work.free_count; i++) {
        uint64_t start = round_up(work.free[i].start, MEMPLAN_PAGE);
        uint64_t end = round_down(work.free[i].end, MEMPLAN_PAGE);

        if (start < end)
            work.free[kept++] = (struct span){ start, end };
    }
    work.free_count = kept;
}

static void free_remove(unsigned index)
{
    memmove(&work.free[index], &work.free[index + 1], (work.free_count - index - 1) * sizeof(work.free[0]));
    work.free_count--;
}

/* From the smallest span that holds it below its limit, so that large spans stay whole. */
static int take_pool(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    unsigned best = work.free_count;

    for (unsigned i = 0; i < work.free_count && input->pool_bytes <= LIMIT_MAX; i++) {
        const struct span *span = &work.free[i];
        uint64_t bytes = span->end - span->start,
                 end = span->start + round_up(input->pool_bytes, MEMPLAN_PAGE);

        if (end > span->end || end > input->pool_limit)
            continue;
        if (best == work.free_count || bytes < work.free[best].end - work.free[best].start)
            best = i;
    }
    if (best == work.free_count)
        return message_set(
            why, -ENOMEM,
            "memory plan: no free range below 0x%llx holds the kernel's %llu KiB (%llu KiB usable)",
            (unsigned long long)input->pool_limit, (unsigned long long)input->pool_bytes >> 10,
            (unsigned long long)plan->usable_bytes >> 10);

    struct span *span = &work.free[best];
    plan->pool = (struct memory_range){ span->start, round_up(input->pool_bytes, MEMPLAN_PAGE) };
    span->start += plan->pool.bytes;
    if (span->start == span->end)
        free_remove(best);
    return 0;
}

/* Lays the free spans end to end; answers their total. */
static uint64_t lay_out(void)
{
    work.position[0] = 0;
    for (unsigned i = 0; i < work.free_count; i++)
        work.position[i + 1] = work.position[i] + (work.free[i].end - work.free[i].start);
    return work.position[work.free_count];
}

/* Index of the span that holds `position`; position is below the total. */
static unsigned span_at(uint64_t position)
{
    unsigned low = 0, high = work.free_count;

    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (work.position[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The last allowed cut at or below `position`. */
static uint64_t cut_below(uint64_t position)
{
    if (position >= work.position[work.free_count])
        return work.position[work.free_count];

    unsigned index = span_at(position);
    uint64_t start = work.free[index].start, into = position - work.position[index];
    uint64_t boundary = round_down(start + into, MEMPLAN_LARGE_PAGE);
    return work.position[index] + (boundary > start ? boundary - start : 0);
}

/* What the place wants of the free spans, to have `bytes` together with its own. */
static uint64_t wanted(unsigned place, uint64_t bytes)
{
    return bytes > work.own_bytes[place] ? bytes - work.own_bytes[place] : 0;
}

/* Fills work.cuts[place] with the latest start of each place that leaves `least` bytes to it and to all
 * behind it. False where there is none. */
static bool latest_cuts(unsigned rank_count, uint64_t least)
{
    work.cuts[rank_count] = work.position[work.free_count];
    for (unsigned place = rank_count; place-- > 0;) {
        if (work.cuts[place + 1] < wanted(place, least))
            return false;
        work.cuts[place] = cut_below(work.cuts[place + 1] - wanted(place, least));
    }
    return true;
}

/* Leaves the cuts of the fairest plan in work.cuts. No slice can have more than `average`. */
static void cut_slices(unsigned rank_count, uint64_t average)
{
    uint64_t low = 0, high = average / MEMPLAN_PAGE;

    while (low < high) {
        uint64_t middle = high - (high - low) / 2;

        if (latest_cuts(rank_count, middle * MEMPLAN_PAGE))
            low = middle;
        else
            high = middle - 1;
    }
    latest_cuts(rank_count, low * MEMPLAN_PAGE);
    work.cuts[0] = 0;
    for (unsigned place = 1; place < rank_count; place++) {
        uint64_t most = wanted(place - 1, low * MEMPLAN_PAGE + MEMPLAN_LARGE_PAGE);
        uint64_t longest = cut_below(work.cuts[place - 1] + most);

        if (longest < work.cuts[place])
            work.cuts[place] = longest;
    }
}

static unsigned smallest_span(unsigned first, unsigned last)
{
    unsigned smallest = first;

    for (unsigned i = first; i <= last; i++) {
        if (work.free[i].end - work.free[i].start < work.free[smallest].end - work.free[smallest].start)
            smallest = i;
    }
    return smallest;
}

/* Gives up one small span of a slice that has too many extents. False where all slices fit. */
static bool give_up_span(unsigned rank_count)
{
    for (unsigned rank = 0; rank < rank_count; rank++) {
        if (work.cuts[rank] == work.cuts[rank + 1])
            continue;
        unsigned first = span_at(work.cuts[rank]), last = span_at(work.cuts[rank + 1] - 1);

        if (last - first < MEMPLAN_EXTENTS_MAX)
            continue;
        free_remove(smallest_span(first, last));
        return true;
    }
    return false;
}

/* The run [from, to) of the free spans, piece by piece. */
static unsigned run_pieces(uint64_t from, uint64_t to, struct span *pieces)
{
    unsigned count = 0;

    while (from < to) {
        unsigned index = span_at(from);
        uint64_t end = work.position[index + 1] < to ? work.position[index + 1] : to;
        uint64_t start = work.free[index].start + (from - work.position[index]);

        pieces[count++] = (struct span){ start, start + (end - from) };
        from = end;
    }
    return count;
}

/* Gathers what a place has in work.slice, in ascending order. False where it is too much for a slice. */
static bool slice_gather(unsigned place)
{
    unsigned count = run_pieces(work.cuts[place], work.cuts[place + 1], work.pieces);
    bool fits = true;

    work.slice_count = 0;
    for (unsigned i = 0; i < count && fits; i++)
        fits = span_insert(work.slice, &work.slice_count, work.pieces[i]) == 0;
    for (unsigned i = 0; i < work.own_count && fits; i++) {
        if (work.own[i].place == place)
            fits = span_insert(work.slice, &work.slice_count, work.own[i].span) == 0;
    }
    return fits && work.slice_count <= MEMPLAN_EXTENTS_MAX;
}

static bool slices_fill(const struct memplan_input *input, struct memplan *plan)
{
    for (unsigned place = 0; place < input->rank_count; place++) {
        struct memory_slice *slice = &plan->slices[work.rank_at[place]];

        if (!slice_gather(place))
            return false;
        *slice = (struct memory_slice){ .extent_count = work.slice_count };
        for (unsigned i = 0; i < work.slice_count; i++) {
            const struct span *span = &work.slice[i];

            slice->extents[i] = (struct memory_range){ span->start, span->end - span->start };
            slice->bytes += span->end - span->start;
        }
    }
    return true;
}

static void slices_in_order(const struct memplan_input *input, struct memplan *plan)
{
    while (work.free_count > MEMPLAN_EXTENTS_MAX * input->rank_count)
        free_remove(smallest_span(0, work.free_count - 1));
    do {
        cut_slices(input->rank_count, lay_out() / input->rank_count);
    } while (give_up_span(input->rank_count));
    for (unsigned rank = 0; rank < input->rank_count; rank++)
        work.rank_at[rank] = rank;
    slices_fill(input, plan); /* fits, for give_up_span has seen to it */
}

/* ---- domains ---- */

/* Of the large page that holds the address. */
static uint32_t domain_at(const struct memplan_input *input, uint64_t address)
{
    uint64_t start = round_down(address, MEMPLAN_LARGE_PAGE);

    for (unsigned i = 0; i < input->numa_range_count; i++) {
        const struct numa_range *numa = &input->numa_ranges[i];

        if (start >= numa->range.base && start - numa->range.base < numa->range.bytes)
            return numa->domain;
    }
    return NUMA_DOMAIN_NONE;
}

/* The next address behind `address` where the domain may change: the first large page that begins at or
 * behind a bound of a range. */
static uint64_t domain_end(const struct memplan_input *input, uint64_t address, uint64_t end)
{
    for (unsigned i = 0; i < 2 * input->numa_range_count; i++) {
        const struct memory_range *range = &input->numa_ranges[i / 2].range;
        uint64_t bound = range->base;

        if (i % 2 && __builtin_add_overflow(bound, range->bytes, &bound))
            continue;
        if (bound >= end)
            continue;
        bound = round_up(bound, MEMPLAN_LARGE_PAGE);
        if (bound > address && bound < end)
            end = bound;
    }
    return end;
}

/* False where there is nothing to choose: no domains are known, or all memory is of the same one. */
static bool parts_make(const struct memplan_input *input)
{
    bool differ = false;

    if (!input->numa_ranges || !input->rank_domains)
        return false;
    for (unsigned i = 0; i < work.free_count; i++) {
        uint64_t end;

        for (uint64_t at = work.free[i].start; at < work.free[i].end; at = end) {
            end = domain_end(input, at, work.free[i].end);
            work.parts[work.part_count++] = (struct part){ { at, end }, domain_at(input, at) };
            differ = differ || work.parts[work.part_count - 1].domain != work.parts[0].domain;
        }
    }
    return differ;
}

/* Ranks of one domain stand side by side, in order of their numbers. */
static void ranks_sort(const struct memplan_input *input)
{
    for (unsigned rank = 0; rank < input->rank_count; rank++) {
        unsigned place = rank;

        for (; place > 0 && input->rank_domains[work.rank_at[place - 1]] > input->rank_domains[rank]; place--)
            work.rank_at[place] = work.rank_at[place - 1];
        work.rank_at[place] = rank;
    }
}

static uint64_t parts_bytes(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < work.part_count; i++)
        sum += work.parts[i].span.end - work.parts[i].span.start;
    return sum;
}

static void own_take(unsigned place, uint64_t from, uint64_t to)
{
    unsigned count = run_pieces(from, to, work.pieces);

    for (unsigned i = 0; i < count; i++)
        work.own[work.own_count++] = (struct own_piece){ work.pieces[i], place };
    work.own_bytes[place] = to - from;
}

/* Gives the memory of a domain to its ranks, which have the places [first, last); what they leave is rest. */
static void domain_share(uint32_t domain, unsigned first, unsigned last, uint64_t average)
{
    uint64_t from = 0, total;

    work.free_count = 0;
    for (unsigned i = 0; i < work.part_count; i++) {
        if (work.parts[i].domain == domain)
            work.free[work.free_count++] = work.parts[i].span;
    }
    total = lay_out();
    for (unsigned place = first; place < last && work.free_count > 0; place++) {
        uint64_t to = place + 1 == last ? total : total / (last - first) * (place + 1 - first);

        if (to > from + average)
            to = from + average;
        to = cut_below(to);
        if (to <= from)
            continue;
        own_take(place, from, to);
        from = to;
    }
    work.rest_count += run_pieces(from, total, work.rest + work.rest_count);
}

/* Every rank takes what it can of its own domain; the rest becomes the free spans, in the same order of
 * domains.
 */
static void domains_share(const struct memplan_input *input, uint64_t average)
{
    unsigned count = input->rank_count, last;

    work.own_count = work.rest_count = 0;
    memset(work.own_bytes, 0, sizeof(work.own_bytes));
    for (unsigned first = 0; first < count; first = last) {
        uint32_t domain = input->rank_domains[work.rank_at[first]];

        for (last = first; last < count && input->rank_domains[work.rank_at[last]] == domain; last++)
            continue;
        if (domain != NUMA_DOMAIN_NONE)
            domain_share(domain, first, last, average);
    }
    for (unsigned i = 0; i < work.part_count; i++) {
        bool shared = false;

        for (unsigned rank = 0; rank < count && work.parts[i].domain != NUMA_DOMAIN_NONE; rank++)
            shared = shared || input->rank_domains[rank] == work.parts[i].domain;
        if (!shared)
            work.rest[work.rest_count++] = work.parts[i].span;
    }
    memcpy(work.free, work.rest, work.rest_count * sizeof(work.free[0]));
    work.free_count = work.rest_count;
    lay_out();
}

/* Gives up the smallest of the parts that the gathered slice has something of. */
static void give_up_part(void)
{
    unsigned smallest = work.part_count;

    for (unsigned i = 0; i < work.part_count; i++) {
        const struct span *part = &work.parts[i].span;
        bool touched = false;

        for (unsigned j = 0; j < work.slice_count; j++)
            touched = touched || (work.slice[j].start < part->end && part->start < work.slice[j].end);
        if (touched &&
            (smallest == work.part_count ||
             part->end - part->start < work.parts[smallest].span.end - work.parts[smallest].span.start))
            smallest = i;
    }
    work.part_count--;
    memmove(&work.parts[smallest], &work.parts[smallest + 1],
            (work.part_count - smallest) * sizeof(work.parts[0]));
}

static void slices_by_domain(const struct memplan_input *input, struct memplan *plan)
{
    ranks_sort(input);
    for (;;) {
        uint64_t average = round_down(parts_bytes() / input->rank_count, MEMPLAN_PAGE);

        domains_share(input, average);
        cut_slices(input->rank_count, average);
        if (slices_fill(input, plan))
            return;
        give_up_part();
    }
}

static int make_slices(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    if (parts_make(input))
        slices_by_domain(input, plan);
    else
        slices_in_order(input, plan);

    uint64_t total = 0, least = UINT64_MAX;
    for (unsigned rank = 0; rank < input->rank_count; rank++) {
        uint64_t bytes = plan->slices[rank].bytes;

        least = bytes < least ? bytes : least;
        total += bytes;
    }
    if (least == 0 || least < input->slice_bytes_min)
        return message_set(
            why, -ENOMEM,
            "memory plan: %llu KiB for %u ranks make slices of %llu KiB, but %llu KiB are needed; "
            "use fewer ranks or more memory",
            (unsigned long long)total >> 10, input->rank_count, (unsigned long long)least >> 10,
            (unsigned long long)input->slice_bytes_min >> 10);
    return 0;
}

static void account(const struct memplan_input *input, struct memplan *plan)
{
    plan->highest_address = plan->pool.base + plan->pool.bytes;
    plan->lost_bytes = plan->usable_bytes - plan->pool.bytes;
    for (unsigned rank = 0; rank < input->rank_count; rank++) {
        const struct memory_slice *slice = &plan->slices[rank];
        const struct memory_range *last = &slice->extents[slice->extent_count - 1];

        plan->lost_bytes -= slice->bytes;
        if (last->base + last->bytes > plan->highest_address)
            plan->highest_address = last->base + last->bytes;
    }
}

int memplan_make(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    memset(plan, 0, sizeof(*plan));
    memset(&work, 0, sizeof(work));
    if (input->rank_count == 0 || input->rank_count > MEMPLAN_RANKS_MAX)
        return message_set(why, -EINVAL, "memory plan: %u ranks; 1 to %d are possible", input->rank_count,
                           MEMPLAN_RANKS_MAX);
    if (input->pool_bytes == 0 || input->address_limit > LIMIT_MAX)
        return message_set(why, -EINVAL, "memory plan: a pool of %llu bytes below 0x%llx makes no sense",
                           (unsigned long long)input->pool_bytes, (unsigned long long)input->address_limit);

    if (input->numa_range_count > MEMPLAN_NUMA_RANGES_MAX)
        return message_set(why, -E2BIG, "memory plan: %u ranges of NUMA domains; at most %d are possible",
                           input->numa_range_count, MEMPLAN_NUMA_RANGES_MAX);

    int error = spans_collect(input->usable, input->usable_count, true, input->address_limit, work.usable,
                              &work.usable_count);
    if (!error)
        error = spans_collect(input->reserved, input->reserved_count, false, input->address_limit,
                              work.reserved, &work.reserved_count);
    if (error)
        return message_set(why, error, "memory plan: the memory map has more than %d separate ranges",
                           INPUT_SPANS);

    subtract_reserved();
    plan->usable_bytes = spans_bytes(work.free, work.free_count);
    round_to_pages();
    error = take_pool(input, plan, why);
    if (!error)
        error = make_slices(input, plan, why);
    if (error)
        return error;
    account(input, plan);
    return 0;
}
