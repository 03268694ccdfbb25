/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_device_tree.c: reads a tree that is built by the input: nodes and properties with the names that the
 * reader looks for, any bytes in them, and links to any node, also in a circle.
 */
#include "arch/device_tree.h"
#include "boot_info_promises.h"
#include "fuzz.h"
#include "simulated_tree.h"

static const char *const node_names[] = { "chosen",
                                          "cpus",
                                          "PowerPC,POWER9@0",
                                          "memory@0",
                                          "rtas",
                                          "vdevice",
                                          "vty@71000000",
                                          "interrupt-controller",
                                          "ibm,dynamic-reconfiguration-memory",
                                          "reserved-memory",
                                          "node" };

static const char *const property_names[] = { "device_type",
                                              "compatible",
                                              "reg",
                                              "status",
                                              "bootargs",
                                              "linux,initrd-start",
                                              "linux,initrd-end",
                                              "stdout",
                                              "cpu",
                                              "timebase-frequency",
                                              "ibm,dec-bits",
                                              "ibm,ppc-interrupt-server#s",
                                              "ibm,associativity",
                                              "ibm,associativity-reference-points",
                                              "ibm,chip-id",
                                              "#address-cells",
                                              "#size-cells",
                                              "rtas-size",
                                              "get-time-of-day",
                                              "interrupts",
                                              "ibm,xive-lisn-ranges",
                                              "ibm,xive-eq-sizes",
                                              "ibm,lmb-size",
                                              "ibm,dynamic-memory",
                                              "ibm,dynamic-memory-v2",
                                              "ibm,associativity-lookup-arrays",
                                              "ibm,architecture-vec-5",
                                              "name" };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Steps, by their first byte: each number ends the step's range of bytes. */
enum { STEP_NODE = 64, STEP_UP = 96, STEP_PROPERTY = 224, STEP_PEER = 228, STEP_CHILD = 232 };

static uint8_t take(const uint8_t **data, size_t *bytes)
{
    if (*bytes == 0)
        return 0;
    --*bytes;
    return *(*data)++;
}

static void property_build(firmware_node node, const char *name, const uint8_t **data, size_t *bytes)
{
    unsigned length = take(data, bytes);

    if (length >= 128) /* longer than the reader's buffers */
        length = (length - 127) * 256;
    uint8_t *content = calloc(1, length + 1);
    const size_t there = length < *bytes ? length : *bytes;
    memcpy(content, *data, there);
    *data += there;
    *bytes -= there;
    tree_put(node, name, content, length);
    free(content);
}

static void tree_build(const uint8_t *data, size_t bytes)
{
    firmware_node at = 1;

    tree_begin();
    while (bytes && tree_count < TREE_NODES_MAX - 1) {
        const uint8_t step = take(&data, &bytes);

        if (step < STEP_NODE)
            at = tree_node(at, node_names[step % COUNT(node_names)]);
        else if (step < STEP_UP)
            at = tree_nodes[at].parent ? tree_nodes[at].parent : at;
        else if (step < STEP_PROPERTY)
            property_build(at, property_names[(unsigned)(step - STEP_UP) % COUNT(property_names)], &data,
                           &bytes);
        else if (step < STEP_PEER)
            tree_nodes[at].peer = take(&data, &bytes) % (tree_count + 1);
        else if (step < STEP_CHILD)
            tree_nodes[at].child = take(&data, &bytes) % (tree_count + 1);
    }
}

static void promise_cpus(void)
{
    PROMISE(machine_cpu_count > 0 && machine_cpu_count <= ARCH_CPUS_MAX);
    PROMISE(machine_cpus_named == machine_cpu_count || machine_cpu_count == ARCH_CPUS_MAX);
    for (unsigned i = 0; i < machine_cpu_count; i++)
        for (unsigned j = 0; j < i; j++)
            PROMISE(machine_cpus[i].server != machine_cpus[j].server);
    PROMISE(machine.timebase_hz > 0);
    PROMISE(machine.decrementer_bits >= 32 && machine.decrementer_bits <= 64);
}

static void promise_machine(void)
{
    PROMISE(machine.terminal_count <= TERMINALS_MAX && machine.terminal_count <= machine.terminals_named);
    for (unsigned i = 2; i < machine.terminal_count; i++)
        PROMISE(machine.terminals[i - 1].unit <= machine.terminals[i].unit);
    PROMISE(machine.numa_range_count <= NUMA_RANGES_MAX && machine.numa_range_count != 1);
    for (unsigned i = 0; i < machine.numa_range_count; i++) {
        const struct memory_range *range = &machine.numa_ranges[i].range;

        PROMISE(range->bytes > 0 && range->bytes <= UINT64_MAX - range->base);
    }
    PROMISE(memchr(machine.controller_name, 0, sizeof(machine.controller_name)));
    PROMISE(machine.xive_queue_bits <= 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct boot_info info;
    struct message why = { "" };

    tree_build(data, bytes);
    if (device_tree_read(&info, 0, 0, &why) == 0) {
        promise_boot_info(&info);
        promise_cpus();
        promise_machine();
    } else {
        PROMISE(why.text[0] != '\0');
    }
    return 0;
}
