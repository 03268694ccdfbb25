/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_socket_option.c: options of sockets. getsockopt asks the family of the socket first; options of
 * SOL_SOCKET that it does not know are kept in struct socket. getsockopt(2), socket(7).
 */
#include "arch.h"
#include "lib/errno.h"
#include "syscall/linux_calls.h"
#include "syscall/socket_call.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

#define OPTION_BYTES_MAX 256

/* Options that are on or off. */
#define SWITCHES                                                                         \
    (1U << SO_REUSEADDR | 1U << SO_DONTROUTE | 1U << SO_BROADCAST | 1U << SO_KEEPALIVE | \
     1U << SO_OOBINLINE | 1U << SO_REUSEPORT | 1U << SO_PASSCRED | 1U << SO_TIMESTAMP)

/* SO_LINGER's value. */
struct linux_linger {
    int32_t on, seconds;
};

static bool is_switch(uint32_t option)
{
    return option < 32 && (SWITCHES >> option & 1);
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
        return 1;
    case SO_DOMAIN:
        return socket->family;
    case SO_PROTOCOL:
        return socket->protocol;
    case SO_ERROR: /* of a family that has none pending */
    case SO_ACCEPTCONN:
    case SO_PRIORITY:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

/* Answers the options of SOL_SOCKET that this file knows. */
static long common_read(struct socket *socket, uint32_t option, uint64_t buffer, uint64_t room_address)
{
    const uint64_t *limit = time_limit_of(socket, option);

    if (limit) {
        struct linux_timeval time = timeval_of(__atomic_load_n(limit, __ATOMIC_RELAXED));

        return socket_answer_write(&time, sizeof(time), buffer, room_address, false);
    }
    if (option == SO_LINGER) {
        struct linux_linger linger = { socket_switch(socket, SO_LINGER), (int32_t)socket->linger_s };

        return socket_answer_write(&linger, sizeof(linger), buffer, room_address, false);
    }
    long result = option_of(socket, option);
    int32_t value = (int32_t)result;

    return result < 0 ? result : socket_answer_write(&value, sizeof(value), buffer, room_address, false);
}

long socket_option_read(struct file *file, uint32_t level, uint32_t option, uint64_t buffer,
                        uint64_t room_address)
{
    struct socket *socket = socket_of(file);
    uint8_t value[OPTION_BYTES_MAX] = { 0 };
    long error = level == SOL_SOCKET ? -ENOPROTOOPT : -EOPNOTSUPP;
    int32_t room;

    if (user_read(&room, room_address, sizeof(room)))
        return -EFAULT;
    if (room < 0)
        return -EINVAL;
    uint32_t bytes = room < OPTION_BYTES_MAX ? (uint32_t)room : OPTION_BYTES_MAX;
    if (socket->operations->option_get)
        error = socket->operations->option_get(file, (int)level, (int)option, value, &bytes);
    if (!error)
        return socket_answer_write(value, bytes, buffer, room_address, false);
    if (level == SOL_SOCKET && error == -ENOPROTOOPT)
        return common_read(socket, option, buffer, room_address);
    return error;
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
    if (on)
        __atomic_fetch_or(&socket->switches, 1U << option, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&socket->switches, ~(1U << option), __ATOMIC_RELAXED);
}

/* Sets the options of SOL_SOCKET that this file keeps. */
static int common_set(struct socket *socket, uint32_t option, const void *value, uint32_t bytes)
{
    uint64_t *limit = time_limit_of(socket, option);
    const struct linux_linger *linger = value;

    if (bytes < sizeof(int32_t))
        return -EINVAL;
    if (limit)
        return time_limit_set(limit, value, bytes);
    if (is_switch(option)) {
        switch_set(socket, option, *(const int32_t *)value);
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
    case SO_RCVLOWAT:
    case SO_PRIORITY:
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
