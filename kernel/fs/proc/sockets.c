/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sockets.c: the sockets of the calling process, as /proc/net has them: tcp, udp, raw, unix, sockstat. Linux
 * shows all of the node there; here a process sees its own, as in /proc/PID. proc(5)
 *
 * What is written is what the family's operations answer (fs/socket.h), for one descriptor after the other;
 * no lock is held meanwhile.
 */
#include "fs/proc/proc.h"
#include "fs/socket.h"
#include "lib/kstring.h"
#include "process/process.h"

#define LEVEL_TCP      6
#define TCP_INFO       11 /* its first byte is the state */
#define STATE_OPEN     1
#define STATE_CLOSED   7
#define STATE_LISTENS  10
#define UNIX_OPEN      1 /* not connected */
#define UNIX_CONNECTED 3
#define UNIX_LISTENS   0x10000

/* A row's `of`. */
#define SOCKETS(family, type) ((family) << 8 | (type))

static bool socket_is(const struct file *socket, unsigned of)
{
    return socket->operations && file_is_socket(socket) &&
           SOCKETS(socket_of(socket)->family, of & 255 ? socket_of(socket)->type : 0U) == of;
}

/* Returns what a call of option_get answers in the first byte or word; 0 for an error. */
static uint32_t option_of(struct file *socket, int level, int option, bool is_byte)
{
    union {
        uint8_t byte;
        uint32_t word;
        uint8_t room[256];
    } value = { .word = 0 };
    uint32_t bytes = sizeof(value);
    int (*get)(struct file *, int, int, void *, uint32_t *) = socket_of(socket)->operations->option_get;

    if (!get || get(socket, level, option, &value, &bytes))
        return 0;
    return is_byte ? value.byte : value.word;
}

static struct socket_address name_of(struct file *socket, bool of_peer)
{
    struct socket_address name = { .bytes = 0 };

    if (!socket_of(socket)->operations->name || socket_of(socket)->operations->name(socket, of_peer, &name))
        name = (struct socket_address){ .bytes = 0 };
    return name;
}

static uint64_t queued_of(struct file *socket, bool unsent)
{
    int64_t bytes =
        socket_of(socket)->operations->queued ? socket_of(socket)->operations->queued(socket, unsent) : 0;

    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void inet_line(struct file *file, unsigned number, struct file *socket)
{
    const struct socket_address local = name_of(socket, false), peer = name_of(socket, true);
    unsigned state = peer.bytes ? STATE_OPEN : STATE_CLOSED;
    const bool listens = option_of(socket, SOL_SOCKET, SO_ACCEPTCONN, false);

    if (socket_of(socket)->type == SOCK_STREAM)
        state = listens ? STATE_LISTENS : option_of(socket, LEVEL_TCP, TCP_INFO, true);
    text_add(file, "%4u: %08X:%04X %08X:%04X %02X %08lX:%08lX 00:00000000 00000000 %5u        0 %lu 1 0\n",
             number, local.inet.address, __builtin_bswap16(local.inet.port), peer.inet.address,
             __builtin_bswap16(peer.inet.port), state, queued_of(socket, true),
             listens ? 0 : queued_of(socket, false), process_credentials.uid, socket->serial);
}

static void unix_line(struct file *file, struct file *socket)
{
    const struct socket_address local = name_of(socket, false);
    const unsigned path_bytes = local.bytes > 2 ? local.bytes - 2 : 0;
    char path[sizeof(local.local.path) + 1] = "";

    memcpy(path, local.local.path, path_bytes < sizeof(path) ? path_bytes : sizeof(path) - 1);
    if (path_bytes && !path[0])
        path[0] = '@'; /* an abstract name */
    text_add(file, "0000000000000000: 00000002 00000000 %08X %04X %02X %5lu%s%s\n",
             option_of(socket, SOL_SOCKET, SO_ACCEPTCONN, false) ? UNIX_LISTENS : 0, socket_of(socket)->type,
             name_of(socket, true).bytes ? UNIX_CONNECTED : UNIX_OPEN, socket->serial, path[0] ? " " : "",
             path);
}

/* Writes the lines of the sockets that a row is about; returns how many there are. */
static unsigned sockets_write(struct file *file, unsigned of, bool lines)
{
    unsigned count = 0;

    for (uint64_t descriptor = 0; descriptor < FILE_DESCRIPTORS_MAX; descriptor++) {
        FILE_REFERENCE socket = file_get(file->process, descriptor);

        if (!socket || !socket_is(socket, of))
            continue;
        if (lines && of >> 8 == AF_UNIX)
            unix_line(file, socket);
        else if (lines)
            inet_line(file, count, socket);
        count++;
    }
    return count;
}

static void sockets_text(struct file *file)
{
    const unsigned of = ((const struct proc_file *)file->inode->data)->of;

    text_add(file, of >> 8 == AF_UNIX
                       ? "Num       RefCount Protocol Flags    Type St Inode Path\n"
                       : "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
                         "timeout inode\n");
    sockets_write(file, of, true);
}

static void sockstat_text(struct file *file)
{
    static const struct {
        const char *name;
        unsigned of;
    } kinds[] = { { "TCP", SOCKETS(AF_INET, SOCK_STREAM) },
                  { "UDP", SOCKETS(AF_INET, SOCK_DGRAM) },
                  { "RAW", SOCKETS(AF_INET, SOCK_RAW) } };

    text_add(file, "sockets: used %u\n",
             sockets_write(file, SOCKETS(AF_INET, 0), false) +
                 sockets_write(file, SOCKETS(AF_UNIX, 0), false));
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        text_add(file, "%s: inuse %u\n", kinds[i].name, sockets_write(file, kinds[i].of, false));
}

const struct proc_file proc_socket_files[] = {
    { "raw", .make = sockets_text, .of = SOCKETS(AF_INET, SOCK_RAW) },
    { "sockstat", .make = sockstat_text },
    { "tcp", .make = sockets_text, .of = SOCKETS(AF_INET, SOCK_STREAM) },
    { "udp", .make = sockets_text, .of = SOCKETS(AF_INET, SOCK_DGRAM) },
    { "unix", .make = sockets_text, .of = SOCKETS(AF_UNIX, 0) },
    { .path = NULL },
};
