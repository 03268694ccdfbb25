/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_pvh.c: the input is the only readable physical memory, and begins with PVH's start information.
 */
#include "arch/boot_protocol.h"
#include "boot_info_promises.h"
#include "simulated_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct boot_info info;
    struct simulated_memory memory = { SIMULATED_BASE, bytes, data };
    struct message why = { "" };
    int error = pvh_parse(SIMULATED_BASE, simulated_read, &memory, &info, &why);

    PROMISE(error <= 0);
    if (error) {
        PROMISE(why.text[0] != '\0');
        return 0;
    }
    promise_boot_info(&info);
    return 0;
}
