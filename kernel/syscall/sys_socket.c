/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_socket.c: system calls on sockets: decode, check, and hand over to the pair (fs/socket_pair.c), the
 * only kind of socket that there is. socket(2), send(2), recv(2), getsockopt(2).
 */
#include "arch.h"
#include "fs/socket_pair.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define SEND_FLAGS    (MSG_DONTWAIT | MSG_NOSIGNAL)
#define RECEIVE_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_TRUNC | MSG_WAITALL | MSG_CMSG_CLOEXEC)

static int socket_get(uint64_t descriptor, struct file **out)
{
    struct file *file = file_get(arch_process(), descriptor);

    *out = file;
    if (file && file_is_socket(file))
        return 0;
    int error = !file || (file->flags & O_PATH) ? -EBADF : -ENOTSOCK;
    if (file)
        file_put(file);
    return error;
}

long sys_socketpair(uint64_t family, uint64_t type, uint64_t protocol, uint64_t buffer)
{
    uint32_t kind = (uint32_t)type & 15;
    struct file *ends[2];

    if ((uint32_t)type & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | 15))
        return -EINVAL;
    if ((uint32_t)family != AF_UNIX)
        return -EAFNOSUPPORT;
    if ((uint32_t)protocol > AF_UNIX)
        return -EPROTONOSUPPORT;
    if (kind != SOCKET_STREAM && kind != SOCKET_DATAGRAM && kind != SOCKET_PACKETS)
        return -ESOCKTNOSUPPORT;
    int error = socket_pair_create(arch_process(), kind, (unsigned)type, ends);
    return error ? error : ends_install(ends, buffer, type & O_CLOEXEC);
}

/* ---- Sending, receiving ---- */

/* Of one part, or of the list that a message has. *truncated is of what was received. */
static int64_t transfer(uint64_t descriptor, struct user_vector *vector, uint32_t flags, bool send,
                        bool *truncated)
{
    struct file *file;
    int64_t result = socket_get(descriptor, &file);

    if (result)
        return result;
    if (flags & ~(uint32_t)(send ? SEND_FLAGS : RECEIVE_FLAGS))
        result = -EOPNOTSUPP;
    else
        result = send ? socket_send(file, vector, flags) : socket_receive(file, vector, flags, truncated);
    file_put(file);
    return result;
}

long sys_sendto(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t flags, uint64_t address,
                uint64_t address_bytes)
{
    struct user_vector vector = user_vector_of(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
    bool truncated;

    if (address && (uint32_t)address_bytes)
        return -EISCONN;
    return restartable(SYSCALL_NUMBER_sendto,
                       transfer(descriptor, &vector, (uint32_t)flags, true, &truncated));
}

long sys_recvfrom(uint64_t descriptor, uint64_t buffer, uint64_t bytes, uint64_t flags, uint64_t address,
                  uint64_t address_bytes)
{
    struct user_vector vector = user_vector_of(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
    const int32_t none = 0; /* the sender has no name */
    bool truncated;
    int64_t got = transfer(descriptor, &vector, (uint32_t)flags, false, &truncated);

    if (got >= 0 && address && user_write(address_bytes, &none, sizeof(none)))
        return -EFAULT;
    return restartable(SYSCALL_NUMBER_recvfrom, got);
}

static int message_read(uint64_t address, struct linux_msghdr *message, struct user_vector *vector)
{
    if (user_read(message, address, sizeof(*message)))
        return -EFAULT;
    int error = user_vector_read(vector, message->parts, message->part_count);
    if (error == -EINVAL && message->part_count > IOV_MAX)
        return -EMSGSIZE;
    return error < 0 || (error = user_vector_next(vector)) < 0 ? error : 0;
}

long sys_sendmsg(uint64_t descriptor, uint64_t address, uint64_t flags)
{
    struct linux_msghdr message;
    struct user_vector vector;
    bool truncated;
    int error = message_read(address, &message, &vector);

    if (error)
        return error;
    if (message.control_bytes)
        return -EOPNOTSUPP;
    if (message.name && message.name_bytes)
        return -EISCONN;
    return restartable(SYSCALL_NUMBER_sendmsg,
                       transfer(descriptor, &vector, (uint32_t)flags, true, &truncated));
}

long sys_recvmsg(uint64_t descriptor, uint64_t address, uint64_t flags)
{
    struct linux_msghdr message;
    struct user_vector vector;
    bool truncated;
    int error = message_read(address, &message, &vector);

    if (error)
        return error;
    int64_t got = transfer(descriptor, &vector, (uint32_t)flags, false, &truncated);
    if (got < 0)
        return restartable(SYSCALL_NUMBER_recvmsg, got);
    if (message.name)
        message.name_bytes = 0;
    message.control_bytes = 0;
    message.flags = (truncated ? MSG_TRUNC : 0) | ((uint32_t)flags & MSG_CMSG_CLOEXEC);
    return user_write(address, &message, sizeof(message)) ? -EFAULT : got;
}

long sys_shutdown(uint64_t descriptor, uint64_t how)
{
    struct file *file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    if ((uint32_t)how <= 2)
        socket_shut(file, (uint32_t)how != 1, (uint32_t)how != 0);
    else
        error = -EINVAL;
    file_put(file);
    return error;
}

/* ---- Names, options ---- */

/* Writes an answer, as far as the program has room for it, and its size. */
static long answer_write(const void *answer, uint32_t bytes, uint64_t buffer, uint64_t room_address,
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

long sys_getsockname(uint64_t descriptor, uint64_t buffer, uint64_t room_address)
{
    const uint16_t unnamed = AF_UNIX;
    struct file *file;
    int error = socket_get(descriptor, &file);

    if (error)
        return error;
    file_put(file);
    return answer_write(&unnamed, sizeof(unnamed), buffer, room_address, true);
}

static long option_of(struct file *file, uint32_t level, uint32_t option)
{
    if (level != SOL_SOCKET)
        return -EOPNOTSUPP;
    switch (option) {
    case SO_TYPE:
        return socket_type(file);
    case SO_ERROR:
        return -socket_error_take(file);
    case SO_SNDBUF:
    case SO_RCVBUF:
        return SOCKET_BYTES;
    case SO_DOMAIN:
        return AF_UNIX;
    case SO_ACCEPTCONN:
    case SO_PROTOCOL:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

long sys_getsockopt(uint64_t descriptor, uint64_t level, uint64_t option, uint64_t buffer,
                    uint64_t room_address)
{
    struct file *file;
    long result = socket_get(descriptor, &file);

    if (result)
        return result;
    result = option_of(file, (uint32_t)level, (uint32_t)option);
    file_put(file);

    int32_t value = (int32_t)result;
    return result < 0 ? result : answer_write(&value, sizeof(value), buffer, room_address, false);
}
