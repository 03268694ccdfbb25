/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.c: RTAS, the firmware's run-time part [PAPR §7]: called in real mode, 32-bit, big-endian, one CPU at
 * a time.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/setup.h"
#include <stddef.h>

static void rtas_call(uint32_t token, unsigned count, const uint32_t *arguments)
{
    uint32_t status; /* there is nothing to do about it */

    if (machine.rtas && token != UINT32_MAX)
        firmware_call(machine.rtas, machine.rtas_base, token, count, arguments, 1, &status);
}

_Noreturn void arch_power_off(void)
{
    const uint32_t all[2] = { UINT32_MAX, UINT32_MAX };

    rtas_call(machine.power_off, 2, all);
    arch_halt();
}

_Noreturn void arch_reboot(void)
{
    rtas_call(machine.reboot, 0, NULL);
    arch_halt();
}

_Noreturn void arch_halt(void)
{
    for (;;)
        hypercall(H_CEDE, 0, 0, 0, 0, NULL);
}
