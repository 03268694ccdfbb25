/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c: see names.h. Runs in system calls; takes the session's lock, which is held for one file at a time.
 */
#include "ninep/names.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define SERIAL_BITS 20 /* the lowest of a key: they differ if the name is the same */
#define FNV_PRIME   0x100000001b3ULL

static uint64_t hash_add(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
    return hash;
}

/* Returns the first key of a name's files. The hash begins with the session's secret, so that a program
 * cannot choose names with one hash, of which each search would look at all. */
static uint64_t key_of(const struct ninep_session *session, const char *text, const char *name)
{
    uint64_t hash = hash_add(session->secret, text);

    if (name)
        hash = hash_add(hash_add(hash, text[0] ? "/" : ""), name);
    return hash >> SERIAL_BITS << SERIAL_BITS;
}

/* Returns how many bytes of a path the name has; 0 if it begins otherwise. */
static uint32_t prefix_of(const char *path, const char *text, const char *name)
{
    const uint64_t bytes = strlen(text), more = name ? strlen(name) : 0;

    if (strncmp(path, text, bytes) != 0)
        return 0;
    path += bytes;
    if (name && ((bytes && *path++ != '/') || strncmp(path, name, more) != 0))
        return 0;
    return (uint32_t)(bytes + more + (name && bytes));
}

static struct ninep_file *owner(struct avl_node *node)
{
    return node ? LIST_OWNER(node, ninep_file, named) : NULL;
}

/* Returns a file of this name. The caller holds the lock. */
static struct ninep_file *find(const struct ninep_session *session, const char *text, const char *name)
{
    const uint64_t first = key_of(session, text, name);
    struct ninep_file *file = owner(avl_above(session->files, first));

    while (file && file->named.key >> SERIAL_BITS == first >> SERIAL_BITS) {
        if (prefix_of(file->path, text, name) == file->path_bytes)
            return file;
        file = owner(avl_above(session->files, file->named.key + 1)); /* another name with the same hash */
    }
    return NULL;
}

static void insert(struct ninep_session *session, struct ninep_file *file)
{
    const struct avl_node *same;
    uint64_t key = key_of(session, file->path, NULL), serial;

    do {
        serial = session->serial++ & ((1ULL << SERIAL_BITS) - 1);
        same = avl_above(session->files, key | serial);
    } while (same && same->key == (key | serial));
    file->named.key = key | serial;
    file->is_named = true;
    avl_insert(&session->files, &file->named, NULL);
}

static void take_out(struct ninep_session *session, struct ninep_file *file)
{
    if (file->is_named)
        avl_remove(&session->files, &file->named, NULL);
    file->is_named = false;
}

int ninep_name_enter(struct ninep_file *file, const struct ninep_path *path)
{
    struct ninep_session *session = file->session;

    SPIN_GUARD(&session->lock);
    if (__atomic_load_n(&session->moves, __ATOMIC_ACQUIRE) != path->moves)
        return -ENOTCONN;
    insert(session, file);
    return 0;
}

bool ninep_name_leave(struct ninep_file *file)
{
    struct ninep_session *session = file->session;

    SPIN_GUARD(&session->lock);
    take_out(session, file);
    return file->is_hidden && !find(session, file->path, NULL);
}

static bool is_hidden_name(const char *text)
{
    return strncmp(ninep_last_name(text), NINEP_HIDDEN, sizeof(NINEP_HIDDEN) - 1) == 0;
}

bool ninep_name_is_open(struct ninep_session *session, const char *text)
{
    SPIN_GUARD(&session->lock);
    return find(session, text, NULL);
}

bool ninep_name_is_hidden(const struct ninep_file *directory, const char *name)
{
    if (!is_hidden_name(name))
        return false;
    SPIN_GUARD(&directory->session->lock);
    const struct ninep_file *file = find(directory->session, directory->path, name);
    return file && file->is_hidden;
}

/* Replaces the first bytes of a file's name. If there is no room for it, the file is lost. */
static void name_set(struct ninep_session *session, struct ninep_file *file, uint32_t old_bytes,
                     const char *text)
{
    const uint64_t bytes = strlen(text), rest = file->path_bytes - old_bytes;

    take_out(session, file);
    file->is_moved = true;
    if (bytes + rest + 1 > file->path_room) {
        file->lost = -ESTALE;
        return;
    }
    memmove(file->path + bytes, file->path + old_bytes, rest + 1);
    memcpy(file->path, text, bytes);
    file->path_bytes = (uint32_t)(bytes + rest);
    insert(session, file);
}

/* Gives one file of a name another one. Returns false if there is none. */
static bool change_one(struct ninep_session *session, const char *from, const char *to, bool hides)
{
    SPIN_GUARD(&session->lock);
    struct ninep_file *file = find(session, from, NULL);
    if (!file)
        return false;
    file->is_hidden = hides || (file->is_hidden && is_hidden_name(to));
    name_set(session, file, file->path_bytes, to);
    return true;
}

/* Gives the next file, if it is below a name, another one. Returns false after the last. */
static bool change_below(struct ninep_session *session, uint64_t *key, const char *from, const char *to)
{
    SPIN_GUARD(&session->lock);
    struct ninep_file *file = owner(avl_above(session->files, *key));
    if (!file)
        return false;
    *key = file->named.key + 1;
    const uint32_t bytes = prefix_of(file->path, from, NULL);
    if (bytes && file->path[bytes] == '/')
        name_set(session, file, bytes, to);
    return true;
}

void ninep_names_change(struct ninep_session *session, const char *from, const char *to, bool below,
                        bool hides)
{
    uint64_t key = 0;

    if (strcmp(from, to) == 0)
        return;
    __atomic_fetch_add(&session->moves, 1, __ATOMIC_ACQ_REL);
    while (change_one(session, from, to, hides))
        ;
    while (below && change_below(session, &key, from, to))
        ;
}

void ninep_names_end(struct ninep_session *session, const char *text, const struct mount_status *status)
{
    __atomic_fetch_add(&session->moves, 1, __ATOMIC_ACQ_REL);
    for (;;) {
        SPIN_GUARD(&session->lock);
        struct ninep_file *file = find(session, text, NULL);
        if (!file)
            return;
        take_out(session, file);
        file->is_removed = true;
        file->last = *status;
        file->last.links = 0;
    }
}

bool ninep_hidden_find(struct ninep_session *session, const char *directory, char text[TREE_PATH_MAX])
{
    uint64_t key = 0;

    for (;;) {
        SPIN_GUARD(&session->lock);
        const struct ninep_file *file = owner(avl_above(session->files, key));
        if (!file)
            return false;
        key = file->named.key + 1;
        if (file->is_hidden && prefix_of(file->path, directory, NINEP_HIDDEN)) {
            memcpy(text, file->path, file->path_bytes + 1ULL);
            return true;
        }
    }
}
