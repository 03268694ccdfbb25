/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c: descriptors and open files; see file.h. Each process owns its table, whose lock is held for short
 * loops over the descriptors, and never while a file ends. Runs in system calls, and when a rank starts or
 * ends.
 */
#include "fs/file.h"
#include "lib/errno.h"
#include "fs/file_lock.h"
#include "fs/linux_files.h"
#include "fs/mount_file.h"
#include "fs/unix_rights.h"
#include "fs/user_vector.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "process/event.h"

struct file *file_get(struct process *process, uint64_t number)
{
    uint32_t descriptor = (uint32_t)number; /* an int: the upper half is undefined */
    struct file_table *table = process->files;

    if (descriptor >= FILE_DESCRIPTORS_MAX)
        return NULL;
    SPIN_GUARD(&table->lock);
    struct file *file = table->descriptors[descriptor];
    if (file)
        __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
    return file;
}

/* Releases the locks that `owner` has on a file. */
static void locks_release(struct file *file, const void *owner)
{
    struct tree *tree = file->process->tree;

    spin_lock(&tree->lock);
    file_locks_release(tree, file->inode, owner);
    spin_unlock(&tree->lock);
    event_notify_shared(file->inode);
}

/* Ends a file after its last reference was dropped: its row of the table is free again. */
static void file_end(struct file *file)
{
    struct tree *tree = file->process->tree;

    if (!(file->flags & O_PATH))
        file_notify(file, (file->flags & O_ACCMODE) == O_RDONLY ? TREE_CLOSE : TREE_CLOSE_WRITE);
    if (file->operations && file->operations->release)
        file->operations->release(file);
    if (file->inode) {
        if (file->has_locks)
            locks_release(file, file);
        inode_drop(tree, file->inode);
        shared_memory_reclaim();
    }
    __atomic_store_n(&file->in_use, false, __ATOMIC_RELEASE);
}

void file_put(struct file *file)
{
    if (__atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) == 0)
        file_end(file);
}

int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec)
{
    struct file_table *table = process->files;

    SPIN_GUARD(&table->lock);
    for (unsigned d = lowest; d < FILE_DESCRIPTORS_MAX; d++) {
        if (table->descriptors[d])
            continue;
        table->descriptors[d] = file;
        table->close_on_exec[d] = close_on_exec;
        __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
        return (int)d;
    }
    return -EMFILE;
}

/* Drops a descriptor's reference. Closing any descriptor of a file releases all POSIX locks that the process
 * has on it. */
static void descriptor_release(struct process *process, struct file *file)
{
    bool locked = file->inode && __atomic_load_n(&file->inode->locks, __ATOMIC_RELAXED);
    int held = locked && file->inode->mount ? mount_lock_held(file) : F_UNLCK;

    if (locked)
        locks_release(file, process);
    if (held != F_UNLCK)
        mount_lock_reduce(file, held);
    file_put(file);
}

void file_install_at(struct process *process, struct file *file, unsigned descriptor, bool close_on_exec)
{
    struct file_table *table = process->files;

    __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
    spin_lock(&table->lock);
    struct file *old = table->descriptors[descriptor];
    table->descriptors[descriptor] = file;
    table->close_on_exec[descriptor] = close_on_exec;
    spin_unlock(&table->lock);
    if (old)
        descriptor_release(process, old);
}

struct file *file_allocate(struct process *process)
{
    struct file_table *table = process->files;

    SPIN_GUARD(&table->lock);
    for (unsigned i = 0; i < FILES_MAX; i++) {
        struct file *file = &table->files[i];

        if (__atomic_load_n(&file->in_use, __ATOMIC_ACQUIRE))
            continue;
        *file = (struct file){
            .process = process,
            .references = 1,
            .in_use = true,
            .serial = (uint64_t)process->rank << 40 | ++table->last_serial,
        };
        return file;
    }
    return NULL;
}

int file_make(const struct file_operations *operations, unsigned flags, struct file **out)
{
    struct file *file = *out = file_allocate(arch_process());

    if (!file)
        return -EMFILE;
    file->operations = operations;
    file->flags = flags & (O_ACCMODE | O_NONBLOCK);
    file->mode = 0600;
    return 0;
}

uint64_t file_changes(struct file *file)
{
    return __atomic_load_n(&file->changes, __ATOMIC_RELAXED);
}

int files_allocate(struct process *process, struct file *files[2])
{
    files[0] = file_allocate(process);
    files[1] = files[0] ? file_allocate(process) : NULL;
    if (files[0] && !files[1])
        file_put(files[0]);
    return files[1] ? 0 : -EMFILE;
}

int file_close(struct process *process, uint64_t number)
{
    uint32_t descriptor = (uint32_t)number;
    struct file_table *table = process->files;

    if (descriptor >= FILE_DESCRIPTORS_MAX)
        return -EBADF;
    spin_lock(&table->lock);
    struct file *file = table->descriptors[descriptor];
    table->descriptors[descriptor] = NULL;
    spin_unlock(&table->lock);
    if (!file)
        return -EBADF;
    descriptor_release(process, file);
    return 0;
}

void files_close(struct process *process)
{
    for (unsigned d = 0; d < FILE_DESCRIPTORS_MAX; d++)
        file_close(process, d);
    if (process->messages)
        file_put(process->messages);
    unix_rights_abandon(process);
}

int64_t file_move(struct file *file, struct user_vector *vector, uint64_t offset, bool write)
{
    int64_t (*move)(struct file *, uint64_t, uint64_t, uint64_t) =
        write ? file->operations->write : file->operations->read;
    int64_t total = 0, moved;

    do {
        uint64_t bytes = vector->bytes;

        moved = move(file, vector->base, bytes, offset + (uint64_t)total);
        if (moved < 0)
            break;
        total += moved;
        if ((uint64_t)moved < bytes)
            break;
        vector->left -= bytes;
        moved = vector->parts ? user_vector_next(vector) : 0;
    } while (moved > 0);
    return total ? total : moved;
}

unsigned file_ready(struct file *file)
{
    return file->operations->ready ? file->operations->ready(file) : READY_IN | READY_OUT;
}

uint64_t file_events(const struct file *file)
{
    return file->operations->events ? file->operations->events(file) : event_of(file);
}
