/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_descriptor.c: system calls on descriptors: closing, duplicating, flags, locks, control of terminals.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/file_lock.h"
#include "lib/linux_abi.h"
#include "fs/pipe.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/syscall.h"
#include "process/event.h"

long sys_close(uint64_t descriptor)
{
    return file_close(arch_process(), descriptor);
}

long sys_close_range(uint64_t first, uint64_t last, uint64_t flags)
{
    struct process *process = arch_process();

    first = (uint32_t)first;
    last = (uint32_t)last;
    if (first > last || ((uint32_t)flags & ~(uint32_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
        return -EINVAL;
    for (uint64_t d = first; d <= last && d < FILE_DESCRIPTORS_MAX; d++) {
        if (flags & CLOSE_RANGE_CLOEXEC)
            process->files->close_on_exec[d] = true;
        else
            file_close(process, d);
    }
    return 0;
}

/* ---- Duplicating ---- */

static long duplicate_above(uint64_t descriptor, uint64_t lowest, bool close_on_exec)
{
    struct process *process = arch_process();
    struct file *file = file_get(process, descriptor);

    if (!file)
        return -EBADF;
    long result = lowest >= FILE_DESCRIPTORS_MAX
                      ? -EINVAL
                      : file_install(process, file, (unsigned)lowest, close_on_exec);
    file_put(file);
    return result;
}

static long duplicate_to(uint64_t from, uint64_t to, bool close_on_exec)
{
    struct process *process = arch_process();

    to = (uint32_t)to;
    if (to >= FILE_DESCRIPTORS_MAX)
        return -EBADF;
    struct file *file = file_get(process, from);
    if (!file)
        return -EBADF;
    file_install_at(process, file, (unsigned)to, close_on_exec);
    file_put(file);
    return (long)to;
}

long sys_dup(uint64_t descriptor)
{
    return duplicate_above(descriptor, 0, false);
}

long sys_dup2(uint64_t from, uint64_t to)
{
    struct file *file;

    if ((uint32_t)from != (uint32_t)to)
        return duplicate_to(from, to, false);
    file = file_get(arch_process(), from);
    if (file)
        file_put(file);
    return file ? (long)(uint32_t)to : -EBADF;
}

long sys_dup3(uint64_t from, uint64_t to, uint64_t flags)
{
    if ((uint32_t)from == (uint32_t)to || ((uint32_t)flags & ~(uint64_t)O_CLOEXEC))
        return -EINVAL;
    return duplicate_to(from, to, flags & O_CLOEXEC);
}

/* ---- Locks ---- */

/* The range that a struct flock of the program's means. */
static int lock_range(const struct file *file, const struct linux_flock *asked, struct file_lock *lock)
{
    int64_t base = asked->whence == 1   ? (int64_t)file->offset
                   : asked->whence == 2 ? (int64_t)file->operations->size(file)
                                        : 0;
    int64_t start, end;

    if (asked->whence < 0 || asked->whence > 2)
        return -EINVAL;
    if (__builtin_add_overflow(base, asked->start, &start))
        return -EOVERFLOW;
    if (start < 0)
        return -EINVAL;
    if (asked->bytes == 0) {
        end = INT64_MAX;
    } else if (asked->bytes > 0) {
        if (__builtin_add_overflow(start, asked->bytes - 1, &end))
            return -EOVERFLOW;
    } else { /* the range lies before */
        end = start - 1;
        start += asked->bytes;
    }
    if (start < 0)
        return -EINVAL;
    lock->start = (uint64_t)start;
    lock->end = (uint64_t)end;
    return 0;
}

/* Sets a lock, or waits until that can be done. */
static int lock_acquire(struct file *file, const struct file_lock *wanted, bool wait)
{
    struct tree *tree = file->process->tree;

    for (;;) {
        spin_lock(&tree->lock);
        bool conflicts = file_lock_conflict(file->inode, wanted);
        int error = conflicts ? -EAGAIN : file_lock_set(tree, file->inode, wanted);
        spin_unlock(&tree->lock);
        if (!conflicts && !wanted->exclusive) /* an exclusive lock may have become a shared one */
            event_notify_all();
        if (!conflicts || !wait)
            return error;
        error = event_wait(WAIT_FOREVER);
        if (error)
            return error;
    }
}

static int lock_release(struct file *file, const struct file_lock *range)
{
    struct tree *tree = file->process->tree;

    spin_lock(&tree->lock);
    int error = file_lock_clear(tree, file->inode, range);
    spin_unlock(&tree->lock);
    event_notify_all();
    return error;
}

static int lock_tell(struct file *file, const struct file_lock *wanted, struct linux_flock *told)
{
    struct tree *tree = file->process->tree;

    spin_lock(&tree->lock);
    const struct file_lock *lock = file_lock_conflict(file->inode, wanted);
    if (lock) {
        uint64_t bytes = lock->end == INT64_MAX ? 0 : lock->end - lock->start + 1;

        *told = (struct linux_flock){ .type = lock->exclusive ? F_WRLCK : F_RDLCK,
                                      .start = (int64_t)lock->start,
                                      .bytes = (int64_t)bytes,
                                      .pid = lock->pid };
    }
    if (!lock)
        told->type = F_UNLCK;
    spin_unlock(&tree->lock);
    return 0;
}

/* The process's locks on a file end when it closes a descriptor of it. One that was acquired by a descriptor
 * which another thread has closed meanwhile would stay for ever. */
static int lock_keep(struct file *file, uint64_t descriptor, const struct file_lock *lock)
{
    struct file *there = file_get(file->process, descriptor);

    if (there)
        file_put(there);
    if (there == file)
        return 0;
    lock_release(file, lock);
    return -EBADF;
}

static long record_lock(struct file *file, uint64_t descriptor, uint32_t command, uint64_t argument)
{
    bool open_file = command >= F_OFD_GETLK, tell = command == F_GETLK || command == F_OFD_GETLK;
    bool wait = command == F_SETLKW || command == F_OFD_SETLKW;
    struct file_lock lock = { .owner = open_file ? (const void *)file : file->process,
                              .pid = open_file ? -1 : (int32_t)file->process->pid };
    struct linux_flock asked;

    if (user_read(&asked, argument, sizeof(asked)))
        return -EFAULT;
    if (!file->inode || !file->operations->size)
        return -EBADF;
    if (asked.type < F_RDLCK || asked.type > F_UNLCK || (tell && asked.type == F_UNLCK) ||
        (open_file && asked.pid))
        return -EINVAL;
    int error = lock_range(file, &asked, &lock);
    if (error)
        return error;
    lock.exclusive = asked.type == F_WRLCK;
    if (tell) {
        lock_tell(file, &lock, &asked);
        return user_write(argument, &asked, sizeof(asked));
    }
    if (asked.type == F_UNLCK)
        return lock_release(file, &lock);
    if ((file->flags & O_ACCMODE) == (lock.exclusive ? O_RDONLY : O_WRONLY))
        return -EBADF;
    file->has_locks |= open_file;
    error = lock_acquire(file, &lock, wait);
    return error || open_file ? error : lock_keep(file, descriptor, &lock);
}

static long whole_lock(struct file *file, uint32_t operation)
{
    struct file_lock lock = { .owner = file, .end = INT64_MAX, .whole_file = true };

    if (!file->inode)
        return -EBADF;
    switch (operation & ~(uint32_t)LOCK_NB) {
    case LOCK_UN:
        return lock_release(file, &lock);
    case LOCK_EX:
        lock.exclusive = true;
        break;
    case LOCK_SH:
        break;
    default:
        return -EINVAL;
    }
    file->has_locks = true;
    return lock_acquire(file, &lock, !(operation & LOCK_NB));
}

long sys_flock(uint64_t descriptor, uint64_t operation)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    long result = file->flags & O_PATH ? -EBADF : whole_lock(file, (uint32_t)operation);
    file_put(file);
    return restartable(SYSCALL_NUMBER_flock, result);
}

/* ---- fcntl ---- */

static long flags_set(struct file *file, uint64_t flags)
{
    const unsigned settable = O_APPEND | O_NONBLOCK;

    spin_lock(&file->lock);
    file->flags = (file->flags & ~settable) | ((unsigned)flags & settable);
    spin_unlock(&file->lock);
    return 0;
}

static long file_control(struct file *file, uint64_t descriptor, uint32_t command, uint64_t argument)
{
    switch (command) {
    case F_GETFL:
        return (long)file->flags;
    case F_SETFL:
        return file->flags & O_PATH ? -EBADF : flags_set(file, argument);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return file->flags & O_PATH ? -EBADF : record_lock(file, descriptor, command, argument);
    case F_GETPIPE_SZ:
        return file_is_pipe(file) ? PIPE_BYTES : -EBADF;
    case F_SETPIPE_SZ: /* larger is refused, smaller is rounded up */
        if (!file_is_pipe(file))
            return -EBADF;
        return argument <= PIPE_BYTES ? PIPE_BYTES : -EPERM;
    case F_GET_SEALS:
        return file->inode && file->inode->memory ? F_SEAL_SEAL : -EINVAL;
    case F_ADD_SEALS: /* as of a file that is sealed against seals */
        return file->inode && file->inode->memory ? -EPERM : -EINVAL;
    default:
        return -EINVAL;
    }
}

long sys_fcntl(uint64_t descriptor, uint64_t command, uint64_t argument)
{
    struct process *process = arch_process();
    bool *close_on_exec = &process->files->close_on_exec[(uint32_t)descriptor % FILE_DESCRIPTORS_MAX];

    command = (uint32_t)command;
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        return duplicate_above(descriptor, argument, command == F_DUPFD_CLOEXEC);

    struct file *file = file_get(process, descriptor);
    long result = 0;

    if (!file)
        return -EBADF;
    if (command == F_GETFD)
        result = *close_on_exec;
    else if (command == F_SETFD)
        *close_on_exec = argument & 1;
    else
        result = file_control(file, descriptor, (uint32_t)command, argument);
    file_put(file);
    return restartable(SYSCALL_NUMBER_fcntl, result);
}

/* ---- ioctl ---- */

static long terminal_control(uint32_t request, uint64_t argument)
{
    static const struct {
        uint16_t rows, columns, width, height;
    } window = { 25, 80, 0, 0 };
    /* A terminal as it is after power-on: lines are edited, input is echoed, 115200 baud, 8 bits. */
    static const struct linux_termios terminal = {
        .input = 0x500, .output = 5, .control = 0x10b2 | 0x30, .local = 0x8a3b
    };
    struct linux_termios asked;
    int32_t group = (int32_t)arch_process()->pid;

    switch (request) {
    case TIOCGWINSZ:
        return user_write(argument, &window, sizeof(window));
    case TCGETS:
        return user_write(argument, &terminal, sizeof(terminal));
    case TIOCGPGRP:
        return user_write(argument, &group, sizeof(group));
    case TCSETS:
    case TCSETS + 1: /* TCSETSW, TCSETSF */
    case TCSETS + 2: /* it stays as it is: whoever asks again is told so */
        return user_read(&asked, argument, sizeof(asked));
    default:
        return -ENOTTY;
    }
}

/* How many bytes a read would answer at once. */
static long unread_tell(struct file *file, uint64_t argument)
{
    int32_t unread = 0;

    if (file_is_pipe(file)) {
        unread = (int32_t)pipe_unread(file);
    } else if (file->inode && mode_is(file->inode->mode, S_IFREG)) {
        int64_t left = (int64_t)(file->operations->size(file) - file->offset);

        unread = left > INT32_MAX ? INT32_MAX : (int32_t)left;
    } else if (!file->operations->terminal) {
        return -ENOTTY;
    } else {
        unread = (file_ready(file) & READY_IN) != 0;
    }
    return user_write(argument, &unread, sizeof(unread));
}

static long ioctl_on(struct file *file, uint64_t descriptor, uint32_t request, uint64_t argument)
{
    int32_t on;

    switch (request) {
    case FIONREAD:
        return unread_tell(file, argument);
    case FIOCLEX:
    case FIONCLEX:
        file->process->files->close_on_exec[(uint32_t)descriptor] = request == FIOCLEX;
        return 0;
    case FIONBIO:
        if (user_read(&on, argument, sizeof(on)))
            return -EFAULT;
        return flags_set(file, on ? file->flags | O_NONBLOCK : file->flags & ~(unsigned)O_NONBLOCK);
    default:
        return file->operations->terminal ? terminal_control(request, argument) : -ENOTTY;
    }
}

long sys_ioctl(uint64_t descriptor, uint64_t request, uint64_t argument)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    long result = file->flags & O_PATH ? -EBADF : ioctl_on(file, descriptor, (uint32_t)request, argument);
    file_put(file);
    return result;
}
