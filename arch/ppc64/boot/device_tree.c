/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device_tree.c: the firmware's device tree becomes a struct boot_info and `machine` (arch/device_tree.h).
 *
 * The tree is read by the firmware's client interface after ibm,client-architecture-support has changed it:
 * radix tables, XIVE and hot-pluggable memory are there from then on. SLOF and QEMU hand over no flat tree to
 * a kernel that is entered with the client interface, so that there is no older copy to read again.
 *
 * Runs once, on the first CPU, before kernel_start(). What the tree says is outside data: lengths are
 * checked, and no walk is longer than NODES_MAX, as siblings may form a ring. Sources: IEEE 1275-1994 §3.5,
 * §3.7; PowerPC processor binding §5.1.4; LoPAPR §B.6 (CPUs, ibm,associativity), §13.3.3
 * (ibm,dynamic-memory), §B.6.3 (RTAS), §B.8 (XIVE: ibm,power-ivpe).
 */
#include "arch/device_tree.h"
#include "arch/firmware.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define NODES_MAX      8192 /* children of a node */
#define PROPERTY_BYTES 16384
#define NAME_BYTES     64
#define LEVELS_MAX     64 /* levels of a property "ibm,associativity" */
#define THREADS_MAX    8  /* threads of a core */
#define PAGE_BITS      16

#define LMB_BYTES    24 /* an entry of either form of ibm,dynamic-memory */
#define LMB_ASSIGNED 0x08
#define LMB_RESERVED 0x80

struct machine_facts machine;
struct machine_cpu machine_cpus[ARCH_CPUS_MAX];
unsigned machine_cpu_count, machine_cpus_named;

/* The property that is being read. */
static uint8_t bytes[PROPERTY_BYTES];

/* The reader's own: why it has failed; how many cells the root's children have for addresses and sizes; which
 * level of an associativity is the domain, counted from 1, or 0. */
static struct message *reason;
static unsigned address_cells, size_cells;
static uint32_t domain_level;

/* ---- Properties ---- */

static const char *node_name(firmware_node node)
{
    static char name[NAME_BYTES];

    memset(name, 0, sizeof(name));
    firmware_property(node, "name", name, sizeof(name) - 1);
    return name[0] ? name : "a node without a name";
}

/* Loads a property. Returns false if it is not there, or is not made of whole entries of `entry` bytes. */
static bool property_load(firmware_node node, const char *name, unsigned entry, unsigned *length)
{
    const int there = firmware_property(node, name, bytes, sizeof(bytes));

    if (there <= 0 || (unsigned)there > sizeof(bytes) || (unsigned)there % entry)
        return false;
    *length = (unsigned)there;
    return true;
}

/* Sets the message for a property that property_load has refused. Returns -EINVAL. */
static int property_wrong(firmware_node node, const char *name, const char *expected)
{
    const int there = firmware_property(node, name, bytes, sizeof(bytes));

    if (there < 0)
        return message_set(reason, -EINVAL, "device tree: %s has no %s; %s", node_name(node), name, expected);
    return message_set(reason, -EINVAL, "device tree: %s of %s has %d bytes; %s", name, node_name(node),
                       there, expected);
}

static uint64_t number(const uint8_t *at, unsigned cells)
{
    if (cells == 0)
        return 0;
    return cells == 1 ? load_be32(at) : load_be64(at);
}

/* Returns a property that is a number of one or two cells; `otherwise` if it is not. */
static uint64_t property_number(firmware_node node, const char *name, uint64_t otherwise)
{
    uint8_t value[8];
    const int there = firmware_property(node, name, value, sizeof(value));

    return there == 4 || there == 8 ? number(value, (unsigned)there / 4) : otherwise;
}

static bool property_is(firmware_node node, const char *name, const char *text)
{
    char value[NAME_BYTES] = "";
    const int there = firmware_property(node, name, value, sizeof(value) - 1);

    return there > 0 && (unsigned)there < sizeof(value) && strcmp(value, text) == 0;
}

/* Returns whether one of the strings of "compatible" is `with`. */
static bool is_compatible(firmware_node node, const char *with)
{
    unsigned length;

    if (!property_load(node, "compatible", 1, &length))
        return false;
    for (unsigned at = 0, end; at < length; at = end + 1) {
        end = at + (unsigned)strnlen((const char *)bytes + at, length - at);
        if (end < length && strcmp((const char *)bytes + at, with) == 0)
            return true;
    }
    return false;
}

/* ---- Walks ---- */

/* Visits each child of a node until `visit` returns an error, which is the result. */
static int children_each(firmware_node parent, int (*visit)(firmware_node node, void *context), void *context)
{
    firmware_node node = parent ? firmware_child(parent) : 0;

    for (unsigned count = 0; node && count < NODES_MAX; count++, node = firmware_peer(node)) {
        const int error = visit(node, context);

        if (error)
            return error;
    }
    if (node)
        return message_set(reason, -EINVAL,
                           "device tree: %s has more than %d children: the firmware's tree is broken",
                           node_name(parent), NODES_MAX);
    return 0;
}

/* ---- NUMA ---- */

/* Reads which level is the domain: by form 1 of the associativity, the first of the reference points is the
 * level of memory that is near. */
static void domain_level_read(firmware_node rtas)
{
    unsigned length;

    domain_level = 0;
    if (rtas && property_load(rtas, "ibm,associativity-reference-points", 4, &length))
        domain_level = load_be32(bytes);
    if (domain_level > LEVELS_MAX)
        domain_level = 0;
}

/* Returns a node's domain. The first cell is how many levels follow. */
static uint32_t domain_of(firmware_node node)
{
    unsigned length;

    if (!domain_level || !property_load(node, "ibm,associativity", 4, &length) || length / 4 <= domain_level)
        return NUMA_DOMAIN_NONE;
    return load_be32(bytes + 4 * domain_level);
}

static void numa_range_add(uint64_t base, uint64_t length, uint32_t domain)
{
    const unsigned count = machine.numa_range_count;
    struct numa_range *last = count ? &machine.numa_ranges[count - 1] : NULL;

    if (domain == NUMA_DOMAIN_NONE || length == 0 || length > UINT64_MAX - base)
        return;
    if (last && last->domain == domain && last->range.base + last->range.bytes == base)
        last->range.bytes += length;
    else if (count < NUMA_RANGES_MAX)
        machine.numa_ranges[machine.numa_range_count++] = (struct numa_range){ { base, length }, domain };
    else
        machine.numa_ranges_dropped++;
}

/* Drops all domains if all memory has the same one: then there is nothing to choose. The hypervisor gives
 * each machine an associativity. */
static void numa_finish(void)
{
    for (unsigned i = 1; i < machine.numa_range_count; i++)
        if (machine.numa_ranges[i].domain != machine.numa_ranges[0].domain)
            return;
    machine.numa_range_count = 0;
    for (unsigned i = 0; i < machine_cpu_count; i++)
        machine_cpus[i].numa_domain = NUMA_DOMAIN_NONE;
}

/* ---- Memory ---- */

static int cells_read(firmware_node root)
{
    address_cells = (unsigned)property_number(root, "#address-cells", 2);
    size_cells = (unsigned)property_number(root, "#size-cells", 1);
    if (address_cells < 1 || address_cells > 2 || size_cells < 1 || size_cells > 2)
        return message_set(reason, -EINVAL,
                           "device tree: the root has %u address cells and %u size cells; 1 or 2 of each "
                           "are expected",
                           address_cells, size_cells);
    return 0;
}

/* Adds the ranges of a node's "reg". */
static int reg_add(firmware_node node, struct boot_info *out, bool usable)
{
    const uint32_t domain = usable ? domain_of(node) : NUMA_DOMAIN_NONE;
    const unsigned entry = 4 * (address_cells + size_cells);
    unsigned length;

    if (!property_load(node, "reg", entry, &length))
        return property_wrong(node, "reg", "addresses and sizes of memory are expected");
    for (unsigned at = 0; at < length; at += entry) {
        const uint64_t base = number(bytes + at, address_cells);
        const uint64_t size = number(bytes + at + 4 * address_cells, size_cells);

        if (boot_info_add_range(out, base, size, usable))
            return message_set(reason, -EINVAL, "device tree: more than %d ranges of memory are reserved",
                               BOOT_RANGES_MAX);
        numa_range_add(base, size, domain);
    }
    return 0;
}

static int memory_visit(firmware_node node, void *out)
{
    return property_is(node, "device_type", "memory") ? reg_add(node, out, true) : 0;
}

static int reserved_visit(firmware_node node, void *out)
{
    unsigned length;

    /* A node without "reg" is a request of an operating system's drivers. */
    return property_load(node, "reg", 1, &length) ? reg_add(node, out, false) : 0;
}

/* Finds a domain by the number that a block of memory has for it: lists of levels, all of the same length. */
static uint32_t block_domain(firmware_node node, uint32_t index)
{
    static uint8_t list[PROPERTY_BYTES];
    const int there = firmware_property(node, "ibm,associativity-lookup-arrays", list, sizeof(list));

    if (there < 8 || (unsigned)there > sizeof(list) || !domain_level)
        return NUMA_DOMAIN_NONE;
    const uint64_t levels = load_be32(list + 4), at = 8 + 4 * (levels * index + domain_level - 1);
    if (index >= load_be32(list) || domain_level > levels || at + 4 > (unsigned)there)
        return NUMA_DOMAIN_NONE;
    return load_be32(list + at);
}

/* Adds memory that could be unplugged: blocks of one size, of which the assigned ones exist; the reserved
 * ones are nodes of their own. An entry of the second form stands for several blocks. */
static int blocks_read(struct boot_info *out)
{
    const firmware_node node = firmware_find("/ibm,dynamic-reconfiguration-memory");
    const uint64_t block = node ? property_number(node, "ibm,lmb-size", 0) : 0;
    const char *name = "ibm,dynamic-memory-v2";
    bool has_counts = true;
    int there;

    if (!node)
        return 0;
    there = firmware_property(node, name, bytes, sizeof(bytes));
    if (there < 0) {
        name = "ibm,dynamic-memory";
        has_counts = false;
        there = firmware_property(node, name, bytes, sizeof(bytes));
    }
    if (there < 0)
        return 0;
    if (there < 4 || (unsigned)there > sizeof(bytes) || load_be32(bytes) > ((unsigned)there - 4) / LMB_BYTES)
        return property_wrong(node, name, "a count, and 24 bytes for each, at most 16384, are expected");
    if (block == 0)
        return property_wrong(node, "ibm,lmb-size", "the bytes of a block of memory are expected");
    for (uint32_t i = 0; i < load_be32(bytes); i++) {
        const uint8_t *entry = bytes + 4 + i * LMB_BYTES;
        const uint8_t *address = has_counts ? entry + 4 : entry;
        const uint32_t flags = load_be32(entry + 20), count = has_counts ? load_be32(entry) : 1;
        uint64_t size;

        if (!(flags & LMB_ASSIGNED) || flags & LMB_RESERVED)
            continue;
        if (__builtin_mul_overflow(block, (uint64_t)count, &size))
            return message_set(reason, -EINVAL, "device tree: entry %u of %s has %u blocks of %#lx bytes", i,
                               name, count, block);
        boot_info_add_range(out, load_be64(address), size, true);
        numa_range_add(load_be64(address), size, block_domain(node, load_be32(entry + 16)));
    }
    return 0;
}

static int memory_read(firmware_node root, struct boot_info *out)
{
    int error = children_each(root, memory_visit, out);

    if (!error)
        error = blocks_read(out);
    if (!error)
        error = children_each(firmware_find("/reserved-memory"), reserved_visit, out);
    if (!error && out->usable_count == 0)
        error = message_set(reason, -EINVAL, "device tree: no memory is named; a node memory@0 is expected");
    return error;
}

/* ---- CPUs ---- */

static bool server_is_known(uint32_t server)
{
    for (unsigned i = 0; i < machine_cpu_count; i++)
        if (machine_cpus[i].server == server)
            return true;
    return false;
}

static int cpu_add(firmware_node node, struct machine_cpu cpu)
{
    if (server_is_known(cpu.server))
        return message_set(reason, -EINVAL, "device tree: two CPUs have the number %u; the second is %s",
                           cpu.server, node_name(node));
    machine_cpus_named++;
    if (machine_cpu_count < ARCH_CPUS_MAX)
        machine_cpus[machine_cpu_count++] = cpu;
    return 0;
}

static int threads_add(firmware_node node)
{
    struct machine_cpu cpu = { .core = (uint32_t)property_number(node, "reg", 0),
                               .package = (uint32_t)property_number(node, "ibm,chip-id", 0),
                               .numa_domain = domain_of(node) };
    const char *name = "ibm,ppc-interrupt-server#s";
    unsigned length;

    if (firmware_property(node, name, bytes, sizeof(bytes)) < 0)
        name = "reg"; /* one thread, of the same number */
    if (!property_load(node, name, 4, &length) || length > 4 * THREADS_MAX)
        return property_wrong(node, name, "4 bytes for each of at most 8 hardware threads are expected");
    for (unsigned at = 0; at < length; at += 4) {
        cpu.server = load_be32(bytes + at);
        const int error = cpu_add(node, cpu);

        if (error)
            return error;
    }
    return 0;
}

static bool is_cpu(firmware_node node)
{
    return property_is(node, "device_type", "cpu") && !property_is(node, "status", "fail");
}

static struct machine_cache cache_read(firmware_node node, const char *const names[4])
{
    return (struct machine_cache){
        .bytes = (uint32_t)property_number(node, names[0], 0),
        .sets = (uint32_t)property_number(node, names[1], 0),
        .line_bytes = (uint32_t)property_number(node, names[2], 0),
        .block_bytes = (uint32_t)property_number(node, names[3], 0),
    };
}

static int first_cpu_read(firmware_node node)
{
    static const char *const data[] = { "d-cache-size", "d-cache-sets", "d-cache-line-size",
                                        "d-cache-block-size" };
    static const char *const instructions[] = { "i-cache-size", "i-cache-sets", "i-cache-line-size",
                                                "i-cache-block-size" };
    const uint64_t bits = property_number(node, "ibm,dec-bits", DECREMENTER_BITS_MIN);

    machine.clock_hz = property_number(node, "clock-frequency", 0);
    machine.data = cache_read(node, data);
    machine.instructions = cache_read(node, instructions);
    machine.timebase_hz = property_number(node, "timebase-frequency", 0);
    machine.decrementer_bits = (uint32_t)bits;
    machine.version = (uint32_t)property_number(node, "cpu-version", 0);
    if (machine.timebase_hz == 0)
        return property_wrong(node, "timebase-frequency",
                              "the ticks of the time base in a second are expected");
    if (bits < DECREMENTER_BITS_MIN || bits > 64)
        return message_set(reason, -EINVAL,
                           "device tree: %s has a decrementer of %lu bits; 32 to 64 are "
                           "expected",
                           node_name(node), bits);
    return threads_add(node);
}

static int first_cpu_visit(firmware_node node, void *first)
{
    if (is_cpu(node) && !*(firmware_node *)first)
        *(firmware_node *)first = node;
    return 0;
}

static int further_cpu_visit(firmware_node node, void *first)
{
    return is_cpu(node) && node != *(firmware_node *)first ? threads_add(node) : 0;
}

/* Reads the CPUs. The firmware says on which of them it runs the kernel; if it does not say, that is the
 * first. */
static int cpus_read(firmware_node chosen)
{
    const firmware_node cpus = firmware_find("/cpus");
    const uint32_t instance = (uint32_t)property_number(chosen, "cpu", 0);
    firmware_node first = instance ? firmware_package(instance) : 0;
    int error;

    if (first && !is_cpu(first))
        first = 0;
    error = children_each(cpus, first_cpu_visit, &first);
    if (!error && !first)
        error = message_set(reason, -EINVAL, "device tree: no CPU is named; nodes in /cpus are expected");
    if (!error)
        error = first_cpu_read(first);
    if (!error)
        error = children_each(cpus, further_cpu_visit, &first);
    return error;
}

/* ---- Devices ---- */

static void rtas_read(firmware_node rtas)
{
    static const struct {
        const char *name;
        uint32_t *token;
    } functions[] = { { "power-off", &machine.power_off },
                      { "system-reboot", &machine.reboot },
                      { "start-cpu", &machine.start_cpu },
                      { "ibm,set-xive", &machine.set_xive },
                      { "ibm,int-off", &machine.int_off },
                      { "ibm,int-on", &machine.int_on },
                      { "get-time-of-day", &machine.get_time_of_day } };

    machine.rtas_bytes = rtas ? (uint32_t)property_number(rtas, "rtas-size", 0) : 0;
    for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        *functions[i].token =
            rtas ? (uint32_t)property_number(rtas, functions[i].name, TOKEN_NONE) : TOKEN_NONE;
}

/* Chooses the size of a queue: 64 KiB, which is a page, if the machine has that; else the largest below. */
static uint32_t queue_bits(firmware_node node)
{
    uint32_t best = 0;
    unsigned length;

    if (!property_load(node, "ibm,xive-eq-sizes", 4, &length))
        return 0;
    for (unsigned at = 0; at < length; at += 4) {
        const uint32_t bits = load_be32(bytes + at);

        if (bits <= PAGE_BITS && bits > best)
            best = bits;
    }
    return best;
}

static int xive_read(firmware_node node)
{
    unsigned length;

    machine.controller = CONTROLLER_XIVE;
    if (!property_load(node, "reg", 16, &length) || length < 32)
        return property_wrong(node, "reg", "two addresses with sizes of 8 bytes each are expected");
    machine.xive_tima = load_be64(bytes + 16);
    machine.xive_tima_bytes = load_be64(bytes + 24);
    if (property_load(node, "ibm,xive-lisn-ranges", 8, &length)) {
        machine.xive_lisn_first = load_be32(bytes);
        machine.xive_lisn_count = load_be32(bytes + 4);
    }
    machine.xive_queue_bits = queue_bits(node);
    return 0;
}

/* Finds the interrupt controller. XIVE, which has been asked for, comes before others. */
static int controller_visit(firmware_node node, void *context)
{
    const bool is_xive = is_compatible(node, "ibm,power-ivpe"), is_xics = is_compatible(node, "IBM,ppc-xicp");

    (void)context; /* there is one controller */
    if (!is_xive && !is_xics && strcmp(node_name(node), "interrupt-controller") != 0)
        return 0;
    if (!is_xive && machine.controller != CONTROLLER_NONE && !is_xics)
        return 0;
    if (machine.controller == CONTROLLER_XIVE)
        return 0;
    memset(machine.controller_name, 0, sizeof(machine.controller_name));
    firmware_property(node, "compatible", machine.controller_name, sizeof(machine.controller_name) - 1);
    machine.controller = is_xics ? CONTROLLER_XICS : CONTROLLER_UNKNOWN;
    return is_xive ? xive_read(node) : 0;
}

/* Adds a terminal. The hypervisor's calls name it by its "reg"; "interrupts" is its source, and how it
 * interrupts. It goes before those of higher numbers from place `first` on. */
static void terminal_add(firmware_node node, unsigned first)
{
    const uint64_t unit = property_number(node, "reg", UINT64_MAX);
    unsigned at = machine.terminal_count, length;

    if (unit > UINT32_MAX)
        return;
    machine.terminals_named++;
    if (at == TERMINALS_MAX)
        return;
    machine.terminal_count++;
    for (; at > first && machine.terminals[at - 1].unit > unit; at--)
        machine.terminals[at] = machine.terminals[at - 1];
    const bool interrupts = property_load(node, "interrupts", 4, &length);
    machine.terminals[at] =
        (struct machine_terminal){ (uint32_t)unit, interrupts ? load_be32(bytes) : TERMINAL_SILENT };
}

static bool is_terminal(firmware_node node)
{
    return is_compatible(node, "hvterm1");
}

static int terminal_visit(firmware_node node, void *output)
{
    const firmware_node first = *(firmware_node *)output;

    if (node != first && is_terminal(node))
        terminal_add(node, first != 0);
    return 0;
}

/* Reads the terminals. Standard output is the first. */
static int terminals_read(firmware_node chosen)
{
    const uint32_t instance = (uint32_t)property_number(chosen, "stdout", 0);
    firmware_node output = instance ? firmware_package(instance) : 0;

    if (output && !is_terminal(output))
        output = 0;
    if (output)
        terminal_add(output, 0);
    return children_each(firmware_find("/vdevice"), terminal_visit, &output);
}

/* ---- All of it ---- */

/* Bits 0 and 1 of byte 24 of vector 5 say which page tables the machine has [LoPAPR §B.6.2.3]; 01 is radix.
 * If the property does not say it, the hypervisor's own call will. */
#define VECTOR_5_TABLES 24
static int tables_check(firmware_node chosen)
{
    unsigned length;

    if (!property_load(chosen, "ibm,architecture-vec-5", 1, &length) || length <= VECTOR_5_TABLES ||
        bytes[VECTOR_5_TABLES] >> 6 == 1)
        return 0;
    return message_set(reason, -EINVAL,
                       "device tree: this machine has hashed page tables only; radix tables are needed, "
                       "which POWER9 has");
}

static int chosen_read(firmware_node chosen, struct boot_info *out, uint64_t initrd, uint64_t initrd_bytes)
{
    char *line = out->command_line;
    const int length = firmware_property(chosen, "bootargs", line, BOOT_COMMAND_LINE_BYTES);
    const uint64_t from = property_number(chosen, "linux,initrd-start", initrd);
    const uint64_t to = property_number(chosen, "linux,initrd-end", initrd + initrd_bytes);

    if (length > BOOT_COMMAND_LINE_BYTES ||
        (length == BOOT_COMMAND_LINE_BYTES && line[BOOT_COMMAND_LINE_BYTES - 1]))
        return message_set(reason, -EINVAL, "device tree: the command line is too long; at most %d bytes fit",
                           BOOT_COMMAND_LINE_BYTES - 1);
    if (to < from)
        return message_set(
            reason, -EINVAL,
            "device tree: /chosen has an initrd from %#lx to %#lx, which ends before it begins", from, to);
    return to > from ? boot_info_add_module(out, from, to - from, "", 0) : 0;
}

int device_tree_read(struct boot_info *out, uint64_t initrd, uint64_t initrd_bytes, struct message *why)
{
    const firmware_node root = firmware_find("/"), chosen = firmware_find("/chosen");
    const firmware_node rtas = firmware_find("/rtas");
    int error;

    memset(out, 0, sizeof(*out));
    memset(&machine, 0, sizeof(machine));
    machine_cpu_count = machine_cpus_named = 0;
    out->protocol = "Open Firmware";
    reason = why;
    if (!root || !chosen)
        return message_set(why, -EINVAL, "device tree: the firmware has no node %s", root ? "/chosen" : "/");

    firmware_property(root, "model", machine.model, sizeof(machine.model) - 1);
    rtas_read(rtas);
    domain_level_read(rtas);
    error = terminals_read(chosen);
    if (!error)
        error = tables_check(chosen);
    if (!error)
        error = chosen_read(chosen, out, initrd, initrd_bytes);
    if (!error)
        error = cells_read(root);
    if (!error)
        error = memory_read(root, out);
    if (!error)
        error = cpus_read(chosen);
    if (!error)
        error = children_each(root, controller_visit, NULL);
    numa_finish();
    return error;
}
