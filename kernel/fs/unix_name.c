/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_name.c: names of AF_UNIX sockets, by which sockets of all ranks find them. Each is an entry of the
 * tree for an inode whose `data` is the socket while that lives: at a path, or, for an abstract name, which
 * begins with a NUL, in a directory that no path leads to. The tree's lock guards them; a socket that is
 * found gets a reference before it is released. Runs in system calls.
 *
 * Source: man 7 unix.
 */
#include "arch.h"
#include "fs/path.h"
#include "fs/tree/path_span.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "mm/shared_memory.h"
#include "process/process.h"

#define FAMILY_BYTES 2

static uint32_t next_automatic; /* of the names that bind makes up: five digits */

static bool is_abstract(const struct socket_address *name)
{
    return name->bytes > FAMILY_BYTES && !name->local.path[0];
}

int unix_name_check(const struct socket_address *address, struct socket_address *name)
{
    if (address->bytes <= FAMILY_BYTES || address->bytes > FAMILY_BYTES + sizeof(address->local.path) ||
        address->family != AF_UNIX)
        return -EINVAL;
    *name = *address;
    if (is_abstract(name))
        return 0;
    /* A path ends with its NUL, which need not have been passed. */
    uint32_t length = (uint32_t)strnlen(name->local.path, address->bytes - FAMILY_BYTES);
    name->raw[FAMILY_BYTES + length] = 0;
    name->bytes = FAMILY_BYTES + length + 1;
    return 0;
}

/* Looks up a name, as path_begin: an abstract one in a directory that has no name itself. */
static int name_begin(struct path *path, const struct socket_address *name, enum tree_follow follow)
{
    const struct path_span span = { name->local.path, (const char *)name->raw + name->bytes };

    if (!is_abstract(name))
        return path_begin_text(path, name->local.path, name->bytes - FAMILY_BYTES - 1, follow);
    *path = (struct path){ .tree = arch_process()->tree };
    path_lock(path, true);
    struct inode **names = &path->tree->abstract_names;
    if (!*names)
        *names = inode_create_writable(path->tree, S_IFDIR, 0);
    if (!*names)
        return -ENOSPC;
    (*names)->links = 2;
    path->found = (struct path_lookup){ .directory = *names,
                                        .entry = tree_entry_find(*names, span),
                                        .name = span.at,
                                        .name_bytes = (uint32_t)span_bytes(span) };
    path->found.inode = path->found.entry ? path->found.entry->inode : NULL;
    return path->found.inode ? 0 : -ENOENT;
}

static int name_bind(struct unix_socket *socket, const struct socket_address *name)
{
    uint32_t rights = 0777 & ~arch_process()->umask;
    struct inode *inode;
    struct path path;
    int error = name_begin(&path, name, TREE_NAME);

    if (!error) {
        error = -EADDRINUSE;
    } else if (error == -ENOENT && path.found.directory) {
        error = tree_create(path.tree, &path.found, S_IFSOCK | rights, NULL, 0, file_wall_clock_ns(), &inode);
        if (!error) {
            inode->data = socket;
            inode_get(inode);
            socket->inode = inode;
            socket->name = *name;
        }
    }
    return (int)path_end(&path, error);
}

/* Binds a socket to an abstract name of five digits that no socket has. */
static int automatic_bind(struct unix_socket *socket)
{
    struct socket_address name = { .bytes = FAMILY_BYTES + 6, .family = AF_UNIX };
    char digits[8];
    int error;

    do {
        uint32_t number = __atomic_fetch_add(&next_automatic, 1, __ATOMIC_RELAXED) & 0xfffff;

        format_text(digits, sizeof(digits), "%x", 0x100000 | number);
        memcpy(name.local.path + 1, digits + 1, 5);
        error = name_bind(socket, &name);
    } while (error == -EADDRINUSE);
    return error;
}

int unix_bind(struct file *file, const struct socket_address *address)
{
    struct unix_socket *socket = unix_of(file);
    bool automatic = address->bytes == FAMILY_BYTES && address->family == AF_UNIX;
    struct socket_address name;
    int error = automatic ? 0 : unix_name_check(address, &name);

    if (error)
        return error;
    /* Only one thread at a time can give a socket a name, and only one name. */
    if (__atomic_exchange_n(&socket->is_named, true, __ATOMIC_ACQ_REL))
        return automatic ? 0 : -EINVAL;
    error = automatic ? automatic_bind(socket) : name_bind(socket, &name);
    if (error)
        __atomic_store_n(&socket->is_named, false, __ATOMIC_RELEASE);
    return error;
}

int unix_name_find(const struct socket_address *name, struct unix_socket **out)
{
    struct path path;
    int error = name_begin(&path, name, TREE_FOLLOW);

    if (!error) {
        const struct inode *inode = path.found.inode;

        *out = mode_is(inode->mode, S_IFSOCK) ? (struct unix_socket *)(uintptr_t)inode->data : NULL;
        error = *out ? 0 : -ECONNREFUSED;
        if (*out)
            __atomic_fetch_add(&(*out)->references, 1, __ATOMIC_RELAXED);
    }
    if (error == -ENOENT && is_abstract(name))
        error = -ECONNREFUSED;
    return (int)path_end(&path, error);
}

void unix_name_end(struct unix_socket *socket)
{
    struct tree *tree = arch_process()->tree;

    if (!socket->inode)
        return;
    spin_lock(&tree->lock);
    socket->inode->data = NULL;
    if (is_abstract(&socket->name))
        tree_entry_remove(tree, socket->inode->name);
    inode_put(tree, socket->inode);
    spin_unlock(&tree->lock);
    socket->inode = NULL;
    shared_memory_reclaim();
}
