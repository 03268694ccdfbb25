/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h: a model of a processor's caches: which accesses miss. Two caches of the first level, for code and
 * for data, above one of the second. Each set replaces the line that was used least recently, a write brings
 * its line in as a read does, and nothing is fetched ahead. What an access costs is not modelled.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define CACHE_WAYS_MAX 64

/* One cache. `lines` holds for each set its lines (address >> line_shift, plus one; 0: empty), the most
 * recently used first. */
struct cache {
    uint64_t *lines;
    uint64_t sets;
    unsigned ways, line_shift;
};

/* The levels in which counts are kept. */
enum cache_level { CACHE_CODE, CACHE_DATA, CACHE_SECOND, CACHE_LEVELS };

struct caches {
    char name[16];
    struct cache levels[CACHE_LEVELS];
};

/*
 * Reads "NAME:CODE:DATA:SECOND", each cache as BYTES/WAYS/LINE, as in "M1:16384/4/32:16384/4/32:262144/8/32",
 * and makes empty caches. Numbers of sets and lengths of lines are powers of two, at most CACHE_WAYS_MAX
 * ways; all three have lines of one length. False, with the reason in *wrong, if it is not so; nothing is to
 * be released then.
 */
bool caches_make(struct caches *caches, const char *text, const char **wrong);
void caches_release(struct caches *caches);

/* Accesses the bytes from `begin` up to `end`, through `level` (code or data), and adds to `misses` what
 * missed there and in the second level. Nothing if there are no bytes. */
void caches_access(struct caches *caches, enum cache_level level, uint64_t begin, uint64_t end,
                   uint64_t misses[CACHE_LEVELS]);

#endif /* CACHE_H */
