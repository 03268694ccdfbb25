/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_file.c: system calls on open files: reading, writing, seeking, descriptors. Paths are in sys_path.c.
 */
#include "arch.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"

static bool file_readable(const struct file *file)
{
    return (file->flags & O_ACCMODE) != O_WRONLY && !(file->flags & O_PATH);
}

static bool file_writable(const struct file *file)
{
    return (file->flags & O_ACCMODE) != O_RDONLY && !(file->flags & O_PATH);
}

static int64_t file_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (!file_readable(file))
        return -EBADF;
    if (!file->operations->read)
        return -EISDIR;
    if ((file->flags & O_NONBLOCK) && bytes > 0 && !file_input_ready(file))
        return -EAGAIN;
    return file->operations->read(file, buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX, offset);
}

static int64_t file_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (!file_writable(file) || !file->operations->write)
        return -EBADF;
    return file->operations->write(file, buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX, offset);
}

long sys_read(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;

    int64_t got = file_read(file, buffer, bytes, file->offset);
    if (got > 0)
        file->offset += (uint64_t)got;
    return got == -EINTR ? thread_interrupted_call(SYSCALL_NUMBER_read, RESTART_ALWAYS) : got;
}

long sys_write(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;

    int64_t put = file_write(file, buffer, bytes, file->offset);
    if (put > 0)
        file->offset += (uint64_t)put;
    return put;
}

long sys_pread64(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    if ((int64_t)offset < 0)
        return -EINVAL;
    if (!file->operations->size)
        return -ESPIPE;
    return file_read(file, buffer, bytes, offset);
}

/* Calls `move` for each part of a vector, until one moves less than it should. */
static long vector_move(uint64_t descriptor, uint64_t vector, uint64_t count,
                        long (*move)(uint64_t, uint64_t, uint64_t))
{
    int64_t total = 0;

    if (!file_get(arch_process(), descriptor))
        return -EBADF;
    if (count > IOV_MAX)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++) { /* nothing is moved unless all lengths make sense */
        struct linux_iovec part;

        if (user_read(&part, vector + i * sizeof(part), sizeof(part)))
            return -EFAULT;
        if ((int64_t)part.bytes < 0)
            return -EINVAL;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct linux_iovec part;

        if (user_read(&part, vector + i * sizeof(part), sizeof(part)))
            return total ? total : -EFAULT;
        if (part.bytes == 0)
            continue;

        int64_t moved = move(descriptor, part.base, part.bytes);
        if (moved < 0)
            return total ? total : moved;
        total += moved;
        if ((uint64_t)moved < part.bytes)
            break;
    }
    return total;
}

long sys_readv(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    long got = vector_move(descriptor, vector, count, sys_read);

    return got == -EINTR ? thread_interrupted_call(SYSCALL_NUMBER_readv, RESTART_ALWAYS) : got;
}

long sys_writev(uint64_t descriptor, uint64_t vector, uint64_t count)
{
    return vector_move(descriptor, vector, count, sys_write);
}

long sys_lseek(uint64_t descriptor, uint64_t offset, uint64_t whence)
{
    struct file *file = file_get(arch_process(), descriptor);
    uint64_t base;

    if (!file)
        return -EBADF;
    if (!file->operations->size)
        return -ESPIPE;
    switch ((uint32_t)whence) {
    case 0:
        base = 0;
        break;
    case 1:
        base = file->offset;
        break;
    case 2:
        base = file->operations->size(file);
        break;
    default:
        return -EINVAL;
    }
    if ((int64_t)(base + offset) < 0)
        return -EINVAL;
    file->offset = base + offset;
    return (long)file->offset;
}

long sys_close(uint64_t descriptor)
{
    return file_close(arch_process(), descriptor);
}

long sys_dup(uint64_t descriptor)
{
    struct file *file = file_get(arch_process(), descriptor);

    return file ? file_install(arch_process(), file, 0, false) : -EBADF;
}

static long duplicate_to(uint64_t from, uint64_t to, bool close_on_exec)
{
    struct process *process = arch_process();
    struct file *file = file_get(process, from);

    to = (uint32_t)to;
    if (!file || to >= FILE_DESCRIPTORS_MAX)
        return -EBADF;
    if (file_get(process, to))
        file_close(process, to);
    return file_install(process, file, (unsigned)to, close_on_exec);
}

long sys_dup2(uint64_t from, uint64_t to)
{
    if ((uint32_t)from == (uint32_t)to)
        return file_get(arch_process(), from) ? (long)(uint32_t)to : -EBADF;
    return duplicate_to(from, to, false);
}

long sys_dup3(uint64_t from, uint64_t to, uint64_t flags)
{
    if ((uint32_t)from == (uint32_t)to || ((uint32_t)flags & ~(uint64_t)O_CLOEXEC))
        return -EINVAL;
    return duplicate_to(from, to, flags & O_CLOEXEC);
}

long sys_fcntl(uint64_t descriptor, uint64_t command, uint64_t argument)
{
    const unsigned settable = O_APPEND | O_NONBLOCK;
    struct process *process = arch_process();
    struct file *file = file_get(process, descriptor);

    if (!file)
        return -EBADF;
    switch ((uint32_t)command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if (argument >= FILE_DESCRIPTORS_MAX)
            return -EINVAL;
        return file_install(process, file, (unsigned)argument, command == F_DUPFD_CLOEXEC);
    case F_GETFD:
        return process->files.close_on_exec[(uint32_t)descriptor];
    case F_SETFD:
        process->files.close_on_exec[(uint32_t)descriptor] = argument & 1;
        return 0;
    case F_GETFL:
        return (long)file->flags;
    case F_SETFL:
        file->flags = (file->flags & ~settable) | ((unsigned)argument & settable);
        return 0;
    default:
        return -EINVAL;
    }
}

long sys_ioctl(uint64_t descriptor, uint64_t request, uint64_t argument)
{
    static const struct {
        uint16_t rows, columns, width, height;
    } window = { 25, 80, 0, 0 };
    /* A terminal as it is after power-on: lines are edited, input is echoed, 115200 baud, 8 bits. */
    static const struct linux_termios terminal = {
        .input = 0x500, .output = 5, .control = 0x10b2 | 0x30, .local = 0x8a3b
    };
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    if (!file->operations->terminal)
        return -ENOTTY;
    switch ((uint32_t)request) {
    case TIOCGWINSZ:
        return user_write(argument, &window, sizeof(window));
    case TCGETS:
        return user_write(argument, &terminal, sizeof(terminal));
    default:
        return -ENOTTY;
    }
}
