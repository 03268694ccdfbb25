/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugin.c: a TCG plugin for QEMU that counts the cache misses of a program's function, and of the code that
 * interrupts it [Tsafrir05 §3.2, Fig. 6]. It feeds models of caches (cache.h) with every fetch and access of
 * the machine, for several processors at once.
 *
 * Options: begin=ADDRESS,end=ADDRESS (hexadecimal: the function), out=FILE, caches=NAME:CODE:DATA:SECOND
 * (once for each processor). The function runs from its first instruction until user code outside of it is
 * executed; addresses in the upper half are the kernel's. Of several runs the longest is kept: the measuring
 * window is longer than the calibration, and longer than another program's code at these addresses.
 *
 * The machine is observed only from the first start of the function, so that booting takes no longer; the
 * caches fill from then on. Fetches are counted by blocks of instructions as translated by QEMU: a block that
 * a fault ends early counts in full. Addresses are virtual in all caches. One CPU; QEMU calls only from that
 * CPU's thread, so nothing is locked.
 */
#include "cache.h"
#include "qemu_plugin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODELS_MAX 8

enum who { PROGRAM, KERNEL, OTHER, WHO };

/* Counts of a run of the function. */
struct run {
    uint64_t instructions[WHO], interruptions;
    uint64_t misses[MODELS_MAX][WHO][CACHE_LEVELS];
};

/* A translated block of instructions. */
struct block {
    uint64_t begin, end, instructions;
    enum who who;
};

static struct {
    uint64_t begin, end;
    const char *out;
    struct caches models[MODELS_MAX];
    int model_count;
    bool is_watched;
    bool is_running; /* the function runs, or code that has interrupted it */
    enum who who;    /* the owner of the last block */
    const struct block *last;
    struct run now, longest;
} state;

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

/* ---- Execution ---- */

static void run_end(void)
{
    if (state.is_running && state.now.instructions[PROGRAM] > state.longest.instructions[PROGRAM])
        state.longest = state.now;
    state.is_running = false;
}

static void run_begin(void)
{
    run_end();
    memset(&state.now, 0, sizeof state.now);
    state.is_running = true;
}

static void block_executed(unsigned cpu, void *data)
{
    const struct block *block = data;

    (void)cpu; /* there is only one */
    if (block->who == PROGRAM && block->begin == state.begin)
        run_begin();
    else if (block->who == OTHER)
        run_end();
    if (block->who == KERNEL && state.who == PROGRAM)
        state.now.interruptions++;
    state.who = block->who;
    state.now.instructions[block->who] += block->instructions;
    if (block == state.last)
        return; /* the same lines of code in the same order: all hit, and their order of use stays */
    state.last = block;
    for (int i = 0; i < state.model_count; i++)
        caches_access(&state.models[i], CACHE_CODE, block->begin, block->end,
                      state.now.misses[i][block->who]);
}

static void memory_accessed(unsigned cpu, uint32_t access, uint64_t address, void *data)
{
    const uint64_t end = address + (UINT64_C(1) << qemu_plugin_mem_size_shift(access));

    (void)cpu;
    (void)data;
    for (int i = 0; i < state.model_count; i++)
        caches_access(&state.models[i], CACHE_DATA, address, end, state.now.misses[i][state.who]);
}

/* ---- Translation ---- */

static enum who who_at(uint64_t address)
{
    if (address >> 63)
        return KERNEL;
    return address >= state.begin && address < state.end ? PROGRAM : OTHER;
}

static void block_translated(plugin_id id, struct qemu_plugin_tb *translated)
{
    const size_t count = qemu_plugin_tb_n_insns(translated);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(translated, count - 1);
    struct block *block = malloc(sizeof *block); /* QEMU may execute it until the end */

    (void)id;
    if (!block)
        abort();
    block->begin = qemu_plugin_tb_vaddr(translated);
    block->end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
    block->instructions = count;
    block->who = who_at(block->begin);
    qemu_plugin_register_vcpu_tb_exec_cb(translated, block_executed, PLUGIN_NO_REGISTERS, block);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(translated, i), memory_accessed,
                                         PLUGIN_NO_REGISTERS, PLUGIN_READS_AND_WRITES, NULL);
}

/* ---- The end ---- */

static void result_write(plugin_id id, void *data)
{
    static const char *const names[WHO] = { "program", "kernel", "other" };
    FILE *out = fopen(state.out, "w");
    const struct run *run = &state.longest;

    (void)id;
    (void)data;
    if (!out) {
        fprintf(stderr, "caches: cannot write %s\n", state.out);
        return;
    }
    run_end();
    fprintf(out, "instructions program %" PRIu64 " kernel %" PRIu64 "\n", run->instructions[PROGRAM],
            run->instructions[KERNEL]);
    fprintf(out, "interruptions %" PRIu64 "\n", run->interruptions);
    for (int i = 0; i < state.model_count; i++)
        for (int who = 0; who < OTHER; who++)
            fprintf(out, "misses %s %s code %" PRIu64 " data %" PRIu64 " second %" PRIu64 "\n",
                    state.models[i].name, names[who], run->misses[i][who][CACHE_CODE],
                    run->misses[i][who][CACHE_DATA], run->misses[i][who][CACHE_SECOND]);
    if (fclose(out))
        fprintf(stderr, "caches: %s is incomplete: a write failed\n", state.out);
}

/* ---- The beginning ---- */

static void watch_begin(plugin_id id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_atexit_cb(id, result_write, NULL);
}

static void function_arrived(unsigned cpu, void *data)
{
    (void)cpu;
    if (!state.is_watched)
        qemu_plugin_reset(*(plugin_id *)data, watch_begin);
    state.is_watched = true;
}

static void function_awaited(plugin_id id, struct qemu_plugin_tb *translated)
{
    static plugin_id kept;

    kept = id;
    if (qemu_plugin_tb_vaddr(translated) == state.begin)
        qemu_plugin_register_vcpu_tb_exec_cb(translated, function_arrived, PLUGIN_NO_REGISTERS, &kept);
}

static int refuse(const char *option, const char *wrong)
{
    fprintf(stderr, "caches: %s: %s\n", option, wrong);
    return 1;
}

/* Returns the value of `option` if its name is `name`, otherwise NULL. */
static const char *value_of(const char *option, const char *name)
{
    const size_t length = strlen(name);

    return !strncmp(option, name, length) && option[length] == '=' ? option + length + 1 : NULL;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv)
{
    const char *wrong = NULL, *value;

    (void)machine;
    for (int i = 0; i < argc; i++) {
        if ((value = value_of(argv[i], "begin"))) {
            state.begin = strtoull(value, NULL, 16);
        } else if ((value = value_of(argv[i], "end"))) {
            state.end = strtoull(value, NULL, 16);
        } else if ((value = value_of(argv[i], "out"))) {
            state.out = value;
        } else if ((value = value_of(argv[i], "caches"))) {
            if (state.model_count == MODELS_MAX)
                return refuse(argv[i], "too many processors, at most eight");
            if (!caches_make(&state.models[state.model_count], value, &wrong))
                return refuse(argv[i], wrong);
            state.model_count++;
        } else {
            return refuse(argv[i], "no such option; there are begin, end, out and caches");
        }
    }
    if (!state.begin || state.end <= state.begin || !state.out || !state.model_count)
        return refuse("options", "begin, a later end, out, and at least one caches are needed");
    qemu_plugin_register_vcpu_tb_trans_cb(id, function_awaited);
    return 0;
}
