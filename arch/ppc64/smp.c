/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smp.c: the machine's CPUs, of which one is used; and what there is of the contract in kernel/arch.h beside
 * memory, traps, time and power: docs/power.md lists what this architecture has nothing for yet.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/setup.h"
#include "debug/klog.h"
#include "lib/boot_info.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include <stddef.h>

uint64_t arch_cpu_distances[ARCH_CPUS_MAX];
static unsigned cpu_count = 1;

static struct {
    _Alignas(64) uint8_t bytes[KLOG_RING_BYTES(KLOG_EVENTS)];
} boot_klog;

static struct cpu *cpu_of(unsigned index)
{
    return (struct cpu *)((uint64_t)&boot_cpu + arch_cpu_distances[index]);
}

void cpu_initialise(struct cpu *cpu, unsigned index)
{
    cpu->index = index;
    cpu->numa_domain = NUMA_DOMAIN_NONE;
    cpu->core = index;
    cpu->klog = (struct klog_ring *)boot_klog.bytes;
    cpu->klog->last = KLOG_EVENTS - 1;
    cpu->kernel_stack = (uint64_t)cpu->stack + CPU_STACK_BYTES;
}

unsigned arch_cpus_present(void)
{
    return 1;
}

void arch_cpus_start(struct page_pool *pool, const struct boot_info *boot_information)
{
    (void)pool;
    (void)boot_information;
}

unsigned arch_cpu_count(void)
{
    return cpu_count;
}

unsigned arch_core_count(void)
{
    return cpu_count;
}

unsigned arch_core_of(unsigned cpu)
{
    return cpu_of(cpu)->core;
}

struct cpu_place arch_cpu_place(unsigned cpu)
{
    return (struct cpu_place){ 0, cpu };
}

unsigned arch_numa_ranges(const struct numa_range **ranges)
{
    *ranges = NULL;
    return 0;
}

uint32_t arch_cpu_numa_domain(unsigned cpu)
{
    return cpu_of(cpu)->numa_domain;
}

struct tacet_counters *arch_counters(unsigned cpu)
{
    return cpu < cpu_count ? &cpu_of(cpu)->counters : NULL;
}

const struct klog_ring *arch_klog_of(unsigned cpu)
{
    return cpu_of(cpu)->klog;
}

void arch_kernel_ticks_begin(void)
{
    cpu_this()->kernel_ticks = -cpu_ticks();
}

uint64_t arch_kernel_ticks(unsigned cpu)
{
    const uint64_t ticks = cpu_of(cpu)->kernel_ticks;

    return (int64_t)ticks >= 0 ? ticks : ticks + cpu_ticks_ordered();
}

void arch_system_calls_log(bool on)
{
    (void)on;
}

/* ---- Idle ---- */

int arch_idle_configure(const struct command_line *line, struct message *why)
{
    (void)line;
    (void)why;
    return 0;
}

/* The hypervisor lets interrupts in, and returns after one. */
void arch_cpu_idle(void)
{
    hypercall(H_CEDE, 0, 0, 0, 0, NULL);
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_RECOVERABLE) : "memory");
}

void arch_interrupts_accept(void)
{
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_INTERRUPTS | MSR_RECOVERABLE) : "memory");
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_RECOVERABLE) : "memory");
}

/* ---- Facts ---- */

uint64_t arch_random(void)
{
    uint64_t value;

    for (int tries = 0; tries < 10; tries++) {
        __asm__ volatile("darn %0, 1" : "=r"(value));
        if (value != UINT64_MAX)
            return value;
    }
    return cpu_ticks() * 0x9e3779b97f4a7c15ULL;
}

uint64_t arch_wall_clock_s(void)
{
    return 0;
}

bool arch_key_pressed(void)
{
    return false;
}

unsigned arch_pci_segments(const struct arch_pci_segment **segments)
{
    *segments = NULL;
    return 0;
}

uint32_t arch_pci_read(uint32_t function, unsigned offset)
{
    (void)function;
    (void)offset;
    return UINT32_MAX;
}

void arch_pci_write(uint32_t function, unsigned offset, uint32_t value)
{
    (void)function;
    (void)offset;
    (void)value;
}

void arch_cpuinfo_describe(unsigned cpu, struct text_sink *sink)
{
    (void)cpu;
    (void)sink;
}

const char *arch_interrupt_name(unsigned number)
{
    (void)number;
    return NULL;
}

uint64_t arch_hwcap(unsigned word)
{
    (void)word;
    return 0;
}

uint64_t arch_vdso_image(const void **image)
{
    *image = NULL;
    return 0;
}

uint32_t arch_vdso_features(void)
{
    return 0;
}

long arch_thread_pointer_call(uint64_t code, uint64_t address)
{
    (void)code;
    (void)address;
    return -ENOSYS;
}

void arch_guard_page(uint64_t address, struct page_pool *pool)
{
    (void)address;
    (void)pool;
}

void arch_guard_pages_drop(const struct memory_range *range)
{
    (void)range;
}
