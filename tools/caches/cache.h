/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h: a model of a processor's caches that tells which accesses miss: two first-level caches, for code
 * and data, and one of the second level. Each set replaces its least recently used line; a write loads its
 * line like a read; there is no prefetching. Costs of accesses are not modelled.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define CACHE_WAYS_MAX 64

/* One cache. `lines` has the lines of each set, most recently used first: (address >> line_shift) + 1, or 0
 * if empty. */
struct cache {
    uint64_t *lines;
    uint64_t sets;
    unsigned ways, line_shift;
};

/* The caches for which misses are counted. */
enum cache_level { CACHE_CODE, CACHE_DATA, CACHE_SECOND, CACHE_LEVELS };

struct caches {
    char name[16];
    struct cache levels[CACHE_LEVELS];
};

/*
 * Reads "NAME:CODE:DATA:SECOND", each cache as BYTES/WAYS/LINE, as in "M1:16384/4/32:16384/4/32:262144/8/32",
 * and makes empty caches. Numbers of sets and lengths of lines must be powers of two; there are at most
 * CACHE_WAYS_MAX ways; all lines have the same length. Otherwise returns false, with the reason in *wrong;
 * the caller then has nothing to release.
 */
bool caches_make(struct caches *caches, const char *text, const char **wrong);
void caches_release(struct caches *caches);

/* Accesses the bytes from `begin` up to but excluding `end` through `level` (code or data). Adds the misses
 * there and in the second level to `misses`. Does nothing if there are no bytes. */
void caches_access(struct caches *caches, enum cache_level level, uint64_t begin, uint64_t end,
                   uint64_t misses[CACHE_LEVELS]);

#endif /* CACHE_H */
