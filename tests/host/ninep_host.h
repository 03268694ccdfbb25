/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ninep_host.h: what a session of 9P has around it (ninep/transport.h), on this machine: sockets,
 * threads, malloc. A connection is made to 127.0.0.1, or is the socket that a test has in host_socket. A test
 * that ends with memory left fails (host_memory). Included once per binary.
 */
#ifndef TACET_NINEP_HOST_H
#define TACET_NINEP_HOST_H

#include "check.h"
#include "ninep/transport.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static int host_socket = -1; /* of the next connection, where it is none to an address */
static int64_t host_memory;  /* bytes that are allocated */
static unsigned host_lines;  /* of the console */
static char host_line[256];  /* the last one */
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t host_woken = PTHREAD_COND_INITIALIZER;

void crosscall_serve(void) /* while a lock is taken: its holder may wait for this CPU */
{
    sched_yield();
}

uint64_t ninep_random(void)
{
    return 0x243f6a8885a308d3; /* any */
}

static int host_fd(const struct ninep_transport *transport)
{
    return (int)(intptr_t)transport->connection - 1;
}

int ninep_transport_open(struct ninep_transport *transport, uint64_t deadline_ns)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(transport->port) };
    int on = 1, fd = host_socket;

    (void)deadline_ns; /* this machine answers at once */
    host_socket = -1;
    if (fd < 0 && transport->port == 0)
        return -ECONNREFUSED;
    if (fd < 0) {
        to.sin_addr.s_addr = htonl(transport->address);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
            int error = -errno;

            close(fd);
            return error;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    transport->connection = (void *)(intptr_t)(fd + 1);
    return 0;
}

void ninep_transport_close(struct ninep_transport *transport)
{
    close(host_fd(transport));
    transport->connection = NULL;
}

int64_t ninep_transport_read(struct ninep_transport *transport, void *bytes, uint64_t count)
{
    ssize_t moved = recv(host_fd(transport), bytes, count, MSG_DONTWAIT);

    return moved < 0 ? -errno : moved;
}

int64_t ninep_transport_write(struct ninep_transport *transport, const void *bytes, uint64_t count)
{
    ssize_t moved = send(host_fd(transport), bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);

    return moved < 0 ? -errno : moved;
}

uint64_t ninep_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void ninep_transport_wait(struct ninep_transport *transport, bool write_too, uint64_t deadline_ns)
{
    struct pollfd wait = { .fd = host_fd(transport),
                           .events = (short)(write_too ? POLLIN | POLLOUT : POLLIN) };
    uint64_t now_ns = ninep_now_ns();

    if (now_ns < deadline_ns)
        poll(&wait, 1, (int)((deadline_ns - now_ns + 999999) / 1000000));
}

void ninep_sleeper_begin(struct ninep_sleeper *sleeper)
{
    sleeper->woken = 0;
}

void ninep_sleep(struct ninep_sleeper *sleeper, uint64_t deadline_ns)
{
    uint64_t now_ns = ninep_now_ns();
    struct timespec until;

    if (now_ns >= deadline_ns)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t until_ns = (uint64_t)until.tv_nsec + (deadline_ns - now_ns);
    until.tv_sec += (time_t)(until_ns / 1000000000);
    until.tv_nsec = (long)(until_ns % 1000000000);
    pthread_mutex_lock(&host_lock);
    while (!sleeper->woken && pthread_cond_timedwait(&host_woken, &host_lock, &until) == 0)
        ;
    pthread_mutex_unlock(&host_lock);
}

void ninep_wake(struct ninep_sleeper *sleeper)
{
    pthread_mutex_lock(&host_lock);
    sleeper->woken = 1;
    pthread_cond_broadcast(&host_woken);
    pthread_mutex_unlock(&host_lock);
}

void *ninep_allocate(uint64_t bytes)
{
    __atomic_fetch_add(&host_memory, (int64_t)bytes, __ATOMIC_RELAXED);
    return memset(malloc(bytes), 0xa5, bytes); /* whatever was there */
}

void ninep_free(void *memory, uint64_t bytes)
{
    __atomic_fetch_sub(&host_memory, (int64_t)bytes, __ATOMIC_RELAXED);
    free(memory);
}

void ninep_say(const char *source, const char *what)
{
    host_lines++;
    snprintf(host_line, sizeof(host_line), "%s: %s", source, what);
}

/* ---- A real server ---- */

static pid_t diod_pid;
static uint16_t diod_port;
static char diod_export[64]; /* an empty directory, new */

static inline bool diod_answers(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(diod_port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool answers = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return answers;
}

/* Returns a port that no client gets, as in tools/qemu/ports.py: diod_answers could connect to itself. */
static inline uint16_t port_find(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    bool is_free;

    do {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        at.sin_port = htons((uint16_t)(20000 + arc4random_uniform(12768)));
        is_free = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
        close(fd);
    } while (!is_free);
    return ntohs(at.sin_port);
}

/* Starts diod on the export, and waits until it listens. */
static inline bool diod_start(void)
{
    char address[32];

    if (!diod_port) {
        diod_port = port_find();
        strcpy(diod_export, "/tmp/ninep.XXXXXX");
        if (!mkdtemp(diod_export))
            abort();
        chmod(diod_export, 0755);
    }
    snprintf(address, sizeof(address), "127.0.0.1:%u", diod_port);
    diod_pid = fork();
    if (diod_pid == 0) {
        char user[16];

        snprintf(user, sizeof(user), "%u", getuid());
        signal(SIGPIPE, SIG_IGN); /* as under systemd: diod would die of a client that has gone */
        setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
        if (getuid())
            execlp("diod", "diod", "-f", "-n", "-N", "-u", user, "-c", "/dev/null", "-l", address, "-e",
                   diod_export, "-L", "/dev/null", NULL);
        else
            execlp("diod", "diod", "-f", "-n", "-N", "-c", "/dev/null", "-l", address, "-e", diod_export,
                   "-L", "/dev/null", NULL);
        fprintf(stderr, "diod is missing (ports/deps.sh cluster)\n");
        _exit(127);
    }
    while (!diod_answers()) {
        if (waitpid(diod_pid, NULL, WNOHANG) == diod_pid)
            return false;
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
    return true;
}

static inline void diod_kill(void)
{
    kill(diod_pid, SIGKILL);
    waitpid(diod_pid, NULL, 0);
}

static inline void diod_end(void)
{
    char command[96];

    diod_kill();
    snprintf(command, sizeof(command), "rm -rf %s", diod_export);
    if (system(command))
        fprintf(stderr, "left: %s\n", diod_export);
}

#endif
