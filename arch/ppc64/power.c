/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.c: RTAS, the firmware's run-time part [PAPR §7]: called in real mode, 32-bit, big-endian, one CPU at
 * a time.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/setup.h"
#include "lib/kstring.h"

uint64_t firmware_enter(uint32_t arguments, uint32_t base, uint32_t at);

int32_t rtas_call(uint32_t token, unsigned count, const uint32_t *arguments)
{
    static uint32_t cells[3 + 8];

    cells[0] = __builtin_bswap32(token);
    cells[1] = __builtin_bswap32(count);
    cells[2] = __builtin_bswap32(1);
    for (unsigned i = 0; i < count; i++)
        cells[3 + i] = __builtin_bswap32(arguments[i]);
    firmware_enter((uint32_t)arch_physical_of(cells), machine.rtas_base, machine.rtas);
    return (int32_t)__builtin_bswap32(cells[3 + count]);
}

_Noreturn void arch_power_off(void)
{
    const uint32_t all[2] = { UINT32_MAX, UINT32_MAX };

    if (machine.rtas && machine.power_off != UINT32_MAX)
        rtas_call(machine.power_off, 2, all);
    arch_halt();
}

_Noreturn void arch_reboot(void)
{
    if (machine.rtas && machine.reboot != UINT32_MAX)
        rtas_call(machine.reboot, 0, NULL);
    arch_halt();
}

_Noreturn void arch_halt(void)
{
    for (;;)
        hypercall(H_CEDE, 0, 0, 0, 0, NULL);
}
