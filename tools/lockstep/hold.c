/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold.c: a TCG plugin for QEMU. It makes a node's CPUs wait while QEMU reads frames, at any instruction. It
 * also makes a CPU that is about to halt wait until QEMU's main loop sleeps.
 *
 * Option: fd=N, a descriptor of memory that tools/lockstep shares. While its first word is not 0, no CPU
 * begins a block. Virtual time then stops, since it counts instructions. QEMU's lock is free meanwhile, so
 * its main loop can read the node's cable (tools/lockstep/__init__.py says why).
 *
 * When all CPUs are halted, QEMU's main loop moves virtual time to the node's next timer: it adds the
 * difference between that and the time at the end of the CPU's last turn. But the CPU's thread reports that
 * it is halted before it ends its turn, which adds the instructions of that turn. If the main loop runs in
 * between, it moves the time too far by these. It runs then only if it was woken before: so a CPU that is
 * about to halt waits until the main loop sleeps.
 *
 * Runs on QEMU's threads for the CPUs; only tools/lockstep writes the word.
 */
#include "../caches/qemu_plugin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000

static _Atomic uint32_t *held;
static int main_state = -1; /* /proc/self/task/…/stat of QEMU's first thread, which runs the main loop */

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

static void pause_shortly(void)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };

    nanosleep(&pause, NULL);
}

static void block_executed(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    while (__builtin_expect(atomic_load_explicit(held, memory_order_acquire) != 0, 0))
        pause_shortly();
}

/* Returns whether the main loop sleeps. It does not sleep to wait for a lock of this thread, which holds none
 * here. proc(5): the state follows the name, which is in parentheses. */
static bool main_loop_sleeps(void)
{
    char text[256];
    const ssize_t bytes = pread(main_state, text, sizeof(text) - 1, 0);

    if (bytes <= 0)
        return true; /* cannot happen: the process is this one */
    text[bytes] = '\0';
    const char *end = strrchr(text, ')');
    return !end || strncmp(end, ") S", 3) == 0;
}

static void halt_begins(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    while (!main_loop_sleeps())
        pause_shortly();
}

/* Returns whether an instruction is HLT or MWAIT of x86, the architecture of nodes in lockstep. */
static bool is_halt(const struct qemu_plugin_insn *instruction)
{
    static const uint8_t mwait[] = { 0x0f, 0x01, 0xc9 };
    uint8_t bytes[16];
    const size_t count = qemu_plugin_insn_data(instruction, bytes, sizeof(bytes));

    return (count == 1 && bytes[0] == 0xf4) ||
           (count == sizeof(mwait) && memcmp(bytes, mwait, sizeof(mwait)) == 0);
}

static void block_translated(plugin_id id, struct qemu_plugin_tb *block)
{
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(block, qemu_plugin_tb_n_insns(block) - 1);

    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, block_executed, PLUGIN_NO_REGISTERS, NULL);
    if (is_halt(last))
        qemu_plugin_register_vcpu_insn_exec_cb(last, halt_begins, PLUGIN_NO_REGISTERS, NULL);
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
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    main_state = open(path, O_RDONLY | O_CLOEXEC);
    if (main_state < 0) {
        perror(path);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    return 0;
}
