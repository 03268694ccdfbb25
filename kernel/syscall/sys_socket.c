/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_socket.c: system calls that make sockets, connect and name them: decode, check, and call the operations
 * of the socket's family (fs/socket.h). What is sent and received is in sys_message.c, options in
 * sys_socket_option.c. socket(2), bind(2), connect(2), accept(2).
 */
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/socket_call.h"
#include "syscall/syscall.h"

#define TYPE_BITS 15

int socket_address_read(struct socket_address *address, uint64_t buffer, uint64_t bytes)
{
    *address = (struct socket_address){ .bytes = (uint32_t)bytes };
    if (address->bytes > SOCKET_ADDRESS_BYTES_MAX)
        return -EINVAL;
    return address->bytes ? user_read(address->raw, buffer, address->bytes) : 0;
}

long socket_answer_write(const void *answer, uint32_t bytes, uint64_t buffer, uint64_t room_address,
                         bool size_is_whole)
{
    int32_t room;

    if (user_read(&room, room_address, sizeof(room)))
        return -EFAULT;
    if (room < 0)
        return -EINVAL;
    uint32_t part = (uint32_t)room < bytes ? (uint32_t)room : bytes;
    if (user_write(buffer, answer, part))
        return -EFAULT;
    return user_write(room_address, size_is_whole ? &bytes : &part, sizeof(part));
}

/* ---- Making ---- */

static int socket_create(struct file *file, uint64_t family, uint64_t type, uint64_t protocol)
{
    int kind = (int)(type & TYPE_BITS), number = (int)(uint32_t)protocol;

    switch ((uint32_t)family) {
    case AF_UNIX:
        return unix_socket_create(file, kind, number);
    case AF_INET:
        return inet_socket_create(file, kind, number);
    case AF_NETLINK:
        return netlink_socket_create(file, kind, number);
    default:
        return -EAFNOSUPPORT;
    }
}

static bool type_is_valid(uint64_t type)
{
    return !((uint32_t)type & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | TYPE_BITS));
}

long sys_socket(uint64_t family, uint64_t type, uint64_t protocol)
{
    struct process *process = arch_process();

    if (!type_is_valid(type))
        return -EINVAL;
    FILE_REFERENCE file = file_allocate(process);
    if (!file)
        return -EMFILE;
    file->flags = (unsigned)type & O_NONBLOCK;
    int error = socket_create(file, family, type, protocol);
    return error ? error : file_install(process, file, 0, type & O_CLOEXEC);
}

long sys_socketpair(uint64_t family, uint64_t type, uint64_t protocol, uint64_t buffer)
{
    struct file *ends[2];

    if (!type_is_valid(type))
        return -EINVAL;
    if ((uint32_t)family != AF_UNIX)
        return (uint32_t)family == AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
    if ((uint32_t)protocol > AF_UNIX)
        return -EPROTONOSUPPORT;
    if (files_allocate(arch_process(), ends))
        return -EMFILE;
    ends[0]->flags = ends[1]->flags = (unsigned)type & O_NONBLOCK;
    return ends_install(unix_socket_pair(ends, (int)(type & TYPE_BITS)), ends, buffer, type & O_CLOEXEC);
}

/* ---- Connecting ---- */

int64_t socket_address_set(struct file *file, uint64_t buffer, uint64_t bytes, bool connects)
{
    struct socket_address address;
    int error = socket_address_read(&address, buffer, bytes);

    if (error)
        return error;
    const struct socket_operations *operations = socket_of(file)->operations;
    int (*operation)(struct file *, const struct socket_address *) =
        connects ? operations->connect : operations->bind;
    error = operation ? operation(file, &address) : -EOPNOTSUPP;
    return socket_interrupted(error, &socket_of(file)->send_limit_ns);
}

long socket_listen(struct file *file, uint64_t backlog)
{
    const struct socket_operations *operations = socket_of(file)->operations;

    return operations->listen ? operations->listen(file, (int32_t)backlog) : -EOPNOTSUPP;
}

/* Allocates the open file of a connection before that is taken from the listener. */
long socket_accept(struct file *file, uint64_t buffer, uint64_t room_address, uint64_t flags)
{
    const struct socket_operations *operations;
    struct socket_address peer;

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    if (!file_is_socket(file))
        return -ENOTSOCK;
    FILE_REFERENCE accepted = file_allocate(arch_process());
    if (!accepted)
        return -EMFILE;
    accepted->flags = (unsigned)flags & O_NONBLOCK;
    operations = socket_of(file)->operations;
    peer.bytes = 0;
    long result = operations->accept ? operations->accept(file, accepted, &peer) : -EOPNOTSUPP;
    if (!result && buffer)
        result = socket_answer_write(peer.raw, peer.bytes, buffer, room_address, true);
    if (!result)
        result = file_install(accepted->process, accepted, 0, flags & O_CLOEXEC);
    return socket_interrupted(result, &socket_of(file)->receive_limit_ns);
}

long socket_shutdown(struct file *file, uint64_t how)
{
    const struct socket_operations *operations = socket_of(file)->operations;

    if ((uint32_t)how > 2)
        return -EINVAL;
    return operations->shutdown ? operations->shutdown(file, (uint32_t)how != 1, (uint32_t)how != 0)
                                : -EOPNOTSUPP;
}

/* ---- Names ---- */

long socket_name(struct file *file, uint64_t buffer, uint64_t room_address, bool of_peer)
{
    const struct socket_operations *operations = socket_of(file)->operations;
    struct socket_address address;
    int error = operations->name ? operations->name(file, of_peer, &address) : -EOPNOTSUPP;

    return error ? error : socket_answer_write(address.raw, address.bytes, buffer, room_address, true);
}
