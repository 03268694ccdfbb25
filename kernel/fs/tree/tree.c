/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c: building the in-memory file tree of a stand-alone node (tree.h) from archives and devices. Source:
 * Linux "initramfs buffer format" for hard links. Runs on the boot CPU while no other CPU uses the tree; no
 * locks.
 */
#include "lib/errno.h"
#include "fs/tree/path_span.h"

#define PARENT_MODE (S_IFDIR | 0755u)
#define NAME_SHOWN  100 /* bytes of a name that messages repeat */
#define NS_PER_S    1000000000LL

int tree_initialise(struct tree *tree)
{
    tree->inode_count = 0;
    tree->last_number = 0;
    tree->root = inode_create(tree, PARENT_MODE);
    if (!tree->root)
        return -ENOMEM;
    tree->root->links = 2;
    return 0;
}

/* Adds a new inode to `directory`; NULL if there is no memory. */
static struct inode *inode_add(struct tree *tree, struct inode *directory, struct path_span name,
                               uint32_t mode)
{
    struct inode *inode = inode_create(tree, mode);

    if (inode && !tree_entry_add(tree, directory, inode, name.at, (uint32_t)span_bytes(name), false)) {
        inode_free(tree, inode);
        return NULL;
    }
    return inode;
}

/* ---- Inodes by path ---- */

/* Steps into the directory that `component` names in *directory; makes it if it is missing. */
static int parent_step(struct tree *tree, struct inode **directory, struct path_span component,
                       struct message *why)
{
    int shown = (int)span_bytes(component), error;
    struct path_lookup found;

    error = tree_find_span(tree, *directory, 0, component, NULL, TREE_FOLLOW, &found);
    if (error == -ENOENT && !tree_entry_find(*directory, component)) {
        found.inode = inode_add(tree, *directory, component, PARENT_MODE);
        error = found.inode ? 0 : -ENOMEM;
    }
    if (error == -ENOMEM)
        return message_set(why, error, "file tree: no memory for directory \"%.*s\"", shown, component.at);
    if (error || !mode_is(found.inode->mode, S_IFDIR))
        return message_set(why, -EINVAL, "file tree: \"%.*s\" is used as a directory, but is none", shown,
                           component.at);
    *directory = found.inode;
    return 0;
}

/* Finds or makes the directories of `path`, from *parent down; sets *parent to the last of them
 * and *last to the last component, which is empty for *parent itself. */
static int parents_make(struct tree *tree, const char *path, struct inode **parent, struct path_span *last,
                        struct message *why)
{
    size_t length = strnlen(path, TREE_PATH_MAX);
    struct path_span remaining = { path, path + length };

    if (length == TREE_PATH_MAX)
        return message_set(why, -EINVAL, "file tree: the name \"%.*s\"... is longer than %d bytes",
                           NAME_SHOWN, path, TREE_PATH_MAX - 1);
    *last = (struct path_span){ path, path };
    for (;;) {
        struct path_span component = component_next(&remaining);

        if (component.at == component.end)
            return 0;
        if (component_is(component, ".", 1))
            continue;
        if (component_is(component, "..", 2))
            return message_set(why, -EINVAL, "file tree: \"..\" in the name \"%.*s\"", NAME_SHOWN, path);
        if (span_bytes(component) > TREE_NAME_MAX)
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
    const uint32_t types = 1U << (S_IFREG >> 12) | 1U << (S_IFDIR >> 12) | 1U << (S_IFLNK >> 12) |
                           1U << (S_IFCHR >> 12) | 1U << (S_IFBLK >> 12) | 1U << (S_IFIFO >> 12) |
                           1U << (S_IFSOCK >> 12);

    return types >> ((mode & S_IFMT) >> 12) & 1;
}

static void inode_set(struct inode *inode, uint32_t mode, const void *data, uint64_t bytes)
{
    inode->mode = mode;
    inode->device = mode_is(mode, S_IFIFO); /* not a file with bytes: fs/pipe.c keeps its own there */
    inode->operations = NULL;
    if (mode_is(mode, S_IFDIR))
        return;
    if (mode_is(mode, S_IFIFO))
        data = NULL, bytes = 0;
    inode->data = data;
    inode->bytes = mode_is(mode, S_IFLNK) && bytes > 0 ? strnlen(data, bytes) : bytes;
}

/* Makes or replaces what is at `path`: *out has no name but that. */
static int entry_make(struct tree *tree, struct inode *parent, const char *path, uint32_t mode,
                      struct inode **out, struct message *why)
{
    struct directory_entry *entry = NULL;
    struct path_span name;

    if (!type_is_known(mode))
        return message_set(why, -EINVAL, "file tree: \"%.*s\" has the unknown file type 0%o", NAME_SHOWN,
                           path, mode & S_IFMT);
    int error = parents_make(tree, path, &parent, &name, why);
    if (error)
        return error;

    *out = parent;
    if (name.at < name.end) {
        entry = tree_entry_find(parent, name);
        *out = entry ? entry->inode : inode_add(tree, parent, name, mode);
    }
    if (*out && mode_is((*out)->mode, S_IFDIR) != mode_is(mode, S_IFDIR))
        return message_set(why, -EINVAL,
                           "file tree: \"%.*s\" is there twice, as a directory and as something else",
                           NAME_SHOWN, path);
    if (*out && entry && !mode_is(mode, S_IFDIR)) {
        if ((*out)->links == 1) {
            (*out)->number = ++tree->last_number;
            (*out)->name = entry; /* another one, since replaced, may have been it */
            return 0;
        }
        *out = inode_create(tree, mode); /* the old one keeps its other names */
        if (*out)
            tree_entry_redirect(entry, *out);
    }
    return *out ? 0 : message_set(why, -ENOMEM, "file tree: no memory for \"%.*s\"", NAME_SHOWN, path);
}

struct inode *tree_add_below(struct tree *tree, struct inode *directory, const char *path, uint32_t mode,
                             const void *data, uint64_t bytes, struct message *why)
{
    struct inode *inode;

    if (entry_make(tree, directory, path, mode, &inode, why) != 0)
        return NULL;
    inode_set(inode, mode, data, bytes);
    return inode;
}

struct inode *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data, uint64_t bytes,
                       struct message *why)
{
    if (path[0] == '/')
        return tree_add_below(tree, tree->root, path, mode, data, bytes, why);
    message_set(why, -EINVAL, "file tree: \"%.*s\" is no absolute path", NAME_SHOWN, path);
    return NULL;
}

/* ---- Hard links ---- */

/* Takes an inode from `links`, those with several names of the archive that is being read, by inode.link. */
static void link_remove(struct avl_node **links, struct inode *inode)
{
    avl_remove(links, &inode->link, NULL);
    inode->link.key = 0;
}

static void links_clear(struct avl_node **links)
{
    while (*links)
        link_remove(links, LIST_OWNER(*links, inode, link));
}

/* Returns the inode for a file of the archive: that of an earlier name of the file, or else `inode`, which
 * later names will find. */
static struct inode *link_find(struct avl_node **links, struct inode *inode, uint64_t key)
{
    struct avl_node *other = avl_above(*links, key);

    if (other && other->key == key)
        return LIST_OWNER(other, inode, link);
    inode->link.key = key;
    avl_insert(links, &inode->link, NULL);
    return inode;
}

static int add_entry(struct tree *tree, const struct cpio_entry *found, struct avl_node **links,
                     struct message *why)
{
    uint64_t key = ((uint64_t)found->device << 32 | found->inode) + 1;
    bool linked = mode_is(found->mode, S_IFREG) && found->links > 1 && key;
    struct inode *created;
    int error = entry_make(tree, tree->root, found->name, found->mode, &created, why);

    if (error)
        return error;
    if (created->link.key) /* an earlier file, whose only name so far is replaced */
        link_remove(links, created);
    struct inode *inode = linked ? link_find(links, created, key) : created;
    if (inode == created || found->bytes > 0) /* any of the names may come with the data */
        inode_set(inode, found->mode, found->data, found->bytes);
    inode->modified_ns = inode->changed_ns = inode->accessed_ns = found->mtime_s * NS_PER_S;
    if (inode != created) {
        tree_entry_redirect(created->name, inode);
        inode_free(tree, created);
    }
    return 0;
}

int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why)
{
    struct avl_node *links = NULL;
    struct cpio_entry entry;
    uint64_t offset = 0;
    int found;

    while ((found = cpio_next(archive, bytes, &offset, &entry, why)) > 0) {
        if (entry.begins_archive)
            links_clear(&links);
        int error = add_entry(tree, &entry, &links, why);
        if (error) {
            found = error;
            break;
        }
    }
    links_clear(&links);
    return found;
}
