/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_file.c: open files of the tree: those of the initrd, whose bytes stand in it; those of the writable
 * file systems, whose bytes are a struct shared_memory; and directories. The memory that a file grows by
 * comes from the slice of the rank that writes. Runs in system calls; reads and writes with the file's lock.
 * What mounts file systems runs while the tree is built.
 */
#include "arch.h"
#include "fs/linux_files.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "fs/file.h"
#include "fs/mount_file.h"
#include "fs/user_vector.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "mm/user_bytes.h"

int64_t file_wall_clock_ns(void)
{
    return (int64_t)clock_wall_ns(NULL);
}

void file_touch(struct inode *inode)
{
    int64_t now = file_wall_clock_ns();

    __atomic_store_n(&inode->modified_ns, now, __ATOMIC_RELAXED);
    __atomic_store_n(&inode->changed_ns, now, __ATOMIC_RELAXED);
}

static int64_t tree_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    const struct inode *inode = file->inode;

    if (offset >= inode->bytes)
        return 0;
    return user_write_partial(buffer, (const char *)inode->data + offset,
                              smaller(bytes, inode->bytes - offset));
}

static uint64_t tree_size(const struct file *file)
{
    return file->inode->bytes;
}

static int64_t memory_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return shared_memory_read(file->inode->memory, buffer, bytes, offset);
}

static int64_t memory_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (bytes == 0)
        return 0;
    if (offset >= FILE_BYTES_MAX)
        return -EFBIG;
    bytes = smaller(bytes, FILE_BYTES_MAX - offset);
    int64_t put = shared_memory_write(file->inode->memory, arch_process()->vm.pages, buffer, bytes, offset);
    if (put > 0)
        file_touch(file->inode);
    return put;
}

int file_bytes_limit(uint64_t offset, uint64_t *bytes)
{
    const uint64_t limit = process_soft_limit(arch_process(), LIMIT_FILE_BYTES);

    if (*bytes > 0 && offset >= limit) {
        caller_signal(SIGNAL_XFSZ);
        return -EFBIG;
    }
    *bytes = smaller(*bytes, limit - offset);
    return 0;
}

/* Appends a vector. Claims the place of all of it first, then copies it there, while other writers append
 * after it. */
int64_t file_append(struct file *file, struct user_vector *vector, uint64_t *offset)
{
    struct shared_memory *memory = file->inode->memory;
    int64_t claimed = shared_memory_claim(memory, arch_process()->vm.pages, vector->left, offset);

    if (claimed < 0)
        return claimed;
    vector->left = (uint64_t)claimed;
    vector->bytes = smaller(vector->bytes, vector->left);
    int64_t put = file_move(file, vector, *offset, true);
    shared_memory_claim_end(memory);
    return put;
}

static uint64_t memory_size(const struct file *file)
{
    return __atomic_load_n(&file->inode->memory->bytes, __ATOMIC_RELAXED);
}

static const struct file_operations tree_operations = { .read = tree_read, .size = tree_size };
static const struct file_operations directory_operations = { .size = tree_size };
static const struct file_operations memory_operations = { .read = memory_read,
                                                          .write = memory_write,
                                                          .size = memory_size };

int file_bind(struct file *file)
{
    const struct inode *inode = file->inode;

    file->mode = inode->mode;
    if (inode->mount) {
        file->operations = mode_is(inode->mode, S_IFREG) && !(file->flags & O_PATH)
                               ? &mount_file_operations
                               : &mount_directory_operations;
        return 0;
    }
    if (!(file->flags & O_PATH) && inode->operations && inode->operations->open)
        return inode->operations->open(file);
    if ((file->flags & O_PATH) || mode_is(inode->mode, S_IFDIR))
        file->operations = &directory_operations; /* can be named, but neither read nor written */
    else if (mode_is(inode->mode, S_IFIFO))
        return fifo_open(file);
    else if (mode_is(inode->mode, S_IFREG))
        file->operations = inode->memory ? &memory_operations : &tree_operations;
    else
        return -ENXIO; /* a device of the archive, which no driver here knows */
    return 0;
}

/* Drops an inode's memory, or what its file system keeps for it. The caller holds the tree's lock; the memory
 * itself is reclaimed after its release. */
static void inode_release(struct inode *inode)
{
    if (inode->memory)
        shared_memory_put(inode->memory);
    if (inode->operations && inode->operations->release)
        inode->operations->release(inode);
}

struct inode *tree_mount(struct tree *tree, const char *path, uint32_t mode, enum filesystem filesystem,
                         struct message *why)
{
    struct inode *inode = tree_add(tree, path, S_IFDIR | mode, NULL, 0, why);

    if (inode)
        inode->filesystem = (uint8_t)filesystem;
    return inode;
}

int tree_writable_add(struct tree *tree, struct message *why)
{
    struct inode *tmp = tree_mount(tree, "/tmp", 01777, FILESYSTEM_TMP, why);
    struct inode *shm = tree_mount(tree, "/dev/shm", 01777, FILESYSTEM_SHM, why);

    if (!tmp || !shm)
        return -ENOMEM;
    tmp->writable = shm->writable = true;
    tree->inode_release = inode_release;
    return 0;
}
