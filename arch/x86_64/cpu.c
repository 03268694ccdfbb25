/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.c: what a CPU needs before it may run programs: segments, task state, control registers, vector state,
 * SYSCALL.
 *
 * Programs get the vector state that CPUID offers (x87, SSE, AVX, AVX-512): XCR0 is set to all of it. The
 * kernel is compiled without vector registers, so that the state is saved only where thread.c says. AMX tiles
 * stay off: on Linux, too, a program must request them, by a call that Tacet does not have.
 *
 * Sources: Intel SDM 3A §2.5 (control registers), §5.8.8 (SYSCALL), §8.2 (task state); 1 §13.3 (XSAVE
 * features).
 */
#include "arch.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "arch/vdso.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"

#define MSR_EFER     0xc0000080
#define MSR_STAR     0xc0000081
#define MSR_LSTAR    0xc0000082
#define MSR_CSTAR    0xc0000083
#define MSR_FMASK    0xc0000084
#define MSR_GS_BASE  0xc0000101
#define MSR_TSC_AUX  0xc0000103
#define EFER_SYSCALL 1ULL

#define CR4_PGE        (1ULL << 7)
#define CR4_OSFXSR     (1ULL << 9)
#define CR4_OSXMMEXCPT (1ULL << 10)
#define CR4_UMIP       (1ULL << 11)
#define CR4_OSXSAVE    (1ULL << 18)
#define CR4_SMEP       (1ULL << 20)
#define CR4_SMAP       (1ULL << 21)
#define CR4_MCE        (1ULL << 6)
#define CR4_PAE        (1ULL << 5)

#define XCR0_KNOWN 0xe7ULL /* x87, SSE, AVX, and the three parts of AVX-512 */

/* What SYSCALL clears in the flags: interrupts, direction, trap, nested task, alignment check (SMAP's
 * override), I/O privilege. */
#define SYSCALL_FLAGS_MASK 0x47700ULL

static uint8_t boot_klog[KLOG_RING_BYTES(KLOG_EVENTS)] __attribute__((aligned(16)));
struct cpu boot_cpu __attribute__((aligned(4096), section(".bss.boot_cpu")));
bool smap_enabled; /* read by user_copy.asm */

static struct cpu_features features;

const struct cpu_features *cpu_features(void)
{
    return &features;
}

static void features_read(void)
{
    uint32_t leaves = cpuid(0, 0).a;
    uint32_t extended_leaves = cpuid(0x80000000, 0).a;
    struct cpuid_result one = cpuid(1, 0);
    struct cpuid_result seven = leaves >= 7 ? cpuid(7, 0) : (struct cpuid_result){ 0 };
    struct cpuid_result extended = cpuid(0x80000001, 0);

    features.basic_leaves = leaves;
    features.hwcap = one.d;
    features.fxsave = one.d >> 24 & 1;
    features.monitor = one.c >> 3 & 1;
    features.xsave = one.c >> 26 & 1;
    features.rdrand = one.c >> 30 & 1;
    features.hypervisor = one.c >> 31 & 1;
    features.machine_check = (one.d >> 7 & 1) && (one.d >> 14 & 1);
    features.smep = seven.b >> 7 & 1;
    features.smap = seven.b >> 20 & 1;
    features.umip = seven.c >> 2 & 1;
    features.rdpid = seven.c >> 22 & 1;
    features.thread_bits = leaves >= 0xb ? cpuid(0xb, 0).a & 31 : 0;
    features.core_bits = leaves >= 0xb ? cpuid(0xb, 1).a & 31 : 0;
    features.rdtscp = extended.d >> 27 & 1;
    features.no_execute = extended.d >> 20 & 1;
    features.huge_pages = extended.d >> 26 & 1;
    if (extended_leaves >= 0x80000007)
        features.invariant_tsc = cpuid(0x80000007, 0).d >> 8 & 1;
}

static void segments_load(struct cpu *cpu)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = { sizeof(cpu->gdt) - 1, (uint64_t)cpu->gdt };
    uint64_t tss = (uint64_t)&cpu->task_state;

    cpu->gdt[1] = 0x00209a0000000000; /* kernel code: present, 64-bit */
    cpu->gdt[2] = 0x0000920000000000; /* kernel data: present, writable */
    cpu->gdt[3] = 0x0000f20000000000; /* user data: the same with privilege 3 */
    cpu->gdt[4] = 0x0020fa0000000000; /* user code */
    cpu->gdt[5] =
        (sizeof(struct task_state) - 1) | (tss & 0xffffff) << 16 | 0x89ULL << 40 | (tss >> 24 & 0xff) << 56;
    cpu->gdt[6] = tss >> 32;

    cpu->kernel_stack = (uint64_t)cpu->stack + CPU_STACK_BYTES;
    cpu->task_state.rsp[0] = cpu->kernel_stack;
    for (unsigned i = 0; i < IST_STACKS; i++)
        cpu->task_state.ist[i] = (uint64_t)cpu->ist_stacks[i] + IST_STACK_BYTES;
    cpu->task_state.io_map_base =
        sizeof(struct task_state); /* beyond the limit: programs may access no port */

    /* LDTR too: after reset it describes the first 64 KiB of the address space, which are the program's. */
    __asm__ volatile("lgdt %0\n\t"
                     "pushq %1\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "lretq\n"
                     "1:\n\t"
                     "movw %w2, %%ss\n\t"
                     "movw %w2, %%ds\n\t"
                     "movw %w2, %%es\n\t"
                     "ltr %w3\n\t"
                     "lldt %w4"
                     :
                     : "m"(pointer), "i"(SELECTOR_KERNEL_CODE), "r"(SELECTOR_KERNEL_DATA), "r"(SELECTOR_TSS),
                       "r"(0)
                     : "rax", "memory");
}

/* entry.asm has set CR0. */
static void control_registers_set(void)
{
    uint64_t cr4 = CR4_PAE | CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT | (features.xsave ? CR4_OSXSAVE : 0) |
                   (features.smep ? CR4_SMEP : 0) | (features.smap ? CR4_SMAP : 0) |
                   (features.umip ? CR4_UMIP : 0) | (features.machine_check ? CR4_MCE : 0);

    __asm__ volatile("mov %0, %%cr4" : : "r"(cr4) : "memory");
    smap_enabled = features.smap;

    if (features.xsave) {
        struct cpuid_result offered = cpuid(0xd, 0);
        uint64_t xcr0 = offered.a & XCR0_KNOWN;

        if ((xcr0 & 0xe4) != 0xe4)
            xcr0 &= ~0xe0ULL; /* the parts of AVX-512 go together, and need AVX */
        __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)xcr0), "d"((uint32_t)(xcr0 >> 32)));
        features.xcr0 = xcr0;
    }
    features.vector_bytes = features.xsave ? cpuid(0xd, 0).b : FXSAVE_BYTES;
}

static void system_calls_set(void)
{
    /* SYSRET takes the user selectors from bits 63:48: data there + 8, code there + 16. */
    msr_write(MSR_STAR, (uint64_t)(SELECTOR_USER_DATA - 8) << 48 | (uint64_t)SELECTOR_KERNEL_CODE << 32);
    klog_cpu_start();                              /* sets MSR_LSTAR */
    msr_write(MSR_CSTAR, (uint64_t)syscall_entry); /* SYSCALL from 32-bit code: no selector leads there */
    msr_write(MSR_FMASK, SYSCALL_FLAGS_MASK);
    msr_write(MSR_EFER, msr_read(MSR_EFER) | EFER_SYSCALL);
}

/* Enables the report of errors that the hardware cannot correct, in every bank, and clears what firmware has
 * left in them. */
static void machine_checks_enable(void)
{
    if (!features.machine_check)
        return;

    uint64_t capability = msr_read(MSR_MCG_CAPABILITY);

    if (capability & MCG_CONTROL_PRESENT)
        msr_write(MSR_MCG_CONTROL, UINT64_MAX);
    for (unsigned bank = 0; bank < (capability & MCG_BANKS); bank++) {
        msr_write(MSR_MC0_CONTROL + 4 * bank, UINT64_MAX);
        msr_write(MSR_MC0_STATUS + 4 * bank, 0);
    }
}

void cpu_initialise(struct cpu *cpu, unsigned index)
{
    if (index == 0) {
        features_read();
        cpu->klog = (struct klog_ring *)boot_klog;
        cpu->klog->last = KLOG_EVENTS - 1;
    }
    cpu->self = cpu;
    cpu->index = index;
    cpu->counters.cpu = index;
    segments_load(cpu);
    msr_write(MSR_GS_BASE, (uint64_t)cpu);
    msr_write(MSR_KERNEL_GS_BASE, 0);
    trap_initialise();
    control_registers_set();
    machine_checks_enable();
    system_calls_set();
}

void cpu_identify(struct cpu *cpu)
{
    uint32_t node = cpu->numa_domain == NUMA_DOMAIN_NONE ? 0 : cpu->numa_domain;
    uint64_t value = cpu->index | (node < VDSO_NODE_UNKNOWN ? node : VDSO_NODE_UNKNOWN) << VDSO_CPU_BITS;

    /* Read-only data, privilege 3, present, accessed; LSL reads its limit. */
    cpu->gdt[SELECTOR_CPU_NUMBER / 8] = (value & 0xffff) | 0xf1ULL << 40 | (value & 0xf0000) << 32;
    if (features.rdtscp || features.rdpid)
        msr_write(MSR_TSC_AUX, value);
}

long arch_thread_pointer_call(uint64_t code, uint64_t address)
{
    enum { ARCH_SET_GS = 0x1001, ARCH_SET_FS = 0x1002, ARCH_GET_FS = 0x1003, ARCH_GET_GS = 0x1004 };
    code = (uint32_t)code;
    uint32_t msr = code == ARCH_SET_GS || code == ARCH_GET_GS ? MSR_KERNEL_GS_BASE : MSR_FS_BASE;
    uint64_t value;

    switch (code) {
    case ARCH_SET_GS:
    case ARCH_SET_FS:
        if (address >= ARCH_USER_LIMIT)
            return -EPERM;
        msr_write(msr, address);
        return 0;
    case ARCH_GET_GS:
    case ARCH_GET_FS:
        value = msr_read(msr);
        return user_write(address, &value, sizeof(value));
    default:
        return -EINVAL; /* as on Linux: glibc probes for shadow stacks this way */
    }
}

void arch_system_calls_log(bool on)
{
    msr_write(MSR_LSTAR, (uint64_t)(on ? syscall_entry_logged : syscall_entry));
}

bool arch_huge_pages(void)
{
    return features.huge_pages;
}

uint64_t arch_hwcap(unsigned word)
{
    /* AT_HWCAP2 would announce RDFSBASE and user-mode MWAIT, which are both off. */
    return word == 1 ? features.hwcap : 0;
}

uint64_t arch_random(void)
{
    static uint64_t state;
    uint64_t value;
    bool good = false;

    for (unsigned tries = 0; features.rdrand && !good && tries < 16; tries++)
        __asm__ volatile("rdrand %0" : "=r"(value), "=@ccc"(good));
    if (good)
        return value;

    /* splitmix64 over the cycle counter: good enough to vary hash tables and stack canaries, but predictable
     * for an attacker. */
    state += cpu_ticks() | 1;
    value = state += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

void cpu_brand(char *text)
{
    struct cpuid_result parts[3] = { 0 };

    if (cpuid(0x80000000, 0).a >= 0x80000004)
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = cpuid(0x80000002 + i, 0);
    memcpy(text, parts, sizeof(parts));
    text[CPU_BRAND_BYTES - 1] = '\0';
}

void arch_cpu_describe(char *text, size_t bytes)
{
    char brand[CPU_BRAND_BYTES];
    const char *name = brand;

    cpu_brand(brand);
    while (*name == ' ')
        name++;
    format_text(text, bytes, "%s%s%s%s%s%s%s", name, features.no_execute ? " nx" : "",
                features.smep ? " smep" : "", features.smap ? " smap" : "", features.umip ? " umip" : "",
                features.huge_pages ? " 1GiB-pages" : "",
                features.xcr0 & 0xe0 ? " avx512"
                : features.xcr0 & 4  ? " avx"
                                     : "");
}
