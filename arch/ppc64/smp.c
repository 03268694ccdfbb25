/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smp.c: starts the machine's CPUs, which the device tree names, and knows where they are.
 *
 * A CPU on each core is started first, then the others, so that ranks fill cores before they share one. A CPU
 * that does not answer is named and left out. The first CPU starts them one after the other, by RTAS, in
 * real mode (entry.S); each reports, and goes to kernel_cpu_start(). Their time bases are the machine's, and
 * so alike.
 */
#include "arch.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "debug/stop.h"
#include "lib/boot_info.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include <stddef.h>

#define ANSWER_WAIT_US 1000000
#define SILENT_WAIT_US (3 * ANSWER_WAIT_US)
#define BRIEF_WAIT_US  3000

#define SILENT_NAMED_MAX 16 /* CPUs with a line each */
#define KLOG_LONG_CPUS   64 /* flight logs of further CPUs are shorter */

extern uint8_t per_cpu_end[];         /* link.ld */
extern const uint8_t further_entry[]; /* entry.S */

uint64_t arch_cpu_distances[ARCH_CPUS_MAX]; /* by index; only CPUs that run */
static unsigned cpu_count = 1, core_count = 1;

/* The area of a CPU that is being started, by its place in machine_cpus; the CPU takes it from here, unless
 * the first CPU has taken it back before. entry.S reads it. */
struct cpu *further_cpus[ARCH_CPUS_MAX];

static struct {
    _Alignas(64) uint8_t bytes[KLOG_RING_BYTES(KLOG_EVENTS)];
} boot_klog;

static void cpu_initialise(struct cpu *cpu, struct klog_ring *klog, uint64_t klog_events)
{
    cpu->numa_domain = NUMA_DOMAIN_NONE;
    cpu->klog = klog;
    cpu->klog->last = klog_events - 1;
    entry_initialise(cpu);
}

void cpu_initialise_first(void)
{
    cpu_initialise(&boot_cpu, (struct klog_ring *)boot_klog.bytes, KLOG_EVENTS);
}

static void cpu_place_set(struct cpu *cpu, const struct machine_cpu *place)
{
    cpu->server = place->server;
    cpu->place_core = place->core;
    cpu->place_package = place->package;
    cpu->numa_domain = place->numa_domain;
}

unsigned arch_cpus_present(void)
{
    return machine_cpu_count ? machine_cpu_count : 1;
}

unsigned arch_cpu_count(void)
{
    return cpu_count;
}

unsigned arch_core_count(void)
{
    return core_count;
}

struct cpu_place arch_cpu_place(unsigned cpu)
{
    return (struct cpu_place){ cpu_area(cpu)->place_package, cpu_area(cpu)->place_core };
}

/* Describes the two caches that the device tree does: the core's own. */
bool arch_cpu_cache(unsigned cpu, unsigned index, struct cpu_cache *cache)
{
    const struct machine_cache *of = index ? &machine.instructions : &machine.data;
    const uint32_t set_bytes = of->sets * of->line_bytes;

    *cache = (struct cpu_cache){ .kind = index ? CACHE_INSTRUCTIONS : CACHE_DATA,
                                 .level = 1,
                                 .bytes = of->bytes,
                                 .line_bytes = of->line_bytes,
                                 .sets = of->sets,
                                 .ways = set_bytes ? of->bytes / set_bytes : 0,
                                 .id = cpu_area(cpu)->core };
    return index < 2 && of->bytes;
}

/* ---- On the CPU that is started ---- */

_Noreturn void arch_start_further(struct cpu *cpu)
{
    kernel_map_activate();
    decrementer_quiet();
    interrupt_controller->open();
    __atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&cpu->is_known, __ATOMIC_ACQUIRE))
        arch_pause();
    cpu_facilities_initialise();
    klog_cpu_start(); /* the options have been read since this CPU's setup */
    kernel_cpu_start(cpu->index);
}

/* ---- On the first CPU ---- */

/* Returns the bytes of a CPU's area, and of the variables that follow it (link.ld). */
static uint64_t area_bytes(void)
{
    return (uint64_t)per_cpu_end - (uint64_t)&boot_cpu;
}

/* Returns the events of a further CPU's flight log. That is half of what a CPU takes: if there are many CPUs,
 * it is shorter. */
static uint64_t klog_events(void)
{
    return arch_cpus_present() <= KLOG_LONG_CPUS ? KLOG_EVENTS : KLOG_EVENTS / 2;
}

static uint64_t further_bytes(void)
{
    return page_up(area_bytes() + KLOG_RING_BYTES(klog_events()));
}

/* Returns what further CPUs take of the pool: areas; tables for their guard pages, which split the large
 * pages around them; and tables for the registers of the interrupt controller. */
uint64_t cpus_pool_bytes(void)
{
    const unsigned count = arch_cpus_present();
    const uint64_t bytes = (count - 1) * further_bytes();

    return bytes + count * interrupts_cpu_bytes() + (4 + bytes / ARCH_HUGE_PAGE) * ARCH_PAGE;
}

static struct cpu *spare; /* the area of a CPU that has not answered, for the next one */

/* Allocates a CPU's area, all zeroes at first. */
static struct cpu *area_allocate(struct page_pool *pool)
{
    struct cpu *cpu = page_pool_take(pool, further_bytes());

    if (!cpu)
        node_stop(STOP_NO_MEMORY, "no memory for the area of CPU %u", cpu_count);
    cpu->index = cpu->counters.cpu = cpu_count;
    cpu->distance = (uint64_t)cpu - (uint64_t)&boot_cpu;
    cpu_initialise(cpu, (struct klog_ring *)((uint64_t)cpu + area_bytes()), klog_events());
    arch_guard_page((uint64_t)cpu->guard, pool);
    return cpu;
}

/* How long CPUs that do not answer are waited for, each and all together: after that, only as briefly as any
 * present CPU needs. So 1,000 absent CPUs cost seconds, not a quarter of an hour. */
static struct {
    uint64_t left_us; /* time left for all CPUs together */
    unsigned count;
    uint32_t last;
} silent = { .left_us = SILENT_WAIT_US };

static bool online_await(const struct cpu *cpu, uint64_t limit_us)
{
    const uint64_t start = cpu_ticks(), ticks = arch_clock_hz() / 1000000 * limit_us;

    while (!__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE))
        if (cpu_ticks() - start > ticks)
            return false;
        else
            arch_pause();
    return true;
}

/* Waits for a CPU's answer. One that has taken its area has begun: it is waited for once more, and keeps
 * it. */
static bool answer_await(struct cpu *cpu, struct cpu **slot)
{
    const bool is_patient = silent.left_us >= ANSWER_WAIT_US;
    const uint64_t limit_us = is_patient ? ANSWER_WAIT_US : BRIEF_WAIT_US;

    if (online_await(cpu, limit_us))
        return true;
    if (__atomic_exchange_n(slot, NULL, __ATOMIC_SEQ_CST))
        spare = cpu;
    else if (online_await(cpu, ANSWER_WAIT_US))
        return true;
    if (is_patient)
        silent.left_us -= ANSWER_WAIT_US;
    silent.last = cpu->server;
    if (silent.count++ < SILENT_NAMED_MAX)
        kernel_print("CPU %u of the device tree does not answer its start-up within %lu ms; the node goes on "
                     "without it\n",
                     cpu->server, limit_us / 1000);
    return false;
}

static bool is_on_core(unsigned cpu, const struct machine_cpu *place)
{
    return cpu_area(cpu)->place_core == place->core && cpu_area(cpu)->place_package == place->package;
}

static void cpu_take_in(struct cpu *cpu, const struct machine_cpu *place)
{
    cpu->core = cpu->index;
    for (unsigned other = 0; other < cpu_count && cpu->core == cpu->index; other++)
        if (is_on_core(other, place))
            cpu->core = other;
    arch_cpu_distances[cpu_count++] = cpu->distance;
    __atomic_store_n(&cpu->is_known, true, __ATOMIC_RELEASE);
}

static void cpu_start(struct page_pool *pool, unsigned at)
{
    const struct machine_cpu *place = &machine_cpus[at];
    const uint32_t arguments[] = { place->server, (uint32_t)arch_physical_of(further_entry), at };
    struct cpu *cpu = spare ?: area_allocate(pool);

    spare = cpu;
    cpu_place_set(cpu, place);
    if (!interrupts_prepare(cpu, pool))
        return;
    __atomic_store_n(&further_cpus[at], cpu, __ATOMIC_SEQ_CST);
    const int32_t status = rtas_call(machine.start_cpu, 3, arguments, 0, NULL);
    if (status) {
        further_cpus[at] = NULL;
        kernel_print("RTAS does not start CPU %u of the device tree (%d); the node goes on without it\n",
                     place->server, status);
        return;
    }
    spare = NULL;
    if (answer_await(cpu, &further_cpus[at]))
        cpu_take_in(cpu, place);
}

/* Returns whether a CPU that runs is on the same core. */
static bool core_runs(const struct machine_cpu *place)
{
    for (unsigned cpu = 0; cpu < cpu_count; cpu++)
        if (is_on_core(cpu, place))
            return true;
    return false;
}

/* Prints which CPUs stay unused, in a line for each cause. */
static void cpus_left_print(void)
{
    if (silent.count > SILENT_NAMED_MAX)
        kernel_print("%u more CPUs do not answer, up to CPU %u of the device tree; the node goes on without "
                     "them\n",
                     silent.count - SILENT_NAMED_MAX, silent.last);
    if (machine_cpus_named > machine_cpu_count)
        kernel_print("the device tree names %u CPUs, more than the %u that the kernel manages; %u stay "
                     "unused\n",
                     machine_cpus_named, ARCH_CPUS_MAX, machine_cpus_named - machine_cpu_count);
}

/* Starts the CPUs. If no CPU of a core has answered, another one of it is tried instead. */
void arch_cpus_start(struct page_pool *pool, const struct boot_info *boot)
{
    static bool tried[ARCH_CPUS_MAX];

    (void)boot;
    if (machine_cpu_count > 1 && machine.start_cpu == TOKEN_NONE) {
        kernel_print("RTAS has no start-cpu: %u CPUs stay unused\n", machine_cpu_count - 1);
        return;
    }
    for (unsigned at = 1; at < machine_cpu_count; at++)
        if (!core_runs(&machine_cpus[at])) {
            tried[at] = true;
            cpu_start(pool, at);
        }
    core_count = cpu_count;
    for (unsigned at = 1; at < machine_cpu_count; at++)
        if (!tried[at])
            cpu_start(pool, at);
    if (machine_cpu_count > 1)
        kernel_print("cpus: %u run on %u cores, interrupts by %s\n", cpu_count, core_count,
                     interrupt_controller->name);
    cpus_left_print();
}

void cpus_initialise(struct page_pool *pool)
{
    cpu_place_set(&boot_cpu, &machine_cpus[0]);
    interrupts_initialise(pool);
}

unsigned arch_numa_ranges(const struct numa_range **ranges)
{
    *ranges = machine.numa_ranges;
    return machine.numa_range_count;
}

struct tacet_counters *arch_counters(unsigned cpu)
{
    return cpu < cpu_count ? &cpu_area(cpu)->counters : NULL;
}

uint64_t arch_kernel_ticks(unsigned cpu)
{
    const uint64_t ticks = __atomic_load_n(&cpu_area(cpu)->kernel_ticks, __ATOMIC_ACQUIRE);

    return (int64_t)ticks >= 0 ? ticks : ticks + cpu_ticks_ordered();
}
