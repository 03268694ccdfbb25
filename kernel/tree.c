/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c: the in-memory file tree of a stand-alone node (tree.h): building it, and looking paths up in it.
 *
 * A look-up keeps the unread rests of the path and of the symbolic links that it is inside of on a small
 * stack of its own, so that a hostile initrd cannot make it recurse. Sources: path_resolution(7); Linux
 * "initramfs buffer format" for hard links. The tree is built on the boot CPU and only read afterwards, from
 * any context; no locks.
 */
#include "tree.h"
#include "errno.h"
#include "kstring.h"

#define PARENT_MODE  (S_IFDIR | 0755u)
#define LINK_BUCKETS 64
#define NAME_SHOWN   100 /* bytes of a name that messages repeat */

/* A stretch of a path that has not been walked yet. */
struct rest {
    const char *at, *end;
};

/* The names, of files with several, that the archive being read has brought so far, by tree_node.link_key. */
struct link_table {
    struct tree_node *buckets[LINK_BUCKETS];
};

/* ---- nodes ---- */

static struct tree_node *child_find(const struct tree_node *directory, const char *name, size_t name_bytes)
{
    struct tree_node *child = directory->child;

    while (child && (child->name_bytes != name_bytes || memcmp(child->name, name, name_bytes) != 0))
        child = child->next;
    return child;
}

static void child_append(struct tree_node *directory, struct tree_node *child)
{
    child->parent = directory;
    if (directory->last)
        directory->last->next = child;
    else
        directory->child = child;
    directory->last = child;
}

/* A new node in `directory` (NULL for the root); NULL where there is no memory. */
static struct tree_node *node_create(struct tree *tree, struct tree_node *directory, struct rest name,
                                     uint32_t mode)
{
    struct tree_node *node = tree->node_allocate(tree->context);

    if (!node)
        return NULL;
    tree->node_count++;
    node->name = name.at;
    node->name_bytes = (uint32_t)(name.end - name.at);
    node->mode = mode;
    node->inode = ++tree->inode_count;
    node->links = mode_is(mode, S_IFDIR) ? 2 : 1;
    if (directory)
        child_append(directory, node);
    if (directory && mode_is(mode, S_IFDIR))
        directory->links++;
    return node;
}

int tree_initialise(struct tree *tree)
{
    tree->node_count = 0;
    tree->inode_count = 0;
    tree->root = node_create(tree, NULL, (struct rest){ "", "" }, PARENT_MODE);
    if (!tree->root)
        return -ENOMEM;
    tree->root->name_bytes = 0;
    tree->root->parent = tree->root;
    return 0;
}

/* ---- looking up ---- */

/* Cuts the next component off; empty at the end. */
static struct rest component_next(struct rest *rest)
{
    struct rest component;

    while (rest->at < rest->end && *rest->at == '/')
        rest->at++;
    component.at = rest->at;
    while (rest->at < rest->end && *rest->at != '/')
        rest->at++;
    component.end = rest->at;
    return component;
}

static bool component_is(struct rest component, const char *text)
{
    size_t bytes = (size_t)(component.end - component.at);

    return bytes == strlen(text) && memcmp(component.at, text, bytes) == 0;
}

/* One step from a directory. */
static int step(struct tree_node *directory, struct rest component, struct tree_node **out)
{
    size_t bytes = (size_t)(component.end - component.at);

    if (bytes > TREE_NAME_MAX)
        return -ENAMETOOLONG;
    if (bytes == 0 || component_is(component, "."))
        *out = directory;
    else if (component_is(component, ".."))
        *out = directory->parent;
    else
        *out = child_find(directory, component.at, bytes);
    return *out ? 0 : -ENOENT;
}

/* Whether the link can be walked into. */
static int check_link(const struct tree_node *link, unsigned followed)
{
    if (followed == TREE_SYMLINKS_MAX)
        return -ELOOP;
    if (link->bytes == 0)
        return -ENOENT;
    return link->bytes < TREE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Walks `path`; see tree_lookup. Below the top of the stack are the rests of the path and of links around
 * this one. */
static int walk(const struct tree *tree, struct tree_node *node, struct rest path, bool follow_last,
                struct tree_node **out)
{
    struct rest stack[TREE_SYMLINKS_MAX + 1] = { path };
    struct tree_node *next;
    unsigned depth = 0, followed = 0;

    if (path.at < path.end && *path.at == '/')
        node = tree->root;
    while (depth > 0 || stack[0].at < stack[0].end) {
        struct rest *rest = &stack[depth];

        if (rest->at == rest->end) {
            depth--;
            continue;
        }
        if (!mode_is(node->mode, S_IFDIR))
            return -ENOTDIR;
        int error = step(node, component_next(rest), &next);
        if (error)
            return error;
        bool last = depth == 0 && rest->at == rest->end;
        if (!mode_is(next->mode, S_IFLNK) || (last && !follow_last)) {
            node = next;
            continue;
        }
        error = check_link(next, followed++);
        if (error)
            return error;
        const char *target = next->data;
        stack[++depth] = (struct rest){ target, target + next->bytes };
        if (*target == '/')
            node = tree->root;
    }
    *out = node;
    return 0;
}

int tree_lookup(const struct tree *tree, struct tree_node *directory, const char *path, bool follow_last,
                struct tree_node **out)
{
    size_t length = strnlen(path, TREE_PATH_MAX);

    if (length == 0)
        return -ENOENT;
    if (length == TREE_PATH_MAX)
        return -ENAMETOOLONG;
    return walk(tree, directory, (struct rest){ path, path + length }, follow_last, out);
}

int64_t tree_path(const struct tree *tree, const struct tree_node *node, char *buffer, size_t bytes)
{
    size_t length = node == tree->root ? 1 : 0;

    for (const struct tree_node *at = node; at->parent != at; at = at->parent)
        length += 1 + at->name_bytes;
    if (length >= bytes)
        return -ERANGE;

    size_t place = length;
    buffer[length] = '\0';
    for (const struct tree_node *at = node; at->parent != at; at = at->parent) {
        place -= at->name_bytes;
        memcpy(buffer + place, at->name, at->name_bytes);
        buffer[--place] = '/';
    }
    if (node == tree->root)
        buffer[0] = '/';
    return (int64_t)length;
}

/* ---- building ---- */

/* The directory that `component` of `directory` names, made where it is missing. */
static int parent_step(struct tree *tree, struct tree_node **directory, struct rest component,
                       struct message *why)
{
    struct tree_node *next;
    int shown = (int)(component.end - component.at), error;

    error = walk(tree, *directory, component, true, &next);
    if (error == -ENOENT && !child_find(*directory, component.at, (size_t)shown)) {
        next = node_create(tree, *directory, component, PARENT_MODE);
        error = next ? 0 : -ENOMEM;
    }
    if (error == -ENOMEM)
        return message_set(why, error, "file tree: no memory for directory \"%.*s\"", shown, component.at);
    if (error || !mode_is(next->mode, S_IFDIR))
        return message_set(why, -EINVAL, "file tree: \"%.*s\" is used as a directory, but is none", shown,
                           component.at);
    *directory = next;
    return 0;
}

/* Walks from *parent, the root, to the parent of `path` and answers the last component, empty for the root
 * itself. */
static int walk_to_parent(struct tree *tree, const char *path, struct tree_node **parent, struct rest *last,
                          struct message *why)
{
    size_t length = strnlen(path, TREE_PATH_MAX);
    struct rest rest = { path, path + length };

    if (length == TREE_PATH_MAX)
        return message_set(why, -EINVAL, "file tree: the name \"%.*s\"... is longer than %d bytes",
                           NAME_SHOWN, path, TREE_PATH_MAX - 1);
    *last = (struct rest){ path, path };
    for (;;) {
        struct rest component = component_next(&rest);

        if (component.at == component.end)
            return 0;
        if (component_is(component, "."))
            continue;
        if (component_is(component, ".."))
            return message_set(why, -EINVAL, "file tree: \"..\" in the name \"%.*s\"", NAME_SHOWN, path);
        if (component.end - component.at > TREE_NAME_MAX)
            return message_set(why, -EINVAL, "file tree: a component of \"%.*s\"... is longer than %d bytes",
                               NAME_SHOWN, path, TREE_NAME_MAX);
        int error = last->at == last->end ? 0 : parent_step(tree, parent, *last, why);
        if (error)
            return error;
        *last = component;
    }
}

static bool type_is_known(uint32_t mode)
{
    static const uint32_t types[] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (mode_is(mode, types[i]))
            return true;
    }
    return false;
}

static void node_set(struct tree_node *node, uint32_t mode, const void *data, uint64_t bytes)
{
    node->mode = mode;
    node->device = 0;
    if (mode_is(mode, S_IFDIR))
        return;
    node->data = data;
    node->bytes = mode_is(mode, S_IFLNK) && bytes > 0 ? strnlen(data, bytes) : bytes;
    node->links = 1;
}

/* The node at `path`, made or replaced; its inode number is its own. */
static int node_place(struct tree *tree, const char *path, uint32_t mode, struct tree_node **out,
                      struct message *why)
{
    struct tree_node *parent = tree->root;
    struct rest name;

    if (!type_is_known(mode))
        return message_set(why, -EINVAL, "file tree: \"%.*s\" has the unknown file type 0%o", NAME_SHOWN,
                           path, mode & S_IFMT);
    int error = walk_to_parent(tree, path, &parent, &name, why);
    if (error)
        return error;

    *out = name.at == name.end ? tree->root : child_find(parent, name.at, (size_t)(name.end - name.at));
    if (!*out) {
        *out = node_create(tree, parent, name, mode);
        return *out ? 0 : message_set(why, -ENOMEM, "file tree: no memory for \"%.*s\"", NAME_SHOWN, path);
    }
    if (mode_is((*out)->mode, S_IFDIR) != mode_is(mode, S_IFDIR))
        return message_set(why, -EINVAL,
                           "file tree: \"%.*s\" is there twice, as a directory and as something else",
                           NAME_SHOWN, path);
    if (!mode_is(mode, S_IFDIR))
        (*out)->inode = ++tree->inode_count;
    return 0;
}

struct tree_node *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data,
                           uint64_t bytes, struct message *why)
{
    struct tree_node *node;

    if (path[0] != '/') {
        message_set(why, -EINVAL, "file tree: \"%.*s\" is no absolute path", NAME_SHOWN, path);
        return NULL;
    }
    if (node_place(tree, path, mode, &node, why) != 0)
        return NULL;
    node_set(node, mode, data, bytes);
    return node;
}

/* ---- hard links ---- */

static struct tree_node **link_bucket(struct link_table *links, uint64_t key)
{
    return &links->buckets[(key ^ key >> 32) % LINK_BUCKETS];
}

static void link_remove(struct link_table *links, struct tree_node *node)
{
    struct tree_node **at = link_bucket(links, node->link_key);

    while (*at != node)
        at = &(*at)->link_next;
    *at = node->link_next;
    node->link_next = NULL;
    node->link_key = 0;
}

static void links_forget(struct link_table *links)
{
    for (unsigned bucket = 0; bucket < LINK_BUCKETS; bucket++) {
        while (links->buckets[bucket])
            link_remove(links, links->buckets[bucket]);
    }
}

/* Makes `node` one more name of its file: inode and data become common to all of them, whoever brought the
 * data. */
static void link_add(struct link_table *links, struct tree_node *node, uint64_t key)
{
    struct tree_node **bucket = link_bucket(links, key);

    for (struct tree_node *other = *bucket; other; other = other->link_next) {
        if (other->link_key != key)
            continue;
        node->inode = other->inode;
        if (node->bytes > 0) {
            other->data = node->data;
            other->bytes = node->bytes;
        } else {
            node->data = other->data;
            node->bytes = other->bytes;
        }
    }
    node->link_key = key;
    node->link_next = *bucket;
    *bucket = node;
}

static int add_entry(struct tree *tree, const struct cpio_entry *entry, struct link_table *links,
                     struct message *why)
{
    uint64_t key = ((uint64_t)entry->device << 32 | entry->inode) + 1;
    struct tree_node *node;
    int error = node_place(tree, entry->name, entry->mode, &node, why);

    if (error)
        return error;
    if (node->link_key)
        link_remove(links, node);
    node_set(node, entry->mode, entry->data, entry->bytes);
    node->mtime_s = entry->mtime_s;
    if (mode_is(entry->mode, S_IFDIR))
        return 0;
    node->links = entry->links > 0 ? entry->links : 1;
    if (mode_is(entry->mode, S_IFREG) && entry->links > 1 && key)
        link_add(links, node, key);
    return 0;
}

int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why)
{
    struct link_table links = { { NULL } };
    struct cpio_entry entry;
    uint64_t offset = 0;
    int found;

    while ((found = cpio_next(archive, bytes, &offset, &entry, why)) > 0) {
        if (entry.begins_archive)
            links_forget(&links);
        int error = add_entry(tree, &entry, &links, why);
        if (error) {
            found = error;
            break;
        }
    }
    links_forget(&links);
    return found;
}
