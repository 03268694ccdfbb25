/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memplan.c: plans which rank owns which byte of physical memory; see memplan.h.
 *
 * Four steps: merge what is usable and subtract what is reserved, rounded inwards to pages; take the pool
 * from the smallest span that holds it; cut the rest where the NUMA domain changes, and let every rank take
 * its share of its own domain; cut what is left, laid end to end, into one run per rank.
 *
 * The last cut. A position is an offset into the spans laid end to end. Cuts are allowed where a span begins
 * and on large-page addresses, so two neighbouring cuts lie at most M = MEMPLAN_LARGE_PAGE apart. Slices
 * should have t .. t + M bytes, with the largest t. Going down from the end in steps of at least t gives for
 * every rank the latest start that keeps t for each later rank; t is possible exactly when this ends at or
 * above zero. Going up from zero, every slice then takes t + M bytes or stops at the next one's latest start,
 * whichever comes first, and the last one arrives exactly at the end. (That blocks equal to within one item
 * always exist: Bárány and Grinberg, "Block partitions of sequences", 2015.)
 *
 * A rank that already has L bytes of its own domain is to get t - L .. t + M - L more. The argument is the
 * same, as long as L <= t + M. No rank takes more of its domain than T, the size of an average slice, and t
 * >= T - M always: ranks that lack T - M - L take less than T - L each, and there is that much for all.
 * Without domains, or if all memory is of one, L is 0 for every rank.
 *
 * Context: once, on the boot CPU, before anything is allocated. Owns the static work area.
 */
#include "mm/memplan.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"

#define FIRST_BYTE     (1ULL << 20) /* below lie firmware data and the start-up code of further CPUs */
#define LIMIT_MAX      (1ULL << 63) /* keeps every sum below from wrapping */
#define INPUT_SPANS    640          /* merged spans of each kind; above BOOT_RANGES_MAX */
#define FREE_SPANS_MAX (2 * INPUT_SPANS)
#define PARTS_MAX      (FREE_SPANS_MAX + 2 * MEMPLAN_NUMA_RANGES_MAX) /* each bound cuts one span */

_Static_assert(MEMPLAN_EXTENTS_MAX == PARTS_MAX + 2 * MEMPLAN_RANKS_MAX, "each rank ends two runs of parts");

struct span {
    uint64_t start, end; /* [start, end), not empty */
};

/* A free span, or a piece of one, that is of one domain. */
struct part {
    struct span span;
    uint32_t domain;
    bool shared; /* among the ranks of its domain */
};

/* What has been given to a rank, or to none. */
struct piece {
    struct span span;
    unsigned rank;
};
#define NO_RANK MEMPLAN_RANKS_MAX

static struct {
    struct span usable[INPUT_SPANS + 1], reserved[INPUT_SPANS + 1], free[PARTS_MAX];
    unsigned usable_count, reserved_count, free_count;
    uint64_t position[PARTS_MAX + 1]; /* position of each free span's first byte; the last one is the total */
    uint64_t cuts[MEMPLAN_RANKS_MAX + 1];
    uint64_t own_bytes[MEMPLAN_RANKS_MAX]; /* what each rank has without any of the free spans */

    struct part parts[PARTS_MAX]; /* all of the memory but the pool, ascending */
    unsigned part_count;
    uint64_t part_bytes;
    /* The parts cut among the ranks of their domains, the rest for NO_RANK; then the rest, cut again. */
    struct piece pieces[2 * (PARTS_MAX + MEMPLAN_RANKS_MAX)];
    unsigned piece_count;
    struct span slice[PARTS_MAX + 2]; /* one slice while it is gathered: two runs */
    unsigned slice_count;
} work;

/* Puts a span into a sorted table of disjoint spans, merged with all that it overlaps or touches. */
static void span_insert(struct span *table, unsigned *count, struct span new)
{
    unsigned first = 0, last;

    while (first < *count && table[first].end < new.start)
        first++;
    for (last = first; last < *count && table[last].start <= new.end; last++) {
        new.start = table[last].start < new.start ? table[last].start : new.start;
        new.end = table[last].end > new.end ? table[last].end : new.end;
    }
    memmove(&table[first + 1], &table[last], (*count - last) * sizeof(*table));
    table[first] = new;
    *count = *count + 1 - (last - first);
}

/* Collects ranges, clipped to [FIRST_BYTE, limit). If base + bytes wraps, usable memory is not used, and a
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
        span_insert(table, count, span);
        if (*count > INPUT_SPANS)
            return -E2BIG;
    }
    return 0;
}

/* Adds a free span, without parts of pages. Every reserved span ends at most one free span early and begins
 * one more, so the table holds them all. */
static void free_add(struct memplan *plan, uint64_t start, uint64_t end)
{
    struct span pages = { align_up(start, MEMPLAN_PAGE), align_down(end, MEMPLAN_PAGE) };

    if (start < end)
        plan->usable_bytes += end - start;
    if (pages.start < pages.end)
        work.free[work.free_count++] = pages;
}

static void subtract_reserved(struct memplan *plan)
{
    unsigned r = 0;

    for (unsigned u = 0; u < work.usable_count; u++) {
        uint64_t start = work.usable[u].start, end = work.usable[u].end;

        while (r < work.reserved_count && work.reserved[r].end <= start)
            r++;
        for (unsigned i = r; i < work.reserved_count && work.reserved[i].start < end; i++) {
            free_add(plan, start, work.reserved[i].start);
            start = work.reserved[i].end;
        }
        free_add(plan, start, end);
    }
}

/* Takes the pool from the smallest span that holds it below its limit, so that large spans stay whole. */
static int take_pool(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    struct span *best = NULL;

    for (unsigned i = 0; i < work.free_count && input->pool_bytes <= LIMIT_MAX; i++) {
        struct span *span = &work.free[i];
        uint64_t end = span->start + align_up(input->pool_bytes, MEMPLAN_PAGE);

        if (end > span->end || end > input->pool_limit)
            continue;
        if (!best || span->end - span->start < best->end - best->start)
            best = span;
    }
    if (!best)
        return message_set(
            why, -ENOMEM,
            "memory plan: no free range below 0x%lx holds the kernel's %lu KiB (%lu KiB usable)",
            input->pool_limit, input->pool_bytes >> 10, plan->usable_bytes >> 10);

    plan->pool = (struct memory_range){ best->start, align_up(input->pool_bytes, MEMPLAN_PAGE) };
    best->start += plan->pool.bytes; /* it may be empty then, which cuts into no part */
    return 0;
}

/* Lays the free spans end to end. Returns their total. */
static uint64_t lay_out(void)
{
    work.position[0] = 0;
    for (unsigned i = 0; i < work.free_count; i++)
        work.position[i + 1] = work.position[i] + (work.free[i].end - work.free[i].start);
    return work.position[work.free_count];
}

/* Returns the index of the span that holds `position`, which is below the total. */
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

/* Returns the last allowed cut at or below `position`. */
static uint64_t cut_below(uint64_t position)
{
    if (position >= work.position[work.free_count])
        return work.position[work.free_count];

    unsigned index = span_at(position);
    uint64_t start = work.free[index].start, into = position - work.position[index];
    uint64_t boundary = align_down(start + into, MEMPLAN_LARGE_PAGE);
    return work.position[index] + (boundary > start ? boundary - start : 0);
}

/* Returns how many bytes of the free spans the rank lacks to have `bytes`. */
static uint64_t lacking_bytes(unsigned rank, uint64_t bytes)
{
    return bytes > work.own_bytes[rank] ? bytes - work.own_bytes[rank] : 0;
}

/* Fills work.cuts[rank] with the latest start of each rank at which it and all later ones have `min_bytes`
 * each. Returns false if that is not possible. */
static bool latest_cuts(unsigned rank_count, uint64_t min_bytes)
{
    work.cuts[rank_count] = work.position[work.free_count];
    for (unsigned rank = rank_count; rank-- > 0;) {
        if (work.cuts[rank + 1] < lacking_bytes(rank, min_bytes))
            return false;
        work.cuts[rank] = cut_below(work.cuts[rank + 1] - lacking_bytes(rank, min_bytes));
    }
    return true;
}

/* Fills work.cuts such that the smallest slice is as large as possible: at most `average`. */
static void cuts_choose(unsigned rank_count, uint64_t average)
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
    for (unsigned rank = 1; rank < rank_count; rank++) {
        uint64_t bytes_max = lacking_bytes(rank - 1, low * MEMPLAN_PAGE + MEMPLAN_LARGE_PAGE);
        uint64_t end_max = cut_below(work.cuts[rank - 1] + bytes_max);

        if (end_max < work.cuts[rank])
            work.cuts[rank] = end_max;
    }
}

static void piece_add(unsigned rank, struct span span)
{
    work.pieces[work.piece_count++] = (struct piece){ span, rank };
}

/* Gives the run [from, to) of the free spans to a rank. */
static void run_give(unsigned rank, uint64_t from, uint64_t to)
{
    while (from < to) {
        unsigned index = span_at(from);
        uint64_t end = work.position[index + 1] < to ? work.position[index + 1] : to;
        uint64_t start = work.free[index].start + (from - work.position[index]);

        piece_add(rank, (struct span){ start, start + (end - from) });
        from = end;
    }
}

/* Gathers what each rank has in work.slice, in ascending order, and copies it to the plan. */
static void slices_fill(const struct memplan_input *input, struct memplan *plan)
{
    unsigned used = 0; /* used extents of the plan */

    for (unsigned rank = 0; rank < input->rank_count; rank++) {
        struct memory_slice *slice = &plan->slices[rank];

        run_give(rank, work.cuts[rank], work.cuts[rank + 1]);
        work.slice_count = 0;
        for (unsigned i = 0; i < work.piece_count; i++)
            if (work.pieces[i].rank == rank)
                span_insert(work.slice, &work.slice_count, work.pieces[i].span);
        *slice = (struct memory_slice){ .extents = &plan->extents[used], .extent_count = work.slice_count };
        for (unsigned i = 0; i < work.slice_count; i++) {
            const struct span *span = &work.slice[i];

            plan->extents[used++] = (struct memory_range){ span->start, span->end - span->start };
            slice->bytes += span->end - span->start;
        }
    }
}

/* ---- NUMA domains ---- */

/* Returns the domain of the large page that holds the address. */
static uint32_t domain_at(const struct memplan_input *input, uint64_t address)
{
    uint64_t start = align_down(address, MEMPLAN_LARGE_PAGE);

    for (unsigned i = 0; i < input->numa_range_count; i++) {
        const struct numa_range *numa = &input->numa_ranges[i];

        if (start >= numa->range.base && start - numa->range.base < numa->range.bytes)
            return numa->domain;
    }
    return NUMA_DOMAIN_NONE;
}

/* Returns the next address above `address`, at most `end`, at which the domain may change: the first large
 * page that begins at or above a bound of a range. */
static uint64_t domain_end(const struct memplan_input *input, uint64_t address, uint64_t end)
{
    for (unsigned i = 0; i < 2 * input->numa_range_count; i++) {
        const struct memory_range *range = &input->numa_ranges[i / 2].range;
        uint64_t bound = range->base;

        if (i % 2 && __builtin_add_overflow(bound, range->bytes, &bound))
            continue;
        if (bound >= end)
            continue;
        bound = align_up(bound, MEMPLAN_LARGE_PAGE);
        if (bound > address && bound < end)
            end = bound;
    }
    return end;
}

/* Makes parts of the free spans, cut where the domain changes. Returns whether they are of different
 * domains. */
static bool parts_make(const struct memplan_input *input)
{
    bool differ = false;

    work.part_count = 0;
    work.part_bytes = 0;
    for (unsigned i = 0; i < work.free_count; i++) {
        uint64_t end;

        for (uint64_t at = work.free[i].start; at < work.free[i].end; at = end) {
            uint32_t domain = domain_at(input, at);

            end = domain_end(input, at, work.free[i].end);
            work.parts[work.part_count++] = (struct part){ .span = { at, end }, .domain = domain };
            work.part_bytes += end - at;
            differ = differ || domain != work.parts[0].domain;
        }
    }
    return differ;
}

/* Shares the memory of a domain among its ranks, once. What they do not take goes to NO_RANK. */
static void domain_share(const struct memplan_input *input, uint32_t domain, uint64_t average)
{
    uint64_t from = 0, total;
    unsigned sharers = 0, served = 0;

    work.free_count = 0;
    for (unsigned i = 0; i < work.part_count; i++) {
        if (work.parts[i].domain != domain || work.parts[i].shared)
            continue;
        work.free[work.free_count++] = work.parts[i].span;
        work.parts[i].shared = true;
    }
    if (work.free_count == 0)
        return;
    total = lay_out();
    for (unsigned rank = 0; rank < input->rank_count; rank++)
        sharers += input->rank_domains[rank] == domain;
    for (unsigned rank = 0; rank < input->rank_count && total > 0; rank++) {
        if (input->rank_domains[rank] != domain)
            continue;
        uint64_t to = ++served == sharers ? total : total / sharers * served;

        to = cut_below(smaller(to, from + average));
        if (to <= from)
            continue;
        run_give(rank, from, to);
        work.own_bytes[rank] = to - from;
        from = to;
    }
    run_give(NO_RANK, from, total);
}

/* Lets every rank take what it can of its own domain, if there are several. The rest becomes the free spans,
 * shared domains first. */
static void domains_share(const struct memplan_input *input, bool by_domain, uint64_t average)
{
    for (unsigned rank = 0; by_domain && rank < input->rank_count; rank++)
        if (input->rank_domains[rank] != NUMA_DOMAIN_NONE)
            domain_share(input, input->rank_domains[rank], average);
    for (unsigned i = 0; i < work.part_count; i++)
        if (!work.parts[i].shared)
            piece_add(NO_RANK, work.parts[i].span);
    work.free_count = 0;
    for (unsigned i = 0; i < work.piece_count; i++)
        if (work.pieces[i].rank == NO_RANK)
            work.free[work.free_count++] = work.pieces[i].span;
    lay_out();
}

static int make_slices(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    bool by_domain = parts_make(input) && input->rank_domains;
    uint64_t average = align_down(work.part_bytes / input->rank_count, MEMPLAN_PAGE);
    uint64_t total = 0, smallest = UINT64_MAX;

    domains_share(input, by_domain, average);
    cuts_choose(input->rank_count, average);
    slices_fill(input, plan);
    for (unsigned rank = 0; rank < input->rank_count; rank++) {
        smallest = smaller(smallest, plan->slices[rank].bytes);
        total += plan->slices[rank].bytes;
    }
    if (smallest == 0 || smallest < input->slice_bytes_min)
        return message_set(
            why, -ENOMEM,
            "memory plan: %lu KiB for %u ranks make slices of %lu KiB, but %lu KiB are needed; "
            "use fewer ranks or more memory",
            total >> 10, input->rank_count, smallest >> 10, input->slice_bytes_min >> 10);
    return 0;
}

int memplan_make(const struct memplan_input *input, struct memplan *plan, struct message *why)
{
    work.usable_count = work.reserved_count = work.free_count = work.piece_count = 0;
    memset(work.own_bytes, 0, sizeof(work.own_bytes));
    if (input->rank_count == 0 || input->rank_count > MEMPLAN_RANKS_MAX)
        return message_set(why, -EINVAL, "memory plan: %u ranks; 1 to %d are possible", input->rank_count,
                           MEMPLAN_RANKS_MAX);
    memset(plan, 0, offsetof(struct memplan, slices) + input->rank_count * sizeof(struct memory_slice));
    if (input->pool_bytes == 0 || input->address_limit > LIMIT_MAX)
        return message_set(why, -EINVAL, "memory plan: a pool of %lu bytes below 0x%lx makes no sense",
                           input->pool_bytes, input->address_limit);

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

    subtract_reserved(plan);
    error = take_pool(input, plan, why);
    if (!error)
        error = make_slices(input, plan, why);
    return error;
}

uint64_t memplan_take(struct memplan *plan, unsigned rank, uint64_t bytes)
{
    struct memory_slice *slice = &plan->slices[rank];
    struct memory_range *extents = &plan->extents[slice->extents - plan->extents];

    bytes = align_up(bytes, MEMPLAN_PAGE);
    for (unsigned i = 0; i < slice->extent_count; i++) {
        if (extents[i].bytes <= bytes)
            continue;
        extents[i].bytes -= bytes;
        slice->bytes -= bytes;
        return extents[i].base + extents[i].bytes;
    }
    return UINT64_MAX;
}

void *memplan_work_area(uint64_t *bytes)
{
    *bytes = sizeof(work);
    return &work;
}
