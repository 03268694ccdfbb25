/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_image.h: an ELF file checked and reduced to what loading needs. Portable C, host-tested and fuzzed:
 * after elf_parse has returned 0, a loader may follow the image without any further check against the file.
 */
#ifndef TACET_ELF_IMAGE_H
#define TACET_ELF_IMAGE_H

#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 32

enum memory_rights {
    RIGHT_READ = 1,
    RIGHT_WRITE = 2,
    RIGHT_EXECUTE = 4,
};

#define ELF_ALIGNMENT_MAX (1UL << 30)

/* One PT_LOAD, in ascending order of address; no two overlap by a byte, but two may share a page. */
struct elf_segment {
    uint64_t address;      /* virtual, as linked; congruent to file_offset modulo the page size */
    uint64_t memory_bytes; /* > 0; what lies beyond file_bytes is zero */
    uint64_t file_offset;
    uint64_t file_bytes; /* <= memory_bytes; inside the file */
    unsigned rights;     /* bits of enum memory_rights; never both WRITE and EXECUTE */
};

struct elf_image {
    bool position_independent; /* static-PIE (ET_DYN without interpreter): the loader chooses a base */
    uint64_t entry;            /* as linked; inside an executable segment */
    uint64_t low, high;        /* page-aligned bounds of all segments, as linked; high <= address_limit */
    uint64_t alignment; /* a base must be a multiple of it: a power of two, page .. ELF_ALIGNMENT_MAX */
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    unsigned segment_count;
    uint64_t headers_address; /* of the program headers in memory (AT_PHDR), as linked; 0 if no segment
                                 holds them */
    uint16_t header_bytes, header_count;
    bool executable_stack; /* PT_GNU_STACK asks for it */
    bool has_stack_header; /* without one, glibc makes the stacks of threads executable, and Linux not the
                              first */
};

/* Checks `file` as a program for ELF machine number `machine` whose addresses must lie in [0, address_limit).
 * Returns 0 or -ENOEXEC with `why`: not an ELF (with a hint when it is a script or an archive), 32-bit,
 * big-endian, another machine (named), dynamic (needs an interpreter: link with -static), an object or core
 * file, truncated (where), no loadable segment, segments that overlap, wrap, exceed the limit, are writable
 * and executable at once, have file_bytes > memory_bytes or a misaligned address; an entry outside of
 * executable segments; page zero used by a program that is not position-independent. Segments of no bytes are
 * skipped. */
int elf_parse(const void *file, uint64_t bytes, uint16_t machine, uint64_t address_limit,
              struct elf_image *out, struct message *why);

#endif
