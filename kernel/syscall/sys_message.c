/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_message.c: sending and receiving on sockets. The parts of a message, its address and its ancillary data
 * are decoded here, and written to the program; the operations of the socket's family move it. send(2),
 * recv(2), sendmmsg(2), cmsg(3), ip(7).
 */
#include "arch.h"
#include "fs/unix_rights.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/socket_call.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

#define CONTROL_BYTES_MAX 20480 /* Linux's optmem_max */
#define MESSAGES_MAX      1024  /* of one sendmmsg or recvmmsg */

enum { SOL_IP = 0, IP_TOS = 1, IP_TTL = 2, IP_PKTINFO = 8, SCM_RIGHTS = 1, SCM_CREDENTIALS = 2 };

struct linux_cmsghdr { /* followed by the data, padded to 8 bytes */
    uint64_t bytes;    /* with this header */
    int32_t level, type;
};

/* ---- Ancillary data ---- */

static int control_item_read(struct socket_control *control, const struct linux_cmsghdr *header,
                             uint64_t address)
{
    uint64_t bytes = header->bytes - sizeof(*header);
    uint32_t words[3] = { 0 }; /* what an item holds, unless it is of SCM_RIGHTS */

    if (header->level == SOL_SOCKET && header->type == SCM_RIGHTS)
        return control->rights ? -EINVAL : rights_create(address, bytes / sizeof(int32_t), &control->rights);
    if (user_read(words, address, smaller(bytes, sizeof(words))))
        return -EFAULT;
    if (header->level == SOL_SOCKET && header->type == SCM_CREDENTIALS && bytes == sizeof(words)) {
        control->has_credentials = true;
        control->process = words[0];
        if (!process_find(words[0]))
            return -ESRCH;
        return words[1] == process_credentials.uid && words[2] == process_credentials.gid ? 0 : -EPERM;
    }
    if (header->level == SOL_IP && header->type == IP_PKTINFO && bytes >= sizeof(words)) {
        control->has_packet_info = true;
        control->interface = words[0];
        control->local_address = words[1];
    } else if (header->level == SOL_IP && header->type == IP_TTL && bytes >= sizeof(words[0])) {
        control->has_ttl = true;
        control->ttl = words[0];
    } else if (header->level == SOL_IP && header->type == IP_TOS && bytes > 0) { /* a byte or a number */
        control->has_tos = true;
        control->tos = bytes < sizeof(words[0]) ? words[0] & 0xff : words[0];
    } else {
        return -EINVAL;
    }
    return 0;
}

static int control_read(struct socket_control *control, uint64_t address, uint64_t bytes)
{
    struct linux_cmsghdr header;
    int error = 0;

    if (bytes > CONTROL_BYTES_MAX)
        return -ENOBUFS;
    for (uint64_t at = 0; !error && bytes - at >= sizeof(header);) {
        if (user_read(&header, address + at, sizeof(header)))
            return -EFAULT;
        if (header.bytes < sizeof(header) || header.bytes > bytes - at)
            return -EINVAL;
        error = control_item_read(control, &header, address + at + sizeof(header));
        at += (header.bytes + 7) & ~7ULL;
        if (at > bytes)
            break;
    }
    return error;
}

/* What is left of the program's room for ancillary data. */
struct control_room {
    uint64_t address, left;
    bool truncated;
};

/* Writes the header of an item of *bytes, reduces *bytes to what there is room for, and advances `room` to
 * the next item. Returns where the data begins, or 0 if there is no room. */
static uint64_t control_item_begin(struct control_room *room, int level, int type, uint64_t *bytes)
{
    struct linux_cmsghdr header = { sizeof(header) + *bytes, level, type };
    uint64_t data = room->address + sizeof(header);

    if (room->left < header.bytes) {
        room->truncated = true;
        if (room->left < sizeof(header))
            return 0;
        header.bytes = room->left;
    }
    *bytes = header.bytes - sizeof(header);
    if (user_write(room->address, &header, sizeof(header)))
        return 0;
    uint64_t padded = (header.bytes + 7) & ~7ULL;
    padded = padded < room->left ? padded : room->left;
    room->address += padded;
    room->left -= padded;
    return data;
}

static void control_item_write(struct control_room *room, int level, int type, const void *data,
                               uint64_t bytes)
{
    uint64_t place = control_item_begin(room, level, type, &bytes);

    if (place && user_write(place, data, bytes))
        room->truncated = true;
}

static void rights_write(struct control_room *room, const struct rights *rights, bool close_on_exec)
{
    uint64_t left = room->left, header = sizeof(struct linux_cmsghdr);
    uint64_t fits = left > header ? (left - header) / sizeof(int32_t) : 0;
    unsigned count = rights_install(rights, room->address + header,
                                    fits < rights->count ? (unsigned)fits : rights->count, close_on_exec);
    uint64_t bytes = count * sizeof(int32_t);

    if (count > 0)
        control_item_begin(room, SOL_SOCKET, SCM_RIGHTS, &bytes);
    room->truncated |= count < rights->count;
}

static void control_write(struct control_room *room, const struct socket_control *control, bool close_on_exec)
{
    if (control->has_time) {
        struct linux_timeval time = timeval_of(control->time_ns);

        control_item_write(room, SOL_SOCKET, SO_TIMESTAMP, &time, sizeof(time));
    }
    if (control->has_exact_time) {
        struct linux_timespec time = timespec_of(control->time_ns);

        control_item_write(room, SOL_SOCKET, SO_TIMESTAMPNS, &time, sizeof(time));
    }
    if (control->has_credentials) {
        const uint32_t credentials[3] = { control->process, process_credentials.uid,
                                          process_credentials.gid };

        control_item_write(room, SOL_SOCKET, SCM_CREDENTIALS, credentials, sizeof(credentials));
    }
    if (control->rights)
        rights_write(room, control->rights, close_on_exec);
    if (control->has_packet_info) {
        const uint32_t info[3] = { control->interface, control->local_address, control->header_destination };

        control_item_write(room, SOL_IP, IP_PKTINFO, info, sizeof(info));
    }
    if (control->has_ttl)
        control_item_write(room, SOL_IP, IP_TTL, &control->ttl, sizeof(control->ttl));
    if (control->has_tos)
        control_item_write(room, SOL_IP, IP_TOS, &control->tos, 1);
}

/* ---- One part: sendto, recvfrom ---- */

/* Returns what receiving answers: with MSG_TRUNC the length of a whole datagram. */
static int64_t received(const struct socket_message *message, int64_t got)
{
    bool whole = got >= 0 && (message->flags & MSG_TRUNC) && (message->answer_flags & MSG_TRUNC);

    return whole ? (int64_t)message->whole_bytes : got;
}

/* Sends a message, to an address of the program's unless that is 0. */
static int64_t send_to(struct file *file, struct socket_message *message, uint64_t name, uint64_t name_bytes)
{
    struct socket_address address;
    int error = name ? socket_address_read(&address, name, name_bytes) : 0;

    message->address = name ? &address : NULL;
    return error ? error : socket_send(file, message);
}

int64_t part_send(struct file *file, uint64_t buffer, uint64_t bytes, uint32_t flags, uint64_t name,
                  uint64_t name_bytes)
{
    struct user_vector vector = user_vector_of(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
    struct socket_message message = { .vector = &vector, .flags = flags };

    return send_to(file, &message, name, name_bytes);
}

int64_t part_receive(struct file *file, uint64_t buffer, uint64_t bytes, uint32_t flags, uint64_t name,
                     uint64_t room_address)
{
    struct user_vector vector = user_vector_of(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
    struct socket_address address;
    struct socket_message message = { .vector = &vector, .flags = flags, .address = name ? &address : NULL };

    address.bytes = 0;
    int64_t result = received(&message, socket_receive(file, &message));
    if (result < 0 || !name)
        return result;
    long error = socket_answer_write(address.raw, address.bytes, name, room_address, true);
    return error ? error : result;
}

/* ---- Messages ---- */

static int message_read(uint64_t address, struct linux_msghdr *header, struct user_vector *vector)
{
    if (user_read(header, address, sizeof(*header)))
        return -EFAULT;
    int error = user_vector_read(vector, header->parts, header->part_count);
    if (error == -EINVAL && header->part_count > IOV_MAX)
        return -EMSGSIZE;
    return error < 0 || (error = user_vector_next(vector)) < 0 ? error : 0;
}

int64_t message_send(struct file *file, uint64_t buffer, unsigned flags)
{
    struct linux_msghdr header;
    struct user_vector vector;
    struct socket_control control = { 0 };
    struct socket_message message = { .vector = &vector, .flags = flags };
    int64_t result = message_read(buffer, &header, &vector);

    if (!result && header.control_bytes) {
        result = control_read(&control, header.control, header.control_bytes);
        message.control = &control;
    }
    if (!result)
        result = send_to(file, &message, header.name, header.name_bytes);
    rights_put(control.rights);
    return result;
}

int64_t message_receive(struct file *file, uint64_t buffer, unsigned flags)
{
    struct linux_msghdr header;
    struct user_vector vector;
    struct socket_control control = { 0 };
    struct socket_address address;
    struct socket_message message = {
        .vector = &vector, .flags = flags, .address = &address, .control = &control
    };
    int64_t got = message_read(buffer, &header, &vector);

    address.bytes = 0;
    if (got)
        return got;
    got = received(&message, socket_receive(file, &message));
    if (got < 0)
        return got;

    struct control_room room = { header.control, header.control_bytes, false };
    control_write(&room, &control, flags & MSG_CMSG_CLOEXEC);
    rights_put(control.rights);
    if (header.name) {
        uint32_t part = header.name_bytes < address.bytes ? header.name_bytes : address.bytes;

        if ((int32_t)header.name_bytes < 0)
            return -EINVAL;
        if (user_write(header.name, address.raw, part))
            return -EFAULT;
        header.name_bytes = address.bytes;
    }
    header.control_bytes = room.address - header.control;
    header.flags = message.answer_flags | (room.truncated ? MSG_CTRUNC : 0) | (flags & MSG_CMSG_CLOEXEC);
    return user_write(buffer, &header, sizeof(header)) ? -EFAULT : got;
}

/* ---- Many messages ---- */

struct linux_mmsghdr {
    struct linux_msghdr header;
    uint32_t bytes, padding; /* what was moved */
};

int64_t messages_move(struct file *file, uint64_t list, uint64_t count, unsigned flags, bool send,
                      uint64_t timeout)
{
    uint64_t deadline_ns;
    int64_t result = deadline_read(timeout, &deadline_ns), done = 0;

    if (result)
        return result;
    count = (uint32_t)count < MESSAGES_MAX ? (uint32_t)count : MESSAGES_MAX;
    while ((uint64_t)done < count) {
        uint64_t entry = list + (uint64_t)done * sizeof(struct linux_mmsghdr);

        result = send ? message_send(file, entry, flags) : message_receive(file, entry, flags);
        uint32_t bytes = (uint32_t)result;
        if (result >= 0 && user_write(entry + offsetof(struct linux_mmsghdr, bytes), &bytes, sizeof(bytes)))
            result = -EFAULT;
        if (result < 0)
            break;
        done++;
        if (flags & MSG_WAITFORONE)
            flags |= MSG_DONTWAIT;
        if (!send && clock_now_ns() >= deadline_ns)
            break;
        crosscall_serve();
    }
    return done ? done : result;
}
