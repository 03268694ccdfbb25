/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collide.c [-s SEED] [-j THREADS] [-n CALLS] [-t SECONDS] [-p FOLDER] FAMILY...: lets threads collide. Each
 * makes CALLS calls at random, or as many as it can in SECONDS, all on the same few objects, which other
 * threads close and replace meanwhile. Families: inet, unix, netlink, events, timers, memory, futexes,
 * signals, threads, files (in FOLDER, /tmp by default), ipc, or all. The seed alone decides what each thread
 * asks for; the machine decides the order.
 *
 * Unlike call_fuzz.c, whose arguments are half wrong, this makes valid calls in a random order. No call waits
 * longer than WAIT_NS. The kernel must survive. Prints a line for each family: the number of calls, and of
 * those that succeeded.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX   16
#define OBJECTS       6   /* of a family: descriptors with fixed numbers */
#define FIRST         100 /* of them */
#define FAMILY_STEP   16
#define FIRST_OF_MANY 1000 /* of the family that needs many */
#define PORTS         3
#define PAGES         16
#define PAGE          65536 /* a whole number of pages on either architecture */
#define WAIT_NS       200000
#define NAMES         4
#define BYTES         65507 /* the longest datagram */
#define GROUP         "239.1.2.3"
#define GROUP_PORT    5003

struct thread {
    pthread_t id;
    unsigned number;
    uint64_t state;
    char *room; /* BYTES of its own */
};

struct family {
    const char *name;
    void (*make)(struct thread *t, unsigned object); /* an object, in the place of the one before */
    long (*act)(struct thread *t);
    unsigned objects;
    unsigned long made, succeeded;
};

static struct thread threads[THREADS_MAX];
static pid_t tids[THREADS_MAX];
static pthread_barrier_t begin;
static unsigned thread_count = 4, cpus;
static unsigned long calls = 2000;
static uint64_t seed = 1, end_ns = UINT64_MAX;

static unsigned below(struct thread *t, unsigned limit)
{
    t->state ^= t->state << 13, t->state ^= t->state >> 7, t->state ^= t->state << 17;
    return (unsigned)((t->state * 0x2545f4914f6cdd1d >> 32) % limit);
}

static const struct timespec moment = { .tv_nsec = WAIT_NS };

/* Puts a new descriptor where all look for the object. */
static void put(int descriptor, int number)
{
    if (descriptor < 0)
        return;
    dup2(descriptor, number);
    close(descriptor);
}

/* ---- inet: UDP and TCP sockets, and ping's ---- */

enum {
    INET = FIRST,
    UNIX = INET + FAMILY_STEP,
    NETLINK = UNIX + FAMILY_STEP,
    EVENTS = NETLINK + FAMILY_STEP,
    TIMERS = EVENTS + FAMILY_STEP,
    FILES = TIMERS + FAMILY_STEP,
    SIGNALS = FILES + FAMILY_STEP,
    QUEUE = FILES + OBJECTS, /* of events of files */
};

static void timeouts_set(int descriptor)
{
    const struct timeval soon = { .tv_usec = WAIT_NS / 1000 };

    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
}

static uint16_t port_of(struct thread *t)
{
    return (uint16_t)(5000 + below(t, PORTS));
}

/* Makes the socket a member of GROUP that shares GROUP_PORT with others. */
static void group_join(int descriptor)
{
    const int one = 1;
    const struct ip_mreq group = { { inet_addr(GROUP) }, { htonl(INADDR_LOOPBACK) } };
    const struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(GROUP_PORT) };

    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(descriptor, (const struct sockaddr *)&name, sizeof(name)) == 0)
        setsockopt(descriptor, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
}

static void inet_make(struct thread *t, unsigned object)
{
    const int one = 1, mode = below(t, 4) ? 0 : SOCK_NONBLOCK;
    const struct in_addr own = { htonl(INADDR_LOOPBACK) };
    const struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port_of(t)) };
    int made = -1;

    if (object == 1 && below(t, 2)) /* raw where the node allows it, or else for ping */
        made = socket(AF_INET, (below(t, 2) ? SOCK_RAW : SOCK_DGRAM) | mode, IPPROTO_ICMP);
    if (made < 0)
        made = socket(AF_INET, (object < 3 ? SOCK_DGRAM : SOCK_STREAM) | mode, 0);
    timeouts_set(made);
    if (below(t, 4))
        setsockopt(made, SOL_SOCKET, below(t, 4) ? SO_REUSEADDR : SO_REUSEPORT, &one, sizeof(one));
    if (object < 3) {
        setsockopt(made, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own));
        if (below(t, 2)) /* one of several at GROUP_PORT, each of which gets what is sent there */
            group_join(made);
    }
    if (below(t, 2))
        bind(made, (const struct sockaddr *)&name, sizeof(name));
    if (object == 3 && below(t, 2))
        listen(made, 4);
    put(made, INET + (int)object);
}

static struct sockaddr_in inet_name(struct thread *t)
{
    static const char *const addresses[] = { "127.0.0.1", "127.0.0.2", "0.0.0.0", GROUP, "10.255.255.1" };

    return (struct sockaddr_in){
        .sin_family = below(t, 16) ? AF_INET : AF_UNSPEC,
        .sin_port = htons(below(t, 8) ? port_of(t) : 0),
        .sin_addr.s_addr = inet_addr(addresses[below(t, 4) ? below(t, 2) : below(t, 5)]),
    };
}

static long inet_option(struct thread *t, int descriptor)
{
    static const int options[][2] = {
        { SOL_SOCKET, SO_REUSEADDR },      { SOL_SOCKET, SO_RCVBUF },
        { SOL_SOCKET, SO_SNDBUF },         { SOL_SOCKET, SO_ERROR },
        { SOL_SOCKET, SO_LINGER },         { IPPROTO_IP, IP_TTL },
        { IPPROTO_IP, IP_PKTINFO },        { IPPROTO_IP, IP_RECVERR },
        { IPPROTO_IP, IP_MULTICAST_TTL },  { IPPROTO_TCP, TCP_NODELAY },
        { IPPROTO_TCP, TCP_CORK },         { IPPROTO_TCP, TCP_INFO },
        { IPPROTO_TCP, TCP_MAXSEG },       { SOL_SOCKET, SO_KEEPALIVE },
        { SOL_SOCKET, SO_REUSEPORT },      { SOL_SOCKET, SO_RCVLOWAT },
        { SOL_SOCKET, SO_TIMESTAMP },      { IPPROTO_TCP, TCP_USER_TIMEOUT },
        { IPPROTO_TCP, TCP_LINGER2 },      { IPPROTO_TCP, TCP_SYNCNT },
        { IPPROTO_TCP, TCP_DEFER_ACCEPT }, { IPPROTO_TCP, 25 /* TCP_NOTSENT_LOWAT */ },
    };
    const int *const one = options[below(t, sizeof(options) / sizeof(options[0]))];
    int value[32] = { (int)below(t, below(t, 2) ? 2 : 100000), 0 };
    socklen_t bytes = below(t, 4) ? sizeof(int) : sizeof(value);

    return below(t, 2) ? setsockopt(descriptor, one[0], one[1], value, bytes)
                       : getsockopt(descriptor, one[0], one[1], value, &bytes);
}

static long membership(struct thread *t, int descriptor)
{
    const struct ip_mreq group = { { inet_addr(below(t, 2) ? GROUP : "239.1.2.4") },
                                   { inet_addr("127.0.0.1") } };

    return setsockopt(descriptor, IPPROTO_IP, below(t, 2) ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &group,
                      sizeof(group));
}

/* Connects to the current listener; the thread that accepts has the other end. */
static long inet_visit(struct thread *t)
{
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in name;
    socklen_t bytes = sizeof(name);
    long result = getsockname(INET + 3, (struct sockaddr *)&name, &bytes);

    timeouts_set(made);
    if (result == 0)
        result = connect(made, (const struct sockaddr *)&name, bytes);
    put(made, INET + (below(t, 4) ? 4 : 5));
    return result;
}

static long accepts(int descriptor)
{
    const int taken = accept4(descriptor, NULL, NULL, SOCK_NONBLOCK);

    if (taken >= 0)
        put(taken, INET + 5);
    return taken;
}

static long inet_act(struct thread *t)
{
    const int s = INET + (int)below(t, OBJECTS);
    struct sockaddr_in name = inet_name(t);
    struct sockaddr *const at = (struct sockaddr *)&name;
    socklen_t bytes = sizeof(name);
    struct iovec part = { t->room, below(t, 8) ? below(t, 3000) : BYTES };
    struct msghdr message = {
        .msg_name = at, .msg_namelen = sizeof(name), .msg_iov = &part, .msg_iovlen = 1
    };
    struct pollfd polled = { s, POLLIN | POLLOUT, 0 };
    int number;

    switch (below(t, 24)) {
    case 22:
        return inet_visit(t);
    case 23:
        if (below(t, 2)) {
            name.sin_addr.s_addr = inet_addr(GROUP);
            name.sin_port = htons(GROUP_PORT);
        }
        part.iov_len = below(t, 4) ? below(t, 3000) : BYTES - below(t, 40);
        return sendto(INET + (int)below(t, 3), t->room, part.iov_len, MSG_NOSIGNAL, at, sizeof(name));
    case 17:
        return accepts(INET + 3);
    case 18:
    case 19: /* for the first thread that receives from the connection */
        return send(INET + 4, t->room, below(t, 4) ? below(t, 5000) : BYTES, MSG_NOSIGNAL | MSG_DONTWAIT);
    case 20:
    case 21:
        return recv(INET + 5, t->room, BYTES, MSG_DONTWAIT);
    case 0:
        return bind(s, at, sizeof(name));
    case 1:
    case 2:
        return connect(s, at, sizeof(name));
    case 3:
        return listen(s, (int)below(t, 4));
    case 4:
        return accepts(s);
    case 5:
    case 6:
        return sendto(s, t->room, part.iov_len, MSG_NOSIGNAL, at, sizeof(name));
    case 7:
        return send(s, t->room, part.iov_len, MSG_NOSIGNAL | (below(t, 2) ? MSG_MORE : 0));
    case 8:
        return recv(s, t->room, BYTES, (below(t, 2) ? MSG_DONTWAIT : 0) | (below(t, 4) ? 0 : MSG_PEEK));
    case 9:
        return recvmsg(s, &message, MSG_DONTWAIT);
    case 10:
        return sendmsg(s, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    case 11:
        return shutdown(s, (int)below(t, 3));
    case 12:
        return inet_option(t, s);
    case 13:
        return membership(t, s);
    case 14:
        return below(t, 2) ? getsockname(s, at, &bytes) : getpeername(s, at, &bytes);
    case 15:
        return ppoll(&polled, 1, &moment, NULL);
    default:
        return ioctl(s, FIONREAD, &number);
    }
}

/* ---- unix: pairs and names, over which descriptors of all families go ---- */

static struct sockaddr_un unix_name(struct thread *t)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };

    snprintf(name.sun_path, sizeof(name.sun_path), "%s%u", below(t, 2) ? "/tmp/collide" : "x",
             below(t, NAMES));
    if (name.sun_path[0] == 'x')
        name.sun_path[0] = '\0'; /* an abstract name */
    return name;
}

static socklen_t unix_bytes(const struct sockaddr_un *name)
{
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (name->sun_path[0] ? 14 : 2));
}

static void unix_make(struct thread *t, unsigned object)
{
    int pair[2];

    if (object < 4) {
        static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };

        if (socketpair(AF_UNIX, types[below(t, 3)] | SOCK_NONBLOCK, 0, pair))
            return;
        put(pair[0], UNIX + (int)(object & ~1u));
        put(pair[1], UNIX + (int)(object | 1u));
    } else {
        const int made = socket(AF_UNIX, (object == 4 ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK, 0);
        const struct sockaddr_un name = unix_name(t);

        if (object == 4 && below(t, 2) && bind(made, (const struct sockaddr *)&name, unix_bytes(&name)) == 0)
            listen(made, 4);
        put(made, UNIX + (int)object);
    }
}

/* Connects a client; the first thread that accepts gets it, or none does. */
static long unix_visit(struct thread *t)
{
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_un name;
    socklen_t bytes = sizeof(name);
    long result = getsockname(UNIX + 4, (struct sockaddr *)&name, &bytes);

    if (result == 0)
        result = connect(made, (const struct sockaddr *)&name, bytes);
    put(made, below(t, 4) ? UNIX + 5 : UNIX + 3);
    return result;
}

static long unix_accept(struct thread *t, int listener)
{
    const int taken = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

    if (taken >= 0 && below(t, 2))
        put(taken, UNIX + (int)below(t, 4));
    else if (taken >= 0)
        close(taken);
    return taken;
}

/* Sends the descriptor of any object of any family. */
static long rights_send(struct thread *t, int descriptor)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
    const unsigned count = 1 + below(t, 3);
    struct iovec part = { t->room, 1 + below(t, 100) };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control };

    control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    for (unsigned i = 0; i < count; i++)
        ((int *)CMSG_DATA(&control.head))[i] = FIRST + (int)(below(t, 6) * FAMILY_STEP + below(t, OBJECTS));
    return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

static long rights_receive(struct thread *t, int descriptor)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec part = { t->room, 200 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };
    const long got = recvmsg(descriptor, &message, below(t, 4) ? 0 : MSG_PEEK);

    for (struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&message); head;
         head = CMSG_NXTHDR(&message, head))
        for (unsigned i = 0; i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
            close(((int *)CMSG_DATA(head))[i]);
    return got;
}

static long unix_act(struct thread *t)
{
    const int s = UNIX + (int)below(t, OBJECTS);
    struct sockaddr_un name = unix_name(t);
    const socklen_t bytes = unix_bytes(&name);
    struct pollfd polled = { s, POLLIN | POLLOUT, 0 };

    switch (below(t, 16)) {
    case 0:
        if (name.sun_path[0] && below(t, 2))
            unlink(name.sun_path);
        return bind(s, (struct sockaddr *)&name, bytes);
    case 1:
        return connect(s, (struct sockaddr *)&name, bytes);
    case 2:
        return listen(s, 2);
    case 3:
        return unix_accept(t, s);
    case 11:
    case 12:
        return unix_visit(t);
    case 13:
    case 14:
        return unix_accept(t, UNIX + 4);
    case 15: /* with the descriptors that no thread has received from them */
        unix_make(t, below(t, 4));
        return 0;
    case 4:
    case 5:
        return rights_send(t, s);
    case 6:
    case 7:
        return rights_receive(t, s);
    case 8:
        return send(s, t->room, below(t, 5000), MSG_NOSIGNAL);
    case 9:
        return below(t, 8) ? recv(s, t->room, 5000, 0) : shutdown(s, (int)below(t, 3));
    default:
        return ppoll(&polled, 1, &moment, NULL);
    }
}

/* ---- netlink ---- */

static void netlink_make(struct thread *t, unsigned object)
{
    (void)t;
    put(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE), NETLINK + (int)object);
}

/* Takes an answer, which must be whole whatever number of threads ask: its messages fill it. */
static long answer_take(struct thread *t, int descriptor)
{
    const long got = recv(descriptor, t->room, BYTES, 0);
    long at = 0;

    while (at < got) {
        const struct nlmsghdr *head = (const struct nlmsghdr *)(t->room + at);

        if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > (unsigned long)(got - at)) {
            fprintf(stderr, "netlink: a message of %u bytes at %ld of %ld\n", head->nlmsg_len, at, got);
            exit(3);
        }
        at += (long)NLMSG_ALIGN(head->nlmsg_len);
    }
    return got;
}

static long netlink_act(struct thread *t)
{
    const int s = NETLINK + (int)below(t, OBJECTS);
    struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_pid = below(t, 3) };
    struct {
        struct nlmsghdr head;
        struct rtgenmsg about;
    } request = { { sizeof(request), (uint16_t)(below(t, 2) ? RTM_GETLINK : RTM_GETADDR),
                    NLM_F_REQUEST | NLM_F_DUMP, below(t, 100), 0 },
                  { AF_UNSPEC } };

    switch (below(t, 4)) {
    case 0:
        return bind(s, (struct sockaddr *)&name, sizeof(name));
    case 1:
        return send(s, &request, sizeof(request), 0);
    default:
        return answer_take(t, s);
    }
}

/* ---- events: pipes, counters and what waits for them ---- */

static void events_make(struct thread *t, unsigned object)
{
    int ends[2];

    switch (object) {
    case 0:
    case 1:
        if (pipe2(ends, O_NONBLOCK) == 0) {
            put(ends[0], EVENTS);
            put(ends[1], EVENTS + 1);
        }
        return;
    case 2:
        put(eventfd(below(t, 3), EFD_NONBLOCK | (below(t, 2) ? EFD_SEMAPHORE : 0)), EVENTS + 2);
        return;
    case 3:
        if (below(t, 4))
            put(timerfd_create(below(t, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME, TFD_NONBLOCK), EVENTS + 3);
        else
            put((int)syscall(SYS_pidfd_open, getpid(), 0), EVENTS + 3);
        return;
    default:
        put(epoll_create1(0), EVENTS + (int)object);
    }
}

/* Puts an epoll set in place of a descriptor that sets may watch, perhaps its own: it is another file then.
 * */
static long set_put(struct thread *t, int set)
{
    return dup2(set, EVENTS + (int)below(t, 4));
}

static long events_act(struct thread *t)
{
    const int s = EVENTS + (int)below(t, OBJECTS), set = EVENTS + 4 + (int)below(t, 2);
    struct epoll_event events[4] = { { .events = (below(t, 2) ? EPOLLIN : EPOLLOUT) |
                                                 (below(t, 2) ? EPOLLET : 0) |
                                                 (below(t, 4) ? 0 : EPOLLONESHOT) } };
    const struct itimerspec soon = { .it_value.tv_nsec = 1 + below(t, WAIT_NS),
                                     .it_interval.tv_nsec = below(t, 2) ? 0 : WAIT_NS };
    struct pollfd polled[] = { { s, POLLIN, 0 }, { INET + (int)below(t, OBJECTS), POLLOUT, 0 } };
    uint64_t one = 1;

    switch (below(t, 11)) {
    case 10:
        return below(t, 8) ? 0 : set_put(t, set);
    case 0:
    case 1:
        return epoll_ctl(set, EPOLL_CTL_ADD, below(t, 3) ? s : INET + (int)below(t, OBJECTS), events);
    case 2:
        return epoll_ctl(set, EPOLL_CTL_MOD, s, events);
    case 3:
        return epoll_ctl(set, EPOLL_CTL_DEL, s, NULL);
    case 4:
        return epoll_pwait(set, events, 4, (int)below(t, 2), NULL);
    case 5:
        return write(EVENTS + 1, t->room, below(t, 9000));
    case 6:
        return read(s, t->room, 9000);
    case 7:
        return write(EVENTS + 2, &one, sizeof(one));
    case 8:
        return timerfd_settime(EVENTS + 3, below(t, 4) ? 0 : (int)below(t, 4), &soon, NULL);
    default:
        return ppoll(polled, 2, &moment, NULL);
    }
}

/* ---- timers ---- */

static timer_t timers[OBJECTS];

static void timers_make(struct thread *t, unsigned object)
{
    static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID,
                                        CLOCK_THREAD_CPUTIME_ID };
    struct sigevent event = { .sigev_notify = below(t, 2) ? SIGEV_NONE : SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR2 };
    timer_t made;

    if (timer_create(clocks[below(t, 4)], &event, &made))
        return;
    timer_t before = __atomic_exchange_n(&timers[object], made, __ATOMIC_SEQ_CST);
    if (before)
        timer_delete(before);
}

static long timers_act(struct thread *t)
{
    const timer_t timer = timers[below(t, OBJECTS)];
    const struct itimerspec soon = { .it_value.tv_nsec = below(t, WAIT_NS),
                                     .it_interval.tv_nsec = below(t, 4) ? 0 : WAIT_NS };
    const struct itimerval turn = { .it_value.tv_usec = 1 + below(t, 500) };
    struct itimerspec left;

    switch (below(t, 7)) {
    case 0:
    case 1:
        return timer ? timer_settime(timer, 0, &soon, &left) : -1;
    case 2:
        return timer ? timer_gettime(timer, &left) : -1;
    case 3:
        return timer ? timer_getoverrun(timer) : -1;
    case 4:
        return setitimer((int)below(t, 3), &turn, NULL);
    case 5:
        return clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &moment, NULL);
    default:
        return clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
}

/* ---- memory: one arena and one file that is mapped in it ---- */

static char *arena;
static int memory_file = -1;

static void memory_make(struct thread *t, unsigned object)
{
    (void)object;
    if (memory_file < 0)
        memory_file = below(t, 2) ? memfd_create("collide", 0) /* or one that all ranks change */
                                  : open("/dev/shm/collide", O_RDWR | O_CREAT, 0600);
    ftruncate(memory_file, (off_t)below(t, PAGES) * PAGE);
}

/* Mappings longer than the file, each in the hands of one thread at a time; the others change the file. */
static char *views[NAMES];

static long view_act(struct thread *t)
{
    char **slot = &views[below(t, NAMES)], *view = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
    const size_t bytes = 2 * PAGES * PAGE, part = (size_t)below(t, PAGES) * PAGE;
    long answer = 0;

    switch (view ? below(t, 6) : 0) {
    case 0:
        if (view)
            munmap(view, bytes);
        view = mmap(NULL, bytes, (int)below(t, 4), MAP_SHARED, memory_file, (off_t)below(t, 2) * PAGE);
        break;
    case 1:
        answer = mprotect(view + part, PAGE, (int)below(t, 4));
        break;
    case 2:
        answer =
            mmap(view + part, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
                ? -1
                : 0;
        break;
    case 3:
        answer = pread(memory_file, view + part, PAGE, 0);
        break;
    default:
        answer = pwrite(memory_file, view + part, PAGE, (off_t)below(t, PAGES) * PAGE);
    }
    view = __atomic_exchange_n(slot, view == MAP_FAILED ? NULL : view, __ATOMIC_ACQ_REL);
    return view ? munmap(view, bytes) : answer;
}

static long nodes_ask(char *at, size_t bytes)
{
    void *pages[] = { at, at + bytes - PAGE };
    const unsigned long node = 1;
    int states[2], where;

    syscall(SYS_get_mempolicy, &where, NULL, 0L, at, 3L);
    syscall(SYS_mbind, at, bytes, 2L, &node, 65L, 1L);
    return syscall(SYS_move_pages, 0, 2L, pages, NULL, states, 0L);
}

static long file_read_all(const char *path)
{
    char bytes[1024];
    int file = open(path, O_RDONLY);
    ssize_t got = file;

    while (file >= 0 && (got = read(file, bytes, sizeof(bytes))) > 0)
        ;
    close(file);
    return got;
}

static long memory_act(struct thread *t)
{
    const unsigned first = below(t, PAGES), count = 1 + below(t, PAGES - first);
    char *const at = arena + (size_t)first * PAGE, *const other = arena + (size_t)below(t, PAGES - 4) * PAGE;
    const size_t bytes = (size_t)count * PAGE;
    const int rights = (int)below(t, 4);
    unsigned char states[PAGES * 16];

    switch (below(t, 18)) {
    case 16: /* where its pages are, while they go */
        return nodes_ask(at, bytes);
    case 17:
        if (below(t, 8))
            return 0;
        return file_read_all(below(t, 2) ? "/proc/self/smaps" : "/proc/self/numa_maps");
    case 0:
    case 1:
        return mmap(at, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0;
    case 2:
        return mmap(at, bytes, rights, MAP_SHARED | MAP_FIXED, memory_file, (off_t)below(t, PAGES) * PAGE) ==
                       MAP_FAILED
                   ? -1
                   : 0;
    case 3:
        return munmap(at, bytes);
    case 4:
        return mprotect(at, bytes, rights);
    case 5:
        return mremap(at, bytes, (size_t)(1 + below(t, 4)) * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) ==
                       MAP_FAILED
                   ? -1
                   : 0;
    case 6:
        return madvise(at, bytes, below(t, 2) ? MADV_DONTNEED : MADV_WILLNEED);
    case 7:
        return mincore(at, bytes, states);
    case 8: /* the kernel writes there */
        return pread(memory_file, at, bytes, 0);
    case 9: /* and reads */
        return pwrite(memory_file, at, 1 + below(t, PAGE), 0);
    case 10:
    case 11:
    case 12:
    case 13:
        return view_act(t);
    default:
        return sbrk(0) == (void *)-1 ? -1 : ftruncate(memory_file, (off_t)below(t, PAGES) * PAGE);
    }
}

/* ---- futexes ---- */

static uint32_t words[NAMES];

static void futexes_make(struct thread *t, unsigned object)
{
    if (object < NAMES && below(t, 8) == 0)
        __atomic_store_n(&words[object], below(t, 2), __ATOMIC_SEQ_CST);
}

static long futex(uint32_t *word, int operation, uint32_t value, const void *time, uint32_t *other,
                  uint32_t last)
{
    return syscall(SYS_futex, word, operation, value, time, other, last);
}

static long futexes_act(struct thread *t)
{
    uint32_t *const word = &words[below(t, 2)], *const pi = &words[2], *const to_pi = &words[3];
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NS;
    if (until.tv_nsec >= 1000000000)
        until = (struct timespec){ until.tv_sec + 1, until.tv_nsec - 1000000000 };
    switch (below(t, 10)) {
    case 0:
        return futex(word, FUTEX_WAIT_PRIVATE, *word, &moment, NULL, 0);
    case 1:
        return futex(word, FUTEX_WAIT_BITSET, *word, NULL, NULL, 0) == 0; /* an empty set: EINVAL */
    case 2:
        return futex(word, FUTEX_WAKE_PRIVATE, 1 + below(t, 3), NULL, NULL, 0);
    case 3:
        return futex(word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)2, &words[1 - (word - words)], *word);
    case 4:
        return futex(word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &words[1 - (word - words)],
                     FUTEX_OP(FUTEX_OP_XOR, 1, FUTEX_OP_CMP_EQ, 0));
    case 5:
    case 6:
        return futex(pi, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0);
    case 7:
        return futex(pi, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
    case 8:
        return futex(word, FUTEX_WAIT_REQUEUE_PI_PRIVATE | FUTEX_CLOCK_REALTIME, *word, &until, to_pi, 0);
    default:
        if (below(t, 2))
            return futex(to_pi, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
        return futex(word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void *)1, to_pi, *word);
    }
}

/* ---- signals ---- */

static void nothing(int number)
{
    (void)number;
}

static void signals_make(struct thread *t, unsigned object)
{
    sigset_t set;

    (void)t;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    put(signalfd(-1, &set, SFD_NONBLOCK), SIGNALS + (int)object);
}

static int taken_one(struct thread *t)
{
    const int numbers[] = { SIGUSR1, SIGUSR2, SIGRTMIN, SIGRTMIN + 1 };

    return numbers[below(t, 4)];
}

static long signals_act(struct thread *t)
{
    const struct sigaction action = { .sa_handler = below(t, 4) ? nothing : SIG_IGN,
                                      .sa_flags = below(t, 2) ? SA_RESTART : 0 };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, taken_one(t));
    switch (below(t, 8)) {
    case 0:
    case 1:
        return syscall(SYS_tgkill, getpid(), tids[below(t, thread_count)], taken_one(t));
    case 2:
        return kill(getpid(), taken_one(t));
    case 3:
        return sigaction(taken_one(t), &action, NULL);
    case 4:
        return pthread_sigmask(below(t, 2) ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL) ? -1 : 0;
    case 5:
        return sigtimedwait(&set, NULL, &moment);
    case 6:
        return sigqueue(getpid(), taken_one(t), (union sigval){ 1 });
    default:
        return read(SIGNALS + (int)below(t, 2), t->room, 1024);
    }
}

/* ---- threads, and where they run ---- */

static void *short_life(void *argument)
{
    sched_yield();
    return argument;
}

static void threads_make(struct thread *t, unsigned object)
{
    (void)object;
    tids[t->number] = (pid_t)syscall(SYS_gettid);
}

static long threads_act(struct thread *t)
{
    const pid_t other = tids[below(t, thread_count)];
    struct sched_param none = { 0 };
    cpu_set_t set;
    pthread_t made;

    CPU_ZERO(&set);
    CPU_SET(below(t, cpus), &set);
    if (below(t, 3) == 0)
        CPU_SET(below(t, cpus), &set);
    switch (below(t, 7)) {
    case 0:
        if (pthread_create(&made, NULL, short_life, NULL))
            return -1;
        return below(t, 2) ? pthread_join(made, NULL) : pthread_detach(made);
    case 1:
    case 2:
        return sched_setaffinity(other, sizeof(set), &set);
    case 3:
        return sched_getaffinity(other, sizeof(set), &set);
    case 4:
        return sched_setscheduler(other, below(t, 2) ? SCHED_OTHER : SCHED_BATCH, &none);
    case 5:
        return syscall(SYS_tgkill, getpid(), other, 0);
    default:
        return sched_yield();
    }
}

/* ---- files: few names, few descriptors ---- */

static const char *place = "/tmp";

static void path_of(struct thread *t, char path[64])
{
    snprintf(path, 64, "%s/c%s%u", place, below(t, 3) ? "" : "d/f", below(t, NAMES));
}

static void files_make(struct thread *t, unsigned object)
{
    char path[64];

    path_of(t, path);
    put(open(path, O_RDWR | O_CREAT | (below(t, 8) ? 0 : O_TRUNC), 0644), FILES + (int)object);
}

static long files_act(struct thread *t)
{
    const int s = FILES + (int)below(t, OBJECTS);
    char one[64], two[64];
    struct stat status;
    struct flock lock = { .l_type = (short)(below(t, 3)),
                          .l_start = below(t, 100),
                          .l_len = 1 + below(t, 100) };
    int directory;

    if (below(t, 100) == 0)
        put(inotify_init1(IN_NONBLOCK), QUEUE);
    path_of(t, one);
    path_of(t, two);
    switch (below(t, 18)) {
    case 17:
        return inotify_add_watch(QUEUE, one, IN_ALL_EVENTS | (below(t, 2) ? 0 : IN_ONESHOT));
    case 16:
        return below(t, 2) ? inotify_rm_watch(QUEUE, 1 + (int)below(t, 9)) : read(QUEUE, t->room, 300);
    case 0:
        return unlink(one);
    case 1:
        return rename(one, two);
    case 2:
        return link(one, two);
    case 3:
        return symlink(one, two);
    case 4:
        snprintf(one, sizeof(one), "%s/cd", place);
        return below(t, 2) ? mkdir(one, 0755) : rmdir(one);
    case 5:
        return stat(one, &status);
    case 6:
        return pwrite(s, t->room, below(t, 9000), below(t, 50000));
    case 7:
        return pread(s, t->room, below(t, 9000), below(t, 50000));
    case 8:
        return write(s, t->room, below(t, 300));
    case 9:
        return read(s, t->room, 300);
    case 10:
        return ftruncate(s, below(t, 60000));
    case 11:
        return fstat(s, &status);
    case 12:
        return fcntl(s, F_SETLK, &lock);
    case 13:
        return lseek(s, below(t, 60000), SEEK_SET);
    case 14:
        return truncate(one, below(t, 60000));
    default:
        directory = open(place, O_RDONLY | O_DIRECTORY);
        while (directory >= 0 && syscall(SYS_getdents64, directory, t->room, 300) > 0)
            ;
        return close(directory);
    }
}

/* ---- descriptors: their numbers, far above those of the others, and the limit of them ---- */

#define NUMBERS 4000

/* Returns one of fifty numbers, of which few share a page of the table. */
static int number_of_many(struct thread *t)
{
    return FIRST_OF_MANY + NUMBERS / 50 * (int)below(t, 50);
}

static void descriptors_make(struct thread *t, unsigned object)
{
    int ends[2];

    if (object == 0) {
        put(epoll_create1(0), FIRST_OF_MANY - 1);
    } else if (pipe2(ends, O_NONBLOCK) == 0) {
        fcntl(ends[0], F_DUPFD, number_of_many(t));
        put(ends[1], number_of_many(t));
        close(ends[0]);
    }
}

static long descriptors_listed(struct thread *t)
{
    const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);

    while (directory >= 0 && syscall(SYS_getdents64, directory, t->room, 300) > 0)
        ;
    return close(directory);
}

static long descriptors_act(struct thread *t)
{
    const int one = number_of_many(t), two = number_of_many(t);
    const struct rlimit limit = { FIRST_OF_MANY + below(t, 2 * NUMBERS), 65536 };
    struct epoll_event event = { .events = EPOLLIN };
    static struct pollfd polled[NUMBERS]; /* whose answers no thread reads */
    char path[32];

    switch (below(t, 16)) {
    case 0:
    case 1:
        return dup2(one, two);
    case 2:
    case 3:
        return fcntl(one, F_DUPFD_CLOEXEC, two);
    case 4:
        return close(one);
    case 5:
        return (long)syscall(SYS_close_range, one, one + below(t, 50), below(t, 2) ? 4 : 0);
    case 6:
        return below(t, 8) ? 0 : syscall(SYS_close_range, FIRST_OF_MANY, ~0U, 0);
    case 7:
        return setrlimit(RLIMIT_NOFILE, &limit);
    case 8:
        return descriptors_listed(t);
    case 9:
        snprintf(path, sizeof(path), "/proc/self/fd/%d", one);
        return readlink(path, (char *)t->room, 100);
    case 10:
        for (unsigned i = 0; i < NUMBERS; i++)
            polled[i].fd = FIRST_OF_MANY + (int)i, polled[i].events = POLLIN;
        return below(t, 8) ? 0 : ppoll(polled, NUMBERS, &moment, NULL);
    case 11:
    case 12:
        return epoll_ctl(FIRST_OF_MANY - 1, 1 + (int)below(t, 3), one, &event);
    case 13:
        return epoll_wait(FIRST_OF_MANY - 1, &event, 1, 0);
    case 14:
        return fcntl(one, F_SETFD, below(t, 2));
    default:
        return write(one, t->room, below(t, 300));
    }
}

/* ---- All of it ---- */

#include "collide_ipc.h"

static struct family families[] = {
    { "inet", inet_make, inet_act, OBJECTS, 0, 0 },
    { "unix", unix_make, unix_act, OBJECTS, 0, 0 },
    { "netlink", netlink_make, netlink_act, OBJECTS, 0, 0 },
    { "events", events_make, events_act, OBJECTS, 0, 0 },
    { "timers", timers_make, timers_act, OBJECTS, 0, 0 },
    { "memory", memory_make, memory_act, 1, 0, 0 },
    { "futexes", futexes_make, futexes_act, NAMES, 0, 0 },
    { "signals", signals_make, signals_act, 2, 0, 0 },
    { "threads", threads_make, threads_act, 1, 0, 0 },
    { "files", files_make, files_act, OBJECTS, 0, 0 },
    { "descriptors", descriptors_make, descriptors_act, OBJECTS, 0, 0 },
    { "ipc", ipc_make, ipc_act, 5, 0, 0 },
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

static struct family *chosen[FAMILIES];
static unsigned chosen_count;

static void *collides(void *argument)
{
    struct thread *t = argument;

    threads_make(t, 0);
    pthread_barrier_wait(&begin);
    for (unsigned long i = 0; i < calls && (i % 64 || now_ns() < end_ns); i++) {
        struct family *family = chosen[below(t, chosen_count)];

        if (below(t, 24) == 0)
            family->make(t, below(t, family->objects));
        __atomic_add_fetch(&family->made, 1, __ATOMIC_RELAXED);
        if (family->act(t) >= 0)
            __atomic_add_fetch(&family->succeeded, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void choose(const char *name)
{
    for (unsigned i = 0; i < FAMILIES; i++)
        if (strcmp(name, "all") == 0 || strcmp(name, families[i].name) == 0)
            chosen[chosen_count++] = &families[i];
}

static void options_take(int count, char **words_given)
{
    for (int option; (option = getopt(count, words_given, "s:j:n:t:p:")) >= 0;) {
        if (option == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (option == 'j')
            thread_count = (unsigned)strtoul(optarg, NULL, 0);
        else if (option == 'n')
            calls = strtoul(optarg, NULL, 0);
        else if (option == 't')
            end_ns = now_ns() + strtoull(optarg, NULL, 0) * 1000000000, calls = ~0UL;
        else if (option == 'p')
            place = optarg;
        else
            exit(2);
    }
    for (int i = optind; i < count; i++)
        choose(words_given[i]);
    if (!chosen_count || !thread_count || thread_count > THREADS_MAX) {
        fprintf(stderr, "collide [-s SEED] [-j THREADS] [-n CALLS] [-t SECONDS] [-p FOLDER] FAMILY...\n");
        exit(2);
    }
}

int main(int count, char **words_given)
{
    const struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
    const int numbers[] = { SIGUSR1, SIGUSR2, SIGRTMIN, SIGRTMIN + 1, SIGALRM, SIGPROF, SIGVTALRM };

    options_take(count, words_given);
    signal(SIGPIPE, SIG_IGN);
    cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
    arena = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i].number = i;
        threads[i].state = (seed * 64 + i) * 0x9e3779b97f4a7c15 | 1;
        threads[i].room = calloc(1, BYTES + 1);
    }
    for (unsigned i = 0; i < chosen_count; i++)
        for (unsigned object = 0; object < chosen[i]->objects; object++)
            chosen[i]->make(&threads[0], object);
    pthread_barrier_init(&begin, NULL, thread_count);
    for (unsigned i = 1; i < thread_count; i++)
        if (pthread_create(&threads[i].id, NULL, collides, &threads[i])) {
            perror("a thread");
            return 1;
        }
    collides(&threads[0]);
    for (unsigned i = 1; i < thread_count; i++)
        pthread_join(threads[i].id, NULL);
    for (unsigned i = 0; i < chosen_count; i++)
        printf("%s: %lu calls, %lu succeeded\n", chosen[i]->name, chosen[i]->made, chosen[i]->succeeded);
    unlink("/dev/shm/collide");
    return 0;
}
