/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold.c: has a node's CPUs wait, at any instruction, while its QEMU takes frames up: a TCG plugin of QEMU.
 *
 * Option: fd=N, a descriptor of memory that tools/lockstep shares. While its first word is not 0, no CPU
 * begins a block. Virtual time stands then, as it counts instructions. QEMU's lock is free, which it is not
 * at a gate: so its main loop can read the node's cable (tools/lockstep/__init__.py says what that is for).
 *
 * Runs on QEMU's threads for the CPUs; tools/lockstep alone writes the word.
 */
#include "../caches/qemu_plugin.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LOOK_NS 20000

static _Atomic uint32_t *held;

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

static void block_executed(unsigned cpu, void *data)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };

    (void)cpu;
    (void)data;
    while (__builtin_expect(atomic_load_explicit(held, memory_order_acquire) != 0, 0))
        nanosleep(&pause, NULL);
}

static void block_translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, block_executed, PLUGIN_NO_REGISTERS, NULL);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv)
{
    int fd;
    void *shared;

    (void)machine;
    if (argc != 1 || sscanf(argv[0], "fd=%d", &fd) != 1) {
        fprintf(stderr, "hold: it takes one option, fd=N\n");
        return 1;
    }
    shared = mmap(NULL, sizeof *held, PROT_READ, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) {
        perror("hold: the shared word");
        return 1;
    }
    held = shared;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    return 0;
}
