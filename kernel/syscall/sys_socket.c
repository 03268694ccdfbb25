/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_socket.c: system calls on sockets: decode, check, and hand over to the pair (fs/socket_pair.c), the
 * only kind of socket that there is. socket(2), send(2), recv(2), getsockopt(2), socket(7).
 */
#include "arch.h"
#include "fs/socket_pair.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

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

/* Options that Linux keeps for sockets of any family, and that do nothing for a pair. */
#define SWITCHES (1U << SO_REUSEADDR | 1U << SO_BROADCAST | 1U << SO_KEEPALIVE)

static long option_of(struct file *file, uint32_t option)
{
    if (option < 32 && (SWITCHES >> option & 1))
        return __atomic_load_n(&socket_options(file)->switches, __ATOMIC_RELAXED) >> option & 1;
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
    case SO_PASSCRED:
    case SO_PROTOCOL:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

/* The time limit that an option sets; NULL: it is no such option. */
static uint64_t *time_limit_of(struct file *file, uint32_t option)
{
    if (option == SO_RCVTIMEO || option == SO_RCVTIMEO_NEW)
        return &socket_options(file)->receive_limit_ns;
    return option == SO_SNDTIMEO || option == SO_SNDTIMEO_NEW ? &socket_options(file)->send_limit_ns : NULL;
}

static long option_read(struct file *file, uint32_t option, uint64_t buffer, uint64_t room_address)
{
    const uint64_t *limit = time_limit_of(file, option);

    if (limit) {
        uint64_t us = __atomic_load_n(limit, __ATOMIC_RELAXED) / 1000;
        struct linux_timeval time = { (int64_t)(us / US_PER_S), (int64_t)(us % US_PER_S) };

        return answer_write(&time, sizeof(time), buffer, room_address, false);
    }
    long result = option_of(file, option);
    int32_t value = (int32_t)result;

    return result < 0 ? result : answer_write(&value, sizeof(value), buffer, room_address, false);
}

/* Zero is no limit; a negative time is none to wait, which a nanosecond stands for. */
static int time_limit_set(uint64_t *limit_ns, uint64_t address, int32_t bytes)
{
    struct linux_timeval time;
    uint64_t ns;

    if (bytes < (int32_t)sizeof(time))
        return -EINVAL;
    if (user_read(&time, address, sizeof(time)))
        return -EFAULT;
    if (time.microseconds < 0 || time.microseconds >= US_PER_S)
        return -EDOM;
    if (time.seconds < 0)
        ns = 1;
    else if (__builtin_mul_overflow((uint64_t)time.seconds, NS_PER_S, &ns))
        ns = 0;
    else
        ns = time_add(ns, (uint64_t)time.microseconds * 1000);
    __atomic_store_n(limit_ns, ns, __ATOMIC_RELAXED);
    return 0;
}

static int option_set(struct file *file, uint32_t option, uint64_t address, int32_t bytes)
{
    uint32_t *switches = &socket_options(file)->switches;
    uint64_t *limit = time_limit_of(file, option);
    int32_t value;

    if (bytes < (int32_t)sizeof(value))
        return -EINVAL;
    if (user_read(&value, address, sizeof(value)))
        return -EFAULT;
    if (limit)
        return time_limit_set(limit, address, bytes);
    if (option < 32 && (SWITCHES >> option & 1)) {
        if (value)
            __atomic_fetch_or(switches, 1U << option, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(switches, ~(1U << option), __ATOMIC_RELAXED);
        return 0;
    }
    if (option == SO_SNDBUF || option == SO_RCVBUF)
        return 0; /* a request: getsockopt says what there is */
    return option == SO_PASSCRED && !value ? 0 : -ENOPROTOOPT;
}

/* The socket of a call about options, which are all of SOL_SOCKET. */
static int option_socket_get(uint64_t descriptor, uint64_t level, struct file **file)
{
    int error = socket_get(descriptor, file);

    if (error || (uint32_t)level == SOL_SOCKET)
        return error;
    file_put(*file);
    return -EOPNOTSUPP;
}

long sys_getsockopt(uint64_t descriptor, uint64_t level, uint64_t option, uint64_t buffer,
                    uint64_t room_address)
{
    struct file *file;
    long result = option_socket_get(descriptor, level, &file);

    if (result)
        return result;
    result = option_read(file, (uint32_t)option, buffer, room_address);
    file_put(file);
    return result;
}

long sys_setsockopt(uint64_t descriptor, uint64_t level, uint64_t option, uint64_t buffer, uint64_t bytes)
{
    struct file *file;

    if ((int32_t)bytes < 0)
        return -EINVAL;
    int error = option_socket_get(descriptor, level, &file);
    if (error)
        return error;
    error = option_set(file, (uint32_t)option, buffer, (int32_t)bytes);
    file_put(file);
    return error;
}
