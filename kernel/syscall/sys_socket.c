/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_socket.c: system calls that make sockets, connect and name them, and set their options: decode, check,
 * and call the operations of the socket's family (fs/socket.h). What is sent and received is in
 * sys_message.c. getsockopt asks the family of the socket first; options of SOL_SOCKET that it does not know
 * are kept in struct socket. socket(2), bind(2), connect(2), accept(2), getsockopt(2), socket(7).
 */
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/socket_call.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

#define TYPE_BITS        15
#define OPTION_BYTES_MAX 256
#define PRIORITY_MAX     6 /* without privileges */

/* Options that are on or off. */
#define SWITCHES                                                                                 \
    (1ULL << SO_REUSEADDR | 1ULL << SO_DONTROUTE | 1ULL << SO_BROADCAST | 1ULL << SO_KEEPALIVE | \
     1ULL << SO_OOBINLINE | 1ULL << SO_REUSEPORT | 1ULL << SO_PASSCRED | TIMES)
#define TIMES (1ULL << SO_TIMESTAMP | 1ULL << SO_TIMESTAMPNS) /* setting one ends the other */

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
    const uint64_t types_end = 11; /* Linux's SOCK_MAX */

    return !((uint32_t)type & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | TYPE_BITS)) &&
           (type & TYPE_BITS) < types_end;
}

long sys_socket(uint64_t family, uint64_t type, uint64_t protocol)
{
    struct process *process = arch_process();

    if (!type_is_valid(type))
        return -EINVAL;
    FILE_REFERENCE file = NULL;
    int error = files_allocate(process, &file, 1);
    if (error)
        return error;
    file->flags = (unsigned)type & O_NONBLOCK;
    error = socket_create(file, family, type, protocol);
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
    int error = files_allocate(arch_process(), ends, 2);
    if (error)
        return error;
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
    FILE_REFERENCE accepted = NULL;
    long result = files_allocate(arch_process(), &accepted, 1);
    if (result)
        return result;
    accepted->flags = (unsigned)flags & O_NONBLOCK;
    operations = socket_of(file)->operations;
    peer.bytes = 0;
    result = operations->accept ? operations->accept(file, accepted, &peer) : -EOPNOTSUPP;
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

/* ---- Options ---- */

/* SO_LINGER's value. */
struct linux_linger {
    int32_t on, seconds;
};

static bool is_switch(uint32_t option)
{
    return option < 64 && (SWITCHES >> option & 1);
}

/* Returns the time limit that an option sets; NULL if it is no such option. */
static uint64_t *time_limit_of(struct socket *socket, uint32_t option)
{
    if (option == SO_RCVTIMEO || option == SO_RCVTIMEO_NEW)
        return &socket->receive_limit_ns;
    return option == SO_SNDTIMEO || option == SO_SNDTIMEO_NEW ? &socket->send_limit_ns : NULL;
}

/* ---- getsockopt ---- */

static long option_of(struct socket *socket, uint32_t option)
{
    if (is_switch(option))
        return socket_switch(socket, option);
    switch (option) {
    case SO_TYPE:
        return socket->type;
    case SO_SNDBUF:
        return socket->send_room;
    case SO_RCVBUF:
        return socket->receive_room;
    case SO_RCVLOWAT:
        return socket->low_water ? socket->low_water : 1;
    case SO_PRIORITY:
        return socket->priority;
    case SO_MARK:
        return socket->mark;
    case SO_BUSY_POLL:
        return socket->busy_poll_us;
    case SO_DOMAIN:
        return socket->family;
    case SO_PROTOCOL:
        return socket->protocol;
    case SO_ERROR: /* of a family that has none pending */
    case SO_ACCEPTCONN:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

/* Answers the options of SOL_SOCKET that this file knows: returns their bytes. */
static long common_get(struct socket *socket, uint32_t option, void *value)
{
    const uint64_t *limit = time_limit_of(socket, option);
    struct linux_linger linger = { socket_switch(socket, SO_LINGER), (int32_t)socket->linger_s };

    if (limit) {
        *(struct linux_timeval *)value = timeval_of(__atomic_load_n(limit, __ATOMIC_RELAXED));
        return sizeof(struct linux_timeval);
    }
    if (option == SO_LINGER) {
        *(struct linux_linger *)value = linger;
        return sizeof(linger);
    }
    long result = option_of(socket, option);
    *(int32_t *)value = (int32_t)result;
    return result < 0 ? result : (long)sizeof(int32_t);
}

long socket_option_read(struct file *file, uint32_t level, uint32_t option, uint64_t buffer,
                        uint64_t room_address)
{
    struct socket *socket = socket_of(file);
    _Alignas(8) uint8_t value[OPTION_BYTES_MAX] = { 0 };
    long error = level == SOL_SOCKET ? -ENOPROTOOPT : -EOPNOTSUPP;
    int32_t room;

    if (user_read(&room, room_address, sizeof(room)))
        return -EFAULT;
    if (room < 0)
        return -EINVAL;
    uint32_t bytes = room < OPTION_BYTES_MAX ? (uint32_t)room : OPTION_BYTES_MAX;
    if (socket->operations->option_get)
        error = socket->operations->option_get(file, (int)level, (int)option, value, &bytes);
    if (level == SOL_SOCKET && error == -ENOPROTOOPT && (error = common_get(socket, option, value)) > 0)
        bytes = (uint32_t)error;
    return error < 0 ? error : socket_answer_write(value, bytes, buffer, room_address, false);
}

/* ---- setsockopt ---- */

/* Sets a time limit. Zero is no limit; a negative time means not to wait, and becomes a nanosecond. */
static int time_limit_set(uint64_t *limit_ns, const struct linux_timeval *time, uint32_t bytes)
{
    uint64_t ns;

    if (bytes < sizeof(*time))
        return -EINVAL;
    if (time->microseconds < 0 || time->microseconds >= US_PER_S)
        return -EDOM;
    if (time->seconds < 0)
        ns = 1;
    else if (__builtin_mul_overflow((uint64_t)time->seconds, NS_PER_S, &ns))
        ns = 0;
    else
        ns = time_add(ns, (uint64_t)time->microseconds * 1000);
    __atomic_store_n(limit_ns, ns, __ATOMIC_RELAXED);
    return 0;
}

static void switch_set(struct socket *socket, uint32_t option, bool on)
{
    const uint64_t bit = 1ULL << option;

    __atomic_fetch_and(&socket->switches, ~(bit & TIMES ? TIMES : bit), __ATOMIC_RELAXED);
    if (on)
        __atomic_fetch_or(&socket->switches, bit, __ATOMIC_RELAXED);
}

/* Sets the options of SOL_SOCKET that this file keeps. */
static int common_set(struct socket *socket, uint32_t option, const void *value, uint32_t bytes)
{
    uint64_t *limit = time_limit_of(socket, option);
    const struct linux_linger *linger = value;
    int32_t number;

    if (bytes < sizeof(number))
        return option == SO_BINDTODEVICE ? -ENOPROTOOPT : -EINVAL;
    number = *(const int32_t *)value;
    if (limit)
        return time_limit_set(limit, value, bytes);
    if (is_switch(option)) {
        switch_set(socket, option, number);
        return 0;
    }
    switch (option) {
    case SO_LINGER:
        if (bytes < sizeof(*linger))
            return -EINVAL;
        socket->linger_s = (uint32_t)linger->seconds;
        switch_set(socket, SO_LINGER, linger->on);
        return 0;
    case SO_SNDBUF: /* changes nothing here: getsockopt answers what there is */
    case SO_RCVBUF:
        return 0;
    case SO_RCVLOWAT:
        socket->low_water = number < 0 ? INT32_MAX : (uint32_t)number;
        return 0;
    case SO_PRIORITY:
        if (number < 0 || number > PRIORITY_MAX)
            return -EPERM;
        socket->priority = (uint32_t)number;
        return 0;
    case SO_MARK:
        socket->mark = (uint32_t)number;
        return 0;
    case SO_BUSY_POLL:
        if (number < 0)
            return -EINVAL;
        socket->busy_poll_us = (uint32_t)number;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

long socket_option_set(struct file *file, uint32_t level, uint32_t option, uint64_t address, uint32_t bytes)
{
    struct socket *socket = socket_of(file);
    _Alignas(8) uint8_t value[OPTION_BYTES_MAX];
    int error = level == SOL_SOCKET ? -ENOPROTOOPT : -EOPNOTSUPP, kept = -ENOPROTOOPT;

    if ((int32_t)bytes <= 0)
        return -EINVAL;
    if (bytes > sizeof(value))
        bytes = sizeof(value);
    if (user_read(value, address, bytes))
        return -EFAULT;
    if (level == SOL_SOCKET)
        kept = common_set(socket, option, value, bytes);
    if (kept && kept != -ENOPROTOOPT)
        return kept;
    if (socket->operations->option_set)
        error = socket->operations->option_set(file, (int)level, (int)option, value, bytes);
    return error == -ENOPROTOOPT ? kept : error;
}
