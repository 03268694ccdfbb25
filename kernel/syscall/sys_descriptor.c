/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_descriptor.c: system calls on descriptors: closing, duplicating, flags, control of terminals. fcntl's
 * locks are in sys_lock.c.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/pipe.h"
#include "fs/unix_socket.h"
#include "process/process.h"
#include "net/interface_facts.h"
#include "mm/shared_memory.h"
#include "syscall/linux_calls.h"
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

static long duplicate_to(uint64_t from, uint64_t to, bool close_on_exec)
{
    FILE_REFERENCE file = file_get(arch_process(), from);

    to = (uint32_t)to;
    if (!file || to >= FILE_DESCRIPTORS_MAX)
        return -EBADF;
    if (to != (uint32_t)from) /* else nothing changes, as dup2 allows */
        file_install_at(arch_process(), file, (unsigned)to, close_on_exec);
    return (long)to;
}

long sys_dup2(uint64_t from, uint64_t to)
{
    return duplicate_to(from, to, false);
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

long sys_fcntl(uint64_t descriptor, uint64_t command, uint64_t argument)
{
    struct process *process = arch_process();
    bool *close_on_exec = &process->files->close_on_exec[(uint32_t)descriptor % FILE_DESCRIPTORS_MAX];
    FILE_REFERENCE file = file_get(process, descriptor);

    if (!file)
        return -EBADF;
    switch ((uint32_t)command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if (argument >= FILE_DESCRIPTORS_MAX)
            return -EINVAL;
        return file_install(process, file, (unsigned)argument, (uint32_t)command == F_DUPFD_CLOEXEC);
    case F_GETFD:
        return *close_on_exec;
    case F_SETFD:
        *close_on_exec = argument & 1;
        return 0;
    default:
        return restartable(SYSCALL_NUMBER_fcntl, file_control(file, descriptor, (uint32_t)command, argument));
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

    long result = operations->control ? operations->control(file, request, argument) : -ENOTTY;

    return result == -ENOTTY ? interface_control(request, argument) : result; /* which any socket answers */
}

long sys_ioctl(uint64_t descriptor, uint64_t request, uint64_t argument)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);
    int32_t on;

    if (!file || (file->flags & O_PATH))
        return -EBADF;
    switch ((uint32_t)request) {
    case FIOCLEX:
    case FIONCLEX:
        arch_process()->files->close_on_exec[(uint32_t)descriptor] = (uint32_t)request == FIOCLEX;
        return 0;
    case FIONBIO:
        if (user_read(&on, argument, sizeof(on)))
            return -EFAULT;
        return flags_set(file, on ? file->flags | O_NONBLOCK : file->flags & ~(unsigned)O_NONBLOCK);
    default:
        if (file_is_socket(file))
            return socket_control(file, (uint32_t)request, argument);
        if ((uint32_t)request == FIONREAD)
            return unread_query(file, argument);
        return file->is_terminal ? terminal_control((uint32_t)request, argument) : -ENOTTY;
    }
}
