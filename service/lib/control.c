/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.c: see control.h. unix(7).
 */
#include "service/lib/control.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_BACKLOG   1024 /* after a restart all tacetruns come at once */
#define CONNECT_WITHIN_S 10   /* while the conductor's queue of connections is full */

static struct stat bound; /* the socket that control_listen has made */

static int address_make(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

static int connect_as(const char *path, int flags)
{
    const struct timeval limit = { .tv_sec = CONNECT_WITHIN_S };
    struct sockaddr_un address;
    int socket_of = -1;

    if (address_make(&address, path) ||
        (socket_of = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)) < 0)
        return -1;
    setsockopt(socket_of, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(socket_of, (struct sockaddr *)&address, sizeof(address)) == 0)
        return socket_of;
    int error = errno;
    close(socket_of);
    errno = error;
    return -1;
}

int control_share(const char *path, gid_t group)
{
    return chown(path, (uid_t)-1, group) || chmod(path, 0660) ? -1 : 0;
}

int control_connect(const char *path)
{
    return connect_as(path, 0);
}

int control_try(const char *path)
{
    return connect_as(path, SOCK_NONBLOCK);
}

/* Makes room for a socket at `path`: removes the socket of a program that has ended, and nothing else. -1
 * with errno. */
static int path_clear(const char *path)
{
    struct stat status;
    int other;

    if (lstat(path, &status))
        return errno == ENOENT ? 0 : -1;
    if (!S_ISSOCK(status.st_mode)) {
        errno = ENOTSOCK;
        return -1;
    }
    other = control_connect(path);
    if (other < 0 && errno == ECONNREFUSED)
        return unlink(path);
    if (other < 0 && errno != EAGAIN)
        return -1;
    if (other >= 0)
        close(other);
    errno = EADDRINUSE;
    return -1;
}

int control_listen(const char *path)
{
    struct sockaddr_un address;
    int socket_of;

    if (strcmp(path, CONTROL_SOCKET) == 0)
        mkdir(CONTROL_FOLDER, 0755); /* if that fails, bind reports it */
    if (path_clear(path))
        return -1;
    if (address_make(&address, path) ||
        (socket_of = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        return -1;
    mode_t before = umask(0177);
    int error =
        bind(socket_of, (struct sockaddr *)&address, sizeof(address)) || listen(socket_of, LISTEN_BACKLOG);
    umask(before);
    if (!error && lstat(path, &bound) == 0)
        return socket_of;
    error = errno;
    close(socket_of);
    errno = error;
    return -1;
}

void control_end(const char *path)
{
    struct stat status;

    if (lstat(path, &status) == 0 && status.st_dev == bound.st_dev && status.st_ino == bound.st_ino)
        unlink(path);
}

const char *control_listen_error(void)
{
    switch (errno) {
    case EADDRINUSE:
        return "a conductor already listens there";
    case EPROTOTYPE:
        return "another program listens there";
    case ENOTSOCK:
        return "a file that is no socket is there; remove it, or give another path";
    default:
        return strerror(errno);
    }
}
