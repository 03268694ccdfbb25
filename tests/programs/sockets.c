/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sockets.c: sockets of AF_UNIX between ranks. The argument says what is tried:
 *
 *   stream   all ranks connect to rank 0, by a path and by an abstract name, and get back what they send
 *   rights   rank 1 gives rank 0 a file, a pipe and a socket, waits at them, and ends
 *   never    rank 1 sends to rank 0, which never reads: datagrams, bytes, connections, open files
 *   leak     rank 1 leaks sockets, connections and files in circles of sockets, and ends
 *   wait     rank 0 waits in epoll for several sockets; threads of both ranks wait at one that they share
 */
#define _GNU_SOURCE
#include "promise.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <time.h>

#define PIECE (100 * 1000)
#define ALL   (40 * PIECE)
#define BIG   (8UL << 20)

static int rank, ranks;

static void pause_ms(void)
{
    nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* Waits until `count` ranks have come here. */
static void meet(const char *name, int count)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/%s.%d", name, rank);
    close(open(path, O_CREAT | O_RDWR, 0644));
    for (int other = 0; other < count; other++) {
        snprintf(path, sizeof(path), "/tmp/%s.%d", name, other);
        while (access(path, F_OK))
            pause_ms();
    }
}

/* Returns the free bytes of this rank's slice. */
static uint64_t free_bytes(void)
{
    struct statfs status;

    return statfs("/tmp", &status) ? 0 : (uint64_t)status.f_bfree * (uint64_t)status.f_bsize;
}

static socklen_t address_of(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, name, strlen(name));
    if (name[0] == '@')
        address->sun_path[0] = 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int bound(int type, const char *name)
{
    int made = socket(AF_UNIX, type, 0);
    struct sockaddr_un address;
    socklen_t bytes = address_of(&address, name);

    IS(bind(made, (struct sockaddr *)&address, bytes), 0);
    if ((type & 15) != SOCK_DGRAM)
        IS(listen(made, 64), 0);
    return made;
}

static int connect_to(int made, const char *name)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(&address, name);

    return connect(made, (struct sockaddr *)&address, bytes);
}

static int connected(int type, const char *name)
{
    int made = socket(AF_UNIX, type, 0);

    IS(connect_to(made, name), 0);
    return made;
}

union carrier {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static ssize_t give(int through, int file, int flags)
{
    struct iovec part = { "f", 1 };
    union carrier carrier = { .header = { CMSG_LEN(sizeof(int)), 0, SOL_SOCKET, SCM_RIGHTS } };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &carrier, .msg_controllen = sizeof(carrier)
    };

    carrier.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&carrier.header), &file, sizeof(file));
    return sendmsg(through, &message, flags);
}

static int take(int from)
{
    char byte;
    struct iovec part = { &byte, 1 };
    union carrier carrier;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &carrier, .msg_controllen = sizeof(carrier)
    };
    int file = -1;

    IS(recvmsg(from, &message, 0), 1);
    PROMISE(message.msg_controllen >= CMSG_LEN(sizeof(int)), "no file came");
    if (message.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(&file, CMSG_DATA(&carrier.header), sizeof(file));
    return file;
}

/* ---- stream ---- */

static void *serve(void *listener)
{
    static __thread char piece[PIECE];

    for (int i = 1; i < ranks; i++) {
        int end = accept((int)(intptr_t)listener, NULL, NULL);
        struct ucred who;
        socklen_t room = sizeof(who);
        ssize_t got;

        IS(getsockopt(end, SOL_SOCKET, SO_PEERCRED, &who, &room), 0);
        PROMISE(who.pid > 1 && who.pid <= ranks && who.uid == 0, "%d", who.pid);
        while ((got = read(end, piece, sizeof(piece))) > 0)
            IS(send(end, piece, (size_t)got, 0), got);
        IS(got, 0);
        close(end);
    }
    return NULL;
}

static void *feed(void *end)
{
    static __thread unsigned char piece[PIECE];

    for (unsigned sent = 0; sent < ALL; sent += PIECE) {
        for (unsigned i = 0; i < PIECE; i++)
            piece[i] = (unsigned char)((sent + i) % 251 + (unsigned)rank);
        IS(write((int)(intptr_t)end, piece, PIECE), PIECE);
    }
    IS(shutdown((int)(intptr_t)end, SHUT_WR), 0);
    return NULL;
}

static void echo_check(const char *name)
{
    int end = connected(SOCK_STREAM, name);
    unsigned char some[4096];
    pthread_t thread;
    unsigned all = 0, wrong = 0;
    ssize_t got;

    pthread_create(&thread, NULL, feed, (void *)(intptr_t)end);
    while ((got = read(end, some, sizeof(some))) > 0)
        for (ssize_t i = 0; i < got; i++, all++)
            wrong += some[i] != (unsigned char)(all % 251 + (unsigned)rank);
    pthread_join(thread, NULL);
    PROMISE(all == ALL && wrong == 0, "%u bytes, %u of them wrong", all, wrong);
    close(end);
}

static void try_stream(void)
{
    if (rank == 0) {
        int listeners[2] = { bound(SOCK_STREAM, "/tmp/server"), bound(SOCK_STREAM, "@server") };
        pthread_t threads[2];

        meet("ready", ranks);
        for (unsigned i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, serve, (void *)(intptr_t)listeners[i]);
        for (unsigned i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        return;
    }
    meet("ready", ranks);
    echo_check("/tmp/server");
    echo_check("@server");
}

/* ---- rights ---- */

static void rights_take(void)
{
    int listener = bound(SOCK_STREAM, "@rights");

    meet("ready", 2);
    int end = accept(listener, NULL, NULL), file = take(end), reader = take(end), writer = take(end),
        other = take(end);
    char words[64] = "";
    uint64_t before = free_bytes();

    IS(read(file, words, 3), 3);
    IS(lseek(file, 0, SEEK_CUR), 6); /* rank 1 has read three bytes of it */
    PROMISE(!memcmp(words, "def", 3), "%s", words);
    IS(write(writer, "to you", 6), 6); /* rank 1 waits for it */
    IS(read(reader, words, 4), 4);     /* written by rank 1, some time later */
    IS(read(other, words, 5), 5);
    IS(read(end, words, 1), 0); /* rank 1 has ended */
    IS(write(file, "still here", 10), 10);
    IS(pread(file, words, 16, 0), 16);
    PROMISE(!memcmp(words, "abcdefstill here", 16), "%s", words);
    IS(read(reader, words, 1), 0);
    FAILS(send(other, "x", 1, MSG_NOSIGNAL), EPIPE);
    close(file), close(reader), close(writer), close(other);
    PROMISE(free_bytes() >= before - 65536, "%lu bytes less", before - free_bytes());
}

static void rights_give(void)
{
    int there[2], back[2], pair[2], file = open("/tmp/given", O_CREAT | O_RDWR, 0644);
    char words[8] = "";

    meet("ready", 2);
    int end = connected(SOCK_STREAM, "@rights");
    IS(write(file, "abcdefghi", 9), 9);
    lseek(file, 0, SEEK_SET);
    IS(pipe(there), 0);
    IS(pipe(back), 0);
    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    IS(read(file, words, 3), 3);
    IS(give(end, file, 0), 1);
    IS(give(end, there[0], 0), 1);
    IS(give(end, back[1], 0), 1);
    IS(give(end, pair[1], 0), 1);
    close(there[0]), close(back[1]), close(pair[1]), close(file);
    IS(read(back[0], words, 6), 6);
    PROMISE(!memcmp(words, "to you", 6), "%s", words);
    for (int i = 0; i < 20; i++)
        pause_ms(); /* rank 0 should wait by now */
    IS(write(there[1], "back", 4), 4);
    for (int i = 0; i < 20; i++)
        pause_ms();
    IS(write(pair[0], "there", 5), 5);
}

/* ---- never ---- */

static void flood(int type, const char *name)
{
    static char message[1000];
    int end = connected(type, name);
    long sent = 0;

    for (ssize_t put; (put = send(end, message, sizeof(message), MSG_DONTWAIT)) > 0 && sent < 1 << 20;)
        sent += put;
    PROMISE(errno == EAGAIN && sent > 10000 && sent <= 65536, "%ld bytes of type %d", sent, type);
    struct pollfd set = { end, POLLOUT, 0 };
    IS(poll(&set, 1, 0), 0);
}

static void try_never(void)
{
    int first[2];

    if (rank == 0) {
        int listener = bound(SOCK_STREAM, "@never");
        int datagrams = bound(SOCK_DGRAM, "/tmp/never");

        meet("ready", 2);
        uint64_t before = free_bytes();
        meet("flooded", 2);
        PROMISE(free_bytes() >= before - 16384, "%lu bytes less", before - free_bytes()); /* its own file */
        close(listener), close(datagrams);
        meet("ended", 2);
        return;
    }
    meet("ready", 2);
    flood(SOCK_STREAM, "@never");
    flood(SOCK_DGRAM, "/tmp/never");
    unsigned many = 0;
    while (many < 300) {
        int next = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        if (connect_to(next, "@never"))
            break;
        many++;
    }
    PROMISE(errno == EAGAIN && many > 1 && many < 70, "%u connections, errno %d", many, errno);
    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, first), 0);
    unsigned given = 0;
    while (given < 10000 && give(first[0], first[1], MSG_DONTWAIT) == 1)
        given++;
    PROMISE(errno == ETOOMANYREFS && given >= 100 && given <= 1024, "%u files, errno %d", given, errno);
    meet("flooded", 2);
    meet("ended", 2);
}

/* ---- leak ---- */

/* Makes two sockets, each in flight to the other, with a file. */
static void circle(int file)
{
    int pairs[2][2];

    for (unsigned i = 0; i < 2; i++)
        IS(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
    IS(give(pairs[0][0], pairs[1][1], 0), 1);
    IS(give(pairs[1][0], pairs[0][1], 0), 1);
    IS(give(pairs[0][0], file, 0), 1);
    for (unsigned i = 0; i < 4; i++)
        close(pairs[i / 2][i % 2]);
}

static void leak(void)
{
    int kept = 0, file = open("/tmp/big", O_RDWR);

    for (unsigned i = 0; i < 10; i++)
        circle(file);
    close(file);
    while (socket(AF_UNIX, kept % 2 ? SOCK_DGRAM : SOCK_STREAM, 0) >= 0)
        kept++;
    int error = errno;
    close(kept), close(kept - 1); /* for what comes next */
    PROMISE((error == EMFILE || error == ENOMEM) && kept > 100, "%d sockets, errno %d", kept, error);
}

static void try_leak(void)
{
    if (rank != 0) {
        meet("ready", 2);
        leak();
        meet("leaked", 2);
        exit(promises_kept());
    }
    uint64_t before = free_bytes();
    int file = open("/tmp/big", O_CREAT | O_RDWR, 0644), ends[2];

    IS(ftruncate(file, BIG), 0);
    close(file);
    PROMISE(free_bytes() < before - BIG + 65536, "the file takes no memory");
    meet("ready", 2);
    meet("leaked", 2);
    IS(unlink("/tmp/big"), 0);
    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    IS(write(ends[0], "fine", 4), 4);
    close(ends[0]), close(ends[1]);
    for (int i = 0; i < 5000 && free_bytes() < before - 65536; i++)
        pause_ms(); /* rank 1 ends */
    PROMISE(free_bytes() >= before - 65536, "%lu bytes less", before - free_bytes());
}

/* ---- wait ---- */

static void *receive_one(void *end)
{
    char byte;

    IS(read((int)(intptr_t)end, &byte, 1), 1);
    return NULL;
}

static void try_wait(void)
{
    pthread_t threads[3];
    int pair[2];

    if (rank != 0) {
        meet("ready", 2);
        int end = connected(SOCK_STREAM, "@wait"), datagrams = connected(SOCK_DGRAM, "@datagrams");
        int mine = take(end);

        for (unsigned i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, receive_one, (void *)(intptr_t)mine);
        for (unsigned i = 0; i < 20; i++)
            pause_ms();
        IS(write(datagrams, "d", 1), 1);
        for (unsigned i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        return;
    }
    int sockets[2] = { bound(SOCK_STREAM, "@wait"), bound(SOCK_DGRAM, "@datagrams") };
    int set = epoll_create1(0);
    struct epoll_event event;

    for (int i = 0; i < 2; i++)
        IS(epoll_ctl(set, EPOLL_CTL_ADD, sockets[i], &(struct epoll_event){ EPOLLIN, { .fd = sockets[i] } }),
           0);
    meet("ready", 2);
    IS(epoll_wait(set, &event, 1, -1), 1);
    PROMISE(event.data.fd == sockets[0], "woken by the other one");
    int end = accept(sockets[0], NULL, NULL);
    IS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    IS(give(end, pair[1], 0), 1);
    for (unsigned i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, receive_one, (void *)(intptr_t)pair[1]);
    IS(epoll_wait(set, &event, 1, -1), 1);
    PROMISE(event.data.fd == sockets[1], "woken by the other one");
    IS(write(pair[0], "sixsix", 6), 6); /* for three threads of either rank */
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        { "stream", try_stream }, { "never", try_never }, { "leak", try_leak }, { "wait", try_wait }
    };

    rank = getpid() - 1;
    ranks = count > 2 ? atoi(words[2]) : 2;
    for (unsigned i = 0; count > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!strcmp(words[1], cases[i].name))
            cases[i].run();
    if (count > 1 && !strcmp(words[1], "rights"))
        (rank == 0 ? rights_take : rights_give)();
    return promises_kept();
}
