/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacet.h: Tacet's interface for programs in addition to the Linux ABI.
 *
 * The kernel maps consecutive read-only pages into every process and puts their address into the auxiliary
 * vector: first one `struct tacet_node`, then one `struct tacet_counters` per CPU, each at the beginning of a
 * page (AT_PAGESZ: 4 KiB on x86_64, 64 KiB on ppc64). Reading them is an ordinary load without a kernel
 * entry, so a benchmark can count the kernel entries in its own measuring window without adding one. On any
 * other system `tacet_node()` returns NULL, so that the same ELF file also runs there.
 *
 * The kernel includes this file, which is the only definition of the layout.
 */
#ifndef TACET_H
#define TACET_H

#include <stddef.h>
#include <stdint.h>

/* Type of the auxiliary vector's entry with the address of `struct tacet_node` ("tac", in a range that Linux
 * does not use). */
#define AT_TACET_NODE 0x746163

/* Changes whenever a field of the structures below moves. */
#define TACET_LAYOUT 1

#define TACET_EXCEPTIONS 64
#define TACET_INTERRUPTS 256

/* Facts about the node; the first page. */
struct tacet_node {
    uint32_t layout;       /* TACET_LAYOUT of the kernel that runs */
    uint32_t cpu_count;    /* counter pages that follow this page */
    uint64_t clock_hz;     /* rate of the clock source (x86_64: the TSC), ticks a second, as calibrated */
    uint64_t boot_ticks;   /* clock source at the kernel's first instruction */
    uint64_t kernel_bytes; /* memory that the kernel keeps for itself: image, tables, stacks; bytes */
    uint64_t zeroed_bytes; /* zeroed for the first rank before it started; bytes */
};

/* Kernel entries of one CPU since boot, by cause, and events of its threads. Written only by that CPU and
 * monotone, except `ready`. */
struct tacet_counters {
    uint32_t cpu; /* which CPU this page belongs to, 0 .. cpu_count - 1 */
    uint32_t reserved;
    uint64_t system_calls;                 /* entries by the system call instruction */
    uint64_t exceptions[TACET_EXCEPTIONS]; /* by number (x86_64: vector 0-31; ppc64: vector / 256) */
    uint64_t interrupts[TACET_INTERRUPTS]; /* by number (x86_64: vector 32-255; ppc64: alike) */
    uint64_t switches;                     /* from one thread to another, or to none */
    uint64_t rotations;                    /* of these: because a turn was over (rotation=) */
    uint64_t wake_ipis; /* sent because a thread that became ready had to interrupt another one */
    uint32_t ready;     /* threads that wait for this CPU now: a spinning thread may block instead */
};

/* prctl(PR_TACET_TIE, 1) ties a rank to the others: until prctl(PR_TACET_TIE, 0) its end, in any way, ends
 * all ranks of the node, and its status is the node's (1 instead of 0). So does the end of a rank that has
 * never been tied, while others are. Returns 0, or 1 + the status of such a rank that has ended already.
 * Under tacetrun it has no effect: PMI serves that purpose. MPI_Init ties, MPI_Finalize unties. On other
 * systems it fails with EINVAL. */
#define PR_TACET_TIE 0x746163

#ifndef TACET_KERNEL
#include <sys/auxv.h>

/* Returns the node's facts; NULL if the program does not run on Tacet, or on a kernel with another layout. */
static inline const struct tacet_node *tacet_node(void)
{
    const struct tacet_node *node = (const struct tacet_node *)getauxval(AT_TACET_NODE);

    return node && node->layout == TACET_LAYOUT ? node : NULL;
}

/* Returns the counters of CPU `cpu` (0 .. cpu_count - 1); NULL if there are none. */
static inline const volatile struct tacet_counters *tacet_counters(uint32_t cpu)
{
    const struct tacet_node *node = tacet_node();

    if (!node || cpu >= node->cpu_count)
        return NULL;
    return (const volatile struct tacet_counters *)((const char *)node + getauxval(AT_PAGESZ) * (1 + cpu));
}

/* Returns the number of all kernel entries of CPU `cpu` since boot; 0 if there are no counters. */
static inline uint64_t tacet_kernel_entries(uint32_t cpu)
{
    const volatile struct tacet_counters *counters = tacet_counters(cpu);
    uint64_t sum = 0;

    if (!counters)
        return 0;
    sum = counters->system_calls;
    for (unsigned i = 0; i < TACET_EXCEPTIONS; i++)
        sum += counters->exceptions[i];
    for (unsigned i = 0; i < TACET_INTERRUPTS; i++)
        sum += counters->interrupts[i];
    return sum;
}
#endif /* TACET_KERNEL */

#endif /* TACET_H */
