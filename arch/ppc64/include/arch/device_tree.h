/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/device_tree.h: what the firmware's device tree says of the machine: which CPUs, memory, terminals and
 * interrupt controller there are, how time and RTAS are reached. Portable C over arch/firmware.h, host-tested
 * and fuzzed; the tree is read once, at the start. Sources: IEEE 1275-1994 §3, PAPR §B.6 (LoPAPR, appendix
 * B).
 */
#ifndef ARCH_DEVICE_TREE_H
#define ARCH_DEVICE_TREE_H

#include "arch/platform.h"
#include "lib/boot_info.h"
#include "lib/format.h"
#include <stdint.h>

#define TOKEN_NONE           UINT32_MAX /* RTAS has no such function */
#define NUMA_RANGES_MAX      256
#define TERMINALS_MAX        8
#define CONTROLLER_NAME_MAX  32
#define DECREMENTER_BITS_MIN 32

/* A hardware thread that the tree names. The first one is the one on which the kernel has been started; else
 * they have the tree's order, so that threads of one core follow each other. */
struct machine_cpu {
    uint32_t server;        /* its number for the hypervisor, RTAS and the interrupt controller */
    uint32_t core, package; /* threads of one core share both */
    uint32_t numa_domain;   /* NUMA_DOMAIN_NONE if unknown */
};

extern struct machine_cpu machine_cpus[ARCH_CPUS_MAX];
extern unsigned machine_cpu_count;
extern unsigned machine_cpus_named; /* including CPUs beyond ARCH_CPUS_MAX */

/* A terminal of the hypervisor's. */
struct machine_terminal {
    uint32_t unit;      /* its number in calls */
    uint32_t interrupt; /* its source; TERMINAL_SILENT: it has none */
};
#define TERMINAL_SILENT UINT32_MAX

/* A cache; 0 if the tree does not say. */
struct machine_cache {
    uint32_t bytes, sets;
    uint32_t line_bytes, block_bytes; /* block: what one instruction, such as dcbz, concerns */
};

struct machine_facts {
    char model[64];
    uint64_t timebase_hz, clock_hz;
    struct machine_cache instructions, data;
    uint32_t decrementer_bits;
    uint32_t version; /* PVR */

    /* RTAS: its entry, 0 if there is none, and where it is; tokens of its functions, or TOKEN_NONE. */
    uint32_t rtas, rtas_bytes;
    uint32_t rtas_base;
    uint32_t power_off, reboot, start_cpu, set_xive, int_off, int_on, get_time_of_day;

    /* The first of these is the one that /chosen names as standard output, if it names one. */
    struct machine_terminal terminals[TERMINALS_MAX];
    unsigned terminal_count, terminals_named;

    /* XIVE: its registers for the operating system's ring; sources that the kernel may use for IPIs; log2 of
     * the bytes of a queue, 0: none fits into a page. */
    enum { CONTROLLER_NONE, CONTROLLER_XIVE, CONTROLLER_XICS, CONTROLLER_UNKNOWN } controller;
    char controller_name[CONTROLLER_NAME_MAX]; /* as the tree has it ("compatible") */
    uint64_t xive_tima, xive_tima_bytes;
    uint32_t xive_lisn_first, xive_lisn_count;
    uint32_t xive_queue_bits;

    /* Domains of memory; none if all of it has the same one. */
    struct numa_range numa_ranges[NUMA_RANGES_MAX];
    unsigned numa_range_count, numa_ranges_dropped;
};
extern struct machine_facts machine;

/* Fills *out (zeroed first), `machine` and machine_cpus from the tree. An initrd is where the tree says, else
 * at `initrd`. -EINVAL with `why`: which property of which node, and what was expected there. */
int device_tree_read(struct boot_info *out, uint64_t initrd, uint64_t initrd_bytes, struct message *why);

#endif
