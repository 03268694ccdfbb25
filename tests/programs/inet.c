/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet.c: TCP and UDP over loopback, both ends in this process.
 *
 *      inet transfer BYTES     a stream of that many bytes each way, all checked, by two threads
 *      inet many COUNT         COUNT connections, made and closed, all at once and one by one
 *      inet edges              what a socket is ready for, and which errors it answers
 *      inet idle SECONDS       a connection that is idle for that long is silent and still works
 *      inet unread             a peer that never reads: only so much is taken
 *      inet ranks BYTES        BYTES there and back between rank 0, which listens, and each other rank, while
 *                              a group gets datagrams from all
 *      inet client ADDRESS PORT BYTES [KEEPALIVE]
 *                              sends BYTES there, then the stream's end, and reads until the end or an error;
 *                              prints the number of bytes and the error
 */
#define _GNU_SOURCE
#include "tests/programs/promise.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <time.h>

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static struct sockaddr_in name_of(int socket)
{
    struct sockaddr_in name = { 0 };
    socklen_t bytes = sizeof(name);

    IS(getsockname(socket, (void *)&name, &bytes), 0);
    return name;
}

static int listener(int backlog)
{
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = loopback(0);

    PROMISE(socket_ >= 0, "errno %d", errno);
    IS(bind(socket_, (void *)&name, sizeof(name)), 0);
    IS(listen(socket_, backlog), 0);
    return socket_;
}

/* Makes a connection by a listener; sets its two ends. */
static void connection(int listening, int ends[2])
{
    struct sockaddr_in name = name_of(listening);

    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    PROMISE(ends[0] >= 0, "errno %d", errno);
    IS(connect(ends[0], (void *)&name, sizeof(name)), 0);
    ends[1] = accept(listening, NULL, NULL);
    PROMISE(ends[1] >= 0, "errno %d", errno);
}

/* ---- transfer ---- */

static uint64_t transfer_bytes;

static uint8_t byte_at(uint64_t position)
{
    return (uint8_t)(position * 0x9e3779b97f4a7c15ULL >> 56);
}

static void *echo(void *argument)
{
    int end = (int)(intptr_t)argument;
    static char buffer[30000];
    ssize_t got;

    while ((got = read(end, buffer, sizeof(buffer))) > 0)
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(end, buffer + done, (size_t)(got - done))) <= 0)
                return "write";
    IS(shutdown(end, SHUT_WR), 0);
    return got < 0 ? "read" : NULL;
}

static void *source(void *argument)
{
    int end = (int)(intptr_t)argument;
    static uint8_t buffer[50000];

    for (uint64_t at = 0; at < transfer_bytes;) {
        size_t part = sizeof(buffer) < transfer_bytes - at ? sizeof(buffer) : (size_t)(transfer_bytes - at);

        for (size_t i = 0; i < part; i++)
            buffer[i] = byte_at(at + i);
        ssize_t put = write(end, buffer, part);
        if (put <= 0)
            return "write";
        at += (uint64_t)put;
    }
    IS(shutdown(end, SHUT_WR), 0);
    return NULL;
}

static void transfer(void)
{
    int listening = listener(1), ends[2];
    static uint8_t buffer[40000];
    uint64_t at = 0;
    pthread_t threads[2];
    void *fault[2];
    ssize_t got;
    bool same = true;

    connection(listening, ends);
    IS(pthread_create(&threads[0], NULL, echo, (void *)(intptr_t)ends[1]), 0);
    IS(pthread_create(&threads[1], NULL, source, (void *)(intptr_t)ends[0]), 0);
    while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
        for (ssize_t i = 0; i < got; i++, at++)
            same &= buffer[i] == byte_at(at);
    PROMISE(got == 0 && at == transfer_bytes && same, "got %zd errno %d at %llu", got, errno,
            (unsigned long long)at);
    for (unsigned i = 0; i < 2; i++) {
        IS(pthread_join(threads[i], &fault[i]), 0);
        PROMISE(!fault[i], "thread %u: %s", i, (char *)fault[i]);
    }
    close(ends[0]), close(ends[1]), close(listening);
}

/* ---- many ---- */

static uint64_t free_bytes(void)
{
    struct sysinfo facts;

    IS(sysinfo(&facts), 0);
    return (uint64_t)facts.freeram * facts.mem_unit;
}

#define AT_ONCE 100

/* Makes the connections all at once, then one by one. */
static void many_once(unsigned one_by_one)
{
    const unsigned count = AT_ONCE;
    int listening = listener(16), ends[AT_ONCE][2];
    char byte;

    for (unsigned i = 0; i < count; i++)
        connection(listening, ends[i]);
    for (unsigned i = 0; i < count; i++) {
        byte = (char)i;
        IS(write(ends[i][0], &byte, 1), 1);
    }
    for (unsigned i = 0; i < count; i++) {
        IS(read(ends[i][1], &byte, 1), 1);
        PROMISE(byte == (char)i, "%u: %d", i, byte);
    }
    for (unsigned i = 0; i < count; i++) {
        IS(close(ends[i][i & 1]), 0);
        IS(read(ends[i][~i & 1], &byte, 1), 0);
        IS(close(ends[i][~i & 1]), 0);
    }
    for (unsigned i = 0; i < one_by_one; i++) {
        connection(listening, ends[0]);
        IS(close(ends[0][1]), 0);
        IS(close(ends[0][0]), 0);
    }
    IS(close(listening), 0);
}

/* Checks that nothing is left of the connections once their time to linger is over. */
static void many(unsigned count)
{
    struct timespec pause = { .tv_sec = 65 };
    uint64_t before, after;

    many_once(1);
    nanosleep(&pause, NULL);
    before = free_bytes();
    many_once(count);
    after = free_bytes();
    printf("waiting: %lld bytes\n", (long long)(before - after));
    nanosleep(&pause, NULL);
    after = free_bytes();
    PROMISE(after == before, "%lld bytes are left", (long long)(before - after));
}

/* ---- edges ---- */

static short ready(int socket_, short events)
{
    struct pollfd pollfd = { .fd = socket_, .events = events };

    poll(&pollfd, 1, 0);
    return pollfd.revents;
}

static int error_of(int socket_)
{
    int error = -1;
    socklen_t bytes = sizeof(error);

    IS(getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes), 0);
    return error;
}

static void stream_edges(void)
{
    int listening = listener(4), ends[2], unread = -1;
    char bytes[100] = "hello";
    struct linger reset = { 1, 0 };

    IS(ready(listening, POLLIN), 0);
    connection(listening, ends);
    IS(ready(ends[0], POLLIN | POLLOUT | POLLRDHUP), POLLOUT);
    IS(write(ends[0], bytes, 5), 5);
    IS(ready(ends[1], POLLIN | POLLOUT | POLLRDHUP), POLLIN | POLLOUT);
    IS(ioctl(ends[1], FIONREAD, &unread), 0);
    IS(unread, 5);
    IS(recv(ends[1], bytes, 100, MSG_PEEK), 5);
    IS(recv(ends[1], bytes, 2, 0), 2);
    IS(recv(ends[1], bytes, 100, MSG_DONTWAIT), 3);
    FAILS(recv(ends[1], bytes, 100, MSG_DONTWAIT), EAGAIN);
    IS(shutdown(ends[0], SHUT_WR), 0);
    IS(ready(ends[1], POLLIN | POLLOUT | POLLRDHUP), POLLIN | POLLOUT | POLLRDHUP);
    IS(recv(ends[1], bytes, 100, 0), 0);
    FAILS(send(ends[0], bytes, 1, MSG_NOSIGNAL), EPIPE);
    IS(write(ends[1], bytes, 100), 100);
    IS(recv(ends[0], bytes, 100, MSG_WAITALL), 100);
    IS(close(ends[1]), 0);
    IS(ready(ends[0], POLLIN), POLLIN | POLLHUP);
    IS(close(ends[0]), 0);

    connection(listening, ends);
    IS(setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    IS(close(ends[0]), 0);
    IS(ready(ends[1], POLLIN | POLLOUT) & (POLLERR | POLLHUP), POLLERR | POLLHUP);
    FAILS(read(ends[1], bytes, 1), ECONNRESET);
    IS(read(ends[1], bytes, 1), 0);
    IS(close(ends[1]), 0);

    connection(listening, ends); /* closed with bytes unread: a reset, too */
    IS(write(ends[0], bytes, 5), 5);
    IS(close(ends[1]), 0);
    IS(error_of(ends[0]), ECONNRESET);
    IS(close(ends[0]), 0);
    IS(close(listening), 0);
}

static void connect_edges(void)
{
    int listening = listener(1), client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in name = name_of(listening), own;
    socklen_t bytes = sizeof(own);

    IS(fcntl(listening, F_SETFL, O_NONBLOCK), 0);
    FAILS(accept(listening, NULL, NULL), EAGAIN);
    int connecting = connect(client, (void *)&name, sizeof(name));
    PROMISE(connecting == 0 || errno == EINPROGRESS, "errno %d", errno);
    IS(ready(client, POLLOUT), POLLOUT);
    IS(error_of(client), 0);
    IS(getpeername(client, (void *)&own, &bytes), 0);
    PROMISE(own.sin_port == name.sin_port, "port");
    IS(close(client), 0);
    IS(close(listening), 0);

    client = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(connect(client, (void *)&name, sizeof(name)), ECONNREFUSED);
    FAILS(getpeername(client, (void *)&own, &bytes), ENOTCONN);
    FAILS(connect(client, (void *)&name, sizeof(name)), ECONNREFUSED); /* again, on the same socket */
    IS(close(client), 0);
}

static void datagram_edges(void)
{
    int one = socket(AF_INET, SOCK_DGRAM, 0), two = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in name = loopback(0), from;
    socklen_t bytes = sizeof(from);
    static char large[60000];
    char text[10];

    IS(bind(one, (void *)&name, sizeof(name)), 0);
    name = name_of(one);
    FAILS(recv(two, text, 10, 0), EAGAIN);
    IS(sendto(two, "abc", 3, 0, (void *)&name, sizeof(name)), 3);
    IS(ready(one, POLLIN), POLLIN);
    IS(recvfrom(one, text, 2, MSG_TRUNC | MSG_PEEK, (void *)&from, &bytes), 3);
    PROMISE(from.sin_port == name_of(two).sin_port, "port");
    IS(recv(one, text, 10, 0), 3);
    IS(sendto(one, large, sizeof(large), 0, (void *)&from, sizeof(from)), (ssize_t)sizeof(large));
    IS(recv(two, large, sizeof(large), 0), (ssize_t)sizeof(large)); /* in many fragments */
    FAILS(sendto(one, large, 65600, 0, (void *)&from, sizeof(from)), EMSGSIZE);
    IS(connect(two, (void *)&name, sizeof(name)), 0);
    IS(close(one), 0);
    IS(send(two, "x", 1, 0), 1);
    FAILS(recv(two, text, 1, 0), ECONNREFUSED);
    IS(close(two), 0);
}

/* ---- idle ---- */

/* Returns the interrupts of all CPUs since boot. */
static unsigned long interrupts(void)
{
    static char text[65536];
    unsigned long sum = 0;
    FILE *file = fopen("/proc/tacet/timers", "r");

    PROMISE(file, "errno %d", errno);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    for (const char *at = text; (at = strstr(at, "interrupts ")); at++)
        sum += strtoul(at + strlen("interrupts "), NULL, 10);
    return sum;
}

/* Returns the timer interrupts while this process sleeps. */
static unsigned long asleep(unsigned seconds)
{
    struct timespec pause = { .tv_sec = seconds };
    unsigned long before = interrupts();

    IS(nanosleep(&pause, NULL), 0);
    return interrupts() - before;
}

static void idle(unsigned seconds)
{
    int listening = listener(1), ends[2], on = 1;
    unsigned long alone = asleep(seconds), beside;
    char byte = 1;

    connection(listening, ends);
    IS(setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    IS(write(ends[0], &byte, 1), 1);
    IS(read(ends[1], &byte, 1), 1);
    beside = asleep(seconds);
    PROMISE(beside == alone && alone > 0, "%lu interrupts, and %lu with an idle connection", alone, beside);
    IS(write(ends[1], &byte, 1), 1);
    IS(read(ends[0], &byte, 1), 1);
    close(ends[0]), close(ends[1]), close(listening);
}

/* ---- unread ---- */

static void unread(void)
{
    int listening = listener(1), ends[2], room = 65536;
    static char bytes[65536];
    size_t taken = 0, got = 0;
    ssize_t part;

    IS(setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
    connection(listening, ends);
    while ((part = send(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        taken += (size_t)part;
    PROMISE(part == -1 && errno == EAGAIN, "errno %d", errno);
    PROMISE(taken >= 65536 && taken < 4 << 20, "%zu", taken);
    IS(shutdown(ends[0], SHUT_WR), 0);
    while ((part = read(ends[1], bytes, sizeof(bytes))) > 0)
        got += (size_t)part;
    PROMISE(got == taken, "%zu of %zu", got, taken);
    close(ends[0]), close(ends[1]), close(listening);
}

/* ---- ranks ---- */

#define RANKS_PORT 5000
#define GROUP      "239.1.2.3"

static int group_socket(void)
{
    int end = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(RANKS_PORT) };
    struct ip_mreq request = { .imr_interface.s_addr = htonl(INADDR_LOOPBACK) };

    inet_pton(AF_INET, GROUP, &request.imr_multiaddr);
    IS(setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    IS(bind(end, (void *)&name, sizeof(name)), 0);
    IS(setsockopt(end, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)), 0);
    IS(setsockopt(end, IPPROTO_IP, IP_MULTICAST_IF, &request.imr_interface, sizeof(struct in_addr)), 0);
    return end;
}

static void exchange(int end, size_t bytes, bool first)
{
    static char buffer[8192];

    for (size_t done = 0; done < bytes; done += sizeof(buffer))
        for (unsigned turn = 0; turn < 2; turn++) {
            if ((turn == 0) == first)
                IS(send(end, buffer, sizeof(buffer), 0), (ssize_t)sizeof(buffer));
            else
                IS(recv(end, buffer, sizeof(buffer), MSG_WAITALL), (ssize_t)sizeof(buffer));
        }
}

static void ranks(size_t bytes)
{
    unsigned rank = (unsigned)atoi(getenv("TACET_RANK")), count = (unsigned)atoi(getenv("TACET_SIZE"));
    struct sockaddr_in name = loopback(RANKS_PORT),
                       group = { .sin_family = AF_INET, .sin_port = htons(RANKS_PORT) };
    int members = group_socket(), end = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 0;

    inet_pton(AF_INET, GROUP, &group.sin_addr);
    if (rank == 0) {
        IS(bind(end, (void *)&name, sizeof(name)), 0);
        IS(listen(end, (int)count), 0);
        for (unsigned i = 1; i < count; i++) {
            int other = accept(end, NULL, NULL);

            exchange(other, bytes, false);
            IS(sendto(members, "x", 1, 0, (void *)&group, sizeof(group)), 1);
            close(other);
        }
    } else {
        const struct timespec pause = { .tv_nsec = 1000000 };

        while (connect(end, (void *)&name, sizeof(name)) != 0) {
            PROMISE(errno == ECONNREFUSED, "errno %d", errno);
            nanosleep(&pause, NULL);
        }
        exchange(end, bytes, true);
        IS(read(end, &byte, 1), 0);
        IS(recv(members, &byte, 1, 0), 1);
        IS(byte, 'x');
    }
    close(end), close(members);
}

/* ---- client ---- */

static void client(char **words)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1])) };
    int end = socket(AF_INET, SOCK_STREAM, 0), one = 1, count = 2;
    size_t bytes = strtoul(words[2], NULL, 0), sent = 0, got = 0;
    static char buffer[65536];
    ssize_t part = 0;

    inet_pton(AF_INET, words[0], &name.sin_addr);
    if (words[3] && strcmp(words[3], "syn_count") == 0) {
        const int value = atoi(words[4]);

        IS(setsockopt(end, IPPROTO_TCP, TCP_SYNCNT, &value, sizeof(value)), 0);
    } else if (words[3] && strcmp(words[3], "keepalive") == 0) {
        IS(setsockopt(end, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)), 0);
        IS(setsockopt(end, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one)), 0);
        IS(setsockopt(end, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one)), 0);
        IS(setsockopt(end, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count)), 0);
    }
    errno = 0;
    if (connect(end, (void *)&name, sizeof(name)) == 0) {
        if (words[3] && strcmp(words[3], "user_timeout") == 0) {
            const int value = atoi(words[4]);

            IS(setsockopt(end, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof(value)), 0);
        }
        while (sent < bytes &&
               (part = send(end, buffer, bytes - sent < sizeof(buffer) ? bytes - sent : sizeof(buffer),
                            MSG_NOSIGNAL)) > 0)
            sent += (size_t)part;
        if (!words[3])
            shutdown(end, SHUT_WR);
        while (part >= 0 && (part = read(end, buffer, sizeof(buffer))) > 0)
            got += (size_t)part;
        if (part == 0)
            errno = 0;
    }
    printf("sent %zu got %zu errno %d\n", sent, got, errno);
    IS(close(end), 0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned number = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

    if (strcmp(mode, "transfer") == 0) {
        transfer_bytes = number;
        transfer();
    } else if (strcmp(mode, "many") == 0) {
        many(number);
    } else if (strcmp(mode, "edges") == 0) {
        stream_edges();
        connect_edges();
        datagram_edges();
    } else if (strcmp(mode, "idle") == 0) {
        idle(number);
    } else if (strcmp(mode, "unread") == 0) {
        unread();
    } else if (strcmp(mode, "ranks") == 0) {
        ranks(number);
    } else if (strcmp(mode, "client") == 0 && argc >= 5) {
        client(argv + 2);
    } else {
        fprintf(stderr, "inet: which mode?\n");
        return 2;
    }
    return promises_kept();
}
