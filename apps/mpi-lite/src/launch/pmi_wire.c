/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi_wire.c: the connection to the launcher: bytes and lines over it, and the words of a line. One request
 * is under way at a time; reads go no further than a buffer that has room for one line.
 *
 * Source: PMI-1 as Flux RFC 13 describes it.
 */
#include "launch/pmi_protocol.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wire_fd = -1;
static char taken[PMI_LINE_BYTES]; /* read, and not yet returned */
static size_t taken_bytes;

void wire_close(void)
{
    close(wire_fd);
    wire_fd = -1;
    taken_bytes = 0;
}

int wire_send(const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t sent = send(wire_fd, text, bytes, MSG_NOSIGNAL);

        if (sent < 0 && errno == ENOTSOCK)
            sent = write(wire_fd, text, bytes);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return mpi_error(MPI_ERR_OTHER, "the launcher is gone: %s", strerror(errno));
        text += sent;
        bytes -= (size_t)sent;
    }
    return MPI_SUCCESS;
}

/* Reads at least one more byte. */
static int more_take(void)
{
    ssize_t bytes;

    do
        bytes = read(wire_fd, taken + taken_bytes, sizeof(taken) - taken_bytes);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return mpi_error(MPI_ERR_OTHER, "the launcher is gone: %s", strerror(errno));
    if (bytes == 0)
        return mpi_error(MPI_ERR_OTHER, "the launcher has closed the PMI connection");
    taken_bytes += (size_t)bytes;
    return MPI_SUCCESS;
}

static void taken_drop(size_t bytes)
{
    taken_bytes -= bytes;
    memmove(taken, taken + bytes, taken_bytes);
}

int wire_read(char *to, size_t bytes)
{
    while (bytes) {
        int error = taken_bytes ? MPI_SUCCESS : more_take();
        if (error)
            return error;
        size_t part = taken_bytes < bytes ? taken_bytes : bytes;
        memcpy(to, taken, part);
        taken_drop(part);
        to += part;
        bytes -= part;
    }
    return MPI_SUCCESS;
}

int wire_line(char line[PMI_LINE_BYTES])
{
    char *feed;

    while (!(feed = memchr(taken, '\n', taken_bytes))) {
        if (taken_bytes == sizeof(taken))
            return mpi_error(MPI_ERR_OTHER, "the launcher's line has more than %d bytes", PMI_LINE_BYTES);
        int error = more_take();
        if (error)
            return error;
    }
    size_t length = (size_t)(feed - taken);
    memcpy(line, taken, length);
    line[length] = '\0';
    taken_drop(length + 1);
    return MPI_SUCCESS;
}

size_t word_find(const char *line, const char *name, char *value, size_t room)
{
    size_t length = strlen(name), whole = 0, bytes = 0;

    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        whole = strcspn(at + length + 1, " ");
        bytes = whole < room ? whole : room - 1;
        memcpy(value, at + length + 1, bytes);
        break;
    }
    value[bytes] = '\0';
    return whole;
}

bool number_read(const char *text, int *number)
{
    char *end = NULL;

    errno = 0;
    long value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value > PMI_NUMBER_MAX)
        return false;
    *number = (int)value;
    return true;
}

int line_answered(char answer[PMI_LINE_BYTES], const char *expected, const char *format, ...)
{
    char request[PMI_LINE_BYTES], command[64];
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(request, sizeof(request), format, arguments);
    va_end(arguments);
    if (bytes < 0 || (size_t)bytes >= sizeof(request))
        return mpi_error(MPI_ERR_OTHER, "a PMI line has more than %d bytes: %.40s", PMI_LINE_BYTES, request);
    int error = wire_send(request, (size_t)bytes);
    if (!error)
        error = wire_line(answer);
    if (error)
        return error;
    word_find(answer, "cmd", command, sizeof(command));
    if (strcmp(command, expected) != 0)
        return mpi_error(MPI_ERR_OTHER, "the launcher answers \"%.80s\"; PMI requires cmd=%s", answer,
                         expected);
    return MPI_SUCCESS;
}
