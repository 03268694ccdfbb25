/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugin.c: a TCG plugin for QEMU that counts the instructions of each visit of a program to the kernel.
 *
 * Option: out=FILE. A visit begins with the first block in the upper half that a CPU executes after one in
 * the lower half, and ends before the next one in the lower half. Its kind is the address where it begins;
 * for an interrupt that is its vector's stub. Each CPU counts on its own QEMU thread, so nothing is locked.
 * At the end, a line is written for each CPU and kind, in the order of their first visits:
 *
 *     cpu 1 entry ffffffff80201f40 visits 100 minimum 300 median 302 maximum 511
 *
 * Blocks count as translated by QEMU: a block that a fault ends early counts in full; interrupts come between
 * blocks. If the CPU switches to another thread or idles during a visit, the visit includes that.
 */
#include "../caches/qemu_plugin.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_MAX    64
#define ENTRIES_MAX 300 /* 256 vectors, and system calls */
#define LENGTHS_MAX 256 /* different lengths of a kind; further ones count as the last one */

struct length {
    uint64_t instructions, visits;
};

struct entry {
    uint64_t address, visits;
    unsigned length_count;
    struct length lengths[LENGTHS_MAX];
};

struct block {
    uint64_t begin, instructions;
};

static struct cpu {
    bool was_program; /* the last block was a program's */
    uint64_t began, instructions;
    unsigned entry_count;
    struct entry *entries[ENTRIES_MAX];
} cpus[CPUS_MAX];

static const char *out_path;

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_INTERFACE;

/* ---- Execution ---- */

static struct entry *entry_of(struct cpu *cpu, uint64_t address)
{
    struct entry *entry;

    for (unsigned i = 0; i < cpu->entry_count; i++)
        if (cpu->entries[i]->address == address)
            return cpu->entries[i];
    entry = cpu->entry_count < ENTRIES_MAX ? calloc(1, sizeof *entry) : NULL;
    if (!entry)
        abort();
    entry->address = address;
    return cpu->entries[cpu->entry_count++] = entry;
}

static void visit_ended(struct cpu *cpu)
{
    struct entry *entry = entry_of(cpu, cpu->began);
    unsigned i = 0;

    entry->visits++;
    while (i < entry->length_count && entry->lengths[i].instructions != cpu->instructions)
        i++;
    if (i == entry->length_count && i < LENGTHS_MAX)
        entry->lengths[entry->length_count++].instructions = cpu->instructions;
    entry->lengths[i < LENGTHS_MAX ? i : LENGTHS_MAX - 1].visits++;
}

static void block_executed(unsigned number, void *data)
{
    const struct block *block = data;
    struct cpu *cpu = &cpus[number % CPUS_MAX];
    const bool is_program = !(block->begin >> 63);

    if (!is_program && cpu->was_program) {
        cpu->began = block->begin;
        cpu->instructions = 0;
    }
    if (is_program && !cpu->was_program && cpu->began)
        visit_ended(cpu);
    cpu->was_program = is_program;
    cpu->instructions += block->instructions;
}

static void block_translated(plugin_id id, struct qemu_plugin_tb *translated)
{
    struct block *block = malloc(sizeof *block); /* QEMU may execute it until the end */

    (void)id;
    if (!block)
        abort();
    block->begin = qemu_plugin_tb_vaddr(translated);
    block->instructions = qemu_plugin_tb_n_insns(translated);
    qemu_plugin_register_vcpu_tb_exec_cb(translated, block_executed, PLUGIN_NO_REGISTERS, block);
}

/* ---- The end ---- */

static int by_length(const void *left, const void *right)
{
    const struct length *a = left, *b = right;

    return (a->instructions > b->instructions) - (a->instructions < b->instructions);
}

static void entry_write(FILE *out, unsigned cpu, struct entry *entry)
{
    uint64_t below = 0;
    unsigned median = 0;

    qsort(entry->lengths, entry->length_count, sizeof entry->lengths[0], by_length);
    while (below + entry->lengths[median].visits <= entry->visits / 2)
        below += entry->lengths[median++].visits;
    fprintf(out,
            "cpu %u entry %" PRIx64 " visits %" PRIu64 " minimum %" PRIu64 " median %" PRIu64
            " maximum %" PRIu64 "\n",
            cpu, entry->address, entry->visits, entry->lengths[0].instructions,
            entry->lengths[median].instructions, entry->lengths[entry->length_count - 1].instructions);
}

static void result_write(plugin_id id, void *data)
{
    FILE *out = fopen(out_path, "w");

    (void)id;
    (void)data;
    if (!out) {
        fprintf(stderr, "visits: cannot write %s\n", out_path);
        return;
    }
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        for (unsigned i = 0; i < cpus[cpu].entry_count; i++)
            entry_write(out, cpu, cpus[cpu].entries[i]);
    if (fclose(out))
        fprintf(stderr, "visits: %s is incomplete: a write failed\n", out_path);
}

/* ---- The beginning ---- */

QEMU_PLUGIN_EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int argc, char **argv)
{
    (void)machine;
    if (argc != 1 || strncmp(argv[0], "out=", 4) != 0) {
        fprintf(stderr, "visits: the plugin needs one option, out=FILE\n");
        return 1;
    }
    out_path = argv[0] + 4;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
    qemu_plugin_register_atexit_cb(id, result_write, NULL);
    return 0;
}
