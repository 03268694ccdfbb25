/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_device_tree.c: trees as QEMU's pseries has them, with several NUMA domains, threads and terminals, and
 * broken ones.
 */
#include "arch/device_tree.h"
#include "check.h"
#include "lib/errno.h"
#include "simulated_tree.h"

#define SERVERS "ibm,ppc-interrupt-server#s"
#define NEAR    "ibm,associativity"
#define POINTS  "ibm,associativity-reference-points"
#define BLOCKS  "ibm,dynamic-reconfiguration-memory"

static struct boot_info info;
static struct message why;
static firmware_node root, chosen, rtas, cpus, cpu0, memory0, vdevice, vty0, controller;

static firmware_node cpu(unsigned number, uint32_t domain)
{
    const firmware_node node = tree_node(cpus, "PowerPC,POWER9@0");

    tree_text(node, "device_type", "cpu");
    tree_text(node, "status", "okay");
    tree_cells(node, "reg", number);
    tree_cells(node, SERVERS, number);
    tree_cells(node, "timebase-frequency", 512000000);
    tree_cells(node, "ibm,dec-bits", 56);
    tree_cells(node, "cpu-version", 0x0f000005);
    tree_cells(node, "ibm,chip-id", domain);
    tree_cells(node, NEAR, 5, 0, 0, 0, domain, number);
    return node;
}

static firmware_node memory(uint64_t base, uint64_t bytes, uint32_t domain)
{
    const firmware_node node = tree_node(root, "memory@0");

    tree_text(node, "device_type", "memory");
    tree_cells(node, "reg", (uint32_t)(base >> 32), (uint32_t)base, (uint32_t)(bytes >> 32), (uint32_t)bytes);
    tree_cells(node, NEAR, 4, 0, 0, 0, domain);
    return node;
}

static firmware_node terminal(uint32_t unit, uint32_t source)
{
    const firmware_node node = tree_node(vdevice, "vty@71000000");

    tree_text(node, "compatible", "hvterm1");
    tree_cells(node, "reg", unit);
    tree_cells(node, "interrupts", source, 0);
    return node;
}

/* Begins with a machine of one CPU and 512 MiB. */
static void begin(void)
{
    tree_begin();
    root = 1;
    tree_cells(root, "#address-cells", 2);
    tree_cells(root, "#size-cells", 2);
    chosen = tree_node(root, "chosen");
    tree_text(chosen, "bootargs", "ranks=2 -- one");
    rtas = tree_node(root, "rtas");
    tree_cells(rtas, "rtas-size", 0x89c);
    tree_cells(rtas, "power-off", 0x2003);
    tree_cells(rtas, "get-time-of-day", 0x2001);
    tree_cells(rtas, POINTS, 4, 3, 2, 1);
    cpus = tree_node(root, "cpus");
    cpu0 = cpu(0, 0);
    memory0 = memory(0, 512 << 20, 0);
    vdevice = tree_node(root, "vdevice");
    vty0 = terminal(0x71000000, 0x1100);
    controller = tree_node(root, "interrupt-controller@60302031b0000");
    tree_text(controller, "compatible", "ibm,power-ivpe");
    tree_cells(controller, "reg", 0x60302, 0x31b0000, 0, 0x10000, 0x60302, 0x31a0000, 0, 0x20000);
    tree_cells(controller, "ibm,xive-lisn-ranges", 3, 8);
    tree_cells(controller, "ibm,xive-eq-sizes", 12, 16, 21, 24);
}

static int read_tree(void)
{
    why.text[0] = '\0';
    return device_tree_read(&info, 0, 0, &why);
}

static void refused(const char *words)
{
    CHECK_EQUAL(read_tree(), -EINVAL);
    CHECK_CONTAINS(why.text, words);
}

TEST(all_facts_of_an_ordinary_machine_are_found)
{
    begin();
    CHECK_EQUAL(read_tree(), 0);
    CHECK_TEXT(info.command_line, "ranks=2 -- one");
    CHECK_EQUAL(info.usable_count, 1);
    CHECK_EQUAL(info.usable[0].bytes, 512 << 20);
    CHECK_EQUAL(info.module_count, 0);
    CHECK_EQUAL(machine_cpu_count, 1);
    CHECK_EQUAL(machine.timebase_hz, 512000000);
    CHECK_EQUAL(machine.decrementer_bits, 56);
    CHECK_EQUAL(machine.version, 0x0f000005);
    CHECK_EQUAL(machine.rtas_bytes, 0x89c);
    CHECK_EQUAL(machine.power_off, 0x2003);
    CHECK_EQUAL(machine.get_time_of_day, 0x2001);
    CHECK_EQUAL(machine.start_cpu, TOKEN_NONE);
    CHECK_EQUAL(machine.terminal_count, 1);
    CHECK_EQUAL(machine.terminals[0].unit, 0x71000000);
    CHECK_EQUAL(machine.terminals[0].interrupt, 0x1100);
    CHECK_EQUAL(machine.controller, CONTROLLER_XIVE);
    CHECK_TEXT(machine.controller_name, "ibm,power-ivpe");
    CHECK_EQUAL(machine.xive_tima, 0x60302031a0000);
    CHECK_EQUAL(machine.xive_tima_bytes, 0x20000);
    CHECK_EQUAL(machine.xive_lisn_first, 3);
    CHECK_EQUAL(machine.xive_lisn_count, 8);
    CHECK_EQUAL(machine.xive_queue_bits, 16);
}

TEST(a_machine_without_rtas_terminals_and_controller_is_read)
{
    begin();
    tree_nodes[rtas].name = tree_nodes[vdevice].name = "other";
    tree_text(controller, "name", "other");
    tree_remove(controller, "compatible");
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.rtas_bytes, 0);
    CHECK_EQUAL(machine.power_off, TOKEN_NONE);
    CHECK_EQUAL(machine.terminal_count, 0);
    CHECK_EQUAL(machine.controller, CONTROLLER_NONE);
}

/* ---- CPUs ---- */

TEST(threads_of_a_core_are_cpus_that_follow_each_other)
{
    begin();
    tree_cells(cpu0, SERVERS, 0, 1, 2, 3);
    tree_cells(cpu(8, 0), SERVERS, 8, 9);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpu_count, 6);
    for (unsigned i = 0; i < 6; i++) {
        CHECK_EQUAL(machine_cpus[i].server, i < 4 ? i : 4 + i);
        CHECK_EQUAL(machine_cpus[i].core, i < 4 ? 0 : 8);
    }
}

TEST(the_cpu_that_runs_comes_first)
{
    begin();
    cpu(1, 0);
    tree_cells(chosen, "cpu", INSTANCE + cpu(2, 0));
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpu_count, 3);
    CHECK_EQUAL(machine_cpus[0].server, 2);
    CHECK_EQUAL(machine_cpus[1].server, 0);
    CHECK_EQUAL(machine_cpus[2].server, 1);
    tree_cells(chosen, "cpu", INSTANCE + memory0); /* no CPU */
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpus[0].server, 0);
}

TEST(a_cpu_without_numbers_of_threads_is_one_of_its_own_number)
{
    begin();
    tree_remove(cpu0, SERVERS);
    tree_cells(cpu0, "reg", 5);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpus[0].server, 5);
}

TEST(a_cpu_that_has_failed_is_left_out)
{
    begin();
    tree_text(cpu(1, 0), "status", "fail");
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpus_named, 1);
}

TEST(cpus_beyond_the_maximum_are_counted)
{
    begin();
    for (unsigned i = 1; i < ARCH_CPUS_MAX + 10; i++)
        cpu(i, 0);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine_cpu_count, ARCH_CPUS_MAX);
    CHECK_EQUAL(machine_cpus_named, ARCH_CPUS_MAX + 10);
}

TEST(broken_cpus_are_named)
{
    begin();
    cpu(0, 0);
    refused("two CPUs have the number 0; the second is PowerPC,POWER9");
    begin();
    tree_put(cpu0, SERVERS, "abcde", 5);
    refused("ibm,ppc-interrupt-server#s of PowerPC,POWER9 has 5 bytes; 4 bytes for each");
    begin();
    tree_put(cpu0, SERVERS, "", 0);
    refused("has 0 bytes");
    begin();
    tree_cells(cpu0, SERVERS, 0, 1, 2, 3, 4, 5, 6, 7, 8);
    refused("at most 8 hardware threads");
    begin();
    tree_remove(cpu0, "timebase-frequency");
    refused("PowerPC,POWER9 has no timebase-frequency; the ticks");
    begin();
    tree_cells(cpu0, "timebase-frequency", 0);
    refused("timebase-frequency of PowerPC,POWER9 has 4 bytes");
    begin();
    tree_cells(cpu0, "ibm,dec-bits", 65);
    refused("a decrementer of 65 bits; 32 to 64");
    begin();
    tree_text(cpu0, "device_type", "toaster");
    refused("no CPU is named");
}

/* ---- Memory ---- */

TEST(memory_has_the_sizes_of_the_roots_cells)
{
    begin();
    tree_cells(root, "#address-cells", 1);
    tree_cells(root, "#size-cells", 1);
    tree_cells(memory0, "reg", 0, 1 << 28, 1 << 30, 1 << 29);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.usable[1].base, 1 << 30);
    CHECK_EQUAL(info.usable[1].bytes, 1 << 29);
}

TEST(reserved_memory_is_not_usable)
{
    begin();
    const firmware_node reserved = tree_node(root, "reserved-memory");
    tree_cells(tree_node(reserved, "firmware@1000000"), "reg", 0, 0x1000000, 0, 0x10000);
    tree_cells(tree_node(reserved, "wish"), "size", 0, 0x10000);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(info.reserved_count, 1);
    CHECK_EQUAL(info.reserved[0].base, 0x1000000);
}

static firmware_node blocks(void)
{
    const firmware_node node = tree_node(root, BLOCKS);

    tree_cells(node, "ibm,lmb-size", 0, 1 << 28);
    return node;
}

TEST(blocks_of_memory_that_are_assigned_are_usable)
{
    begin();
    const firmware_node node = blocks();
    tree_cells(node, "ibm,associativity-lookup-arrays", 2, 4, 0, 0, 0, 7, 0, 0, 0, 9);
    tree_cells(node, "ibm,dynamic-memory-v2", 3, /* count, address, number, place of the domain, flags */
               2, 0, 0, 0, UINT32_MAX, 0xa0,     /* the node's */
               2, 0, 0x40000000, 4, 1, 0x108,    /* there */
               12, 0, 0x60000000, 6, UINT32_MAX, 0);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.usable[1].base, 0x40000000);
    CHECK_EQUAL(info.usable[1].bytes, 512 << 20);
    CHECK_EQUAL(machine.numa_range_count, 2);
    CHECK_EQUAL(machine.numa_ranges[1].domain, 9);
}

TEST(blocks_in_the_first_form_are_found)
{
    begin();
    tree_cells(blocks(), "ibm,dynamic-memory", 2, 0, 0x40000000, 4, 0, 0, 8, 0, 0x50000000, 5, 0, 0, 0);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.usable[1].bytes, 256 << 20);
}

TEST(broken_memory_is_named)
{
    begin();
    tree_remove(memory0, "reg");
    refused("memory has no reg; addresses and sizes");
    begin();
    tree_cells(memory0, "reg", 0, 0, 0);
    refused("reg of memory has 12 bytes");
    begin();
    tree_text(memory0, "device_type", "toaster");
    refused("no memory is named");
    begin();
    tree_cells(root, "#address-cells", 3);
    refused("3 address cells and 2 size cells");
    begin();
    tree_cells(blocks(), "ibm,dynamic-memory-v2", 2, 1, 0, 0, 0, 0, 8);
    refused("ibm,dynamic-memory-v2 of ibm,dynamic-reconfiguration-memory has 28 bytes");
    begin();
    tree_put(blocks(), "ibm,dynamic-memory-v2", tree_nodes, 20000);
    refused("has 20000 bytes; a count, and 24 bytes for each, at most 16384");
    begin();
    const firmware_node node = blocks();
    tree_cells(node, "ibm,dynamic-memory", 1, 0, 0, 0, 0, 0, 8);
    tree_remove(node, "ibm,lmb-size");
    refused("has no ibm,lmb-size");
    begin();
    const firmware_node large = blocks();
    tree_cells(large, "ibm,lmb-size", 1U << 31, 0);
    tree_cells(large, "ibm,dynamic-memory-v2", 1, 2, 0, 0, 0, 0, 8);
    refused("2 blocks of 0x8000000000000000 bytes");
}

/* ---- NUMA ---- */

TEST(domains_are_the_level_of_the_first_reference_point)
{
    begin();
    memory(512 << 20, 256 << 20, 0);
    memory(768 << 20, 256 << 20, 1);
    cpu(1, 1);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, 2);
    CHECK_EQUAL(machine.numa_ranges[0].range.bytes, 768 << 20);
    CHECK_EQUAL(machine.numa_ranges[0].domain, 0);
    CHECK_EQUAL(machine.numa_ranges[1].domain, 1);
    CHECK_EQUAL(machine_cpus[0].numa_domain, 0);
    CHECK_EQUAL(machine_cpus[1].numa_domain, 1);
    CHECK_EQUAL(machine_cpus[1].package, 1);
    tree_cells(rtas, POINTS, 3); /* where all have 0 */
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, 0);
}

TEST(a_machine_of_one_domain_has_none)
{
    begin();
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, 0);
    CHECK_EQUAL(machine_cpus[0].numa_domain, NUMA_DOMAIN_NONE);
}

TEST(what_has_too_few_levels_has_no_domain)
{
    begin();
    memory(512 << 20, 256 << 20, 1);
    tree_cells(memory(768 << 20, 256 << 20, 1), NEAR, 2, 0, 0);
    tree_cells(cpu0, NEAR, 4, 0, 0, 0);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, 2);
    CHECK_EQUAL(machine_cpus[0].numa_domain, NUMA_DOMAIN_NONE);
    tree_cells(rtas, POINTS, UINT32_MAX);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, 0);
}

TEST(ranges_beyond_the_maximum_are_counted)
{
    begin();
    for (unsigned i = 0; i < NUMA_RANGES_MAX + 3; i++)
        memory((1ULL << 32) + ((uint64_t)i << 29), 1 << 28, 1);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.numa_range_count, NUMA_RANGES_MAX);
    CHECK_EQUAL(machine.numa_ranges_dropped, 4);
    CHECK(info.ranges_dropped > 0);
}

/* ---- Devices ---- */

TEST(standard_output_is_the_first_terminal_and_others_follow_by_number)
{
    begin();
    terminal(0x71000004, 0x1104);
    tree_cells(chosen, "stdout", INSTANCE + terminal(0x71000003, 0x1103));
    tree_remove(terminal(0x71000002, 0), "interrupts");
    tree_text(terminal(0x71000001, 0), "compatible", "hvterm-protocol");
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.terminal_count, 4);
    CHECK_EQUAL(machine.terminals[0].unit, 0x71000003);
    CHECK_EQUAL(machine.terminals[1].unit, 0x71000000);
    CHECK_EQUAL(machine.terminals[2].unit, 0x71000002);
    CHECK_EQUAL(machine.terminals[2].interrupt, TERMINAL_SILENT);
    CHECK_EQUAL(machine.terminals[3].unit, 0x71000004);
}

TEST(terminals_beyond_the_maximum_are_counted)
{
    begin();
    for (uint32_t i = 1; i < TERMINALS_MAX + 3; i++)
        terminal(0x71000000 + i, i);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.terminal_count, TERMINALS_MAX);
    CHECK_EQUAL(machine.terminals_named, TERMINALS_MAX + 3);
}

TEST(another_interrupt_controller_is_named)
{
    begin();
    tree_put(controller, "compatible", "IBM,ppc-xicp\0ibm,ppc-xicp", 26);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.controller, CONTROLLER_XICS);
    begin();
    tree_text(controller, "compatible", "a,controller-of-a-name-that-is-far-too-long");
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.controller, CONTROLLER_UNKNOWN);
    CHECK_TEXT(machine.controller_name, "a,controller-of-a-name-that-is-");
}

TEST(a_queue_is_the_largest_that_fits_into_a_page)
{
    begin();
    tree_cells(controller, "ibm,xive-eq-sizes", 21, 12, 24);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.xive_queue_bits, 12);
    tree_cells(controller, "ibm,xive-eq-sizes", 21, 24);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(machine.xive_queue_bits, 0);
}

TEST(a_broken_controller_is_named)
{
    begin();
    tree_cells(controller, "reg", 0x60302, 0x31b0000, 0, 0x10000);
    refused("reg of interrupt-controller has 16 bytes; two addresses");
}

/* ---- What has been chosen ---- */

TEST(the_initrd_is_where_the_tree_says_else_where_the_registers_do)
{
    begin();
    CHECK_EQUAL(device_tree_read(&info, 0x1000000, 0x2000, &why), 0);
    CHECK_EQUAL(info.module_count, 1);
    CHECK_EQUAL(info.modules[0].range.base, 0x1000000);
    CHECK_EQUAL(info.modules[0].range.bytes, 0x2000);
    tree_cells(chosen, "linux,initrd-start", 0x580000);
    tree_cells(chosen, "linux,initrd-end", 0, 0x588b50);
    CHECK_EQUAL(device_tree_read(&info, 0x1000000, 0x2000, &why), 0);
    CHECK_EQUAL(info.modules[0].range.base, 0x580000);
    CHECK_EQUAL(info.modules[0].range.bytes, 0x8b50);
    tree_cells(chosen, "linux,initrd-start", 0x600000);
    refused("an initrd from 0x600000 to 0x588b50, which ends before it begins");
}

TEST(a_command_line_that_does_not_fit_is_refused)
{
    char line[BOOT_COMMAND_LINE_BYTES + 1];

    begin();
    memset(line, 'x', sizeof(line));
    line[BOOT_COMMAND_LINE_BYTES - 1] = '\0';
    tree_put(chosen, "bootargs", line, BOOT_COMMAND_LINE_BYTES);
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(strlen(info.command_line), BOOT_COMMAND_LINE_BYTES - 1);
    tree_put(chosen, "bootargs", line, BOOT_COMMAND_LINE_BYTES - 1); /* without a NUL */
    CHECK_EQUAL(read_tree(), 0);
    CHECK_EQUAL(strlen(info.command_line), BOOT_COMMAND_LINE_BYTES - 1);
    line[BOOT_COMMAND_LINE_BYTES - 1] = 'x';
    tree_put(chosen, "bootargs", line, BOOT_COMMAND_LINE_BYTES);
    refused("the command line is too long; at most 4095 bytes fit");
    tree_put(chosen, "bootargs", line, BOOT_COMMAND_LINE_BYTES + 1);
    refused("the command line is too long");
}

TEST(hashed_page_tables_are_refused)
{
    uint8_t vector[27] = { 25 };

    begin();
    vector[24] = 0x40;
    tree_put(chosen, "ibm,architecture-vec-5", vector, sizeof(vector));
    CHECK_EQUAL(read_tree(), 0);
    vector[24] = 0;
    tree_put(chosen, "ibm,architecture-vec-5", vector, sizeof(vector));
    refused("hashed page tables only; radix tables are needed");
}

/* ---- Trees that are none ---- */

TEST(a_tree_without_its_first_nodes_is_refused)
{
    begin();
    tree_nodes[chosen].name = "other";
    refused("no node /chosen");
    const firmware_node count = tree_count;
    tree_count = 0;
    refused("no node /");
    tree_count = count;
}

TEST(siblings_in_a_ring_are_refused)
{
    begin();
    tree_nodes[controller].peer = rtas;
    refused("a node without a name has more than 8192 children: the firmware's tree is broken");
    begin();
    tree_nodes[cpu0].peer = cpu0;
    refused("device tree: cpus has more than 8192 children");
}

int main(void)
{
    RUN(all_facts_of_an_ordinary_machine_are_found);
    RUN(a_machine_without_rtas_terminals_and_controller_is_read);
    RUN(threads_of_a_core_are_cpus_that_follow_each_other);
    RUN(the_cpu_that_runs_comes_first);
    RUN(a_cpu_without_numbers_of_threads_is_one_of_its_own_number);
    RUN(a_cpu_that_has_failed_is_left_out);
    RUN(cpus_beyond_the_maximum_are_counted);
    RUN(broken_cpus_are_named);
    RUN(memory_has_the_sizes_of_the_roots_cells);
    RUN(reserved_memory_is_not_usable);
    RUN(blocks_of_memory_that_are_assigned_are_usable);
    RUN(blocks_in_the_first_form_are_found);
    RUN(broken_memory_is_named);
    RUN(domains_are_the_level_of_the_first_reference_point);
    RUN(a_machine_of_one_domain_has_none);
    RUN(what_has_too_few_levels_has_no_domain);
    RUN(ranges_beyond_the_maximum_are_counted);
    RUN(standard_output_is_the_first_terminal_and_others_follow_by_number);
    RUN(terminals_beyond_the_maximum_are_counted);
    RUN(another_interrupt_controller_is_named);
    RUN(a_queue_is_the_largest_that_fits_into_a_page);
    RUN(a_broken_controller_is_named);
    RUN(the_initrd_is_where_the_tree_says_else_where_the_registers_do);
    RUN(a_command_line_that_does_not_fit_is_refused);
    RUN(hashed_page_tables_are_refused);
    RUN(a_tree_without_its_first_nodes_is_refused);
    RUN(siblings_in_a_ring_are_refused);
    return check_report("device_tree");
}
