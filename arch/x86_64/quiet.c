/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet.c: silences every interrupt source that firmware or a boot loader may have left on, so that what reaches a CPU later is only what the
 * kernel itself has armed: the two 8259 controllers are masked whole, and all local vectors of the local APIC are. Runs once a CPU, interrupts off.
 *
 * Sources: Intel 8259A datasheet (OCW1); Intel SDM 3A §10.4 (local APIC), §10.5.1 (local vector table), §10.12 (x2APIC).
 */
#include "arch/cpu.h"
#include "arch/setup.h"

#define PIC_MASTER_MASK 0x21
#define PIC_SLAVE_MASK  0xa1

#define MSR_APIC_BASE    0x1b
#define APIC_BASE_ENABLE (1ULL << 11)
#define APIC_BASE_X2APIC (1ULL << 10)
#define APIC_BASE_ADDRESS 0x000ffffffffff000ULL
#define MSR_X2APIC       0x800

/* Register offsets; an x2APIC register has the MSR 0x800 + offset / 16. */
#define APIC_VERSION     0x030
#define APIC_TASK_PRIORITY 0x080
#define APIC_SPURIOUS    0x0f0
#define APIC_LVT_CMCI    0x2f0
#define APIC_LVT_TIMER   0x320
#define APIC_LVT_THERMAL 0x330
#define APIC_LVT_COUNTER 0x340
#define APIC_LVT_LINT0   0x350
#define APIC_LVT_LINT1   0x360
#define APIC_LVT_ERROR   0x370
#define APIC_TIMER_COUNT 0x380

#define LVT_MASKED       (1U << 16)
#define LVT_NMI          (4U << 8)
#define SPURIOUS_ENABLE  (1U << 8)
#define SPURIOUS_VECTOR  255U

static volatile uint32_t *apic_registers; /* NULL in x2APIC mode */

static uint32_t apic_read(uint32_t offset)
{
    return apic_registers ? apic_registers[offset / 4] : (uint32_t)msr_read(MSR_X2APIC + offset / 16);
}

static void apic_write(uint32_t offset, uint32_t value)
{
    if (apic_registers)
        apic_registers[offset / 4] = value;
    else
        msr_write(MSR_X2APIC + offset / 16, value);
}

void interrupts_silence(void)
{
    uint64_t base = msr_read(MSR_APIC_BASE);

    port_write8(PIC_MASTER_MASK, 0xff);
    port_write8(PIC_SLAVE_MASK, 0xff);

    if (!(cpuid(1, 0).d >> 9 & 1) || !(base & APIC_BASE_ENABLE))
        return; /* no local APIC, or switched off: it delivers nothing */
    if (!(base & APIC_BASE_X2APIC)) {
        apic_registers = device_map(base & APIC_BASE_ADDRESS, 0x400);
        if (!apic_registers)
            return;
    }

    unsigned highest = apic_read(APIC_VERSION) >> 16 & 0xff; /* number of local vectors, less one */

    apic_write(APIC_SPURIOUS, SPURIOUS_ENABLE | SPURIOUS_VECTOR);
    apic_write(APIC_LVT_TIMER, LVT_MASKED);
    apic_write(APIC_TIMER_COUNT, 0);
    apic_write(APIC_LVT_LINT0, LVT_MASKED);
    apic_write(APIC_LVT_LINT1, LVT_NMI); /* where boards wire the non-maskable interrupt */
    apic_write(APIC_LVT_ERROR, LVT_MASKED);
    if (highest >= 4)
        apic_write(APIC_LVT_COUNTER, LVT_MASKED);
    if (highest >= 5)
        apic_write(APIC_LVT_THERMAL, LVT_MASKED);
    if (highest >= 6)
        apic_write(APIC_LVT_CMCI, LVT_MASKED);
    apic_write(APIC_TASK_PRIORITY, 0);
}
