/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.h: what memory costs from mmap over the first touch of every page to munmap.
 */
#ifndef COST_MAP_H
#define COST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smallest ticks, of `times` times, to map `bytes` of anonymous memory, to write a word of each of its pages,
 * and to unmap it. False where there is not so much memory. */
bool map_measure(size_t bytes, unsigned times, uint64_t *ticks);

#endif
