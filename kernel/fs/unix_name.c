/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_name.c: names of AF_UNIX sockets, by which sockets of all ranks find them: paths, each an inode of the
 * tree whose `data` is the socket while that lives; and abstract names, which begin with a NUL, in lists by
 * their hash. The tree's lock guards the paths, names_lock the lists; a socket that is found gets a reference
 * before the lock is released. Runs in system calls.
 *
 * Source: man 7 unix.
 */
#include "arch.h"
#include "fs/path.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "mm/shared_memory.h"
#include "process/process.h"

#define FAMILY_BYTES 2
#define NAME_LISTS   64

static struct spinlock names_lock;
static struct list names[NAME_LISTS];
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
    uint32_t length = 0; /* a path ends with its NUL, which need not have been passed */
    while (length < address->bytes - FAMILY_BYTES && name->local.path[length])
        length++;
    name->raw[FAMILY_BYTES + length] = 0;
    name->bytes = FAMILY_BYTES + length + 1;
    return 0;
}

static uint32_t path_bytes(const struct socket_address *name)
{
    return name->bytes - FAMILY_BYTES - 1;
}

/* ---- Abstract ---- */

static struct list *list_of(const struct socket_address *name)
{
    uint32_t hash = 0;

    for (uint32_t i = 0; i < name->bytes; i++)
        hash = hash * 31 + name->raw[i];
    return &names[hash % NAME_LISTS];
}

/* Finds the socket with an abstract name, or NULL. The caller holds names_lock. */
static struct unix_socket *abstract_find(const struct socket_address *name)
{
    for (struct list_link *link = list_of(name)->first; link; link = link->next) {
        struct unix_socket *socket = LIST_OWNER(link, unix_socket, named);

        lock_work_step();
        if (socket->name.bytes == name->bytes && !memcmp(socket->name.raw, name->raw, name->bytes))
            return socket;
    }
    return NULL;
}

static int abstract_bind(struct unix_socket *socket, const struct socket_address *name)
{
    SPIN_GUARD(&names_lock);
    if (abstract_find(name))
        return -EADDRINUSE;
    socket->name = *name;
    list_append(list_of(name), &socket->named);
    socket->is_listed = true;
    return 0;
}

/* Binds a socket to an abstract name of five digits that no socket has. */
static int automatic_bind(struct unix_socket *socket)
{
    struct socket_address name = { .bytes = FAMILY_BYTES + 6, .family = AF_UNIX };
    char digits[8];

    do {
        uint32_t number = __atomic_fetch_add(&next_automatic, 1, __ATOMIC_RELAXED) & 0xfffff;

        format_text(digits, sizeof(digits), "%x", 0x100000 | number);
        memcpy(name.local.path + 1, digits + 1, 5);
    } while (abstract_bind(socket, &name));
    return 0;
}

/* ---- In the tree ---- */

static int path_bind(struct unix_socket *socket, const struct socket_address *name)
{
    uint32_t rights = 0777 & ~arch_process()->umask;
    struct inode *inode;
    struct path path;
    int error = path_begin_text(&path, name->local.path, path_bytes(name), TREE_NAME);

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

static int path_socket_find(const struct socket_address *name, struct unix_socket **out)
{
    struct path path;
    int error = path_begin_text(&path, name->local.path, path_bytes(name), TREE_FOLLOW);

    if (!error) {
        const struct inode *inode = path.found.inode;

        *out = mode_is(inode->mode, S_IFSOCK) ? (struct unix_socket *)(uintptr_t)inode->data : NULL;
        error = *out ? 0 : -ECONNREFUSED;
        if (*out)
            __atomic_fetch_add(&(*out)->references, 1, __ATOMIC_RELAXED);
    }
    return (int)path_end(&path, error);
}

/* ---- Both ---- */

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
    if (automatic)
        error = automatic_bind(socket);
    else
        error = is_abstract(&name) ? abstract_bind(socket, &name) : path_bind(socket, &name);
    if (error)
        __atomic_store_n(&socket->is_named, false, __ATOMIC_RELEASE);
    return error;
}

int unix_name_find(const struct socket_address *name, struct unix_socket **out)
{
    if (!is_abstract(name))
        return path_socket_find(name, out);
    SPIN_GUARD(&names_lock);
    *out = abstract_find(name);
    if (!*out)
        return -ECONNREFUSED;
    __atomic_fetch_add(&(*out)->references, 1, __ATOMIC_RELAXED);
    return 0;
}

void unix_name_end(struct unix_socket *socket)
{
    struct tree *tree = arch_process()->tree;

    if (socket->inode) {
        spin_lock(&tree->lock);
        socket->inode->data = NULL;
        inode_put(tree, socket->inode);
        spin_unlock(&tree->lock);
        socket->inode = NULL;
        shared_memory_reclaim();
    } else if (socket->is_listed) {
        SPIN_GUARD(&names_lock);
        list_remove(list_of(&socket->name), &socket->named);
    }
}
