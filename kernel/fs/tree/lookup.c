/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_lookup.c: looking paths up in the file tree (tree.h).
 *
 * A look-up keeps the unread rests of the path and of the symbolic links that it is inside of on a small
 * stack of its own, so that a hostile initrd cannot make it recurse. Source: path_resolution(7). With the
 * tree's lock, or before there is a second CPU.
 */
#include "lib/errno.h"
#include "fs/tree/tree_path.h"

/* A walk on its way. Below the top of the stack are the rests of the path and of links around this one. */
struct walk {
    const struct tree *tree;
    struct rest stack[TREE_SYMLINKS_MAX + 1];
    unsigned depth, followed;
};

/* Whether nothing but slashes is left of all rests; *slash tells whether there are any. */
static bool walk_ends(const struct walk *walk, bool *slash)
{
    *slash = false;
    for (unsigned i = 0; i <= walk->depth; i++) {
        struct rest rest = walk->stack[i];

        *slash |= rest.at < rest.end;
        slashes_skip(&rest);
        if (rest.at < rest.end)
            return false;
    }
    return true;
}

struct directory_entry *tree_entry_find(const struct inode *directory, struct rest name)
{
    size_t bytes = (size_t)(name.end - name.at);
    struct directory_entry *entry = directory->child;

    while (entry && (entry->name_bytes != bytes || memcmp(entry->name, name.at, bytes) != 0))
        entry = entry->next;
    return entry;
}

/* A link of which `tree` knows better than the link itself where it leads. */
static bool link_is_followed_by_tree(const struct tree *tree, const struct inode *inode)
{
    return tree->link_follow && inode->device && mode_is(inode->mode, S_IFLNK);
}

bool tree_entry_shows(const struct tree *tree, const struct directory_entry *entry)
{
    struct inode *inode;

    return !link_is_followed_by_tree(tree, entry->inode) ||
           tree->link_follow(entry->inode, &inode) != -ENOENT;
}

/* One step from place->directory. */
static int step(const struct tree *tree, struct rest component, struct tree_place *place)
{
    struct inode *directory = place->directory;

    place->entry = NULL;
    place->name = component.at;
    place->name_bytes = (uint32_t)(component.end - component.at);
    if (component.end - component.at > TREE_NAME_MAX)
        return -ENAMETOOLONG;
    if (component_is(component, ".")) {
        place->last = TREE_LAST_DOT;
        place->inode = directory;
    } else if (component_is(component, "..")) {
        place->last = TREE_LAST_DOTDOT;
        place->inode = tree_parent(tree, directory);
    } else {
        place->last = TREE_LAST_NAME;
        place->entry = tree_entry_find(directory, component);
        if (place->entry && !tree_entry_shows(tree, place->entry))
            place->entry = NULL;
        place->inode = place->entry ? place->entry->inode : NULL;
    }
    return place->inode ? 0 : -ENOENT;
}

/* Puts a symbolic link's target on the stack; answers where it begins. */
static int link_enter(struct walk *walk, const struct inode *link, struct inode **directory)
{
    const char *target = link->data;

    if (walk->followed++ == TREE_SYMLINKS_MAX)
        return -ELOOP;
    if (link_is_followed_by_tree(walk->tree, link))
        return walk->tree->link_follow(link, directory);
    if (link->bytes == 0)
        return -ENOENT;
    if (link->bytes >= TREE_PATH_MAX)
        return -ENAMETOOLONG;
    walk->stack[++walk->depth] = (struct rest){ target, target + link->bytes };
    if (*target == '/')
        *directory = walk->tree->root;
    return 0;
}

/* Walks from `inode`; place->directory is left at NULL unless the last component was reached. */
static int walk_run(struct walk *walk, struct inode *inode, enum tree_follow follow, struct tree_place *place)
{
    struct tree_place at = { .inode = inode, .directory = inode, .last = TREE_LAST_ROOT };

    for (;;) {
        struct rest *rest = &walk->stack[walk->depth];
        bool slash, is_dir = mode_is(at.inode->mode, S_IFDIR);

        if (rest->at == rest->end) {
            if (walk->depth-- > 0)
                continue;
            *place = at;
            return 0;
        }
        if (!is_dir)
            return -ENOTDIR;
        struct rest component = component_next(rest);
        if (component.at == component.end)
            continue; /* slashes behind a directory */
        at.directory = at.inode;
        int error = step(walk->tree, component, &at);
        bool last = walk_ends(walk, &slash);

        at.slash = slash;
        if (error == -ENOENT && last && at.last == TREE_LAST_NAME)
            *place = at; /* all of it is there but this */
        if (error)
            return error;
        if (last && follow == TREE_NAME) {
            *place = at;
            return 0;
        }
        if (!mode_is(at.inode->mode, S_IFLNK) || (last && !slash && follow == TREE_NO_FOLLOW))
            continue;
        struct inode *from = at.directory;
        error = link_enter(walk, at.inode, &from);
        if (error)
            return error;
        at.inode = from;
        at.directory = from;
        at.entry = NULL;
        at.last = TREE_LAST_ROOT;
    }
}

int tree_find_rest(const struct tree *tree, struct inode *directory, struct rest path,
                   enum tree_follow follow, struct tree_place *place)
{
    struct walk walk = { .tree = tree, .stack = { path } };

    *place = (struct tree_place){ 0 };
    if (path.at == path.end)
        return -ENOENT;
    if (path.end - path.at >= TREE_PATH_MAX)
        return -ENAMETOOLONG;
    return walk_run(&walk, *path.at == '/' ? tree->root : directory, follow, place);
}

int tree_find(const struct tree *tree, struct inode *directory, const char *path, enum tree_follow follow,
              struct tree_place *place)
{
    struct rest rest = { path, path + strnlen(path, TREE_PATH_MAX) };

    return tree_find_rest(tree, directory, rest, follow, place);
}

int tree_lookup(const struct tree *tree, struct inode *directory, const char *path, bool follow_last,
                struct inode **out)
{
    struct tree_place place;
    int error = tree_find(tree, directory, path, follow_last ? TREE_FOLLOW : TREE_NO_FOLLOW, &place);

    if (!error)
        *out = place.inode;
    return error;
}

struct inode *tree_parent(const struct tree *tree, const struct inode *directory)
{
    if (directory == tree->root)
        return tree->root;
    return directory->name ? directory->name->directory : NULL;
}

int64_t tree_path(const struct tree *tree, const struct inode *inode, char *buffer, size_t bytes)
{
    size_t length = inode == tree->root ? 1 : 0;

    for (const struct inode *at = inode; at != tree->root; at = at->name->directory) {
        if (!at->name)
            return -ENOENT;
        length += 1 + at->name->name_bytes;
    }
    if (length >= bytes)
        return -ERANGE;

    size_t place = length;
    buffer[length] = '\0';
    for (const struct inode *at = inode; at != tree->root; at = at->name->directory) {
        place -= at->name->name_bytes;
        memcpy(buffer + place, at->name->name, at->name->name_bytes);
        buffer[--place] = '/';
    }
    if (inode == tree->root)
        buffer[0] = '/';
    return (int64_t)length;
}

struct directory_entry *tree_entry_at(const struct inode *directory, uint64_t position)
{
    struct directory_entry *entry = directory->child;

    while (entry && entry->position < position)
        entry = entry->next;
    return entry;
}
