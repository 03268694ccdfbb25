/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_memplan.c: every guarantee of memplan.h, byte-exactly, over thousands of random and hostile maps.
 *
 * The model knows nothing of how the planner works: it cuts the address line at every point where anything
 * begins or ends and checks for each piece, range by range, who claims it.
 */
#include "check.h"
#include "lib/errno.h"
#include "mm/memplan.h"

#define RANGES_MAX 2048
#define POINTS_MAX (4 * RANGES_MAX + 4096)
#define MIB        (1ULL << 20)
#define GIB        (1ULL << 30)

static uint64_t seed = 3;
static struct memory_range usable[RANGES_MAX], reserved[RANGES_MAX];
static struct numa_range numa[MEMPLAN_NUMA_RANGES_MAX + 1];
static uint32_t rank_domains[MEMPLAN_RANKS_MAX];
static struct memplan_input input;
static struct memplan plan;
static struct message why;
static uint64_t points[POINTS_MAX];
static unsigned point_count;

static uint64_t random_below(uint64_t limit)
{
    return limit ? check_random(&seed) % limit : 0;
}

/* ---- the model ---- */

static bool wraps(struct memory_range range)
{
    return range.bytes > UINT64_MAX - range.base;
}

static bool holds(struct memory_range range, uint64_t address)
{
    return address >= range.base && address - range.base < range.bytes;
}

/* Returns whether the byte may be planned at all. */
static bool is_usable(uint64_t address)
{
    bool found = false;

    if (address < MIB || address >= input.address_limit)
        return false;
    for (unsigned i = 0; i < input.reserved_count; i++) {
        if (holds(reserved[i], address))
            return false;
    }
    for (unsigned i = 0; i < input.usable_count && !found; i++)
        found = !wraps(usable[i]) && holds(usable[i], address);
    return found;
}

/* Returns how often the plan hands the byte out. */
static unsigned owners(uint64_t address)
{
    unsigned count = holds(plan.pool, address);

    for (unsigned rank = 0; rank < input.rank_count; rank++) {
        for (unsigned i = 0; i < plan.slices[rank].extent_count; i++)
            count += holds(plan.slices[rank].extents[i], address);
    }
    return count;
}

static void add_point(uint64_t point)
{
    points[point_count++] = point;
}

static void add_range_points(struct memory_range range)
{
    add_point(range.base);
    add_point(wraps(range) ? UINT64_MAX : range.base + range.bytes);
}

static int compare_points(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static void collect_points(void)
{
    point_count = 0;
    add_point(MIB);
    add_point(input.address_limit);
    for (unsigned i = 0; i < input.usable_count; i++)
        add_range_points(usable[i]);
    for (unsigned i = 0; i < input.reserved_count; i++)
        add_range_points(reserved[i]);
    add_range_points(plan.pool);
    for (unsigned rank = 0; rank < input.rank_count && rank < MEMPLAN_RANKS_MAX; rank++) {
        for (unsigned i = 0; i < plan.slices[rank].extent_count; i++)
            add_range_points(plan.slices[rank].extents[i]);
    }
    qsort(points, point_count, sizeof(points[0]), compare_points);
}

struct account {
    uint64_t usable, planned, doubled, stolen;
    uint64_t page_run_bytes; /* whole pages in them */
    uint64_t longest_run;    /* whole pages of the longest one that ends by the pool's limit, cut there */
};

static void close_run(struct account *sum, uint64_t start, uint64_t end)
{
    start = (start + MEMPLAN_PAGE - 1) / MEMPLAN_PAGE * MEMPLAN_PAGE;
    uint64_t low_end = end < input.pool_limit ? end : input.pool_limit;
    end = end / MEMPLAN_PAGE * MEMPLAN_PAGE;
    low_end = low_end / MEMPLAN_PAGE * MEMPLAN_PAGE;
    if (start < end)
        sum->page_run_bytes += end - start;
    if (start < low_end && low_end - start > sum->longest_run)
        sum->longest_run = low_end - start;
}

static struct account take_account(void)
{
    struct account sum = { 0 };
    uint64_t run_start = 0;
    bool in_run = false;

    collect_points();
    for (unsigned i = 0; i < point_count; i++) {
        uint64_t start = points[i], bytes = i + 1 < point_count ? points[i + 1] - start : 0;
        bool free = bytes ? is_usable(start) : i + 1 < point_count && in_run;
        unsigned count = bytes ? owners(start) : 0;

        sum.usable += free ? bytes : 0;
        sum.planned += count ? bytes : 0;
        sum.doubled += count > 1 ? bytes : 0;
        sum.stolen += count && !free ? bytes : 0;
        if (free && !in_run)
            run_start = start;
        if (!free && in_run)
            close_run(&sum, run_start, start);
        in_run = free;
    }
    return sum;
}

/* ---- the guarantees ---- */

static bool is_page_range(struct memory_range range)
{
    return range.bytes > 0 && range.base % MEMPLAN_PAGE == 0 && range.bytes % MEMPLAN_PAGE == 0;
}

static void check_slice(const struct memory_slice *slice)
{
    uint64_t sum = 0;

    CHECK(slice->extent_count > 0);
    for (unsigned i = 0; i < slice->extent_count; i++) {
        const struct memory_range *extent = &slice->extents[i];

        CHECK(is_page_range(*extent));
        CHECK(i == 0 || extent[-1].base + extent[-1].bytes < extent->base);
        sum += extent->bytes;
    }
    CHECK(sum == slice->bytes);
    CHECK(slice->bytes >= input.slice_bytes_min);
}

/* Slices that adjoin do so on a large page's boundary. */
static void check_border(const struct memory_range *extent, unsigned owner)
{
    uint64_t end = extent->base + extent->bytes;

    for (unsigned rank = 0; rank < input.rank_count && end % MEMPLAN_LARGE_PAGE; rank++) {
        for (unsigned i = 0; i < plan.slices[rank].extent_count; i++)
            CHECK(rank == owner || plan.slices[rank].extents[i].base != end);
    }
}

static void check_cuts(void)
{
    for (unsigned a = 0; a < input.rank_count; a++) {
        const struct memory_slice *slice = &plan.slices[a];

        for (unsigned i = 0; i < slice->extent_count; i++)
            check_border(&slice->extents[i], a);
        if (a > 0 && input.numa_range_count == 0) {
            const struct memory_slice *before = &plan.slices[a - 1];
            const struct memory_range *last = &before->extents[before->extent_count - 1];

            CHECK(last->base + last->bytes <= slice->extents[0].base);
        }
    }
}

static void check_plan(void)
{
    uint64_t least = UINT64_MAX, most = 0, slices = 0;
    unsigned extents = 0;

    CHECK(is_page_range(plan.pool));
    CHECK(plan.pool.bytes >= input.pool_bytes && plan.pool.bytes - input.pool_bytes < MEMPLAN_PAGE);
    CHECK(plan.pool.base + plan.pool.bytes <= input.pool_limit);
    for (unsigned rank = 0; rank < input.rank_count; rank++) {
        const struct memory_slice *slice = &plan.slices[rank];

        check_slice(slice);
        least = slice->bytes < least ? slice->bytes : least;
        most = slice->bytes > most ? slice->bytes : most;
        slices += slice->bytes;
        extents += slice->extent_count;
    }
    CHECK(most - least <= MEMPLAN_LARGE_PAGE);
    check_cuts();
    CHECK(extents <= MEMPLAN_EXTENTS_MAX);

    struct account sum = take_account();
    CHECK(sum.usable == plan.usable_bytes);
    CHECK(sum.planned == plan.pool.bytes + slices);
    CHECK(sum.doubled == 0);
    CHECK(sum.stolen == 0);
    CHECK(sum.planned == sum.page_run_bytes); /* nothing but parts of pages is lost */
}

/* Checks that a refusal is true: there is no room for the pool, or for slices of that size. */
static void check_refusal(void)
{
    memset(&plan, 0, sizeof(plan));
    struct account sum = take_account();
    uint64_t pool = (input.pool_bytes + MEMPLAN_PAGE - 1) / MEMPLAN_PAGE * MEMPLAN_PAGE;
    uint64_t least = input.slice_bytes_min ? input.slice_bytes_min : 1;

    CHECK(why.text[0] != '\0');
    if (sum.longest_run < pool)
        return;
    uint64_t average = (sum.page_run_bytes - pool) / input.rank_count;
    CHECK(average < least || average - least < MEMPLAN_LARGE_PAGE);
}

static int make_plan(void)
{
    why.text[0] = '\0';
    input.usable = usable;
    input.reserved = reserved;
    int error = memplan_make(&input, &plan, &why);

    if (error == 0)
        check_plan();
    else if (error == -ENOMEM)
        check_refusal();
    else
        CHECK(why.text[0] != '\0');
    return error;
}

/* ---- maps ---- */

static void begin(uint64_t pool_bytes, unsigned rank_count)
{
    input = (struct memplan_input){
        .address_limit = 1ULL << 46,
        .pool_bytes = pool_bytes,
        .pool_limit = 4 * GIB,
        .rank_count = rank_count,
        .slice_bytes_min = MIB,
    };
}

static void add_usable(uint64_t base, uint64_t bytes)
{
    usable[input.usable_count++] = (struct memory_range){ base, bytes };
}

static void add_reserved(uint64_t base, uint64_t bytes)
{
    reserved[input.reserved_count++] = (struct memory_range){ base, bytes };
}

static void begin_pc(uint64_t low_mib, uint64_t high_mib, unsigned rank_count)
{
    begin(4 * MIB, rank_count);
    add_usable(0, 0x9fc00);
    add_reserved(0x9fc00, 0x400);
    add_reserved(0xf0000, 0x10000);
    add_usable(MIB, low_mib * MIB - MIB - 0x20000);
    add_reserved(low_mib * MIB - 0x20000, 0x20000);
    add_reserved(0xfffc0000, 0x40000);
    if (high_mib)
        add_usable(4 * GIB, high_mib * MIB);
    add_reserved(2 * MIB, 1200000); /* the kernel */
}

/* Returns an address or a length, often at a boundary. */
static uint64_t random_bytes(uint64_t scale)
{
    switch (random_below(8)) {
    case 0:
        return 0;
    case 1:
        return random_below(8192);
    case 2:
        return random_below(scale / MEMPLAN_PAGE + 1) * MEMPLAN_PAGE;
    case 3:
        return random_below(scale / MEMPLAN_LARGE_PAGE + 1) * MEMPLAN_LARGE_PAGE;
    case 4:
        return random_below(64) == 0 ? UINT64_MAX - random_below(3 * MIB) : random_below(scale);
    default:
        return random_below(scale);
    }
}

static void random_map(void)
{
    uint64_t scale = (4 * MIB) << random_below(16);
    unsigned usable_target = 1 + (unsigned)random_below(random_below(4) ? 6 : 40);
    unsigned reserved_target = (unsigned)random_below(random_below(4) ? 6 : 40);
    static const unsigned ranks[] = { 1, 1, 2, 3, 4, 7, 8, 16, 33, 64 };

    begin(1 + random_below(scale / 8),
          random_below(50) ? ranks[random_below(10)] : 1 + (unsigned)random_below(64));
    input.address_limit = random_below(3) ? 1ULL << 46 : random_bytes(2 * scale) & ((1ULL << 63) - 1);
    input.pool_limit = random_below(3) ? 4 * GIB : random_bytes(2 * scale);
    input.slice_bytes_min = random_below(2) ? 0 : random_bytes(scale / 4);
    for (unsigned i = 0; i < usable_target; i++)
        add_usable(random_bytes(scale), random_bytes(random_below(2) ? scale : scale / 16 + 1));
    for (unsigned i = 0; i < reserved_target; i++)
        add_reserved(random_bytes(scale), random_bytes(random_below(4) ? scale / 64 + 1 : scale / 4));
}

/* ---- tests ---- */

TEST(random_and_hostile_maps_keep_every_guarantee)
{
    unsigned planned = 0, refused = 0;

    for (int round = 0; round < 40000; round++) {
        random_map();
        int error = make_plan();

        CHECK(error == 0 || error == -ENOMEM);
        planned += error == 0;
        refused += error == -ENOMEM;
        if (check_state.failures) {
            fprintf(stderr, "    round %d: %u usable, %u reserved, %u ranks\n", round, input.usable_count,
                    input.reserved_count, input.rank_count);
            return;
        }
    }
    CHECK(planned > 10000);
    CHECK(refused > 1000);
}

TEST(fragmented_maps_keep_every_guarantee)
{
    for (int round = 0; round < 150; round++) {
        unsigned count = 20 + (unsigned)random_below(600);
        uint64_t at = random_below(MIB), biggest = 4096ULL << random_below(12);

        begin(4096 + random_below(MIB), 1 + (unsigned)random_below(64));
        input.slice_bytes_min = 0;
        add_usable(64 * GIB, 64 * MIB);
        for (unsigned i = 0; i < count; i++) {
            uint64_t bytes = 1 + random_below(2 * biggest);

            add_usable(at, bytes);
            at += bytes + 1 + random_below(biggest);
        }
        int error = make_plan();
        CHECK(error == 0 || error == -ENOMEM);
    }
}

TEST(thousands_of_separate_ranges_are_too_many)
{
    begin(MIB, 1);
    for (unsigned i = 0; i < RANGES_MAX; i++)
        add_usable(2 * MIB + i * 3 * MEMPLAN_PAGE, 2 * MEMPLAN_PAGE);
    CHECK_EQUAL(make_plan(), -E2BIG);
    begin(MIB, 1);
    add_usable(2 * MIB, GIB);
    for (unsigned i = 0; i < RANGES_MAX; i++)
        add_reserved(2 * MIB + i * 3 * MEMPLAN_PAGE, 2 * MEMPLAN_PAGE);
    CHECK_EQUAL(make_plan(), -E2BIG);
}

TEST(thousands_of_ranges_that_touch_are_one)
{
    begin(MIB, 2);
    for (unsigned i = RANGES_MAX; i-- > 0;)
        add_usable(2 * MIB + i * 1024, 1024 + i % 3 * 512);
    CHECK_EQUAL(make_plan(), -ENOMEM); /* one megabyte is left for two slices of one */
    CHECK_CONTAINS(why.text, "1024 KiB for 2 ranks");
    input.rank_count = 1;
    CHECK_EQUAL(make_plan(), 0);
    CHECK_EQUAL(plan.slices[0].extent_count, 1);
}

TEST(full_tables_of_both_kinds_are_planned)
{
    begin(4096, 1);
    input.slice_bytes_min = 0;
    for (unsigned i = 0; i < 640; i++) {
        add_usable(2 * MIB + i * 4 * MIB, 3 * MIB);
        add_reserved(2 * MIB + i * 4 * MIB + MIB, 4096);
    }
    CHECK_EQUAL(make_plan(), 0);
    CHECK_EQUAL(plan.slices[0].extent_count, 2 * 640);
}

TEST(eight_gibibytes_as_three_and_five_make_equal_slices)
{
    for (unsigned ranks = 1; ranks <= MEMPLAN_RANKS_MAX; ranks++) {
        begin_pc(3072, 5120, ranks);
        CHECK_EQUAL(make_plan(), 0);
        CHECK(plan.slices[0].bytes > 8100 * MIB / ranks - 2 * MIB);
    }
}

TEST(sixty_four_mebibytes_serve_many_ranks)
{
    for (unsigned ranks = 1; ranks <= MEMPLAN_RANKS_MAX; ranks++) {
        begin_pc(64, 0, ranks);
        int error = make_plan();

        CHECK(ranks > 20 ? error == 0 || error == -ENOMEM : error == 0);
    }
}

TEST(tiny_memory_is_refused_with_numbers)
{
    begin(4 * MIB, 1);
    add_usable(MIB, 3 * MIB);
    CHECK_EQUAL(make_plan(), -ENOMEM);
    CHECK_CONTAINS(why.text, "4096 KiB");
    begin(2 * MIB, 4);
    add_usable(MIB, 4 * MIB);
    CHECK_EQUAL(make_plan(), -ENOMEM);
    CHECK_CONTAINS(why.text, "4 ranks");
    CHECK_CONTAINS(why.text, "1024 KiB are needed");
    begin(4096, 1);
    CHECK_EQUAL(make_plan(), -ENOMEM);
}

TEST(impossible_requests_are_refused)
{
    begin_pc(64, 0, 0);
    CHECK_EQUAL(make_plan(), -EINVAL);
    begin_pc(64, 0, MEMPLAN_RANKS_MAX + 1);
    CHECK_EQUAL(make_plan(), -EINVAL);
    begin_pc(64, 0, 1);
    input.pool_bytes = 0;
    CHECK_EQUAL(make_plan(), -EINVAL);
    begin_pc(64, 0, 1);
    input.address_limit = UINT64_MAX;
    CHECK_EQUAL(make_plan(), -EINVAL);
    begin_pc(64, 0, 1);
    input.pool_bytes = 1ULL << 63;
    CHECK_EQUAL(make_plan(), -ENOMEM);
}

TEST(ram_whose_end_wraps_is_not_used)
{
    begin(MIB, 1);
    add_usable(16 * MIB, UINT64_MAX);
    add_usable(32 * MIB, 16 * MIB);
    CHECK_EQUAL(make_plan(), 0);
    CHECK_EQUAL(plan.usable_bytes, 16 * MIB);
}

TEST(reservation_whose_end_wraps_reaches_to_the_end)
{
    begin(MIB, 1);
    add_usable(16 * MIB, 64 * MIB);
    add_reserved(32 * MIB, UINT64_MAX);
    CHECK_EQUAL(make_plan(), 0);
    CHECK_EQUAL(plan.usable_bytes, 16 * MIB);
}

TEST(pool_takes_the_tightest_range_below_its_limit)
{
    begin(MIB, 1);
    add_usable(16 * MIB, 64 * MIB);
    add_usable(128 * MIB, MIB + MEMPLAN_PAGE);
    add_usable(256 * MIB, MIB);
    input.pool_limit = 256 * MIB;
    CHECK_EQUAL(make_plan(), 0);
    CHECK_EQUAL(plan.pool.base, 128 * MIB);
    CHECK_EQUAL(plan.slices[0].extent_count, 3);
}

TEST(pool_ends_exactly_at_its_limit_or_goes_elsewhere)
{
    begin(MIB, 1);
    add_usable(16 * MIB, 64 * MIB);
    input.pool_limit = 17 * MIB;
    CHECK_EQUAL(make_plan(), 0);
    input.pool_limit = 17 * MIB - 1;
    CHECK_EQUAL(make_plan(), -ENOMEM);
    CHECK_CONTAINS(why.text, "0x10fffff");
}

/* Places where the memory of all slices together may be cut, as offsets into it; the last one is its end. */
static unsigned allowed_cuts(uint64_t *cuts)
{
    uint64_t before = 0, previous_end = 0;
    unsigned count = 0;

    for (unsigned rank = 0; rank < input.rank_count; rank++) {
        for (unsigned i = 0; i < plan.slices[rank].extent_count; i++) {
            struct memory_range extent = plan.slices[rank].extents[i];

            for (uint64_t at = 0; at < extent.bytes; at += MEMPLAN_PAGE) {
                if ((at == 0 && extent.base != previous_end) || (extent.base + at) % MEMPLAN_LARGE_PAGE == 0)
                    cuts[count++] = before + at;
            }
            before += extent.bytes;
            previous_end = extent.base + extent.bytes;
        }
    }
    cuts[count] = before;
    return count;
}

static uint64_t smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Returns the largest smallest slice of all ways to cut for two or three ranks. */
static uint64_t best_by_trying(const uint64_t *cuts, unsigned count)
{
    uint64_t best = 0, total = cuts[count];

    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = input.rank_count == 2 ? count : i; j <= count; j++) {
            uint64_t last = input.rank_count == 2 ? total : total - cuts[j];
            uint64_t found = smaller(smaller(cuts[i], cuts[j] - cuts[i]), last);

            best = found > best ? found : best;
        }
    }
    return best;
}

TEST(no_other_cut_makes_a_larger_smallest_slice)
{
    static uint64_t cuts[65536];
    unsigned tried = 0;

    for (int round = 0; round < 6000; round++) {
        uint64_t least = UINT64_MAX;

        random_map();
        input.rank_count = 2 + (unsigned)round % 2;
        if (make_plan() != 0 || plan.usable_bytes > 128 * MIB)
            continue;
        unsigned count = allowed_cuts(cuts);
        for (unsigned rank = 0; rank < input.rank_count; rank++)
            least = smaller(least, plan.slices[rank].bytes);
        CHECK_EQUAL(least, best_by_trying(cuts, count));
        tried++;
    }
    CHECK(tried > 500);
}

/* ---- domains ---- */

static void add_domain(uint64_t base, uint64_t bytes, uint32_t domain)
{
    numa[input.numa_range_count++] = (struct numa_range){ { base, bytes }, domain };
    input.numa_ranges = numa;
    input.rank_domains = rank_domains;
}

static uint32_t model_domain(uint64_t address)
{
    uint64_t start = address / MEMPLAN_LARGE_PAGE * MEMPLAN_LARGE_PAGE;

    for (unsigned i = 0; i < input.numa_range_count; i++) {
        if (holds(numa[i].range, start))
            return numa[i].domain;
    }
    return NUMA_DOMAIN_NONE;
}

/* Returns the bytes of a domain that the rank has, or all ranks together if rank == rank_count. */
static uint64_t bytes_of_domain(unsigned rank, uint32_t domain)
{
    uint64_t sum = 0, end;

    if (rank == input.rank_count) {
        for (unsigned i = 0; i < rank; i++)
            sum += bytes_of_domain(i, domain);
        return sum;
    }
    for (unsigned i = 0; i < plan.slices[rank].extent_count; i++) {
        const struct memory_range *extent = &plan.slices[rank].extents[i];

        for (uint64_t at = extent->base; at < extent->base + extent->bytes; at = end) {
            end = (at / MEMPLAN_LARGE_PAGE + 1) * MEMPLAN_LARGE_PAGE;
            end = smaller(end, extent->base + extent->bytes);
            sum += model_domain(at) == domain ? end - at : 0;
        }
    }
    return sum;
}

static void check_locality(void)
{
    uint64_t total = 0;

    for (unsigned rank = 0; rank < input.rank_count; rank++)
        total += plan.slices[rank].bytes;
    for (unsigned rank = 0; rank < input.rank_count; rank++) {
        uint64_t ranks = 0, own = bytes_of_domain(rank, rank_domains[rank]);

        if (rank_domains[rank] == NUMA_DOMAIN_NONE)
            continue;
        for (unsigned other = 0; other < input.rank_count; other++)
            ranks += rank_domains[other] == rank_domains[rank];
        uint64_t share = bytes_of_domain(input.rank_count, rank_domains[rank]) / ranks;
        CHECK(own + MEMPLAN_LARGE_PAGE + MEMPLAN_PAGE > smaller(share, total / input.rank_count));
    }
}

static void random_domains(void)
{
    unsigned count = 1 + (unsigned)random_below(random_below(8) ? 7 : 60),
             domains = 1 + (unsigned)random_below(5);
    uint64_t scale = 4 * MIB << random_below(11);

    for (unsigned i = 0; i < count; i++)
        add_domain(random_bytes(scale), random_bytes(scale), (uint32_t)random_below(domains));
    for (unsigned rank = 0; rank < MEMPLAN_RANKS_MAX; rank++)
        rank_domains[rank] = random_below(12) ? (uint32_t)random_below(domains + 1) : NUMA_DOMAIN_NONE;
}

TEST(random_and_hostile_nodes_keep_every_guarantee)
{
    unsigned planned = 0;

    for (int round = 0; round < 20000; round++) {
        random_map();
        random_domains();
        int error = make_plan();

        CHECK(error == 0 || error == -ENOMEM);
        if (error)
            continue;
        planned++;
        if (plan.usable_bytes < 4 * GIB)
            check_locality();
        if (check_state.failures) {
            fprintf(stderr, "    round %d: %u usable, %u reserved, %u domains' ranges, %u ranks\n", round,
                    input.usable_count, input.reserved_count, input.numa_range_count, input.rank_count);
            return;
        }
    }
    CHECK(planned > 5000);
}

/* Begins with two sockets: the first one's memory has the hole below 4 GiB, the kernel and the pool. */
static void begin_two_domains(uint64_t first_gib, uint64_t second_gib, unsigned ranks_each)
{
    begin_pc(3072, (first_gib - 3 + second_gib) * 1024, 2 * ranks_each);
    add_domain(0, 640 << 10, 0);
    add_domain(MIB, 3 * GIB - MIB, 0);
    add_domain(4 * GIB, (first_gib - 3) * GIB, 0);
    add_domain((first_gib + 1) * GIB, second_gib * GIB, 1);
    for (unsigned rank = 0; rank < 2 * ranks_each; rank++)
        rank_domains[rank] = rank % 2; /* as CPUs are often numbered */
}

TEST(as_many_extents_as_holes_and_domains_make_are_planned)
{
    begin(4096, 128);
    input.slice_bytes_min = 0;
    for (unsigned i = 0; i < 640; i++) {
        add_usable(2 * MIB + i * 16 * MIB, 15 * MIB);
        add_reserved(2 * MIB + i * 16 * MIB + MIB, 4096);
    }
    for (unsigned i = 0; i < MEMPLAN_NUMA_RANGES_MAX; i++)
        add_domain(i * 40 * MIB, 20 * MIB, i % 3);
    for (unsigned rank = 0; rank < MEMPLAN_RANKS_MAX; rank++)
        rank_domains[rank] = rank * rank % 5;
    CHECK_EQUAL(make_plan(), 0);
    check_locality();
}

TEST(ranks_of_two_equal_nodes_have_memory_of_their_own)
{
    for (unsigned each = 1; each <= 32; each++) {
        begin_two_domains(4, 4, each);
        CHECK_EQUAL(make_plan(), 0);
        for (unsigned rank = 0; rank < 2 * each; rank++) {
            uint64_t foreign = plan.slices[rank].bytes - bytes_of_domain(rank, rank % 2);

            /* what domain 0 lacks for the kernel is shared by its ranks */
            CHECK(foreign <= 8 * MIB / each + 2 * MEMPLAN_LARGE_PAGE);
        }
    }
}

TEST(what_one_domain_lacks_comes_from_the_other)
{
    begin_two_domains(12, 4, 2);
    CHECK_EQUAL(make_plan(), 0);
    for (unsigned rank = 0; rank < 4; rank++) {
        uint64_t own = bytes_of_domain(rank, rank % 2);

        CHECK(plan.slices[rank].bytes > 4 * GIB - 16 * MIB);
        CHECK(own + 2 * MEMPLAN_LARGE_PAGE > (rank % 2 ? 2 * GIB : 4 * GIB - 8 * MIB));
    }
    CHECK_EQUAL(bytes_of_domain(1, 1) + bytes_of_domain(3, 1), 4 * GIB);
}

TEST(nodes_that_do_not_differ_change_nothing)
{
    static struct memplan without;

    for (int round = 0; round < 3000; round++) {
        random_map();
        int error = make_plan();
        without = plan;
        if (round % 3 == 0) {
            random_domains();
            input.rank_domains = NULL;
        } else if (round % 3 == 1) {
            add_domain(0, 1ULL << 63, 7);
            for (unsigned rank = 0; rank < MEMPLAN_RANKS_MAX; rank++)
                rank_domains[rank] = (uint32_t)random_below(9);
        } else {
            input.rank_domains = rank_domains;
        }
        input.usable = usable;
        CHECK_EQUAL(memplan_make(&input, &plan, &why), error);
        CHECK(error || memcmp(&without, &plan, sizeof(plan)) == 0);
    }
}

TEST(too_many_ranges_of_nodes_are_refused)
{
    begin_pc(3072, 1024, 2);
    for (unsigned i = 0; i < MEMPLAN_NUMA_RANGES_MAX; i++)
        add_domain(i * 4 * MIB, 4 * MIB, i % 2);
    CHECK_EQUAL(make_plan(), 0);
    add_domain(0, 0, 0);
    CHECK_EQUAL(make_plan(), -E2BIG);
}

TEST(pool_stands_at_the_same_place_for_any_ranks_and_domains)
{
    unsigned compared = 0;

    for (int round = 0; round < 3000; round++) {
        random_map();
        input.rank_count = 1;
        input.slice_bytes_min = 0;
        if (make_plan() != 0)
            continue;
        struct memory_range pool = plan.pool;
        input.rank_count = 1 + (unsigned)random_below(MEMPLAN_RANKS_MAX);
        input.slice_bytes_min = random_below(MIB);
        if (random_below(2))
            random_domains();
        if (make_plan() != 0)
            continue;
        CHECK(plan.pool.base == pool.base && plan.pool.bytes == pool.bytes);
        compared++;
    }
    CHECK(compared > 500);
}

TEST(same_map_in_any_order_makes_the_same_plan)
{
    for (int round = 0; round < 300; round++) {
        static struct memplan first;

        random_map();
        int error = make_plan();
        first = plan;
        for (unsigned i = input.usable_count; i-- > 1;) {
            unsigned j = (unsigned)random_below(i + 1);
            struct memory_range swapped = usable[i];

            usable[i] = usable[j];
            usable[j] = swapped;
        }
        CHECK_EQUAL(make_plan(), error);
        CHECK(error || memcmp(&first, &plan, sizeof(plan)) == 0);
    }
}

int main(void)
{
    RUN(random_and_hostile_maps_keep_every_guarantee);
    RUN(fragmented_maps_keep_every_guarantee);
    RUN(thousands_of_separate_ranges_are_too_many);
    RUN(thousands_of_ranges_that_touch_are_one);
    RUN(full_tables_of_both_kinds_are_planned);
    RUN(eight_gibibytes_as_three_and_five_make_equal_slices);
    RUN(sixty_four_mebibytes_serve_many_ranks);
    RUN(tiny_memory_is_refused_with_numbers);
    RUN(impossible_requests_are_refused);
    RUN(ram_whose_end_wraps_is_not_used);
    RUN(reservation_whose_end_wraps_reaches_to_the_end);
    RUN(pool_takes_the_tightest_range_below_its_limit);
    RUN(pool_ends_exactly_at_its_limit_or_goes_elsewhere);
    RUN(no_other_cut_makes_a_larger_smallest_slice);
    RUN(random_and_hostile_nodes_keep_every_guarantee);
    RUN(as_many_extents_as_holes_and_domains_make_are_planned);
    RUN(ranks_of_two_equal_nodes_have_memory_of_their_own);
    RUN(what_one_domain_lacks_comes_from_the_other);
    RUN(nodes_that_do_not_differ_change_nothing);
    RUN(too_many_ranges_of_nodes_are_refused);
    RUN(pool_stands_at_the_same_place_for_any_ranks_and_domains);
    RUN(same_map_in_any_order_makes_the_same_plan);
    return check_report("memplan");
}
