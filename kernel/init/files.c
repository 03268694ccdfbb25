/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c: see files.h. Owns the tree, and the memory from which the kernel builds it.
 */
#include "init/files.h"
#include "arch.h"
#include "debug/stop.h"
#include "fs/etc.h"
#include "fs/file.h"
#include "fs/mount.h"
#include "fs/proc/proc.h"
#include "init/job.h"
#include "init/memory.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "net/network.h"
#include "process/process.h"

static const struct boot_info *boot;
static struct memory_range memory;
static struct page_pool pages;
static struct tree tree;

/* Inodes that the archives need at most: one for each entry, and one for each directory of its path. */
static uint64_t inodes_max(const struct boot_info *of)
{
    uint64_t count = 32; /* root, /dev */

    for (unsigned i = 0; i < of->module_count; i++) {
        const struct memory_range *range = &of->modules[i].range;
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

uint64_t files_memory_bytes(const struct boot_info *of)
{
    return page_up((inodes_max(of) + PROC_ENTRIES_MAX) * TREE_ENTRY_BYTES_MAX + 4 * ARCH_PAGE);
}

void files_start(const struct boot_info *given)
{
    boot = given;
    memory.bytes = files_memory_bytes(boot);
    memory.base = memory_take(memory.bytes, ARCH_PAGE);
}

/* Allocates from the kernel's memory while the tree is built, later from the slice of the rank that makes a
 * file. */
static void *page_allocate(void *context)
{
    struct process *process = arch_process();
    uint64_t page = page_pool_allocate(process ? process->vm.pages : &pages, ARCH_PAGE, ARCH_PAGE);

    (void)context; /* there is one tree */
    return page == PAGE_POOL_NONE ? NULL : arch_physical(page);
}

/* Adds the boot modules. The entries of an archive become files of the tree; any other module is one file:
 * under its own name if that is a path, else as the default program. */
static int modules_add(struct message *why)
{
    int error = 0;

    for (unsigned i = 0; i < boot->module_count && !error; i++) {
        const struct boot_module *module = &boot->modules[i];
        const void *bytes = arch_physical(module->range.base);

        if (cpio_recognise(bytes, module->range.bytes)) {
            error = tree_add_archive(&tree, bytes, module->range.bytes, why);
        } else {
            const char *path = module->name[0] == '/' ? module->name : PROGRAM_DEFAULT;

            error = tree_add(&tree, path, S_IFREG | 0755, bytes, module->range.bytes, why) ? 0 : -EINVAL;
        }
    }
    return error;
}

struct tree *files_build(void)
{
    struct message why = { "" };

    page_pool_initialise(&pages, &memory, 1);
    tree = (struct tree){ .page_allocate = page_allocate };
    if (tree_initialise(&tree) || modules_add(&why) || devices_add(&tree, &why) ||
        tree_writable_add(&tree, &why) || proc_add(&tree, &why) || etc_add(&tree, &why) ||
        network_files_add(&tree, &why) || mounts_put(&tree, &why))
        node_stop(STOP_BAD_INPUT, "initrd: %s", why.text[0] ? why.text : "no memory for the file tree");
    return &tree;
}
