/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.h: the cost of memory, from mmap and the first touch of every page to munmap.
 */
#ifndef COST_MAP_H
#define COST_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps `bytes` of anonymous memory, writes a word of each of its pages, and unmaps it, `times` times; *ticks
 * is the smallest duration. Returns false if there is too little memory. */
bool map_measure(size_t bytes, unsigned times, uint64_t *ticks);

#endif
