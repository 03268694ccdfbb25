/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.c: RTAS, the firmware's run-time part [PAPR §7]: called in real mode, 32-bit, big-endian, one CPU at
 * a time.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "smp/spinlock.h"
#include <stddef.h>

/* Statuses that ask for another try [PAPR §7.2.8]: at once, or after 10^n ms. */
#define RTAS_BUSY       (-2)
#define RTAS_DELAY_LOW  9900
#define RTAS_DELAY_HIGH 9905
#define BUSY_SECONDS    1 /* a call that is busy for longer has failed */

static bool is_busy(int32_t status)
{
    return status == RTAS_BUSY || (status >= RTAS_DELAY_LOW && status <= RTAS_DELAY_HIGH);
}

static int32_t rtas_try(uint32_t token, unsigned count, const uint32_t *in, unsigned answers, uint32_t *out)
{
    static struct spinlock lock;
    SPIN_GUARD(&lock);

    firmware_call(machine.rtas, machine.rtas_base, token, count, in, answers, out);
    return (int32_t)out[0];
}

int32_t rtas_call(uint32_t token, unsigned count, const uint32_t *in, unsigned answers, uint32_t *out)
{
    const uint64_t start = cpu_ticks();
    uint32_t alone;
    int32_t status;

    if (!machine.rtas || token == TOKEN_NONE)
        return RTAS_NO_FUNCTION;
    do
        status = rtas_try(token, count, in, answers ?: 1, answers ? out : &alone);
    while (is_busy(status) && cpu_ticks() - start < BUSY_SECONDS * machine.timebase_hz);
    return status;
}

_Noreturn void arch_power_off(void)
{
    const uint32_t all[2] = { UINT32_MAX, UINT32_MAX };

    rtas_call(machine.power_off, 2, all, 0, NULL);
    arch_halt();
}

_Noreturn void arch_reboot(void)
{
    rtas_call(machine.reboot, 0, NULL, 0, NULL);
    arch_halt();
}

/* Halts this CPU. H_CEDE lets interrupts in; only the decrementer's are left, which have no effect. */
_Noreturn void arch_halt(void)
{
    cpu_this()->has_ended = true;
    interrupts_close();
    decrementer_quiet();
    for (;;)
        hypercall(H_CEDE, 0, 0, 0, 0, NULL);
}
