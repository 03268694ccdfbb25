/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memplan.h: makes an exact plan of which rank owns which byte, from the boot memory map.
 *
 * Portable C that depends on the page sizes alone, so that the host tests can try it on thousands of random
 * and hostile maps (as CNK's memory mapper). The plan is made once, before the kernel allocates anything.
 *
 * Guarantees, for every input, hostile or not:
 *  - the pool and all extents are page-aligned, not empty, disjoint, inside usable memory, outside every
 *    reserved range and outside the first megabyte (firmware data, start-up code of further CPUs), and below
 *    the address limit;
 *  - slices are equal to within MEMPLAN_LARGE_PAGE bytes; two slices that adjoin do so on a
 *    MEMPLAN_LARGE_PAGE boundary;
 *  - without domains (or if all memory is of one domain) slices follow each other in address order, and
 *    the smallest is as large as such cuts allow;
 *  - with domains, a slice takes from its rank's domain as much as it can, less at most MEMPLAN_LARGE_PAGE:
 *    its own size, or, if the domain's ranks need more than there is, an equal part of the domain's memory.
 *    The rest comes from other domains. A large page across a bound of domains counts to the domain in which
 *    it begins;
 *  - the pool's place depends only on the map, the limits and pool_bytes, not on rank_count, slice_bytes_min
 *    or domains;
 *  - the pool and the slices together hold all of usable_bytes but parts of pages.
 *
 * If base + bytes wraps, a usable range is not used, and a reserved one reaches to the end of addresses.
 */
#ifndef TACET_MEMPLAN_H
#define TACET_MEMPLAN_H

#include "arch/platform.h"
#include "lib/boot_info.h"
#include "lib/format.h"

#define MEMPLAN_PAGE            ARCH_PAGE
#define MEMPLAN_LARGE_PAGE      ARCH_LARGE_PAGE
#define MEMPLAN_RANKS_MAX       512
#define MEMPLAN_NUMA_RANGES_MAX 256

/* Extents of all slices together: the most that the map, domains and ranks can make. */
#define MEMPLAN_EXTENTS_MAX 2816

/* The memory of one rank, in ascending order; the extents live as long as the plan. */
struct memory_slice {
    const struct memory_range *extents;
    unsigned extent_count;
    uint64_t bytes; /* sum of the extents */
};

static inline bool memory_slice_has(const struct memory_slice *slice, uint64_t address)
{
    for (const struct memory_range *extent = slice->extents; extent < slice->extents + slice->extent_count;
         extent++)
        if (address - extent->base < extent->bytes)
            return true;
    return false;
}

struct memplan_input {
    const struct memory_range *usable;
    unsigned usable_count;
    const struct memory_range *reserved; /* firmware's, the kernel image, boot modules */
    unsigned reserved_count;
    uint64_t address_limit; /* first address that the CPU or the kernel's map cannot reach; at most 2^63 */
    uint64_t pool_bytes;    /* what the kernel needs for itself besides its image; rounded up to pages */
    uint64_t pool_limit; /* the pool must end at or below this address (early page tables reach no further) */
    unsigned rank_count; /* 1 .. MEMPLAN_RANKS_MAX */
    uint64_t slice_bytes_min; /* a smaller slice is an error */

    /* Optional, both or none. If ranges overlap, the first one counts. */
    const struct numa_range *numa_ranges;
    unsigned numa_range_count;
    const uint32_t
        *rank_domains; /* of each rank: the domain that its memory should come from, or NUMA_DOMAIN_NONE */
};

struct memplan {
    struct memory_range pool;
    uint64_t usable_bytes; /* usable, not reserved, below the limit, above the first megabyte; overlaps
                              counted once */
    struct memory_slice slices[MEMPLAN_RANKS_MAX]; /* the first rank_count of them */
    struct memory_range extents[MEMPLAN_EXTENTS_MAX];
};

/* Makes the plan. Returns 0, -EINVAL for an impossible request, -ENOMEM with `why` naming what is there and
 * what would be needed, or -E2BIG if the map has more separate ranges than the planner's tables hold (640
 * usable, 640 reserved, MEMPLAN_NUMA_RANGES_MAX of domains). *plan is complete only after 0. Any context; no
 * allocation; uses a static work area, so one caller at a time. */
int memplan_make(const struct memplan_input *input, struct memplan *plan, struct message *why);

/* Takes `bytes`, rounded up to pages, from a rank's slice that is not in use yet. Returns their address, or
 * UINT64_MAX if the slice has no extent that is large enough. */
uint64_t memplan_take(struct memplan *plan, unsigned rank, uint64_t bytes);

/* Returns the static work area and its length; after the last plan is made it is free for other uses. */
void *memplan_work_area(uint64_t *bytes);

#endif
