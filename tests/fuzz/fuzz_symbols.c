/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_symbols.c: checks what symbols.h promises. The input is an address, eight bytes, then a file.
 */
#include "fuzz.h"
#include "debug/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct symbol symbol;
    uint64_t address;
    size_t length = 0;

    if (bytes < sizeof(address))
        return 0;
    memcpy(&address, data, sizeof(address));
    if (!symbol_find(data + sizeof(address), bytes - sizeof(address), address, &symbol))
        return 0;
    PROMISE(symbol.offset <= address);
    while (length < sizeof(symbol.name) && symbol.name[length])
        PROMISE(symbol.name[length] > ' ' && symbol.name[length++] < 127);
    PROMISE(length > 0 && length < sizeof(symbol.name));
    return 0;
}
