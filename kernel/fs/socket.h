/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket.h: what sockets of all families have in common, and what a family provides. The system calls
 * (syscall/sys_socket.c, sys_message.c) decode, copy addresses and control messages from
 * and to the program, and call the operations of the open file's socket; fs/unix_*.c are AF_UNIX,
 * net/inet_*.c AF_INET, net/netlink.c what C libraries ask of AF_NETLINK.
 *
 * A family's own structure begins with a struct socket, which file.object points to. Operations run without
 * locks and may wait; they check O_NONBLOCK of the file's flags, MSG_DONTWAIT and the time limits of the
 * socket. They return Linux's errors: -EINTR if a signal is pending (the caller restarts the call). An
 * operation that is NULL answers EOPNOTSUPP.
 */
#ifndef TACET_SOCKET_H
#define TACET_SOCKET_H

#include "fs/file.h"
#include "fs/user_vector.h"

enum address_family {
    AF_UNSPEC = 0,
    AF_UNIX = 1,
    AF_INET = 2,
    AF_NETLINK = 16,
};
#define SOL_SOCKET 1

/* Options of SOL_SOCKET; arch/linux_abi.h has those that differ between architectures. */
enum socket_option {
    SO_REUSEADDR = 2,
    SO_TYPE = 3,
    SO_ERROR = 4,
    SO_DONTROUTE = 5,
    SO_BROADCAST = 6,
    SO_SNDBUF = 7,
    SO_RCVBUF = 8,
    SO_KEEPALIVE = 9,
    SO_OOBINLINE = 10,
    SO_PRIORITY = 12,
    SO_LINGER = 13,
    SO_REUSEPORT = 15,
    SO_BINDTODEVICE = 25,
    SO_TIMESTAMP = 29,
    SO_ACCEPTCONN = 30,
    SO_TIMESTAMPNS = 35,
    SO_MARK = 36,
    SO_PROTOCOL = 38,
    SO_DOMAIN = 39,
    SO_BUSY_POLL = 46,
};

enum socket_type { SOCK_STREAM = 1, SOCK_DGRAM = 2, SOCK_RAW = 3, SOCK_SEQPACKET = 5 };

/* Flags of send and recv, Linux's. */
enum message_flags {
    MSG_OOB = 0x1,
    MSG_PEEK = 0x2,
    MSG_CTRUNC = 0x8,
    MSG_TRUNC = 0x20,
    MSG_DONTWAIT = 0x40,
    MSG_WAITALL = 0x100,
    MSG_ERRQUEUE = 0x2000,
    MSG_NOSIGNAL = 0x4000,
    MSG_MORE = 0x8000,
    MSG_WAITFORONE = 0x10000,
    MSG_CMSG_CLOEXEC = 0x40000000,
};

#define SOCKET_ADDRESS_BYTES_MAX 128 /* Linux's struct sockaddr_storage */

/* Linux's struct sockaddr of any family, in kernel memory; ports and addresses in network byte order. */
struct socket_address {
    uint32_t bytes; /* how many below are valid; 0: no address */
    union {
        uint16_t family;
        struct {
            uint16_t family, port;
            uint32_t address;
        } inet;
        struct {
            uint16_t family;
            char path[108]; /* with or without a NUL; begins with a NUL if the name is abstract */
        } local;
        uint8_t raw[SOCKET_ADDRESS_BYTES_MAX];
    };
};

/* Ancillary data, decoded. */
struct rights; /* open files of SCM_RIGHTS: unix_rights.h */
struct socket_control {
    struct rights *rights; /* sent: the operation takes it, and sets this to NULL; or received */
    bool has_credentials;  /* SCM_CREDENTIALS: user and group are root, */
    uint32_t process;      /* this is the pid */
    /* Of AF_INET; received only if the program has set the option: */
    bool has_time, has_exact_time, has_ttl, has_tos, has_packet_info;
    uint64_t time_ns; /* SO_TIMESTAMP, SO_TIMESTAMPNS: when it was received, since 1970 */
    uint32_t ttl, tos, interface, local_address, header_destination;
};

/* One message that is sent or received, or a part of a stream. */
struct socket_message {
    struct user_vector *vector;
    unsigned flags;                 /* of enum message_flags */
    struct socket_address *address; /* destination, or room for the sender's; NULL: none */
    struct socket_control *control; /* NULL: no control data */
    unsigned answer_flags;          /* out: MSG_TRUNC, MSG_CTRUNC, of what was received */
    uint64_t whole_bytes;           /* out: of the whole datagram, if MSG_TRUNC is set */
};

struct socket_operations {
    int (*bind)(struct file *file, const struct socket_address *address);
    int (*connect)(struct file *file, const struct socket_address *address);
    int (*listen)(struct file *file, int backlog);
    /* Waits for a connection; `accepted`, an unused open file, becomes its socket. *peer: its peer's name. */
    int (*accept)(struct file *file, struct file *accepted, struct socket_address *peer);
    int64_t (*send)(struct file *file, struct socket_message *message);
    int64_t (*receive)(struct file *file, struct socket_message *message);
    int (*shutdown)(struct file *file, bool receiving, bool sending);
    int (*name)(struct file *file, bool of_peer, struct socket_address *address);
    /* Options. If the family answers -ENOPROTOOPT to an option of SOL_SOCKET, sys_socket.c answers
     * instead; it sets what it keeps (switches, SO_LINGER, …) before it calls option_set. `value` has
     * `bytes`, at least 1. *bytes: room, then what was written. -ENOPROTOOPT, -EINVAL. */
    int (*option_set)(struct file *file, int level, int option, const void *value, uint32_t bytes);
    int (*option_get)(struct file *file, int level, int option, void *value, uint32_t *bytes);
    /* FIONREAD and TIOCOUTQ of ioctl: returns how many bytes a read would return, or with `unsent` how many
     * are to be sent yet. -ENOTTY. */
    int64_t (*queued)(struct file *file, bool unsent);
};

/* Any thread may change these at any time; each member is read and written on its own. */
struct socket {
    const struct socket_operations *operations;
    uint16_t family, type, protocol;
    uint64_t switches; /* a bit for each option of SOL_SOCKET that is on, by its number below 64 */
    uint64_t receive_limit_ns, send_limit_ns; /* SO_RCVTIMEO, SO_SNDTIMEO; 0: no limit */
    uint32_t receive_room, send_room;         /* SO_RCVBUF, SO_SNDBUF, as getsockopt answers */
    uint32_t linger_s;                        /* SO_LINGER, if its switch is on */
    uint32_t low_water;                       /* SO_RCVLOWAT; 0 is 1 */
    uint32_t priority, mark, busy_poll_us;    /* kept, but nothing depends on them */
    uint8_t device;                           /* SO_BINDTODEVICE: its index; 0: none */
};

/* Makes an unused open file a socket. `socket` is the beginning of the family's own structure, all zero; the
 * family sets the limits of room itself. `files` has .move = socket_move and .waits = true. */
void socket_initialise(struct file *file, struct socket *socket, const struct file_operations *files,
                       const struct socket_operations *operations, unsigned family, unsigned type,
                       unsigned protocol);

bool file_is_socket(const struct file *file);

static inline struct socket *socket_of(const struct file *file)
{
    return file->object;
}

static inline bool socket_switch(const struct socket *socket, unsigned option)
{
    return __atomic_load_n(&socket->switches, __ATOMIC_RELAXED) >> option & 1;
}

/* Sends or receives by the socket's operation. socket_send raises SIGPIPE if a stream answers EPIPE. A call
 * with a time limit that a signal has ended does not start again (-ERESTARTNOHAND). */
int64_t socket_send(struct file *file, struct socket_message *message);
int64_t socket_receive(struct file *file, struct socket_message *message);

/* Does the same to the result of another call: `limit_ns` is one of the socket's time limits. */
int64_t socket_interrupted(int64_t result, const uint64_t *limit_ns);

/* Reads or writes: file_operations.move of all sockets. */
int64_t socket_move(struct file *file, struct user_vector *vector, bool write);

/* Returns whether a call must not wait; the next one, until when it may wait. */
bool socket_nonblocking(const struct file *file, unsigned flags);
uint64_t socket_deadline(const struct file *file, bool sends);

/* ---- Families: called by socket(2). They make `file`, unused, a socket; -EPROTONOSUPPORT, -ESOCKTNOSUPPORT,
 * -ENOMEM ---- */

int unix_socket_create(struct file *file, int type, int protocol);    /* fs/unix_socket.c */
int inet_socket_create(struct file *file, int type, int protocol);    /* net/inet.c */
int netlink_socket_create(struct file *file, int type, int protocol); /* net/netlink.c */

/* Makes a pair of sockets for socketpair(2). fs/unix_socket.c */
int unix_socket_pair(struct file *files[2], int type);

#endif
