/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_file.c: system calls that move the bytes of open files, and the offset at which they do: read, write,
 * their variants with offsets and vectors, lseek. Sizes are in sys_storage.c, descriptors in
 * sys_descriptor.c, paths in sys_path.c.
 *
 * `offset` points to the offset that a call brings along; NULL: the file's own offset, which advances.
 */
#include "arch.h"
#include "fs/file.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

static int direction_check(const struct file *file, bool write)
{
    const struct file_operations *operations = file->operations;

    if ((file->flags & O_ACCMODE) == (write ? O_RDONLY : O_WRONLY) || (file->flags & O_PATH))
        return -EBADF;
    if (operations->move || (write ? operations->write != NULL : operations->read != NULL) ||
        operations->move_at)
        return 0;
    return !write && file->inode ? -EISDIR : -EINVAL;
}

/* Cuts a write to a regular file, or to a file of a mount, at RLIMIT_FSIZE. */
static int vector_limit(const struct file *file, struct user_vector *vector, const uint64_t *offset)
{
    const bool appends = (file->flags & O_APPEND) != 0;
    const uint64_t at = appends ? file->operations->size(file) : offset ? *offset : file->offset;
    int error = mode_is(file->mode, S_IFREG) ? file_bytes_limit(at, &vector->left) : 0;

    vector->bytes = smaller(vector->bytes, vector->left);
    return error;
}

/* Moves a vector, from its present part on, as one operation. */
static int64_t vector_move_silently(struct file *file, struct user_vector *vector, const uint64_t *offset,
                                    bool write)
{
    if (file->operations->size && (int64_t)((offset ? *offset : file->offset) + vector->left) < 0)
        return -EINVAL; /* beyond what an offset can say */
    if (write && file->inode && process_soft_limit(arch_process(), LIMIT_FILE_BYTES) != RLIM_INFINITY) {
        int error = vector_limit(file, vector, offset);
        if (error)
            return error;
    }
    if (file->operations->move)
        return file->operations->move(file, vector, write);
    if (file->operations->waits || (offset && !write))
        return file->operations->move_at ? file->operations->move_at(file, vector, offset, write)
                                         : file_move(file, vector, offset ? *offset : 0, write);

    SPIN_GUARD_OWN(&file->lock);
    bool appends = write && (file->flags & O_APPEND) && file->inode && file->inode->memory;
    uint64_t at = offset ? *offset : file->offset;
    int64_t moved =
        appends && vector->left > 0 ? file_append(file, vector, &at) : file_move(file, vector, at, write);
    if (!offset && moved > 0)
        file->offset = at + (uint64_t)moved;
    return moved;
}

/* Moves likewise, and notifies the watches of the file. */
static int64_t vector_move(struct file *file, struct user_vector *vector, const uint64_t *offset, bool write)
{
    int64_t moved = vector_move_silently(file, vector, offset, write);

    if (moved > 0)
        file_notify(file, write ? TREE_MODIFY : TREE_ACCESS);
    return moved;
}

/* ---- The calls ---- */

/* Finds the file of a call; *out is a FILE_REFERENCE of the caller in any case. A call with an offset needs a
 * file that can be sought in. */
static int file_of_call(uint64_t descriptor, const uint64_t *offset, struct file **out)
{
    *out = file_get(arch_process(), descriptor);
    if (!*out)
        return -EBADF;
    if (!offset)
        return 0;
    if ((int64_t)*offset < 0)
        return -EINVAL;
    if ((*out)->flags & O_PATH)
        return -EBADF;
    return (*out)->operations->size ? 0 : -ESPIPE;
}

/* Carries out the two most frequent calls, so it has all of the above inlined. */
__attribute__((flatten)) long part_transfer(uint64_t descriptor, uint64_t buffer, uint64_t bytes,
                                            const uint64_t *offset, bool write)
{
    FILE_REFERENCE file;
    int error = file_of_call(descriptor, offset, &file);

    if (!error)
        error = direction_check(file, write);
    if (error)
        return error;
    /* As Linux: a range beyond the program's addresses is an error even if nothing would be moved. */
    if (bytes > ARCH_USER_LIMIT || buffer > ARCH_USER_LIMIT - bytes)
        return -EFAULT;

    struct user_vector vector = user_vector_of(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
    return vector_move(file, &vector, offset, write);
}

/* Moves nothing unless all parts are valid. */
long parts_transfer(uint64_t descriptor, uint64_t list, uint64_t count, const uint64_t *offset,
                    uint64_t flags, bool write)
{
    struct user_vector vector;
    FILE_REFERENCE file;
    int error = file_of_call(descriptor, offset, &file);

    if ((uint32_t)flags)
        return -EOPNOTSUPP;
    if (!error)
        error = direction_check(file, write);
    if (!error)
        error = user_vector_read(&vector, list, count);
    if (!error)
        error = user_vector_next(&vector);
    return error > 0 ? vector_move(file, &vector, offset, write) : error;
}

/* ---- Seeking ---- */

enum { SEEK_FROM_START, SEEK_FROM_HERE, SEEK_FROM_END, SEEK_TO_DATA, SEEK_TO_HOLE };

/* Changes the offset. The caller holds the file's lock, or has claimed the offset. */
static int64_t seek(struct file *file, uint64_t offset, uint64_t whence)
{
    uint64_t size = (uint32_t)whence >= SEEK_FROM_END ? file->operations->size(file) : 0, base = 0;

    if ((int64_t)size < 0)
        return (int64_t)size;
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

int64_t descriptor_seek(uint64_t descriptor, uint64_t offset, uint64_t whence)
{
    const uint64_t start = 0;
    FILE_REFERENCE file;
    int64_t result = file_of_call(descriptor, &start, &file);

    if (result)
        return result;
    if (!file->operations->waits) {
        SPIN_GUARD(&file->lock);
        return seek(file, offset, whence);
    }
    result = file_offset_claim(file);
    if (result)
        return result;
    result = seek(file, offset, whence);
    file_offset_release(file);
    return result;
}

/* Takes the offset in two halves, from a time when registers had 32 bits; writes the new one to memory. */
long sys__llseek(uint64_t descriptor, uint64_t high, uint64_t low, uint64_t address, uint64_t whence)
{
    const int64_t result = descriptor_seek(descriptor, high << 32 | (uint32_t)low, whence);

    if (result < 0)
        return restartable(SYSCALL_NUMBER__llseek, result);
    return user_write(address, &result, sizeof(result));
}
