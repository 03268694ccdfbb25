/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_names.h: what the tests of sockets of AF_UNIX with names share. */
#ifndef UNIX_NAMES_H
#define UNIX_NAMES_H

#include "conform.h"

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FAMILY_BYTES offsetof(struct sockaddr_un, sun_path)

/* A path, or with a first '@' an abstract name; how long the address is. */
static inline unsigned address_of(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, name, strlen(name));
    if (name[0] == '@')
        address->sun_path[0] = 0;
    return (unsigned)(FAMILY_BYTES + strlen(name) + (name[0] != '@'));
}

static inline long bound(int socket, const char *name)
{
    struct sockaddr_un address;
    unsigned bytes = address_of(&address, name);

    return sys(SYS_bind, socket, &address, bytes);
}

static inline long connected(int socket, const char *name)
{
    struct sockaddr_un address;
    unsigned bytes = address_of(&address, name);

    return sys(SYS_connect, socket, &address, bytes);
}

static inline long sent_to(int socket, const char *words, const char *name, int flags)
{
    struct sockaddr_un address;
    unsigned bytes = address_of(&address, name);

    return sys(SYS_sendto, socket, words, strlen(words), flags, &address, bytes);
}

/* Prints a name and its length; '@' for the NUL of an abstract one. */
static inline void name_is(const char *what, const struct sockaddr_un *address, unsigned bytes)
{
    char words[128];
    int length = bytes > FAMILY_BYTES ? (int)(bytes - FAMILY_BYTES) : 0;

    snprintf(words, sizeof(words), "%u bytes: %s%.*s", bytes, length && !address->sun_path[0] ? "@" : "",
             length && !address->sun_path[0] ? length - 1 : length,
             length ? address->sun_path + !address->sun_path[0] : "");
    text(what, words);
}

static inline void named(const char *what, long call, int socket)
{
    struct sockaddr_un address;
    unsigned bytes = sizeof(address);
    long error = sys(call, socket, &address, &bytes);

    if (error)
        result(what, error);
    else
        name_is(what, &address, bytes);
}

static inline long ready(int end)
{
    struct pollfd set = { end, POLLIN | POLLOUT | POLLRDHUP, 0 };

    sys(SYS_poll, &set, 1, 0);
    return set.revents;
}

static inline long got(int end, char *words, size_t room, int flags)
{
    memset(words, 0, room);
    return sys(SYS_recvfrom, end, words, room - 1, flags, NULL, NULL);
}

#endif
