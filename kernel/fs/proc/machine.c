/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.c: the machine's CPUs, their places and caches, and its NUMA domains: /proc/cpuinfo,
 * /sys/devices/system/cpu and node. Formats: Linux's Documentation/admin-guide/cputopology.rst,
 * ABI/testing/sysfs-devices-system-cpu, ABI/stable/sysfs-devices-node.
 *
 * Each file is a row with the number or the mask that it shows; CPUs and domains are numbered entries
 * (numbered.c). All of it is what the architecture says (arch.h) and does not change, but a domain's memory,
 * which is the process's slice.
 */
#include "fs/proc/proc.h"
#include "arch.h"
#include "arch/linux_abi.h"
#include "fs/nodes.h"
#include "lib/kstring.h"
#include "process/process.h"

#define CPU  "/sys/devices/system/cpu"
#define NODE "/sys/devices/system/node"

/* Without a table of distances Linux says this of each two nodes, too. */
#define DISTANCE_LOCAL  10
#define DISTANCE_REMOTE 20

static uint64_t nodes; /* nodes_known() */

static uint32_t cpu_next(uint32_t tid)
{
    return tree_number_of(tid) < arch_cpu_count() ? tid : 0;
}

static uint32_t node_next(uint32_t tid)
{
    const unsigned number = tree_number_of(tid);
    const uint64_t left = number < NODES_MAX ? nodes >> number << number : 0;

    return left ? TREE_NUMBERED + (uint32_t)__builtin_ctzll(left) : 0;
}

static struct numbered cpus = { .name = "cpu", .first = TREE_NUMBERED, .next = cpu_next };
static struct numbered domains = { .name = "node", .first = TREE_NUMBERED, .next = node_next };

/* ---- CPUs ---- */

static void own_cpus(const struct file *file, struct cpu_mask *mask)
{
    *mask = file->process->cpus;
}

static void all_cpus(const struct file *file, struct cpu_mask *mask)
{
    (void)file;
    *mask = cpu_mask_below(arch_cpu_count());
}

/* Adds the CPUs of the same package as `cpu`; with `same_core`, of the same core. */
static void siblings_add(struct cpu_mask *mask, unsigned cpu, bool same_core)
{
    struct cpu_place mine = arch_cpu_place(cpu);

    for (unsigned other = 0; other < arch_cpu_count(); other++) {
        struct cpu_place place = arch_cpu_place(other);

        if (place.package == mine.package && (!same_core || place.core == mine.core))
            cpu_mask_set(mask, other);
    }
}

static void core_cpus(const struct file *file, struct cpu_mask *mask)
{
    siblings_add(mask, tree_number_of(file->tid), true);
}

static void package_cpus(const struct file *file, struct cpu_mask *mask)
{
    siblings_add(mask, tree_number_of(file->tid), false);
}

/* Writes the field of a structure that the file's row names. */
static void field_text(struct file *file, const void *structure)
{
    const struct proc_file *kind = file->inode->data;
    uint32_t number;

    memcpy(&number, (const char *)structure + kind->of, sizeof(number));
    text_add(file, "%u\n", number);
}

static void place_text(struct file *file)
{
    const struct cpu_place place = arch_cpu_place(tree_number_of(file->tid));

    field_text(file, &place);
}

static const struct proc_file topology_files[] = {
    { "core_cpus", .make = words_text, .mask = core_cpus },
    { "core_cpus_list", .make = list_text, .mask = core_cpus },
    { "core_id", .make = place_text, .of = offsetof(struct cpu_place, core) },
    { "core_siblings", .make = words_text, .mask = package_cpus },
    { "core_siblings_list", .make = list_text, .mask = package_cpus },
    { "package_cpus", .make = words_text, .mask = package_cpus },
    { "package_cpus_list", .make = list_text, .mask = package_cpus },
    { "physical_package_id", .make = place_text, .of = offsetof(struct cpu_place, package) },
    { "thread_siblings", .make = words_text, .mask = core_cpus },
    { "thread_siblings_list", .make = list_text, .mask = core_cpus },
    { .path = NULL },
};

static void cpuinfo_text(struct file *file)
{
    struct cpu_mask package = { 0 };
    unsigned siblings = 0, cores = 0;

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        struct cpu_place place = arch_cpu_place(cpu);

        if (CPUINFO_HAS_PLACES && !cpu_mask_test(&package, cpu)) { /* else the package of the CPU before */
            package = (struct cpu_mask){ 0 };
            siblings_add(&package, cpu, false);
            siblings = cpu_mask_count(&package);
            cores = 0;
            CPU_MASK_EACH(other, &package)
                cores += arch_core_of((unsigned)other) == other; /* each core once, at its first CPU */
        }
        text_add(file, "processor\t: %u\n", cpu);
        if (CPUINFO_HAS_PLACES)
            text_add(file, "physical id\t: %u\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n",
                     place.package, siblings, place.core, cores);
        arch_cpuinfo_describe(cpu, &file->text.sink);
        text_add(file, "\n");
    }
}

/* ---- Caches ---- */

/* Gets the cache that a file is about, as `cpu` has it; the directory's name ends with its number. */
static struct cpu_cache cache_of(const struct file *file, unsigned cpu)
{
    const struct directory_entry *index = file->inode->name->directory->name;
    struct cpu_cache cache = { 0 };

    arch_cpu_cache(cpu, (unsigned)(index->name[index->name_bytes - 1] - '0'), &cache);
    return cache;
}

static struct cpu_cache own_cache(const struct file *file)
{
    return cache_of(file, tree_number_of(file->tid));
}

static void cache_number_text(struct file *file)
{
    const struct cpu_cache cache = own_cache(file);

    field_text(file, &cache);
}

static void cache_cpus(const struct file *file, struct cpu_mask *mask)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (cache_of(file, cpu).id == own_cache(file).id)
            cpu_mask_set(mask, cpu);
}

static void cache_size_text(struct file *file)
{
    text_add(file, "%uK\n", own_cache(file).bytes / 1024);
}

static void cache_kind_text(struct file *file)
{
    static const char *const kinds[] = { "", "Data", "Instruction", "Unified" };

    text_add(file, "%s\n", kinds[own_cache(file).kind % 4]);
}

#define CACHE_FIELD(field) .make = cache_number_text, .of = offsetof(struct cpu_cache, field)
static const struct proc_file cache_files[] = {
    { "number_of_sets", CACHE_FIELD(sets) }, /* these two are missing if they are not known */
    { "ways_of_associativity", CACHE_FIELD(ways) },
    { "coherency_line_size", CACHE_FIELD(line_bytes) },
    { "id", CACHE_FIELD(id) },
    { "level", CACHE_FIELD(level) },
    { "shared_cpu_list", .make = list_text, .mask = cache_cpus },
    { "shared_cpu_map", .make = words_text, .mask = cache_cpus },
    { "size", .make = cache_size_text },
    { "type", .make = cache_kind_text },
    { .path = NULL },
};

/* ---- NUMA domains ---- */

static void known_nodes(const struct file *file, struct cpu_mask *mask)
{
    (void)file;
    *mask = node_mask(nodes);
}

static void node_cpus(const struct file *file, struct cpu_mask *mask)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (node_of_cpu(cpu) == tree_number_of(file->tid))
            cpu_mask_set(mask, cpu);
}

static void distance_text(struct file *file)
{
    const char *blank = "";

    for (uint64_t left = nodes; left; left &= left - 1, blank = " ")
        text_add(file, "%s%u", blank,
                 (unsigned)__builtin_ctzll(left) == tree_number_of(file->tid) ? DISTANCE_LOCAL
                                                                              : DISTANCE_REMOTE);
    text_add(file, "\n");
}

/* Writes the slice's memory in this node. What of it is free is known only if all of it is here. */
static void node_meminfo_text(struct file *file)
{
    const struct page_pool *pages = &file->process->pages;
    const struct memory_slice *slice = file->process->slice;
    const unsigned node = tree_number_of(file->tid);
    const uint64_t bytes = node_bytes(slice, node);

    text_add(file, "Node %u MemTotal:       %8lu kB\n", node, bytes / 1024);
    if (bytes == 0 || bytes == slice->bytes)
        text_add(file, "Node %u MemFree:        %8lu kB\nNode %u MemUsed:        %8lu kB\n", node,
                 bytes ? pages->free_bytes / 1024 : 0, node, bytes ? (bytes - pages->free_bytes) / 1024 : 0);
}

static const struct proc_file node_files[] = {
    { "cpulist", .make = list_text, .mask = node_cpus },
    { "cpumap", .make = words_text, .mask = node_cpus },
    { "distance", .make = distance_text },
    { "meminfo", .make = node_meminfo_text },
    { .path = NULL },
};

/* ---- All of them ---- */

static const struct proc_file machine_files[] = {
    { "/proc/cpuinfo", .make = cpuinfo_text },
    { CPU "/online", .make = list_text, .mask = own_cpus },
    { CPU "/possible", .make = list_text, .mask = all_cpus },
    { CPU "/present", .make = list_text, .mask = all_cpus },
    { NODE "/online", .make = list_text, .mask = known_nodes },
    { NODE "/possible", .make = list_text, .mask = known_nodes },
    { .path = NULL },
};

static bool caches_add(struct tree *tree, struct message *why)
{
    static const char *const paths[] = { "cache/index0", "cache/index1", "cache/index2", "cache/index3",
                                         "cache/index4", "cache/index5", "cache/index6", "cache/index7" };
    struct cpu_cache cache;

    for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]) && arch_cpu_cache(0, i, &cache); i++)
        if (!proc_directory_add(tree, cpus.inode, paths[i], cache.sets ? cache_files : cache_files + 2, why))
            return false;
    return true;
}

bool proc_machine_add(struct tree *tree, struct message *why)
{
    nodes = nodes_known();
    return proc_files_add(tree, tree->root, machine_files, why) &&
           numbered_add(tree, CPU, 0755, &cpus, why) && numbered_add(tree, NODE, 0755, &domains, why) &&
           proc_directory_add(tree, cpus.inode, "topology", topology_files, why) && caches_add(tree, why) &&
           proc_files_add(tree, domains.inode, node_files, why);
}
