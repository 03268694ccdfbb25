/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.c: see cache.h.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

/* Reads a number that ends at `end`, and steps over it. Returns 0 if there is none or it is too large. */
static uint64_t number_read(const char **text, char end)
{
    uint64_t value = 0;

    while (**text >= '0' && **text <= '9' && value < UINT64_C(1) << 32)
        value = value * 10 + (uint64_t)(*(*text)++ - '0');
    if (**text != end)
        return 0;
    *text += end != '\0';
    return value;
}

static bool is_power_of_two(uint64_t value)
{
    return value && !(value & (value - 1));
}

/* Reads BYTES/WAYS/LINE. */
static bool cache_read(struct cache *cache, const char **text, char end, const char **wrong)
{
    const uint64_t bytes = number_read(text, '/'), ways = bytes ? number_read(text, '/') : 0;
    const uint64_t line = ways ? number_read(text, end) : 0;

    if (!line) {
        *wrong = "a cache is BYTES/WAYS/LINE, three numbers above 0";
        return false;
    }
    if (ways > CACHE_WAYS_MAX || !is_power_of_two(line) || bytes % (ways * line) ||
        !is_power_of_two(bytes / (ways * line))) {
        *wrong = "a cache has at most 64 ways, and lines and sets in powers of two";
        return false;
    }
    cache->ways = (unsigned)ways;
    cache->line_shift = (unsigned)__builtin_ctzll(line);
    cache->sets = bytes / (ways * line);
    cache->lines = calloc(cache->sets * ways, sizeof *cache->lines);
    if (!cache->lines)
        *wrong = "out of memory";
    return cache->lines;
}

bool caches_make(struct caches *caches, const char *text, const char **wrong)
{
    const size_t length = strcspn(text, ":");

    *caches = (struct caches){ 0 };
    if (!length || length >= sizeof caches->name || text[length] != ':') {
        *wrong = "it must begin with a name of at most 15 characters and a colon";
        return false;
    }
    memcpy(caches->name, text, length);
    text += length + 1;
    for (int level = 0; level < CACHE_LEVELS; level++) {
        if (!cache_read(&caches->levels[level], &text, level == CACHE_SECOND ? '\0' : ':', wrong))
            goto fail;
        if (caches->levels[level].line_shift != caches->levels[0].line_shift) {
            *wrong = "the lines of all three caches must have the same length";
            goto fail;
        }
    }
    return true;
fail:
    caches_release(caches);
    return false;
}

void caches_release(struct caches *caches)
{
    for (int level = 0; level < CACHE_LEVELS; level++)
        free(caches->levels[level].lines);
    *caches = (struct caches){ 0 };
}

/* Returns whether the cache had the line. If not, the line replaces the least recently used one of its set.
 * In either case it becomes the most recently used one. */
static bool line_touch(struct cache *cache, uint64_t line)
{
    uint64_t *set = cache->lines + (line & (cache->sets - 1)) * cache->ways;
    const uint64_t searched = line + 1;
    uint64_t moved = set[0];
    unsigned way = 0;

    if (moved == searched)
        return true;
    while (++way < cache->ways) {
        const uint64_t here = set[way];

        set[way] = moved;
        moved = here;
        if (moved == searched)
            break;
    }
    set[0] = searched;
    return moved == searched;
}

void caches_access(struct caches *caches, enum cache_level level, uint64_t begin, uint64_t end,
                   uint64_t misses[CACHE_LEVELS])
{
    struct cache *first = &caches->levels[level], *second = &caches->levels[CACHE_SECOND];

    if (begin >= end)
        return;
    for (uint64_t line = begin >> first->line_shift; line <= (end - 1) >> first->line_shift; line++) {
        if (line_touch(first, line))
            continue;
        misses[level]++;
        misses[CACHE_SECOND] += !line_touch(second, line);
    }
}
