/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_file.c: system calls on the bytes of open files: reading, writing, seeking, sizes. Descriptors are in
 * sys_descriptor.c, paths in sys_path.c.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/syscall.h"
#include "process/event.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- One piece ---- */

/* Linux looks at the whole range before it asks the file: what cannot be the program's is an error even where
 * nothing would be moved. */
static int range_check(uint64_t buffer, uint64_t bytes)
{
    return bytes > ARCH_USER_LIMIT || buffer > ARCH_USER_LIMIT - bytes ? -EFAULT : 0;
}

static int read_check(const struct file *file)
{
    if ((file->flags & O_ACCMODE) == O_WRONLY || (file->flags & O_PATH))
        return -EBADF;
    return file->operations->read ? 0 : file->inode ? -EISDIR : -EINVAL;
}

static int write_check(const struct file *file)
{
    if ((file->flags & O_ACCMODE) == O_RDONLY || (file->flags & O_PATH))
        return -EBADF;
    return file->operations->write ? 0 : -EINVAL;
}

int64_t file_read(struct file *file, uint64_t buffer, uint64_t bytes)
{
    int64_t got = read_check(file);

    if (!got)
        got = range_check(buffer, bytes);
    if (got)
        return got;
    bytes = smaller(bytes, READ_WRITE_MAX);
    if (file->operations->waits)
        return file->operations->read(file, buffer, bytes, 0);
    spin_lock(&file->lock);
    got = file->operations->read(file, buffer, bytes, file->offset);
    if (got > 0)
        file->offset += (uint64_t)got;
    spin_unlock(&file->lock);
    return got;
}

int64_t file_write(struct file *file, uint64_t buffer, uint64_t bytes)
{
    int64_t put = write_check(file);

    if (!put)
        put = range_check(buffer, bytes);
    if (put)
        return put;
    bytes = smaller(bytes, READ_WRITE_MAX);
    if (file->operations->waits)
        return file->operations->write(file, buffer, bytes, 0);
    spin_lock(&file->lock);
    put = file->operations->write(file, buffer, bytes, file->offset);
    if (put > 0)
        file->offset += (uint64_t)put;
    spin_unlock(&file->lock);
    return put;
}

static int64_t file_read_at(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    int error = read_check(file);

    if (!error)
        error = range_check(buffer, bytes);
    return error ? error : file->operations->read(file, buffer, smaller(bytes, READ_WRITE_MAX), offset);
}

static int64_t file_write_at(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    int error = write_check(file);

    if (!error)
        error = range_check(buffer, bytes);
    if (error)
        return error;
    spin_lock(&file->lock);
    uint64_t before = file->offset; /* appending moves it */
    int64_t put = file->operations->write(file, buffer, smaller(bytes, READ_WRITE_MAX), offset);
    file->offset = before;
    spin_unlock(&file->lock);
    return put;
}

long sys_read(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;

    int64_t got = file_read(file, buffer, bytes);
    file_put(file);
    return restartable(SYSCALL_NUMBER_read, got);
}

long sys_write(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;

    int64_t put = file_write(file, buffer, bytes);
    file_put(file);
    return restartable(SYSCALL_NUMBER_write, put);
}

/* A file that can be sought in, for the calls that say where. */
static int seekable_get(uint64_t descriptor, uint64_t offset, struct file **out)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    *out = file;
    int error = (int64_t)offset < 0       ? -EINVAL
                : (file->flags & O_PATH)  ? -EBADF
                : !file->operations->size ? -ESPIPE
                                          : 0;
    if (error)
        file_put(file);
    return error;
}

long sys_pread64(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    struct file *file;
    int64_t got = seekable_get(descriptor, offset, &file);

    if (got)
        return got;
    got = file_read_at(file, buffer, bytes, offset);
    file_put(file);
    return got;
}

long sys_pwrite64(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    struct file *file;
    int64_t put = seekable_get(descriptor, offset, &file);

    if (put)
        return put;
    put = file_write_at(file, buffer, bytes, offset);
    file_put(file);
    return put;
}

/* ---- Vectors ---- */

/* Nothing is moved unless all lengths make sense. */
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

/* Moves the parts, until one moves less than it should; at `offset`, or where the file is for NULL. */
static int64_t vector_move(struct file *file, uint64_t vector, uint64_t count, const uint64_t *offset,
                           bool write)
{
    int64_t total = 0, moved;
    int error = vector_check(vector, count);

    if (error)
        return error;
    for (uint64_t i = 0; i < count; i++) {
        struct linux_iovec part;

        if (user_read(&part, vector + i * sizeof(part), sizeof(part)))
            return total ? total : -EFAULT;
        if (part.bytes == 0)
            continue;
        if (offset && write)
            moved = file_write_at(file, part.base, part.bytes, *offset + (uint64_t)total);
        else if (offset)
            moved = file_read_at(file, part.base, part.bytes, *offset + (uint64_t)total);
        else
            moved = write ? file_write(file, part.base, part.bytes) : file_read(file, part.base, part.bytes);
        if (moved < 0)
            return total ? total : moved;
        total += moved;
        if ((uint64_t)moved < part.bytes)
            break;
    }
    return total;
}

static long vector_call(uint64_t descriptor, uint64_t vector, uint64_t count, bool write)
{
    struct file *file = file_get(arch_process(), descriptor);
    int64_t moved;

    if (!file)
        return -EBADF;
    moved = write ? write_check(file) : read_check(file);
    if (!moved)
        moved = vector_move(file, vector, count, NULL, write);
    file_put(file);
    return moved;
}

long sys_readv(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    return restartable(SYSCALL_NUMBER_readv, vector_call(descriptor, vector, count, false));
}

long sys_writev(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    return restartable(SYSCALL_NUMBER_writev, vector_call(descriptor, vector, count, true));
}

static long vector_call_at(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset, bool write)
{
    struct file *file;
    int64_t moved = seekable_get(descriptor, offset, &file);

    if (moved)
        return moved;
    moved = write ? write_check(file) : read_check(file);
    if (!moved)
        moved = vector_move(file, vector, count, &offset, write);
    file_put(file);
    return moved;
}

/* Linux splits the offset for 32-bit programs; here its first register holds all of it. */
long sys_preadv(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset)
{
    return vector_call_at(descriptor, vector, count, offset, false);
}

long sys_pwritev(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset)
{
    return vector_call_at(descriptor, vector, count, offset, true);
}

long sys_preadv2(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset, uint64_t high,
                 uint64_t flags)
{
    (void)high;
    if ((uint32_t)flags)
        return -EOPNOTSUPP;
    if ((int64_t)offset == -1)
        return sys_readv(descriptor, vector, count);
    return sys_preadv(descriptor, vector, count, offset);
}

long sys_pwritev2(uint64_t descriptor, uint64_t vector, uint64_t count, uint64_t offset, uint64_t high,
                  uint64_t flags)
{
    (void)high;
    if ((uint32_t)flags)
        return -EOPNOTSUPP;
    if ((int64_t)offset == -1)
        return sys_writev(descriptor, vector, count);
    return sys_pwritev(descriptor, vector, count, offset);
}

/* ---- Positions and sizes ---- */

enum { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END, SEEK_TO_DATA, SEEK_TO_HOLE };

/* With the file's lock. */
static int64_t seek(struct file *file, uint64_t offset, uint64_t whence)
{
    uint64_t size = file->operations->size(file), base = 0;

    if (file->inode && mode_is(file->inode->mode, S_IFCHR))
        return 0; /* a device has one place */
    switch ((uint32_t)whence) {
    case SEEK_FROM_START:
        break;
    case SEEK_FROM_HERE:
        base = file->offset;
        break;
    case SEEK_FROM_END:
        base = size;
        break;
    case SEEK_TO_DATA: /* there are no holes: all is backed */
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
    struct file *file;
    int64_t result = seekable_get(descriptor, 0, &file);

    if (result)
        return result;
    spin_lock(&file->lock);
    result = seek(file, offset, whence);
    spin_unlock(&file->lock);
    file_put(file);
    return result;
}

/* A file whose size can be set. */
static int resizable_get(uint64_t descriptor, struct file **out)
{
    struct file *file = file_get(arch_process(), descriptor);
    int error = 0;

    if (!file)
        return -EBADF;
    if ((file->flags & O_ACCMODE) == O_RDONLY || (file->flags & O_PATH))
        error = (file->flags & O_PATH) ? -EBADF : -EINVAL;
    else if (!file->inode || !file->inode->memory)
        error = -EINVAL;
    if (error)
        file_put(file);
    *out = file;
    return error;
}

long sys_ftruncate(uint64_t descriptor, uint64_t bytes)
{
    struct file *file;

    if ((int64_t)bytes < 0)
        return -EINVAL;
    int error = resizable_get(descriptor, &file);
    if (error)
        return error;
    error = bytes > FILE_BYTES_MAX ? -EFBIG
                                   : shared_memory_resize(file->inode->memory, &file->process->vm, bytes);
    if (!error)
        file_touch(file->inode);
    file_put(file);
    return error;
}

/* With both flags a hole, whose memory stays the file's; with KEEP_SIZE alone memory behind the end. */
static int file_allocate_range(struct file *file, uint64_t mode, uint64_t offset, uint64_t bytes)
{
    struct shared_memory *memory = file->inode->memory;

    if (mode & FALLOC_PUNCH_HOLE) {
        shared_memory_clear(memory, offset, bytes);
        return 0;
    }
    if (offset + bytes > FILE_BYTES_MAX)
        return -EFBIG;
    return mode & FALLOC_KEEP_SIZE ? shared_memory_reserve(memory, &file->process->vm, offset + bytes)
                                   : shared_memory_grow(memory, &file->process->vm, offset + bytes);
}

long sys_fallocate(uint64_t descriptor, uint64_t mode, uint64_t offset, uint64_t bytes)
{
    struct file *file;

    mode = (uint32_t)mode;
    if ((int64_t)offset < 0 || (int64_t)bytes <= 0)
        return -EINVAL;
    if ((mode & ~(uint64_t)(FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE)) || mode == FALLOC_PUNCH_HOLE)
        return -EOPNOTSUPP;
    int error = resizable_get(descriptor, &file);
    if (error)
        return error == -EINVAL ? -EBADF : error;
    error = file_allocate_range(file, mode, offset, bytes);
    if (!error)
        file_touch(file->inode);
    file_put(file);
    return error;
}

/* ---- Storage: there is none, the descriptor is all that counts ---- */

static int descriptor_check(uint64_t descriptor, bool (*suits)(const struct file *file), int otherwise)
{
    struct file *file = file_get(arch_process(), descriptor);
    int error = !file || (file->flags & O_PATH) ? -EBADF : suits(file) ? 0 : otherwise;

    if (file)
        file_put(file);
    return error;
}

static bool is_stored(const struct file *file)
{
    return file->inode && !file->inode->device;
}

static bool is_any(const struct file *file)
{
    return file != NULL;
}

static bool is_regular(const struct file *file)
{
    return is_stored(file) && mode_is(file->inode->mode, S_IFREG);
}

static bool has_places(const struct file *file)
{
    return file->operations->size != NULL;
}

long sys_fsync(uint64_t descriptor)
{
    return descriptor_check(descriptor, is_stored, -EINVAL);
}

long sys_syncfs(uint64_t descriptor)
{
    return descriptor_check(descriptor, is_any, 0);
}

long sys_readahead(uint64_t descriptor, uint64_t offset, uint64_t bytes)
{
    (void)offset, (void)bytes;
    return descriptor_check(descriptor, is_regular, -EINVAL);
}

long sys_fadvise64(uint64_t descriptor, uint64_t offset, uint64_t bytes, uint64_t advice)
{
    const uint32_t advice_last = 5; /* POSIX_FADV_NOREUSE */
    int error = descriptor_check(descriptor, has_places, -ESPIPE);

    (void)offset, (void)bytes;
    return error ? error : (uint32_t)advice > advice_last ? -EINVAL : 0;
}
