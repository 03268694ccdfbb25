/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.c: the launcher's side of a rank: PMI-1's lines over a connection that the launcher has opened
 * (PMI_FD, with PMI_RANK and PMI_SIZE) or that this process opens (PMI_PORT=ADDRESS:PORT, with PMI_ID or
 * PMI_RANK; size and rank are then said by the launcher). Without either this is a rank that a Tacet node has
 * started by itself (TACET_RANK, TACET_SIZE), or a world of one.
 *
 * Blocks until the launcher has answered; runs at MPI_Init, MPI_Finalize and MPI_Abort alone, under the lock.
 *
 * Source: PMI-1 as Flux RFC 13 writes it down; service/pmi.h is the other side.
 */
#include "message.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 2048
#define NUMBER_MAX (1 << 24) /* of ranks, and descriptors */

static int connection = -1;
static char store_name[256];
static char line[LINE_BYTES];  /* the last answer, without its LF */
static char taken[LINE_BYTES]; /* read, and not yet given out as a line */
static size_t taken_bytes;

static int line_send(const char *text)
{
    size_t left = strlen(text);

    while (left) {
        ssize_t bytes = send(connection, text, left, MSG_NOSIGNAL);

        if (bytes < 0 && errno == ENOTSOCK)
            bytes = write(connection, text, left);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            return mpi_error(MPI_ERR_OTHER, "the launcher is gone: %s", strerror(errno));
        text += bytes;
        left -= (size_t)bytes;
    }
    return MPI_SUCCESS;
}

static int line_read(void)
{
    char *feed;

    while (!(feed = memchr(taken, '\n', taken_bytes))) {
        if (taken_bytes == sizeof(taken))
            return mpi_error(MPI_ERR_OTHER, "the launcher's line has more than %d bytes", LINE_BYTES);
        ssize_t bytes = read(connection, taken + taken_bytes, sizeof(taken) - taken_bytes);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            return mpi_error(MPI_ERR_OTHER, "the launcher has closed PMI's connection");
        taken_bytes += (size_t)bytes;
    }
    size_t length = (size_t)(feed - taken);
    memcpy(line, taken, length);
    line[length] = '\0';
    taken_bytes -= length + 1;
    memmove(taken, feed + 1, taken_bytes);
    return MPI_SUCCESS;
}

/* The value of a word NAME=VALUE of the answer, up to the next blank; "" if there is none. */
static void word_find(const char *name, char *value, size_t room)
{
    size_t length = strlen(name), bytes = 0;

    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        bytes = strcspn(at + length + 1, " ");
        if (bytes >= room)
            bytes = room - 1;
        memcpy(value, at + length + 1, bytes);
        break;
    }
    value[bytes] = '\0';
}

/* Sends a request and reads its answer, which has to begin with cmd=`expected`. */
__attribute__((format(printf, 2, 3))) static int request_answered(const char *expected, const char *format,
                                                                  ...)
{
    char request[LINE_BYTES], command[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request, sizeof(request), format, arguments);
    va_end(arguments);
    int error = line_send(request);
    if (!error)
        error = line_read();
    if (error)
        return error;
    word_find("cmd", command, sizeof(command));
    if (strcmp(command, expected) != 0)
        return mpi_error(MPI_ERR_OTHER, "the launcher answers \"%.80s\" where PMI says cmd=%s", line,
                         expected);
    return MPI_SUCCESS;
}

static bool answer_is_good(void)
{
    char result[16];

    word_find("rc", result, sizeof(result));
    return strcmp(result, "0") == 0;
}

/* A number from a variable of the environment, or an error that names it. */
static int variable_read(const char *name, int *number)
{
    const char *text = getenv(name);
    char *end = NULL;

    errno = 0;
    long value = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || value < 0 || value > NUMBER_MAX)
        return mpi_error(MPI_ERR_OTHER, "%s=%s: the launcher sets it to a number from 0 on", name,
                         text ? text : "(not set)");
    *number = (int)value;
    return MPI_SUCCESS;
}

/* PMI_PORT=HOST:PORT. */
static int port_connect(const char *where)
{
    char host[256];
    const char *colon = strrchr(where, ':');
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;

    if (!colon || colon == where || !colon[1] || (size_t)(colon - where) >= sizeof(host))
        return mpi_error(MPI_ERR_OTHER, "PMI_PORT=%.80s: the launcher sets it to ADDRESS:PORT", where);
    memcpy(host, where, (size_t)(colon - where));
    host[colon - where] = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return mpi_error(MPI_ERR_OTHER, "PMI_PORT=%.80s: there is no such address", where);
    for (struct addrinfo *at = found; at && connection < 0; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            connection = fd;
        else if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(found);
    if (connection < 0)
        return mpi_error(MPI_ERR_OTHER, "PMI_PORT=%.80s: it cannot be reached: %s", where, strerror(errno));
    return MPI_SUCCESS;
}

/* A number of the answer, if it has that word. */
static int number_find(const char *name, int *number)
{
    char value[32], *end;

    word_find(name, value, sizeof(value));
    long found = *value ? strtol(value, &end, 10) : 0;
    if (*value && (*end || found < 0 || found > NUMBER_MAX))
        return mpi_error(MPI_ERR_OTHER, "the launcher says \"%.80s\": %s is no number from 0 to %d", line,
                         name, NUMBER_MAX);
    if (*value)
        *number = (int)found;
    return MPI_SUCCESS;
}

/* "initack", and what the launcher sets: "cmd=set size=…", "cmd=set rank=…", "cmd=set debug=…". */
static int port_begin(const char *where, int *rank, int *size)
{
    int error = variable_read(getenv("PMI_ID") ? "PMI_ID" : "PMI_RANK", rank);

    if (!error)
        error = port_connect(where);
    if (!error)
        error = request_answered("initack", "cmd=initack pmiid=%d\n", *rank);
    for (int i = 0; !error && i < 3; i++) {
        error = line_read();
        if (!error)
            error = number_find("size", size);
        if (!error)
            error = number_find("rank", rank);
    }
    return error;
}

static int handle_begin(int *rank, int *size)
{
    int error = variable_read("PMI_FD", &connection);

    if (!error)
        error = variable_read("PMI_RANK", rank);
    return error ? error : variable_read("PMI_SIZE", size);
}

/* The ranks that a Tacet node has started by itself, on its CPUs. */
static int node_begin(int *rank, int *size)
{
    int error = variable_read("TACET_RANK", rank);

    if (!error)
        error = variable_read("TACET_SIZE", size);
    if (!error && (*size < 1 || *rank >= *size))
        error = mpi_error(MPI_ERR_OTHER, "rank %d (TACET_RANK) of %d (TACET_SIZE)", *rank, *size);
    return error;
}

bool pmi_is_used(void)
{
    return connection >= 0;
}

int pmi_begin(int *rank, int *size)
{
    const char *port = getenv("PMI_PORT");
    bool has_handle = getenv("PMI_FD") != NULL;

    *rank = 0;
    *size = 1;
    if (!has_handle && !port)
        return getenv("TACET_SIZE") ? node_begin(rank, size) : MPI_SUCCESS;
    int error = has_handle ? handle_begin(rank, size) : port_begin(port, rank, size);
    if (!error && (*size < 1 || *rank < 0 || *rank >= *size))
        error =
            mpi_error(MPI_ERR_OTHER, "the launcher says rank %d (PMI_RANK) of %d (PMI_SIZE)", *rank, *size);
    if (!error)
        error = request_answered("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (!error && !answer_is_good())
        error = mpi_error(MPI_ERR_OTHER, "the launcher does not speak PMI-1: \"%.80s\"", line);
    if (!error)
        error = request_answered("my_kvsname", "cmd=get_my_kvsname\n");
    if (!error)
        word_find("kvsname", store_name, sizeof(store_name));
    return error;
}

int pmi_put(const char *key, const char *value)
{
    if (connection < 0)
        return MPI_SUCCESS;
    int error =
        request_answered("put_result", "cmd=put kvsname=%s key=%s value=%s\n", store_name, key, value);
    if (!error && !answer_is_good())
        error = mpi_error(MPI_ERR_OTHER, "the launcher refuses to keep %s: \"%.80s\"", key, line);
    return error;
}

int pmi_barrier(void)
{
    return connection < 0 ? MPI_SUCCESS : request_answered("barrier_out", "cmd=barrier_in\n");
}

int pmi_get(const char *key, char *value, size_t bytes)
{
    int error = connection < 0
                    ? MPI_ERR_OTHER
                    : request_answered("get_result", "cmd=get kvsname=%s key=%s\n", store_name, key);

    if (error)
        return error;
    if (!answer_is_good())
        return mpi_error(MPI_ERR_OTHER, "the launcher has no value for %s", key);
    word_find("value", value, bytes);
    return MPI_SUCCESS;
}

/* TACET_MPI_ADDRESS; the address from which this process reaches the launcher; that of a network interface.
 */
void pmi_local_address(char *text, size_t bytes)
{
    struct sockaddr_in own = { .sin_family = AF_UNSPEC };
    socklen_t own_bytes = sizeof(own);
    struct ifaddrs *all = NULL;

    snprintf(text, bytes, "%s", getenv("TACET_MPI_ADDRESS") ? getenv("TACET_MPI_ADDRESS") : "127.0.0.1");
    if (getenv("TACET_MPI_ADDRESS"))
        return;
    if (!getsockname(connection, (struct sockaddr *)&own, &own_bytes) && own.sin_family == AF_INET) {
        inet_ntop(AF_INET, &own.sin_addr, text, (socklen_t)bytes);
        return;
    }
    if (getifaddrs(&all))
        return;
    for (struct ifaddrs *at = all; at; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || at->ifa_flags & IFF_LOOPBACK ||
            !(at->ifa_flags & IFF_UP))
            continue;
        inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr, text, (socklen_t)bytes);
        break;
    }
    freeifaddrs(all);
}

void pmi_end(void)
{
    if (connection < 0)
        return;
    (void)request_answered("finalize_ack",
                           "cmd=finalize\n"); /* the process ends in order whatever the launcher says */
    close(connection);
    connection = -1;
}

void pmi_abort(int status, const char *why)
{
    char request[64];

    (void)why; /* stands on standard error; PMI-1 carries the exit code alone */
    snprintf(request, sizeof(request), "cmd=abort exitcode=%d\n", status);
    if (connection >= 0)
        (void)line_send(request); /* if the launcher is gone, the job ends without it */
    else
        shared_kill();
    _exit(status & 0xff ? status & 0xff : 1);
}
