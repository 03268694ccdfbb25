/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h: the name of the function that an address lies in, from the symbol table of a program's file.
 * Portable C, host-tested and fuzzed: whatever the file holds, nothing outside of it is read, and nothing is
 * changed.
 */
#ifndef TACET_SYMBOLS_H
#define TACET_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#define SYMBOL_NAME_BYTES 96

struct symbol {
    char name[SYMBOL_NAME_BYTES]; /* cut if it is longer; what cannot be printed is '?' */
    uint64_t offset;              /* of the address, from the symbol's beginning */
};

/* Finds the function or label nearest below `address`, as linked, among the file's symbols: one whose size
 * says that it holds the address comes before one without a size. Returns false if the file has no symbols,
 * or none that fits. Looks at each symbol once. */
bool symbol_find(const void *file, uint64_t bytes, uint64_t address, struct symbol *out);

#endif
