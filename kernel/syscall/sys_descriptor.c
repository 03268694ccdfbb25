/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_descriptor.c: system calls on descriptors: those of files without a path, which are pipes and event
 * counters; closing, duplicating, flags, control of terminals. fcntl's locks are in sys_lock.c.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/unix_socket.h"
#include "process/process.h"
#include "mm/page.h"
#include "net/interface_facts.h"
#include "smp/crosscall.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* ---- Pipes and event counters: pipe(2), eventfd(2) ---- */

long ends_install(int error, struct file *const ends[2], uint64_t buffer, bool close_on_exec)
{
    struct process *process = arch_process();
    int descriptors[2], installed = 0;

    for (unsigned end = 0; end < 2; end++) {
        int descriptor = error ? error : file_install(process, ends[end], 0, close_on_exec);

        if (descriptor < 0)
            error = descriptor;
        else
            descriptors[installed++] = descriptor;
        file_put(ends[end]);
    }
    if (!error && user_write(buffer, descriptors, sizeof(descriptors)))
        error = -EFAULT;
    while (error && installed > 0)
        file_close(process, (uint64_t)descriptors[--installed]);
    return error;
}

long sys_pipe2(uint64_t buffer, uint64_t flags)
{
    struct file *ends[2];

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    int error = files_allocate(arch_process(), ends, 2);
    if (error)
        return error;
    return ends_install(pipe_create(ends, (unsigned)flags), ends, buffer, flags & O_CLOEXEC);
}

long sys_eventfd2(uint64_t value, uint64_t flags)
{
    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | EFD_SEMAPHORE))
        return -EINVAL;
    return eventfd_create((uint32_t)value, (unsigned)flags);
}

/* ---- Closing, duplicating ---- */

long sys_close_range(uint64_t first, uint64_t last, uint64_t flags)
{
    struct process *process = arch_process();

    first = (uint32_t)first;
    last = (uint32_t)last;
    if (first > last || ((uint32_t)flags & ~(uint32_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
        return -EINVAL;
    last = smaller(last, FILE_DESCRIPTORS_MAX - 1);
    for (; first <= last && (first = descriptor_next(process, (unsigned)first)) <= last; first++) {
        if (flags & CLOSE_RANGE_CLOEXEC)
            *file_close_on_exec(process, first) = true;
        else
            file_close(process, first);
        crosscall_serve();
    }
    return 0;
}

long duplicate_to(uint64_t from, uint64_t to, bool close_on_exec)
{
    struct process *process = arch_process();
    FILE_REFERENCE file = file_of(from);

    to = (uint32_t)to;
    if (!file)
        return -EBADF;
    if (to == (uint32_t)from)
        return (long)to; /* nothing changes, as dup2 allows */
    if (to >= process_soft_limit(process, LIMIT_FILES))
        return -EBADF;
    int error = file_install_at(process, file, (unsigned)to, close_on_exec);
    return error ? error : (long)to;
}

long sys_dup3(uint64_t from, uint64_t to, uint64_t flags)
{
    if ((uint32_t)from == (uint32_t)to || ((uint32_t)flags & ~(uint64_t)O_CLOEXEC))
        return -EINVAL;
    return duplicate_to(from, to, flags & O_CLOEXEC);
}

/* ---- fcntl ---- */

static long flags_set(struct file *file, uint64_t flags)
{
    const unsigned settable = O_APPEND | O_NONBLOCK;

    SPIN_GUARD(&file->lock);
    file->flags = (file->flags & ~settable) | ((unsigned)flags & settable);
    return 0;
}

long descriptor_control(uint64_t descriptor, uint32_t command, uint64_t argument)
{
    struct process *process = arch_process();
    FILE_REFERENCE file = file_of(descriptor);

    if (!file)
        return -EBADF;
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if ((uint32_t)argument >= process_soft_limit(process, LIMIT_FILES))
            return -EINVAL;
        return file_install(process, file, (unsigned)argument, command == F_DUPFD_CLOEXEC);
    case F_GETFD:
        return *file_close_on_exec(process, descriptor);
    case F_SETFD:
        *file_close_on_exec(process, descriptor) = argument & 1;
        return 0;
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
        return file_is_pipe(file) ? RING_BYTES : -EBADF;
    case F_SETPIPE_SZ: /* a larger size is refused, a smaller one is rounded up */
        if (!file_is_pipe(file))
            return -EBADF;
        return argument <= RING_BYTES ? RING_BYTES : -EPERM;
    case F_GET_SEALS:
        return file->inode && file->inode->memory ? F_SEAL_SEAL : -EINVAL;
    case F_ADD_SEALS: /* as for a file with F_SEAL_SEAL, to which none can be added */
        return file->inode && file->inode->memory ? -EPERM : -EINVAL;
    default:
        return -EINVAL;
    }
}

/* ---- ioctl ---- */

static long terminal_control(uint32_t request, uint64_t argument)
{
    static const struct {
        uint16_t rows, columns, width, height;
    } window = { 25, 80, 0, 0 };
    /* A terminal's initial modes: lines are edited, input is echoed, 115200 baud, 8 bits. */
    static const struct linux_termios terminal = {
        .input = ICRNL | IXON,
        .output = OPOST | ONLCR,
        .control = B115200 | CS8 | CREAD,
        .local = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
    };
    struct linux_termios ignored;
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
    case TCSETS + 2: /* nothing changes, as the next TCGETS shows */
        return user_read(&ignored, argument, sizeof(ignored));
    default:
        return -ENOTTY;
    }
}

/* Answers FIONREAD: how many bytes a read would return without waiting. */
static long unread_query(struct file *file, uint64_t argument)
{
    int32_t unread = 0;

    if (file_is_pipe(file)) {
        unread = pipe_unread(file);
    } else if (file_is_inotify(file)) {
        unread = inotify_unread(file);
    } else if (file->inode && mode_is(file->inode->mode, S_IFREG)) {
        int64_t size = (int64_t)file->operations->size(file), left = size - (int64_t)file->offset;

        if (size < 0)
            return size; /* an error of a mount */
        unread = left > INT32_MAX ? INT32_MAX : (int32_t)left;
    } else if (!file->is_terminal) {
        return -ENOTTY;
    } else {
        unread = (file_ready(file) & READY_IN) != 0;
    }
    return user_write(argument, &unread, sizeof(unread));
}

static long socket_control(struct file *file, uint32_t request, uint64_t argument)
{
    const struct socket_operations *operations = socket_of(file)->operations;

    if (!operations->queued || (request != FIONREAD && request != TIOCOUTQ))
        return interface_control(request, argument); /* which any socket answers */
    int64_t result = operations->queued(file, request == TIOCOUTQ);
    int32_t bytes = (int32_t)result;
    return result < 0 ? result : user_write(argument, &bytes, sizeof(bytes));
}

long descriptor_ioctl(uint64_t descriptor, uint32_t request, uint64_t argument)
{
    FILE_REFERENCE file = file_of(descriptor);
    int32_t on;

    if (!file || (file->flags & O_PATH))
        return -EBADF;
    switch (request) {
    case FIOCLEX:
    case FIONCLEX:
        *file_close_on_exec(arch_process(), descriptor) = request == FIOCLEX;
        return 0;
    case FIONBIO:
        if (user_read(&on, argument, sizeof(on)))
            return -EFAULT;
        return flags_set(file, on ? file->flags | O_NONBLOCK : file->flags & ~(unsigned)O_NONBLOCK);
    default:
        if (file_is_socket(file))
            return socket_control(file, request, argument);
        if (request == FIONREAD)
            return unread_query(file, argument);
        return file->is_terminal ? terminal_control(request, argument) : -ENOTTY;
    }
}
