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

int socket_get(uint64_t descriptor, struct file **out)
{
    *out = file_get(arch_process(), descriptor);
    if (!*out || ((*out)->flags & O_PATH))
        return -EBADF;
    return file_is_socket(*out) ? 0 : -ENOTSOCK;
}

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
    int error = files_allocate(arch_process(), ends);
    if (error)
        return error;
    ends[0]->flags = ends[1]->flags = (unsigned)type & O_NONBLOCK;
    error = unix_socket_pair(ends, (int)(type & TYPE_BITS));
    if (!error)
        return ends_install(ends, buffer, type & O_CLOEXEC);
    file_put(ends[0]);
    file_put(ends[1]);
    return error;
}

/* ---- Connecting ---- */

/* Carries out bind and connect. */
static int64_t address_call(uint64_t descriptor, uint64_t buffer, uint64_t bytes, bool connects)
{
    struct socket_address address;
    FILE_REFERENCE file;
    int error = socket_get(descriptor, &file);

    if (!error)
        error = socket_address_read(&address, buffer, bytes);
    if (error)
        return error;
    const struct socket_operations *operations = socket_of(file)->operations;
    int (*operation)(struct file *, const struct socket_address *) =
        connects ? operations->connect : operations->bind;
    error = operation ? operation(file, &address) : -EOPNOTSUPP;
    return socket_interrupted(error, &socket_of(file)->send_limit_ns);
}

long sys_bind(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    return address_call(descriptor, buffer, bytes, false);
}

long sys_connect(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    return restartable(SYSCALL_NUMBER_connect, address_call(descriptor, buffer, bytes, true));
}

long sys_listen(uint64_t descriptor, uint64_t backlog)
{
    FILE_REFERENCE file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    const struct socket_operations *operations = socket_of(file)->operations;
    return operations->listen ? operations->listen(file, (int32_t)backlog) : -EOPNOTSUPP;
}

/* Accepts a connection as `accepted`, which the caller allocates before a connection is taken from the
 * listener. */
static long accept_file(struct file *file, struct file *accepted, uint64_t buffer, uint64_t room_address,
                        bool close_on_exec)
{
    const struct socket_operations *operations = socket_of(file)->operations;
    struct socket_address peer;

    peer.bytes = 0;
    long result = operations->accept ? operations->accept(file, accepted, &peer) : -EOPNOTSUPP;
    if (!result && buffer)
        result = socket_answer_write(peer.raw, peer.bytes, buffer, room_address, true);
    if (!result)
        result = file_install(accepted->process, accepted, 0, close_on_exec);
    return socket_interrupted(result, &socket_of(file)->receive_limit_ns);
}

static long accept_call(uint64_t descriptor, uint64_t buffer, uint64_t room_address, uint64_t flags)
{
    FILE_REFERENCE file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    FILE_REFERENCE accepted = file_allocate(arch_process());
    if (!accepted)
        return -EMFILE;
    accepted->flags = (unsigned)flags & O_NONBLOCK;
    return accept_file(file, accepted, buffer, room_address, flags & O_CLOEXEC);
}

long sys_accept(uint64_t descriptor, uint64_t buffer, uint64_t room_address)
{
    return restartable(SYSCALL_NUMBER_accept, accept_call(descriptor, buffer, room_address, 0));
}

long sys_accept4(uint64_t descriptor, uint64_t buffer, uint64_t room_address, uint64_t flags)
{
    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    return restartable(SYSCALL_NUMBER_accept4, accept_call(descriptor, buffer, room_address, flags));
}

long sys_shutdown(uint64_t descriptor, uint64_t how)
{
    FILE_REFERENCE file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    if ((uint32_t)how > 2)
        return -EINVAL;
    const struct socket_operations *operations = socket_of(file)->operations;
    return operations->shutdown ? operations->shutdown(file, (uint32_t)how != 1, (uint32_t)how != 0)
                                : -EOPNOTSUPP;
}

/* ---- Names ---- */

static long name_call(uint64_t descriptor, uint64_t buffer, uint64_t room_address, bool of_peer)
{
    struct socket_address address;
    FILE_REFERENCE file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    const struct socket_operations *operations = socket_of(file)->operations;
    error = operations->name ? operations->name(file, of_peer, &address) : -EOPNOTSUPP;
    return error ? error : socket_answer_write(address.raw, address.bytes, buffer, room_address, true);
}

long sys_getsockname(uint64_t descriptor, uint64_t buffer, uint64_t room_address)
{
    return name_call(descriptor, buffer, room_address, false);
}

long sys_getpeername(uint64_t descriptor, uint64_t buffer, uint64_t room_address)
{
    return name_call(descriptor, buffer, room_address, true);
}
