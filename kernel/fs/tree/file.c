/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_file.c: open files of the tree: those of the initrd, which point into it, those of the writable part,
 * whose bytes are a struct shared_memory, and directories. Memory that a file grows by is paid by the rank
 * that writes.
 */
#include "arch.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "fs/file.h"
#include "fs/file_lock.h"
#include "lib/linux_abi.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "mm/user_bytes.h"

int64_t file_wall_clock_ns(void)
{
    return (int64_t)(clock_now_ns() + clock_wall_offset_ns());
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
    if (bytes > inode->bytes - offset)
        bytes = inode->bytes - offset;
    return user_write_partial(buffer, (const char *)inode->data + offset, bytes);
}

static uint64_t tree_size(const struct file *file)
{
    return file->inode->bytes;
}

static int64_t memory_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return shared_memory_read(file->inode->memory, buffer, bytes, offset);
}

/* Where it appends, the file's offset moves to where the bytes have gone; the caller adds how many. */
static int64_t memory_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    bool append = file->flags & O_APPEND;

    if (!append && offset + bytes > FILE_BYTES_MAX) {
        if (offset >= FILE_BYTES_MAX)
            return -EFBIG;
        bytes = FILE_BYTES_MAX - offset;
    }
    int64_t put =
        shared_memory_write(file->inode->memory, file->process->vm.pages, buffer, bytes, &offset, append);
    if (put > 0)
        file_touch(file->inode);
    if (put > 0 && append)
        file->offset = offset;
    return put;
}

static uint64_t memory_size(const struct file *file)
{
    return __atomic_load_n(&file->inode->memory->bytes, __ATOMIC_RELAXED);
}

const struct file_operations tree_operations = { .read = tree_read, .size = tree_size };
const struct file_operations directory_operations = { .size = tree_size };
const struct file_operations memory_operations = { .read = memory_read,
                                                   .write = memory_write,
                                                   .size = memory_size };

/* With the tree's lock; what comes free goes back when that is let go of. */
static void inode_end(struct inode *inode)
{
    if (inode->memory)
        shared_memory_put(inode->memory);
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
    static const struct {
        const char *path;
        enum filesystem filesystem;
    } parts[] = { { "/tmp", FILESYSTEM_TMP }, { "/dev/shm", FILESYSTEM_SHM } };

    tree->inode_end = inode_end;
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct inode *inode = tree_mount(tree, parts[i].path, 01777, parts[i].filesystem, why);

        if (!inode)
            return -ENOMEM;
        inode->writable = true;
    }
    return 0;
}
