/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_file.c: system calls that move the bytes of open files, and the offset at which they do: read, write,
 * their variants with offsets and vectors, lseek. Sizes are in sys_storage.c, descriptors in
 * sys_descriptor.c, paths in sys_path.c.
 *
 * `offset` points to the offset that a call brings along; NULL: the file's own, which advances.
 */
#include "arch.h"
#include "fs/file.h"
#include "lib/errno.h"
#include "process/process.h"
#include "mm/page.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "process/event.h"

/* ---- One piece ---- */

static int direction_check(const struct file *file, bool write)
{
    if ((file->flags & O_ACCMODE) == (write ? O_RDONLY : O_WRONLY) || (file->flags & O_PATH))
        return -EBADF;
    if (write)
        return file->operations->write ? 0 : -EINVAL;
    return file->operations->read ? 0 : file->inode ? -EISDIR : -EINVAL;
}

static int64_t transfer(struct file *file, uint64_t buffer, uint64_t bytes, const uint64_t *offset,
                        bool write)
{
    int64_t (*move)(struct file *, uint64_t, uint64_t, uint64_t) =
        write ? file->operations->write : file->operations->read;
    int64_t moved = direction_check(file, write);

    if (moved)
        return moved;
    /* As Linux: a range beyond the program's addresses is an error even where nothing would be moved. */
    if (bytes > ARCH_USER_LIMIT || buffer > ARCH_USER_LIMIT - bytes)
        return -EFAULT;
    if (bytes > READ_WRITE_MAX)
        bytes = READ_WRITE_MAX;
    if (file->operations->waits || (offset && !write))
        return move(file, buffer, bytes, offset ? *offset : 0);

    spin_lock_own(&file->lock);
    uint64_t before = file->offset;
    moved = move(file, buffer, bytes, offset ? *offset : before);
    if (offset)
        file->offset = before; /* appending has moved it */
    else if (moved > 0)
        file->offset += (uint64_t)moved;
    spin_unlock_own(&file->lock);
    return moved;
}

/* ---- Vectors ---- */

/* Nothing is moved unless all lengths are valid. */
static int vector_check(uint64_t vector, uint64_t count)
{
    uint64_t total = 0;

    if (count > IOV_MAX)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++) {
        struct linux_iovec part;

        if (user_read(&part, vector + i * sizeof(part), sizeof(part)))
            return -EFAULT;
        if ((int64_t)part.bytes < 0 || (int64_t)(total += part.bytes) < 0)
            return -EINVAL;
    }
    return 0;
}

/* Moves the parts, until one moves less than it should. */
static int64_t vector_transfer(struct file *file, uint64_t vector, uint64_t count, const uint64_t *offset,
                               bool write)
{
    int64_t total = 0, moved = direction_check(file, write);

    if (!moved)
        moved = vector_check(vector, count);
    if (moved)
        return moved;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = offset ? *offset + (uint64_t)total : 0;
        struct linux_iovec part;

        if (user_read(&part, vector + i * sizeof(part), sizeof(part)))
            return total ? total : -EFAULT;
        if (part.bytes == 0)
            continue;
        moved = transfer(file, part.base, part.bytes, offset ? &at : NULL, write);
        if (moved < 0)
            return total ? total : moved;
        total += moved;
        if ((uint64_t)moved < part.bytes)
            break;
    }
    return total;
}

/* ---- The calls ---- */

/* The file of a call; one with an offset needs a file that can be sought in. */
static int file_of_call(uint64_t descriptor, const uint64_t *offset, struct file **out)
{
    struct file *file = file_get(arch_process(), descriptor);
    int error = 0;

    if (!file)
        return -EBADF;
    *out = file;
    if (offset)
        error = (int64_t)*offset < 0      ? -EINVAL
                : (file->flags & O_PATH)  ? -EBADF
                : !file->operations->size ? -ESPIPE
                                          : 0;
    if (error)
        file_put(file);
    return error;
}

static long transfer_call(int64_t (*move)(struct file *, uint64_t, uint64_t, const uint64_t *, bool),
                          uint64_t descriptor, uint64_t address, uint64_t count, const uint64_t *offset,
                          bool write)
{
    struct file *file;
    int64_t moved = file_of_call(descriptor, offset, &file);

    if (moved)
        return moved;
    moved = move(file, address, count, offset, write);
    file_put(file);
    return moved;
}

/* The two most frequent calls get code of their own, with all of the above inlined. */
#define FREQUENT __attribute__((flatten))

FREQUENT long sys_read(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    return restartable(SYSCALL_NUMBER_read, transfer_call(transfer, descriptor, buffer, bytes, NULL, false));
}

FREQUENT long sys_write(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    return restartable(SYSCALL_NUMBER_write, transfer_call(transfer, descriptor, buffer, bytes, NULL, true));
}

long sys_pread64(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return transfer_call(transfer, descriptor, buffer, bytes, &offset, false);
}

long sys_pwrite64(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return transfer_call(transfer, descriptor, buffer, bytes, &offset, true);
}

long sys_readv(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    return restartable(SYSCALL_NUMBER_readv,
                       transfer_call(vector_transfer, descriptor, vector, count, NULL, false));
}

long sys_writev(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    return restartable(SYSCALL_NUMBER_writev,
                       transfer_call(vector_transfer, descriptor, vector, count, NULL, true));
}

/* Linux splits the offset for 32-bit programs; here the first of the two registers holds all of it. */
long sys_preadv(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset)
{
    return transfer_call(vector_transfer, descriptor, vector, count, &offset, false);
}

long sys_pwritev(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset)
{
    return transfer_call(vector_transfer, descriptor, vector, count, &offset, true);
}

long sys_preadv2(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset, uint64_t high,
                 uint64_t flags)
{
    (void)high;
    if ((uint32_t)flags)
        return -EOPNOTSUPP;
    return (int64_t)offset == -1 ? sys_readv(descriptor, vector, count)
                                 : sys_preadv(descriptor, vector, count, offset);
}

long sys_pwritev2(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset, uint64_t high,
                  uint64_t flags)
{
    (void)high;
    if ((uint32_t)flags)
        return -EOPNOTSUPP;
    return (int64_t)offset == -1 ? sys_writev(descriptor, vector, count)
                                 : sys_pwritev(descriptor, vector, count, offset);
}

/* ---- Seeking ---- */

enum { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END, SEEK_TO_DATA, SEEK_TO_HOLE };

/* With the file's lock. */
static int64_t seek(struct file *file, uint64_t offset, uint64_t whence)
{
    uint64_t size = file->operations->size(file), base = 0;

    if (file->inode && mode_is(file->inode->mode, S_IFCHR))
        return 0; /* a device has one position */
    switch ((uint32_t)whence) {
    case SEEK_FROM_START:
        break;
    case SEEK_FROM_HERE:
        base = file->offset;
        break;
    case SEEK_FROM_END:
        base = size;
        break;
    case SEEK_TO_DATA: /* there are no holes */
    case SEEK_TO_HOLE:
        if (offset >= size)
            return -ENXIO;
        base = (uint32_t)whence == SEEK_TO_HOLE ? size - offset : 0;
        break;
    default:
        return -EINVAL;
    }
    if ((int64_t)(base + offset) < 0)
        return -EINVAL;
    file->offset = base + offset;
    return (int64_t)file->offset;
}

long sys_lseek(uint64_t descriptor, uint64_t offset, uint64_t whence)
{
    const uint64_t start = 0;
    struct file *file;
    int64_t result = file_of_call(descriptor, &start, &file);

    if (result)
        return result;
    spin_lock(&file->lock);
    result = seek(file, offset, whence);
    spin_unlock(&file->lock);
    file_put(file);
    return result;
}
