/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * local_apic.c: see arch/local_apic.h. Everything that firmware or a boot loader may have left enabled in the
 * 8259s and the local vectors is masked. All functions run with interrupts off, and act on the CPU that they
 * run on.
 *
 * Sources: Intel 8259A datasheet (OCW1); Intel SDM 3A §10.4 (local APIC), §10.5 (local vectors, timer), §10.6
 * (interrupt command), §10.12 (x2APIC).
 */
#include "arch/local_apic.h"
#include "arch.h"
#include "arch/cpu.h"
#include "arch/io.h"
#include "arch/trap.h"

#define PIC_MASTER_MASK 0x21
#define PIC_SLAVE_MASK  0xa1

#define MSR_APIC_BASE     0x1b
#define MSR_TSC_DEADLINE  0x6e0
#define APIC_BASE_ENABLE  (1ULL << 11)
#define APIC_BASE_X2APIC  (1ULL << 10)
#define APIC_BASE_ADDRESS 0x000ffffffffff000ULL
#define MSR_X2APIC        0x800

/* Register offsets; an x2APIC register has the MSR 0x800 + offset / 16. */
#define APIC_ID            0x020
#define APIC_VERSION       0x030
#define APIC_TASK_PRIORITY 0x080
#define APIC_END           0x0b0
#define APIC_SPURIOUS      0x0f0
#define APIC_IN_SERVICE    0x100 /* eight of them, a bit for each vector */
#define APIC_LVT_CMCI      0x2f0
#define APIC_COMMAND_LOW   0x300
#define APIC_COMMAND_HIGH  0x310
#define APIC_LVT_TIMER     0x320
#define APIC_LVT_THERMAL   0x330
#define APIC_LVT_COUNTER   0x340
#define APIC_LVT_LINT0     0x350
#define APIC_LVT_LINT1     0x360
#define APIC_LVT_ERROR     0x370
#define APIC_TIMER_COUNT   0x380
#define APIC_TIMER_LEFT    0x390
#define APIC_TIMER_DIVIDE  0x3e0

#define LVT_NMI           (4U << 8)
#define LVT_TSC_DEADLINE  (2U << 17)
#define SPURIOUS_ENABLE   (1U << 8)
#define DIVIDE_BY_1       0xbU
#define XAPIC_ID_MAX      0xfeU /* 0xff: all CPUs */
#define COMMAND_ASSERT    (1U << 14)
#define COMMAND_PENDING   (1U << 12)
#define COMMAND_STEPS_MAX 1000000
#define VECTORS           256

static volatile uint32_t *apic_registers; /* NULL in x2APIC mode */
static enum { ABSENT, XAPIC, X2APIC } mode;

static uint32_t apic_read(uint32_t offset)
{
    return mode == XAPIC ? apic_registers[offset / 4] : (uint32_t)msr_read(MSR_X2APIC + offset / 16);
}

static void apic_write(uint32_t offset, uint32_t value)
{
    if (mode == XAPIC)
        apic_registers[offset / 4] = value;
    else
        msr_write(MSR_X2APIC + offset / 16, value);
}

/* Chooses the mode, on the first CPU; the others follow. */
static void mode_choose(uint64_t base)
{
    struct cpuid_result one = cpuid(1, 0);

    if (!(one.d >> 9 & 1) || !(base & APIC_BASE_ENABLE))
        return; /* no local APIC, or switched off: it delivers nothing */
    if (one.c >> 21 & 1) {
        mode = X2APIC;
        return;
    }
    apic_registers = arch_device_map(base & APIC_BASE_ADDRESS, 0x400);
    if (apic_registers)
        mode = XAPIC;
}

static void local_vectors_mask(void)
{
    /* LINT1 aside, in the order of their numbers; every local APIC has the first three. */
    static const uint16_t vectors[] = { APIC_LVT_TIMER,   APIC_LVT_LINT0,   APIC_LVT_ERROR,
                                        APIC_LVT_COUNTER, APIC_LVT_THERMAL, APIC_LVT_CMCI };
    unsigned highest = apic_read(APIC_VERSION) >> 16 & 0xff; /* number of local vectors, less one */

    apic_write(APIC_SPURIOUS, SPURIOUS_ENABLE | VECTOR_SPURIOUS);
    for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]) && (i < 3 || i < highest); i++)
        apic_write(vectors[i], LOCAL_APIC_MASKED);
    /* Boards wire the non-maskable interrupt here: the first CPU takes it. */
    apic_write(APIC_LVT_LINT1, cpu_this()->index == 0 ? LVT_NMI : LOCAL_APIC_MASKED);
    apic_write(APIC_TIMER_COUNT, 0);
    apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
    apic_write(APIC_TASK_PRIORITY, 0);
}

static bool in_service(void)
{
    uint32_t any = 0;

    for (uint32_t offset = 0; offset < 8 * 0x10; offset += 0x10)
        any |= apic_read(APIC_IN_SERVICE + offset);
    return any;
}

/* Acknowledges what firmware has taken and not acknowledged: it would keep away all interrupts of its
 * priority and below, the timer's among them. Each acknowledgement ends one. */
static void in_service_end(void)
{
    for (unsigned i = 0; i < VECTORS && in_service(); i++)
        apic_write(APIC_END, 0);
}

void interrupts_silence(void)
{
    uint64_t base = msr_read(MSR_APIC_BASE);

    if (cpu_this()->index == 0) {
        io_write8(PIC_MASTER_MASK, 0xff);
        io_write8(PIC_SLAVE_MASK, 0xff);
        mode_choose(base);
    }
    if (mode == ABSENT)
        return;
    if (mode == X2APIC)
        msr_write(MSR_APIC_BASE, base | APIC_BASE_ENABLE | APIC_BASE_X2APIC);
    local_vectors_mask();
    in_service_end();
}

bool local_apic_present(void)
{
    return mode != ABSENT;
}

const char *local_apic_mode(void)
{
    static const char *const names[] = { [ABSENT] = "none", [XAPIC] = "xAPIC", [X2APIC] = "x2APIC" };

    return names[mode];
}

uint32_t local_apic_id(void)
{
    if (mode == ABSENT)
        return cpuid(1, 0).b >> 24;
    return mode == X2APIC ? apic_read(APIC_ID) : apic_read(APIC_ID) >> 24;
}

uint32_t local_apic_id_max(void)
{
    return mode == X2APIC ? UINT32_MAX - 1 : XAPIC_ID_MAX;
}

void local_apic_acknowledge(void)
{
    if (mode != ABSENT)
        apic_write(APIC_END, 0);
}

void local_apic_send(uint32_t apic_id, uint32_t command)
{
    command |= COMMAND_ASSERT;
    if (mode == X2APIC) {
        /* The write of an x2APIC register is not ordered after earlier stores [SDM 3A §10.12.3]. */
        __asm__ volatile("mfence; lfence" : : : "memory");
        msr_write(MSR_X2APIC + APIC_COMMAND_LOW / 16, (uint64_t)apic_id << 32 | command);
        return;
    }
    apic_write(APIC_COMMAND_HIGH, apic_id << 24);
    apic_write(APIC_COMMAND_LOW, command);
    for (int step = 0; step < COMMAND_STEPS_MAX && (apic_read(APIC_COMMAND_LOW) & COMMAND_PENDING); step++)
        ;
}

void local_apic_timer_start(uint32_t vector, uint32_t count)
{
    if (count)
        apic_write(APIC_LVT_TIMER, vector);
    apic_write(APIC_TIMER_COUNT, count);
}

uint32_t local_apic_timer_left(void)
{
    return apic_read(APIC_TIMER_LEFT);
}

void local_apic_deadline_set(uint8_t vector, uint64_t ticks)
{
    apic_write(APIC_LVT_TIMER, LVT_TSC_DEADLINE | vector);
    if (mode == XAPIC)
        /* The mode must be in place before the deadline [SDM 3A §10.5.4.1]. */
        __asm__ volatile("mfence" : : : "memory");
    msr_write(MSR_TSC_DEADLINE, ticks);
}
