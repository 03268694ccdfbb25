/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_lock.c: system calls on locks of files: flock, and fcntl's record locks of processes and of open files.
 * file_lock.c decides which locks conflict; they are kept under the tree's lock. A call that waits for a lock
 * waits for events (event.h): deadlocks are not detected.
 */
#include "arch.h"
#include "fs/file.h"
#include "fs/file_lock.h"
#include "fs/mount_file.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* Converts a program's struct flock to a range of bytes. -EINVAL, -EOVERFLOW, or an error of a mount. */
static int lock_range(const struct file *file, const struct linux_flock *request, struct file_lock *lock)
{
    int64_t base = 0, start, end;

    if (request->whence == 1)
        base = (int64_t)file->offset;
    else if (request->whence == 2)
        base = (int64_t)file->operations->size(file);
    if (base < 0)
        return (int)base; /* an error of a mount */
    if (request->whence < 0 || request->whence > 2)
        return -EINVAL;
    if (__builtin_add_overflow(base, request->start, &start))
        return -EOVERFLOW;
    if (start < 0)
        return -EINVAL;
    if (request->bytes == 0) {
        end = INT64_MAX;
    } else if (request->bytes > 0) {
        if (__builtin_add_overflow(start, request->bytes - 1, &end))
            return -EOVERFLOW;
    } else { /* the range lies below `start` */
        end = start - 1;
        start += request->bytes;
    }
    if (start < 0)
        return -EINVAL;
    lock->start = (uint64_t)start;
    lock->end = (uint64_t)end;
    return 0;
}

/* Sets or releases a lock; with `wait`, waits until no other lock conflicts. */
static int lock_set(struct file *file, const struct file_lock *requested, bool wait)
{
    struct tree *tree = arch_process()->tree;

    if (file->inode->mount)
        return mount_lock_set(file, requested, wait);
    for (;;) {
        tree_lock_to_add(tree);
        bool conflicts = file_lock_conflict(file->inode, requested);
        int error = conflicts ? -EAGAIN : file_lock_set(tree, file->inode, requested);
        spin_unlock(&tree->lock);
        /* An exclusive lock may have become a shared one, or none. */
        if (!conflicts && (requested->releases || !requested->exclusive))
            event_notify_shared(file->inode);
        if (!conflicts || !wait)
            return error;
        error = event_wait_shared(file->inode);
        if (error)
            return error;
    }
}

/* Describes a lock that conflicts, also of other nodes, or changes the answer's type to F_UNLCK. */
static int lock_query(struct file *file, const struct file_lock *requested, struct linux_flock *answer)
{
    struct tree *tree = file->process->tree;
    struct mount_lock lock = { .type = F_UNLCK };

    spin_lock(&tree->lock);
    const struct file_lock *local = file_lock_conflict(file->inode, requested);
    if (local)
        lock = (struct mount_lock){ .type = local->exclusive ? F_WRLCK : F_RDLCK,
                                    .start = local->start,
                                    .bytes = local->end == INT64_MAX ? 0 : local->end - local->start + 1,
                                    .process = (uint32_t)local->pid };
    spin_unlock(&tree->lock);
    int error = !local && file->inode->mount ? mount_lock_query(file, requested, &lock) : 0;
    if (lock.type == F_UNLCK)
        answer->type = F_UNLCK;
    else
        *answer = (struct linux_flock){ .type = (int16_t)lock.type,
                                        .start = (int64_t)lock.start,
                                        .bytes = (int64_t)lock.bytes,
                                        .pid = (int32_t)lock.process };
    return error;
}

/* Releases a lock again, with -EBADF, if another thread has closed its descriptor meanwhile. A process's
 * locks on a file end when it closes a descriptor of the file, so this lock would never end. */
static int lock_confirm(struct file *file, uint64_t descriptor, struct file_lock *lock)
{
    FILE_REFERENCE now = file_of(descriptor);

    if (now == file)
        return 0;
    lock->releases = true;
    lock_set(file, lock, false);
    return -EBADF;
}

/* Carries out F_GETLK, F_SETLK, F_SETLKW, and their variants for locks that belong to an open file. */
long record_lock(struct file *file, uint64_t descriptor, uint32_t command, uint64_t argument)
{
    bool open_file = command >= F_OFD_GETLK, query = command == F_GETLK || command == F_OFD_GETLK;
    bool wait = command == F_SETLKW || command == F_OFD_SETLKW;
    struct file_lock lock = { .owner = open_file ? (const void *)file : arch_process(),
                              .pid = open_file ? -1 : (int32_t)arch_process()->pid };
    struct linux_flock request;

    if (user_read(&request, argument, sizeof(request)))
        return -EFAULT;
    if (!file->inode || !file->operations->size)
        return -EBADF;
    if (request.type < F_RDLCK || request.type > F_UNLCK || (query && request.type == F_UNLCK) ||
        (open_file && request.pid))
        return -EINVAL;
    int error = lock_range(file, &request, &lock);
    if (error)
        return error;
    lock.exclusive = request.type == F_WRLCK;
    lock.releases = request.type == F_UNLCK;
    if (query) {
        error = lock_query(file, &lock, &request);
        return error ? error : user_write(argument, &request, sizeof(request));
    }
    if (!lock.releases && (file->flags & O_ACCMODE) == (lock.exclusive ? O_RDONLY : O_WRONLY))
        return -EBADF;
    file->has_locks |= open_file;
    error = lock_set(file, &lock, wait);
    return error || open_file || lock.releases ? error : lock_confirm(file, descriptor, &lock);
}

long whole_file_lock(struct file *file, uint32_t operation)
{
    struct file_lock lock = { .owner = file, .end = INT64_MAX, .whole_file = true };

    if (!file->inode)
        return -EBADF;
    switch (operation & ~(uint32_t)LOCK_NB) {
    case LOCK_UN:
        lock.releases = true;
        break;
    case LOCK_EX:
        lock.exclusive = true;
        break;
    case LOCK_SH:
        break;
    default:
        return -EINVAL;
    }
    file->has_locks = true;
    return lock_set(file, &lock, !(operation & LOCK_NB));
}
