/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_caches.c: the models of caches of tools/caches, by hand and against one that keeps the time of each
 * line's last use.
 */
#include "cache.h"
#include "check.h"

#include <string.h>

#define LINES 4096

static uint64_t seed = 5;

/* Makes caches with two ways and two sets of 16 bytes; the second level has four ways and one set. */
static struct caches small(void)
{
    struct caches caches;
    const char *wrong = NULL;

    CHECK(caches_make(&caches, "small:64/2/16:64/2/16:64/4/16", &wrong));
    CHECK(!strcmp(caches.name, "small"));
    return caches;
}

/* Misses of the first and of the second level of one access of data. */
static uint64_t touch(struct caches *caches, uint64_t begin, uint64_t end)
{
    uint64_t misses[CACHE_LEVELS] = { 0 };

    caches_access(caches, CACHE_DATA, begin, end, misses);
    CHECK(!misses[CACHE_CODE]);
    return misses[CACHE_DATA] * 10 + misses[CACHE_SECOND];
}

TEST(the_line_used_least_recently_goes)
{
    struct caches caches = small();

    CHECK(touch(&caches, 0, 1) == 11);
    CHECK(touch(&caches, 15, 16) == 0); /* the same line */
    CHECK(touch(&caches, 32, 33) == 11);
    CHECK(touch(&caches, 0, 8) == 0);
    CHECK(touch(&caches, 64, 65) == 11); /* the third of this set: 32 goes */
    CHECK(touch(&caches, 0, 8) == 0);
    CHECK(touch(&caches, 32, 40) == 10); /* and is still in the second level */
    CHECK(touch(&caches, 16, 17) == 11); /* the other set */
    CHECK(touch(&caches, 0, 1) == 0);
    caches_release(&caches);
}

TEST(an_access_touches_each_line_that_it_has_a_byte_in)
{
    struct caches caches = small();

    CHECK(touch(&caches, 15, 17) == 22);
    CHECK(touch(&caches, 0, 32) == 0);
    CHECK(touch(&caches, 40, 40) == 0); /* no bytes */
    CHECK(touch(&caches, 32, 48) == 11);
    caches_release(&caches);
}

TEST(code_and_data_share_the_second_level_only)
{
    struct caches caches = small();
    uint64_t misses[CACHE_LEVELS] = { 0 };

    CHECK(touch(&caches, 0, 1) == 11);
    caches_access(&caches, CACHE_CODE, 0, 1, misses);
    CHECK(misses[CACHE_CODE] == 1 && !misses[CACHE_DATA] && !misses[CACHE_SECOND]);
    caches_release(&caches);
}

/* Returns whether the line is among the last `ways` used lines of its set; `used` has the times of use. */
static bool is_recent(const uint64_t *used, uint64_t line, uint64_t sets, unsigned ways)
{
    unsigned later = 0;

    for (uint64_t other = line % sets; other < LINES; other += sets)
        later += used[other] > used[line];
    return used[line] && later < ways;
}

TEST(random_accesses_miss_where_times_of_use_say_so)
{
    static uint64_t used[LINES], used_second[LINES];
    struct caches caches;
    const char *wrong = NULL;

    CHECK(caches_make(&caches, "M3:16384/8/64:8192/4/64:65536/8/64", &wrong));
    for (uint64_t now = 1; now <= 60000; now++) {
        /* Most accesses fall into few lines, so that some of them hit. */
        const uint64_t below = check_random(&seed) % 4 ? 200 : LINES;
        const uint64_t line = check_random(&seed) % below;
        const bool hit = is_recent(used, line, 32, 4);
        const bool hit_second = is_recent(used_second, line, 128, 8);

        CHECK(touch(&caches, line * 64, line * 64 + 8) == (hit ? 0U : hit_second ? 10U : 11U));
        used[line] = now;
        used_second[line] = hit ? used_second[line] : now;
    }
    caches_release(&caches);
}

TEST(what_is_no_cache_is_refused_with_the_reason)
{
    static const char *const texts[] = {
        "",
        "M1",
        ":64/2/16:64/2/16:64/4/16",
        "a-name-of-sixteen:64/2/16:64/2/16:64/4/16",
        "M1:64/2/16:64/2/16",
        "M1:64/2/16:64/2/16:64/4/16:64/4/16",
        "M1:64/2/16:64/2/16:64/4/",
        "M1:64/0/16:64/2/16:64/4/16",
        "M1:96/2/16:64/2/16:64/4/16",
        "M1:64/2/24:64/2/16:64/4/16",
        "M1:2048/128/16:64/2/16:64/4/16",
        "M1:64/2/16:64/2/32:64/4/16",
        "M1:-64/2/16:64/2/16:64/4/16",
        "M1:99999999999999999999/2/16:64/2/16:64/4/16",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct caches caches;
        const char *wrong = NULL;

        CHECK(!caches_make(&caches, texts[i], &wrong));
        CHECK(wrong);
    }
}

int main(void)
{
    RUN(the_line_used_least_recently_goes);
    RUN(an_access_touches_each_line_that_it_has_a_byte_in);
    RUN(code_and_data_share_the_second_level_only);
    RUN(random_accesses_miss_where_times_of_use_say_so);
    RUN(what_is_no_cache_is_refused_with_the_reason);
    return check_report("caches");
}
