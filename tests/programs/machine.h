/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h: what test programs need of the CPU itself, for each architecture.
 *
 *   MACHINE_PAGE         bytes of the smallest page
 *   MACHINE_PLATFORM, MACHINE_NAME    AT_PLATFORM; uname's machine
 *   MACHINE_VDSO_PREFIX, MACHINE_VDSO_VERSION    of the vDSO's functions
 *   MACHINE_VDSO_ERROR(number)    what such a function answers for an error
 *   MACHINE_TIMER        the kernel's name of the clock event device that each such machine has
 *   NOT_THERE            an address of programs at which nothing is mapped
 *   machine_relax()      a hint to the CPU inside a loop that polls; under QEMU's icount, what lets another
 *                        CPU run
 *   machine_ticks()      the counter of the clock source, whose rate tacet_node()->clock_hz says
 *   machine_ticks_ordered()    the same, not before earlier instructions have completed
 *   machine_cpu()        the CPU's number, as the hardware reports it if it does
 *   machine_work(&x)     four hundred additions without a branch, for which an emulator asks nobody
 *   MACHINE_PAGE_FAULT   the number of the exception of a load or store; _NAME: the kernel's name for it
 *   MACHINE_RETURN_42    a function that returns 42, as a text
 *   MACHINE_USER_LIMIT   the end of programs' addresses
 *   KERNEL_IMAGE, KERNEL_MEMORY    addresses of the kernel's: in its image; of physical memory as it sees it
 *   KERNEL_DEVICES       the first address of its window of device registers
 *   KERNEL_ADDRESSES     many of the kernel's, as a list: these, and others in its image (text, constants,
 *                        data) and in its windows
 *   ADDRESS_HOLE         as a list, the last address below the hole between programs' and the kernel's, the
 *                        first and the last one in it
 *   MACHINE_IS_KERNELS(value)    whether a value is an address of the kernel's image, or of the first 16 GiB
 *                        of memory as it sees them; its highest byte is then MACHINE_KERNELS_FIRST. The
 *                        window of device registers is left out: a -1 that the kernel rightly writes at an
 *                        odd place looks the same; so does 252 MiB to the first page of POWER's
 *   MACHINE_LEAK_STEP    of what the places are multiples at which such a one is looked for: on POWER of four
 *                        bytes, to which the ABI's structures are aligned; a time's zeroes and microseconds
 *                        look like one at others
 *   MACHINE_SELECT       the number of the call select
 *   MACHINE_GETRLIMIT    that of getrlimit
 *   MACHINE_THREAD_CALL  the number of the call that sets the thread pointer; -1 where there is none
 *   MACHINE_NUMBER(x86_64, ppc64)    of a row of kernel/syscall/syscalls.def the number of this machine
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define NOT_THERE 0x123456780000UL

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

#define MACHINE_PAGE               4096UL
#define MACHINE_PLATFORM           "x86_64"
#define MACHINE_NAME               "x86_64"
#define MACHINE_VDSO_PREFIX        "__vdso_"
#define MACHINE_VDSO_VERSION       "LINUX_2.6"
#define MACHINE_VDSO_ERROR(number) (-(number))
#define MACHINE_TIMER              "lapic"
#define KERNEL_IMAGE               0xffffffff80200000UL
#define KERNEL_MEMORY              0xffff800000100000UL
#define KERNEL_DEVICES             0xffffff0000000000UL
#define ADDRESS_HOLE               0x00007fffffffffffUL, 0x0000800000000000UL, 0xffff7fffffffffffUL
#define KERNEL_ADDRESSES                                                                                    \
    0xffffffff80000000UL, 0xffffffff80100000UL, 0xffffffff80101008UL, KERNEL_IMAGE, KERNEL_IMAGE + 0x58008, \
        0xffff800000000000UL, KERNEL_MEMORY, KERNEL_DEVICES, KERNEL_DEVICES + 0xfee00000
#define MACHINE_RETURN_42       "\xb8\x2a\0\0\0\xc3" /* mov eax, 42; ret */
#define MACHINE_PAGE_FAULT      14
#define MACHINE_PAGE_FAULT_NAME "page fault"

#define MACHINE_USER_LIMIT    0x00007ffffffff000UL
#define MACHINE_KERNELS_FIRST 0xffU
#define MACHINE_LEAK_STEP     1U
#define MACHINE_IS_KERNELS(value) \
    ((value)-0xffffffff80000000 < 0x10000000 || (value)-0xffff800000000000 < 0x400000000)
#define MACHINE_SELECT                SYS_select
#define MACHINE_GETRLIMIT             SYS_getrlimit
#define MACHINE_THREAD_CALL           158 /* arch_prctl */
#define MACHINE_NUMBER(x86_64, ppc64) (x86_64)

static inline void machine_relax(void)
{
    __builtin_ia32_pause();
}

static inline uint64_t machine_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

static inline uint64_t machine_ticks_ordered(void)
{
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
}

static inline unsigned machine_cpu(void)
{
    unsigned a, b, c, d;

    __cpuid(1, a, b, c, d);
    return b >> 24;
}

static inline void machine_work(uint64_t *value)
{
    __asm__ volatile(".rept 400\n\tadd $1, %0\n\t.endr" : "+r"(*value));
}

#elif defined(__powerpc64__)
#include <sys/syscall.h>
#include <unistd.h>

#define MACHINE_PAGE               65536UL
#define MACHINE_PLATFORM           "power9"
#define MACHINE_NAME               "ppc64le"
#define MACHINE_VDSO_PREFIX        "__kernel_"
#define MACHINE_VDSO_VERSION       "LINUX_2.6.15"
#define MACHINE_VDSO_ERROR(number) (number) /* with the summary overflow bit */
#define MACHINE_TIMER              "decrementer"
#define KERNEL_IMAGE               0xc000000000400000UL
#define KERNEL_MEMORY              0xc000000000100000UL
#define KERNEL_DEVICES             0xc008000000000000UL
#define ADDRESS_HOLE               0x000fffffffffffffUL, 0x0010000000000000UL, 0xbfffffffffffffffUL
#define KERNEL_ADDRESSES                                                                   \
    KERNEL_IMAGE, KERNEL_IMAGE + 0x10008, KERNEL_IMAGE + 0x78000, KERNEL_IMAGE + 0x100008, \
        0xc000000000000000UL, KERNEL_MEMORY, KERNEL_DEVICES, KERNEL_DEVICES + 0x10000
#define MACHINE_RETURN_42       "\x2a\x00\x60\x38\x20\x00\x80\x4e" /* li 3, 42; blr */
#define MACHINE_PAGE_FAULT      3
#define MACHINE_PAGE_FAULT_NAME "data storage"

#define MACHINE_USER_LIMIT            0x00007fffffff0000UL
#define MACHINE_KERNELS_FIRST         0xc0U
#define MACHINE_LEAK_STEP             4U
#define MACHINE_IS_KERNELS(value)     ((value)-0xc000000000010000 < 0x3ffff0000)
#define MACHINE_SELECT                SYS__newselect /* SYS_select is another call, of old programs */
#define MACHINE_GETRLIMIT             SYS_ugetrlimit /* SYS_getrlimit is 32-bit programs' */
#define MACHINE_THREAD_CALL           (-1)
#define MACHINE_NUMBER(x86_64, ppc64) (ppc64)

static inline void machine_relax(void)
{
    __asm__ volatile("or 31, 31, 31\n\tor 2, 2, 2" : : : "memory"); /* low priority, and back */
}

static inline uint64_t machine_ticks(void)
{
    return __builtin_ppc_get_timebase();
}

static inline uint64_t machine_ticks_ordered(void)
{
    __asm__ volatile("isync" : : : "memory");
    return __builtin_ppc_get_timebase();
}

/* No register that a program may read has it. */
static inline unsigned machine_cpu(void)
{
    unsigned cpu = ~0U;

    syscall(SYS_getcpu, &cpu, (void *)0, (void *)0);
    return cpu;
}

static inline void machine_work(uint64_t *value)
{
    __asm__ volatile(".rept 400\n\taddi %0, %0, 1\n\t.endr" : "+b"(*value));
}

#else
#error "machine.h: what does this architecture have?"
#endif

#endif
