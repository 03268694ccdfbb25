/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c: from a struct boot_info to a running program: read the command line, plan the memory, take over from the early map, build the file
 * tree, load, enter. Runs once, on the first CPU, interrupts off. Whatever is wrong with what was handed in ends here, in one line.
 */
#include "arch.h"
#include "clock.h"
#include "command_line.h"
#include "console.h"
#include "errno.h"
#include "kstring.h"
#include "linux_abi.h"
#include "memplan.h"
#include "node.h"
#include "process.h"
#include "stop.h"
#include "version.h"

#define STACK_BYTES_DEFAULT (8ULL << 20)
#define STACK_BYTES_MIN     (64ULL << 10)
#define STACK_BYTES_MAX     (64ULL << 30)
#define SLICE_BYTES_MIN     (16ULL << 20)
#define ENVIRONMENT_MAX     COMMAND_LINE_OPTIONS_MAX
#define PROGRAM_DEFAULT     "/init"

static const char *const known_options[] = { "app", "argv0", "console", "env", "stack", "stderr", "stdout", NULL };

static struct command_line line;
static struct memplan plan;
static struct page_pool kernel_pool;
static struct tree tree;

static _Noreturn void stop_for(int error, const struct message *why)
{
    node_stop(error == -ENOMEM ? STOP_NO_MEMORY : STOP_BAD_INPUT, "%s", why->text);
}

static void options_read(struct boot_info *boot)
{
    struct message why = { "" };
    int error = command_line_parse(boot->command_line, &line, &why);

    if (!error)
        error = console_configure(&line, &why);
    if (!error)
        error = command_line_check(&line, known_options, &why);
    if (error)
        stop_for(error, &why);
}

/* ---- Memory ---- */

/* Nodes that the archives will make: an entry, and each directory on its way, counted generously. */
static uint64_t tree_nodes_max(const struct boot_info *boot)
{
    uint64_t count = 64; /* root, /dev, /proc */

    for (unsigned i = 0; i < boot->module_count; i++) {
        const struct memory_range *range = &boot->modules[i].range;
        const void *archive = arch_physical(range->base);
        struct cpio_entry entry;
        struct message why;
        uint64_t offset = 0;

        count += 8;
        if (!cpio_recognise(archive, range->bytes))
            continue;
        while (cpio_next(archive, range->bytes, &offset, &entry, &why) == 1) {
            count++;
            for (const char *c = entry.name; *c; c++)
                count += *c == '/';
        }
    }
    return count;
}

static void modules_check(const struct boot_info *boot)
{
    for (unsigned i = 0; i < boot->module_count; i++) {
        const struct memory_range *range = &boot->modules[i].range;

        if (range->base >= arch_early_limit() || range->bytes > arch_early_limit() - range->base)
            node_stop(STOP_BAD_INPUT, "module %u lies at %#lx, %lu KiB; it must end below %#lx", i, range->base, range->bytes / 1024,
                      arch_early_limit());
    }
}

static void memory_plan(const struct boot_info *boot)
{
    static struct memory_range reserved[BOOT_RANGES_MAX + BOOT_MODULES_MAX + 1];
    struct message why = { "" };
    unsigned count = boot->reserved_count;

    memcpy(reserved, boot->reserved, count * sizeof(reserved[0]));
    reserved[count++] = arch_kernel_image();
    for (unsigned i = 0; i < boot->module_count; i++)
        reserved[count++] = boot->modules[i].range;

    const struct memplan_input input = {
        .usable = boot->usable,
        .usable_count = boot->usable_count,
        .reserved = reserved,
        .reserved_count = count,
        .address_limit = arch_address_limit(),
        .pool_bytes = arch_pool_bytes(boot) + tree_nodes_max(boot) * sizeof(struct tree_node) + sizeof(struct process) + 4 * ARCH_PAGE,
        .pool_limit = arch_early_limit(),
        .rank_count = 1,
        .slice_bytes_min = SLICE_BYTES_MIN,
    };
    int error = memplan_make(&input, &plan, &why);

    if (error)
        stop_for(error, &why);
    page_pool_initialise(&kernel_pool, &plan.pool, 1);
}

static uint64_t kernel_bytes(void)
{
    return arch_kernel_image().bytes + plan.pool.bytes;
}

/* ---- Files ---- */

static struct tree_node *tree_node_allocate(void *context)
{
    static struct tree_node *next;
    static uint64_t left;

    (void)context; /* the pool is the kernel's */
    if (left == 0) {
        uint64_t page = page_pool_take(&kernel_pool, ARCH_PAGE, ARCH_PAGE);

        if (page == PAGE_POOL_NONE)
            return NULL;
        arch_zero(arch_physical(page), ARCH_PAGE);
        next = arch_physical(page);
        left = ARCH_PAGE / sizeof(struct tree_node);
    }
    left--;
    return next++;
}

/* A module that is an archive becomes the tree; any other is one file: at its own name where that is a path, else as the default program. */
static void tree_build(const struct boot_info *boot)
{
    struct message why = { "" };
    int error;

    tree.node_allocate = tree_node_allocate;
    error = tree_initialise(&tree);
    for (unsigned i = 0; i < boot->module_count && !error; i++) {
        const struct boot_module *module = &boot->modules[i];
        const void *bytes = arch_physical(module->range.base);

        if (cpio_recognise(bytes, module->range.bytes)) {
            error = tree_add_archive(&tree, bytes, module->range.bytes, &why);
        } else {
            const char *path = module->name[0] == '/' ? module->name : PROGRAM_DEFAULT;

            error = tree_add(&tree, path, S_IFREG | 0755, bytes, module->range.bytes, &why) ? 0 : -EINVAL;
        }
    }
    if (!error)
        error = devices_add(&tree, &why);
    if (error)
        node_stop(STOP_BAD_INPUT, "initrd: %s", why.text[0] ? why.text : "no memory for the file tree");
}

/* ---- The program ---- */

static struct tree_node *program_find(const char *path)
{
    struct tree_node *node;
    int error = tree_lookup(&tree, tree.root, path, true, &node);

    if (error)
        node_stop(STOP_BAD_INPUT, "app=%s: there is no such file in the initrd", path);
    if ((node->mode & S_IFMT) != S_IFREG || node->device)
        node_stop(STOP_BAD_INPUT, "app=%s is not a file", path);
    return node;
}

static const char *base_name(const char *path)
{
    const char *name = path;

    for (const char *c = path; *c; c++)
        if (*c == '/' && c[1])
            name = c + 1;
    return name;
}

static unsigned environment_read(const char **environment)
{
    unsigned count = 0;

    for (unsigned i = 0; i < line.option_count; i++) {
        if (strcmp(line.options[i].name, "env") != 0)
            continue;
        if (!line.options[i].value || line.options[i].value[0] == '=' || !line.options[i].value[0])
            node_stop(STOP_BAD_INPUT, "env= wants NAME=VALUE");
        environment[count++] = line.options[i].value;
    }
    return count;
}

static uint64_t stack_bytes_read(void)
{
    const char *text = command_line_option(&line, "stack");
    uint64_t bytes = STACK_BYTES_DEFAULT;
    struct message why;

    if (text && option_bytes("stack", text, STACK_BYTES_MIN, STACK_BYTES_MAX, &bytes, &why))
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    return bytes;
}

static _Noreturn void program_run(void)
{
    static struct process process;
    static const char *arguments[COMMAND_LINE_ARGUMENTS_MAX + 1];
    static const char *environment[ENVIRONMENT_MAX];
    const char *path = command_line_option(&line, "app");
    const char *name = command_line_option(&line, "argv0");
    struct message why = { "" };
    uint64_t entry, stack;

    path = path ? path : PROGRAM_DEFAULT;
    arguments[0] = name ? name : path;
    for (unsigned i = 0; i < line.argument_count; i++)
        arguments[i + 1] = line.arguments[i];

    struct process_arguments given = {
        .arguments = arguments,
        .argument_count = line.argument_count + 1,
        .environment = environment,
        .environment_count = environment_read(environment),
        .stack_bytes = stack_bytes_read(),
    };
    struct tree_node *program = program_find(path);

    if (!tree_add(&tree, "/proc/self/exe", S_IFLNK | 0777, path, strlen(path), &why))
        node_stop(STOP_NO_MEMORY, "%s", why.text);
    process.program_path = path;
    format_text(process.name, sizeof(process.name), "%s", base_name(arguments[0]));
    arch_process_set(&process);
    int error = process_create(&process, &plan.slices[0], &tree, &why);
    if (!error) {
        arch_space_activate(&process.vm.space);
        error = process_load(&process, program, &given, &entry, &stack, &why);
    }
    if (error)
        stop_for(error, &why);
    node_zeroed_set(process.vm.zeroed_bytes);
    arch_enter_program(entry, stack);
}

_Noreturn void kernel_start(struct boot_info *boot)
{
    char cpu[128];

    options_read(boot);
    arch_cpu_describe(cpu, sizeof(cpu));
    kernel_print("Tacet %s, %s, started by %s\n", TACET_VERSION, ARCH_NAME, boot->protocol);
    kernel_print("cpu: %s\n", cpu);
    if (boot->ranges_dropped)
        kernel_print("memory: %u entries of the firmware's map are more than the kernel keeps; that memory stays unused\n", boot->ranges_dropped);
    if (boot->module_count == 0)
        node_stop(STOP_BAD_INPUT, "no program: hand one in as boot module (QEMU: -initrd FILE, GRUB: module2 FILE)");

    modules_check(boot);
    memory_plan(boot);
    arch_memory_initialise(&kernel_pool, boot);
    kernel_print("memory: %lu MiB for the program in %u extents, %lu KiB for the kernel\n", plan.slices[0].bytes >> 20,
                 plan.slices[0].extent_count, kernel_bytes() / 1024);
    arch_initialise(boot);
    clock_start();
    node_facts_set(kernel_bytes());
    tree_build(boot);
    program_run();
}
