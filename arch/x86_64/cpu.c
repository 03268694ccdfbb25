/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.c: what a CPU needs before it may run programs: segments, task state, control registers, SYSCALL, and
 * nothing of what firmware has left in its registers.
 *
 * Sources: Intel SDM 3A §2.5 (control registers), §5.8.7 (SYSENTER), §5.8.8 (SYSCALL), §8.2 (task state),
 * §11.12 (PAT); 3B §17.2 (debug registers).
 */
#include "arch.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "arch/vdso.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"

#define MSR_SYSENTER 0x174 /* the selector; the stack and the entry follow */
#define MSR_PAT      0x277
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

/* As after reset, except slots 1 and 5, which are write-combining (1) instead of write-through (4). The
 * upper four repeat the lower, so that the bit that selects them, which is elsewhere in large pages, does not
 * matter. */
#define PAT_LAYOUT 0x0007010600070106ULL

#define HAS_SYSENTER (1U << 11) /* CPUID 1 EDX */
#define HAS_PAT      (1U << 16)

#define DR6_RESET 0xffff0ff0ULL
#define DR7_RESET 0x400ULL

/* What SYSCALL clears in the flags: interrupts, direction, trap, nested task, alignment check (SMAP's
 * override), I/O privilege. */
#define SYSCALL_FLAGS_MASK 0x47700ULL

static uint8_t boot_klog[KLOG_RING_BYTES(KLOG_EVENTS)] __attribute__((aligned(16)));
struct cpu boot_cpu __attribute__((aligned(4096), section(".bss.boot_cpu")));
bool smap_enabled; /* read by user_copy.asm */

struct cpu_features cpu_features;

static void features_read(void)
{
    uint32_t leaves = cpuid(0, 0).a;
    uint32_t extended_leaves = cpuid(0x80000000, 0).a;
    struct cpuid_result one = cpuid(1, 0);
    struct cpuid_result seven = leaves >= 7 ? cpuid(7, 0) : (struct cpuid_result){ 0 };
    struct cpuid_result extended = cpuid(0x80000001, 0);

    cpu_features.basic_leaves = leaves;
    cpu_features.hwcap = one.d;
    cpu_features.monitor = one.c >> 3 & 1;
    cpu_features.xsave = one.c >> 26 & 1;
    cpu_features.rdrand = one.c >> 30 & 1;
    cpu_features.hypervisor = one.c >> 31 & 1;
    cpu_features.machine_check = (one.d >> 7 & 1) && (one.d >> 14 & 1);
    cpu_features.physical_bits = extended_leaves >= 0x80000008 ? (uint8_t)cpuid(0x80000008, 0).a : 36;
    cpu_features.tsc_adjust = seven.b >> 1 & 1;
    cpu_features.smep = seven.b >> 7 & 1;
    cpu_features.smap = seven.b >> 20 & 1;
    cpu_features.umip = seven.c >> 2 & 1;
    cpu_features.rdpid = seven.c >> 22 & 1;
    cpu_features.thread_bits = leaves >= 0xb ? cpuid(0xb, 0).a & 31 : 0;
    cpu_features.core_bits = leaves >= 0xb ? cpuid(0xb, 1).a & 31 : 0;
    cpu_features.rdtscp = extended.d >> 27 & 1;
    cpu_features.no_execute = extended.d >> 20 & 1;
    cpu_features.huge_pages = extended.d >> 26 & 1;
    if (extended_leaves >= 0x80000007)
        cpu_features.invariant_tsc = cpuid(0x80000007, 0).d >> 8 & 1;
}

static void segments_load(struct cpu *cpu)
{
    struct table_pointer pointer = { sizeof(cpu->gdt) - 1, (uint64_t)cpu->gdt };
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

/* Sets CR4; entry.asm has set CR0. */
static void control_registers_set(void)
{
    uint64_t cr4 = CR4_PAE | CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT | (cpu_features.xsave ? CR4_OSXSAVE : 0) |
                   (cpu_features.smep ? CR4_SMEP : 0) | (cpu_features.smap ? CR4_SMAP : 0) |
                   (cpu_features.umip ? CR4_UMIP : 0) | (cpu_features.machine_check ? CR4_MCE : 0);

    __asm__ volatile("mov %0, %%cr4" : : "r"(cr4) : "memory");
    smap_enabled = cpu_features.smap;
}

/* Clears what firmware or a boot loader may have left on: breakpoints would stop programs, SYSENTER would
 * lead them to the firmware's code with the kernel's rights, and a page's type would depend on the machine.
 * No page has been mapped by the slots that change, so that no cache holds anything of such a page. */
static void leftovers_clear(void)
{
    __asm__ volatile("mov %0, %%dr7" : : "r"(DR7_RESET));
    __asm__ volatile("mov %0, %%dr6" : : "r"(DR6_RESET));
    __asm__ volatile("mov %0, %%dr0; mov %0, %%dr1; mov %0, %%dr2; mov %0, %%dr3" : : "r"(0ULL));
    for (uint32_t i = 0; i < 3 && (cpu_features.hwcap & HAS_SYSENTER); i++)
        msr_write(MSR_SYSENTER + i, 0);
    if (cpu_features.hwcap & HAS_PAT)
        msr_write(MSR_PAT, PAT_LAYOUT);
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

void cpu_initialise(struct cpu *cpu, unsigned index)
{
    if (index == 0) {
        features_read();
        cpu->klog = (struct klog_ring *)boot_klog;
        cpu->klog->last = KLOG_EVENTS - 1;
    }
    leftovers_clear();
    cpu->self = cpu;
    cpu->index = index;
    cpu->counters.cpu = index;
    segments_load(cpu);
    msr_write(MSR_GS_BASE, (uint64_t)cpu);
    msr_write(MSR_KERNEL_GS_BASE, 0);
    trap_initialise();
    control_registers_set();
    vector_state_enable(index);
    system_calls_set();
}

void cpu_identify(struct cpu *cpu)
{
    uint32_t node = cpu->numa_domain == NUMA_DOMAIN_NONE ? 0 : cpu->numa_domain;
    uint64_t value = cpu->index | (node < VDSO_NODE_UNKNOWN ? node : VDSO_NODE_UNKNOWN) << VDSO_CPU_BITS;

    /* Read-only data, privilege 3, present, accessed; LSL reads its limit. */
    cpu->gdt[SELECTOR_CPU_NUMBER / 8] = (value & 0xffff) | 0xf1ULL << 40 | (value & 0xf0000) << 32;
    if (cpu_features.rdtscp || cpu_features.rdpid)
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
    return cpu_features.huge_pages;
}

uint64_t arch_hwcap(unsigned word)
{
    /* AT_HWCAP2 would announce RDFSBASE and user-mode MWAIT, which are both off. */
    return word == 1 ? cpu_features.hwcap : 0;
}

uint32_t arch_vdso_features(void)
{
    return (cpu_features.rdtscp ? VDSO_RDTSCP : 0) | (cpu_features.rdpid ? VDSO_RDPID : 0);
}

bool arch_random_strong(uint64_t *value)
{
    bool good = false;

    for (unsigned tries = 0; cpu_features.rdrand && !good && tries < 16; tries++)
        __asm__ volatile("rdrand %0" : "=r"(*value), "=@ccc"(good));
    return good;
}

uint64_t arch_random(void)
{
    static uint64_t state;
    uint64_t value;

    if (arch_random_strong(&value))
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
    const char *name = brand, *vectors = cpu_features.xcr0 & 4 ? " avx" : "";

    if (cpu_features.xcr0 & 0xe0)
        vectors = " avx512";
    cpu_brand(brand);
    while (*name == ' ')
        name++;
    format_text(text, bytes, "%s%s%s%s%s%s%s", name, cpu_features.no_execute ? " nx" : "",
                cpu_features.smep ? " smep" : "", cpu_features.smap ? " smap" : "",
                cpu_features.umip ? " umip" : "", cpu_features.huge_pages ? " 1GiB-pages" : "", vectors);
}
