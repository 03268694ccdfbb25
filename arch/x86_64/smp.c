/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smp.c: finds the machine's CPUs, starts them, and compares their clocks.
 *
 * The ACPI MADT lists the CPUs. The first hardware thread of each core is started first, then the others, so
 * that ranks fill cores before they share one. A CPU that does not answer is named and left out. The first
 * CPU starts them one after the other; each reports, takes part in the clock comparison, and waits in
 * kernel_cpu_start().
 *
 * Sources: Intel SDM 3A §9.4.4 (start-up), §9.9 (topology by CPUID leaf 0xB), 3B §18.17.3 (TSC_ADJUST).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "debug/console.h"
#include "lib/kstring.h"
#include "debug/stop.h"
#include "mm/page.h"
#include "mm/page_pool.h"

#define MSR_TSC_ADJUST  0x3b
#define LOW_MEMORY_LOW  0x1000ULL
#define LOW_MEMORY_HIGH 0xa0000ULL
#define INIT_WAIT_US    10000
#define START_WAIT_US   200
#define ANSWER_WAIT_US  1000000
#define SILENT_WAIT_US  (3 * ANSWER_WAIT_US)
#define BRIEF_WAIT_US   3000
#define SYNC_ROUNDS     16 /* at most; */
#define SYNC_ROUNDS_MIN 4  /* fewer if one was as quick as a message between CPUs is, or all are slow: */
#define SYNC_QUICK_HZ   1000000
#define SYNC_SLOW_HZ    1000
#define SYNC_END        UINT32_MAX
#define SYNC_CORRECTED  (UINT32_MAX - 1)

#define SILENT_NAMED_MAX 16 /* CPUs with a line each */
#define KLOG_LONG_CPUS   64 /* flight logs of further CPUs are shorter */

_Static_assert(ACPI_CPUS_MAX <= ARCH_CPUS_MAX, "each CPU that is kept can be managed");

extern const uint8_t ap_trampoline[], ap_trampoline_end[];
extern uint8_t per_cpu_end[]; /* link.ld */

uint64_t arch_cpu_distances[ARCH_CPUS_MAX]; /* by index; only CPUs that run */
static unsigned cpu_count = 1, core_count = 1;
struct cpu *ap_cpu; /* the one that is being started; entry.asm reads it */

unsigned arch_cpu_count(void)
{
    return cpu_count;
}

unsigned arch_core_count(void)
{
    return core_count;
}

struct tacet_counters *arch_counters(unsigned cpu)
{
    return cpu < cpu_count ? &cpu_area(cpu)->counters : NULL;
}

/* Returns a CPU's time in the kernel. While it is there, the word is the time up to the entry less the TSC at
 * the entry, and so is negative. If the TSC of this CPU reads less than the other's did at an entry a moment
 * ago, no time has passed since. */
uint64_t arch_kernel_ticks(unsigned cpu)
{
    uint64_t ticks = __atomic_load_n(&cpu_area(cpu)->kernel_ticks, __ATOMIC_ACQUIRE);

    if ((int64_t)ticks >= 0)
        return ticks;

    uint64_t now = cpu_ticks_ordered() + cpu_this()->clock_offset - cpu_area(cpu)->clock_offset;
    return (int64_t)(ticks + now) > 0 ? ticks + now : 0;
}

/* Finds each CPU's core. If the first hardware thread of its core has not started, a CPU counts as a core. */
static void cores_find(void)
{
    const uint32_t threads = (1U << cpu_features.thread_bits) - 1;

    for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
        cpu_area(cpu)->core = cpu;
        for (unsigned core = 0; core < core_count && cpu >= core_count; core++)
            if ((cpu_area(core)->apic_id | threads) == (cpu_area(cpu)->apic_id | threads))
                cpu_area(cpu)->core = core;
    }
}

unsigned arch_numa_ranges(const struct numa_range **ranges)
{
    *ranges = acpi.numa_ranges;
    return acpi.numa_range_count;
}

uint64_t arch_clock_offset(unsigned cpu)
{
    return cpu_area(cpu)->clock_offset;
}

static uint32_t domain_of(uint32_t apic_id)
{
    const unsigned cpu = acpi_cpu_find(&acpi, apic_id);

    return cpu < acpi.cpu_count ? acpi.domains[cpu] : NUMA_DOMAIN_NONE;
}

unsigned arch_cpus_present(void)
{
    return acpi.cpu_count ? acpi.cpu_count : 1; /* at most ACPI_CPUS_MAX */
}

/* ---- Clocks ---- */

static struct {
    /* round * 2: request of the first CPU; + 1: the other one has answered; SYNC_END: `ahead` is valid;
     * SYNC_CORRECTED: the other one's clock is corrected. */
    uint32_t turn;
    uint64_t ticks; /* the other's TSC */
    int64_t ahead;
} sync;

static void sync_answer(void)
{
    for (uint32_t round = 1;; round++) {
        uint32_t turn;

        while ((turn = __atomic_load_n(&sync.turn, __ATOMIC_ACQUIRE)) != round * 2 && turn != SYNC_END)
            arch_pause();
        if (turn == SYNC_END)
            return;
        sync.ticks = cpu_ticks_ordered();
        __atomic_store_n(&sync.turn, round * 2 + 1, __ATOMIC_RELEASE);
    }
}

/* Returns how far the other CPU's TSC is ahead of this one's, by the quickest round: 0 if it is between the
 * two readings around it. */
static int64_t sync_measure(void)
{
    const uint64_t start = cpu_ticks(), hz = arch_clock_hz();
    uint64_t quickest = UINT64_MAX;
    int64_t ahead = 0;

    for (uint32_t round = 1; round <= SYNC_ROUNDS; round++) {
        if (round > SYNC_ROUNDS_MIN &&
            (quickest < hz / SYNC_QUICK_HZ || cpu_ticks() - start > hz / SYNC_SLOW_HZ))
            break;

        uint64_t before = cpu_ticks_ordered();

        __atomic_store_n(&sync.turn, round * 2, __ATOMIC_RELEASE);
        while (__atomic_load_n(&sync.turn, __ATOMIC_ACQUIRE) != round * 2 + 1)
            arch_pause();

        uint64_t after = cpu_ticks_ordered(), other = sync.ticks;
        if (after - before >= quickest)
            continue;
        quickest = after - before;
        ahead = other - before <= after - before ? 0 : (int64_t)(other - (before + quickest / 2));
    }
    return ahead;
}

/* ---- On the CPU that is started ---- */

_Noreturn void arch_start_further(struct cpu *cpu)
{
    kernel_map_activate();
    cpu_initialise(cpu, cpu->index);
    cpu_identify(cpu);
    interrupts_silence();
    __atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
    sync_answer();
    if (sync.ahead && cpu_features.tsc_adjust)
        msr_write(MSR_TSC_ADJUST, msr_read(MSR_TSC_ADJUST) - (uint64_t)sync.ahead);
    else
        cpu->clock_offset = (uint64_t)-sync.ahead;
    __atomic_store_n(&sync.turn, SYNC_CORRECTED, __ATOMIC_RELEASE);
    machine_checks_enable();
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

/* Counts tables, too. A guard page splits the large page in which it lies, and the huge one around that;
 * areas follow each other in the pool. */
uint64_t cpus_pool_bytes(void)
{
    uint64_t bytes = (arch_cpus_present() - 1) * further_bytes();

    return bytes ? bytes + (4 + bytes / ARCH_LARGE_PAGE + bytes / ARCH_HUGE_PAGE) * ARCH_PAGE : 0;
}

/* Allocates the area of a CPU, all zeroes at first. A CPU that has not answered leaves its area to the
 * next. */
static struct cpu *cpu_allocate(struct page_pool *pool, uint32_t apic_id)
{
    struct cpu *cpu = ap_cpu;

    if (!cpu || cpu->online) {
        cpu = page_pool_take(pool, further_bytes());
        if (!cpu)
            node_stop(STOP_NO_MEMORY, "no memory for the area of CPU %u", cpu_count);
        cpu->index = cpu_count;
        cpu->distance = (uint64_t)cpu - (uint64_t)&boot_cpu;
        cpu->klog = (struct klog_ring *)((uint64_t)cpu + area_bytes());
        cpu->klog->last = klog_events() - 1;
        cpu->kernel_stack = (uint64_t)cpu->stack + CPU_STACK_BYTES;
        arch_guard_page((uint64_t)cpu->guard, pool);
    }
    cpu->apic_id = apic_id;
    cpu->numa_domain = domain_of(apic_id);
    return cpu;
}

/* How long CPUs that do not answer are waited for, each and all together: after that, only as briefly as any
 * present CPU needs. So 1,000 absent CPUs cost seconds, not a quarter of an hour. */
static struct {
    uint64_t left_us; /* time left for all CPUs together */
    unsigned count;
    uint32_t last_id;
} silent = { .left_us = SILENT_WAIT_US };

/* Waits until the CPU has reported; NULL: for the whole time. */
static bool online_await(const struct cpu *cpu, uint64_t limit_us)
{
    const uint64_t start = cpu_ticks(), ticks = arch_clock_hz() / 1000000 * limit_us;

    while (!cpu || !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE)) {
        if (cpu_ticks() - start >= ticks)
            return false;
        arch_pause();
    }
    return true;
}

static bool answer_await(const struct cpu *cpu)
{
    const bool is_patient = silent.left_us >= ANSWER_WAIT_US;
    const uint64_t limit_us = is_patient ? ANSWER_WAIT_US : BRIEF_WAIT_US;

    if (online_await(cpu, limit_us))
        return true;
    if (is_patient)
        silent.left_us -= ANSWER_WAIT_US;
    silent.last_id = cpu->apic_id;
    if (silent.count++ < SILENT_NAMED_MAX)
        kernel_print(
            "CPU with APIC id %u does not answer its start-up within %lu ms; the node goes on without it\n",
            cpu->apic_id, limit_us / 1000);
    return false;
}

static void cpu_start(struct cpu *cpu, uint8_t trampoline_page)
{
    ap_cpu = cpu;
    sync.turn = 0;
    for (int attempt = 0; attempt < 2 && !__atomic_load_n(&cpu->online, __ATOMIC_ACQUIRE); attempt++) {
        local_apic_send(cpu->apic_id, LOCAL_APIC_STARTUP | trampoline_page);
        online_await(cpu, START_WAIT_US);
    }
    if (!answer_await(cpu)) {
        local_apic_send(cpu->apic_id, LOCAL_APIC_INIT); /* should it start late, it is reset */
        return;
    }

    sync.ahead = sync_measure();
    if (sync.ahead)
        kernel_print(
            "the TSC of CPU %u is %ld ticks ahead of the first CPU's; corrected %s\n", cpu->index, sync.ahead,
            cpu_features.tsc_adjust ? "in hardware"
                                    : "in the clocks, not for programs that read the TSC themselves");
    __atomic_store_n(&sync.turn, SYNC_END, __ATOMIC_RELEASE);
    while (__atomic_load_n(&sync.turn, __ATOMIC_ACQUIRE) != SYNC_CORRECTED)
        arch_pause();
    arch_cpu_distances[cpu_count++] = cpu->distance;
}

void arch_beat_send(bool to_itself)
{
    local_apic_send(0, (to_itself ? LOCAL_APIC_ALL : LOCAL_APIC_OTHERS) | VECTOR_BEAT);
}

/* Finds a usable page below 1 MiB without a module in it, for ap_trampoline; 0 if there is none. */
static uint64_t trampoline_find(const struct boot_info *boot)
{
    for (uint64_t page = LOW_MEMORY_HIGH - ARCH_PAGE; page >= LOW_MEMORY_LOW; page -= ARCH_PAGE)
        if (boot_info_page_is_free(boot, page))
            return page;
    return 0;
}

static void cpus_start_threads(struct page_pool *pool, uint8_t page, uint32_t thread)
{
    uint32_t mask = (1U << cpu_features.thread_bits) - 1;

    for (unsigned i = 0; i < acpi.cpu_count && cpu_count < ARCH_CPUS_MAX; i++) {
        uint32_t id = acpi.apic_ids[i];

        if ((id & mask) == thread && id != boot_cpu.apic_id && id <= local_apic_id_max())
            cpu_start(cpu_allocate(pool, id), page);
    }
}

/* Prints which CPUs stay unused, in a line for each cause. */
static void cpus_left_print(void)
{
    unsigned beyond = 0;

    for (unsigned i = 0; i < acpi.cpu_count; i++)
        beyond += acpi.apic_ids[i] > local_apic_id_max();
    if (silent.count > SILENT_NAMED_MAX)
        kernel_print(
            "%u more CPUs do not answer, up to the one with APIC id %u; the node goes on without them\n",
            silent.count - SILENT_NAMED_MAX, silent.last_id);
    if (beyond)
        kernel_print("%u CPUs have APIC ids above %u, which only x2APIC reaches; these CPUs do not have "
                     "it: the node goes on without them\n",
                     beyond, local_apic_id_max());
    if (acpi.cpus_dropped)
        kernel_print("the firmware lists %u CPUs, more than the %u that the kernel manages; %u stay unused\n",
                     acpi.cpu_count + acpi.cpus_dropped, ACPI_CPUS_MAX, acpi.cpus_dropped);
}

/* Resets all of them; they wait for their start-up then. */
static void cpus_reset(void)
{
    for (unsigned i = 0; i < acpi.cpu_count; i++)
        if (acpi.apic_ids[i] != boot_cpu.apic_id && acpi.apic_ids[i] <= local_apic_id_max())
            local_apic_send(acpi.apic_ids[i], LOCAL_APIC_INIT);
    online_await(NULL, INIT_WAIT_US);
}

void arch_cpus_start(struct page_pool *pool, const struct boot_info *boot)
{
    uint64_t trampoline = trampoline_find(boot);

    boot_cpu.apic_id = local_apic_id();
    boot_cpu.numa_domain = domain_of(boot_cpu.apic_id);
    cpu_identify(&boot_cpu);
    if (arch_cpus_present() == 1 || !local_apic_present())
        return;
    if (!trampoline) {
        kernel_print("no free page below 1 MiB to start further CPUs from; the node goes on with one\n");
        return;
    }
    memcpy(arch_physical(trampoline), ap_trampoline, (size_t)(ap_trampoline_end - ap_trampoline));
    cpus_reset();
    for (uint32_t thread = 0; thread < 1U << cpu_features.thread_bits; thread++) {
        cpus_start_threads(pool, (uint8_t)(trampoline >> 12), thread);
        if (thread == 0)
            core_count = cpu_count;
    }
    cores_find();
    kernel_print("cpus: %u run, local interrupts by %s\n", cpu_count, local_apic_mode());
    cpus_left_print();
}
