/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket.c: see socket.h: what sockets of all families share below the system calls. Sockets need no path:
 * they are open files without an inode, of mode S_IFSOCK. Runs in system calls, without locks.
 *
 * Source: man 7 socket, man 2 send (facts of the interface).
 */
#include "fs/socket.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "process/event.h"
#include "time/clock.h"
#include "time/timespec.h"

void socket_initialise(struct file *file, struct socket *socket, const struct file_operations *files,
                       const struct socket_operations *operations, unsigned family, unsigned type,
                       unsigned protocol)
{
    socket->operations = operations;
    socket->family = (uint16_t)family;
    socket->type = (uint16_t)type;
    socket->protocol = (uint16_t)protocol;
    file->object = socket;
    file->operations = files;
    file->flags = O_RDWR | (file->flags & O_NONBLOCK);
    file->mode = S_IFSOCK | 0777;
}

bool file_is_socket(const struct file *file)
{
    return mode_is(file->mode, S_IFSOCK) && !file->inode;
}

bool socket_nonblocking(const struct file *file, unsigned flags)
{
    return (file->flags & O_NONBLOCK) || (flags & MSG_DONTWAIT);
}

uint64_t socket_deadline(const struct file *file, bool sends)
{
    const struct socket *socket = socket_of(file);
    uint64_t limit_ns =
        __atomic_load_n(sends ? &socket->send_limit_ns : &socket->receive_limit_ns, __ATOMIC_RELAXED);

    return limit_ns ? time_add(clock_now_ns(), limit_ns) : WAIT_FOREVER;
}

int64_t socket_interrupted(int64_t result, const uint64_t *limit_ns)
{
    bool limited = result == -EINTR && __atomic_load_n(limit_ns, __ATOMIC_RELAXED);

    return limited ? -ERESTARTNOHAND : result;
}

int64_t socket_send(struct file *file, struct socket_message *message)
{
    struct socket *socket = socket_of(file);

    if (!socket->operations->send || message->flags & MSG_OOB)
        return -EOPNOTSUPP;
    int64_t result = socket->operations->send(file, message);
    if (result == -EPIPE && socket->type == SOCK_STREAM && !(message->flags & MSG_NOSIGNAL))
        caller_signal(SIGNAL_PIPE);
    return socket_interrupted(result, &socket->send_limit_ns);
}

int64_t socket_receive(struct file *file, struct socket_message *message)
{
    struct socket *socket = socket_of(file);

    if (!socket->operations->receive)
        return -EOPNOTSUPP;
    return socket_interrupted(socket->operations->receive(file, message), &socket->receive_limit_ns);
}

int64_t socket_move(struct file *file, struct user_vector *vector, bool write)
{
    struct socket_message message = { .vector = vector };

    if (write) /* a write of no bytes sends an empty message */
        return socket_send(file, &message);
    return vector->left > 0 ? socket_receive(file, &message) : 0;
}
