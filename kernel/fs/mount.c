/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.c: see mount.h: where the tree ends. A mount point is a directory of the tree whose inode has
 * `mount`. What is open on a mount, a file or a current directory, is an inode with `mount` in no directory;
 * its `data` is the struct mount_file of the mount's implementation. Lookups that reach either leave the tree
 * (lookup.c). The table of mounts is constant once programs run.
 */
#include "fs/mount.h"
#include "fs/file.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"

static struct mount *mounts[MOUNTS_MAX];

/* Makes mount->place a mount point of the tree. */
static int point_make(struct tree *tree, struct mount *mount, struct message *why)
{
    struct path_lookup found;
    int error = tree_find(tree, tree->root, mount->place, TREE_FOLLOW, &found);

    mount->point = found.inode;
    if (error == -ENOENT) {
        mount->point = tree_add(tree, mount->place, S_IFDIR | 0755, NULL, 0, why);
        if (!mount->point)
            return -EINVAL;
    } else if (error == -EXDEV) {
        return message_set(why, -EEXIST, "mount=%s: something is mounted there already, or above it",
                           mount->place);
    } else if (error || !mode_is(mount->point->mode, S_IFDIR) || mount->point == tree->root) {
        return message_set(why, -EINVAL, "mount=%s: this place is %s", mount->place,
                           error ? "below a non-directory" : "not a directory, or the root");
    }
    mount->point->mount = mount;
    mount->point->filesystem = (uint8_t)(FILESYSTEM_MOUNTS + mount->index);
    return 0;
}

int mount_add(struct tree *tree, struct mount *mount, struct message *why)
{
    unsigned index = 0;

    while (index < MOUNTS_MAX && mounts[index])
        index++;
    if (index == MOUNTS_MAX)
        return message_set(why, -ENOSPC, "mount=%s: the limit is %u mounts", mount->place, MOUNTS_MAX);
    if (mount->place[0] != '/')
        return message_set(why, -EINVAL, "mount=%s: the place does not begin with /", mount->place);
    mount->index = index;
    int error = point_make(tree, mount, why);
    if (!error)
        mounts[index] = mount;
    return error;
}

int mounts_put(struct tree *tree, struct message *why)
{
    int error = 0;

    for (unsigned i = 0; i < MOUNTS_MAX && mounts[i] && !error; i++)
        error = point_make(tree, mounts[i], why);
    return error;
}

void mounts_user_set(uint32_t user)
{
    for (unsigned i = 0; i < MOUNTS_MAX && mounts[i]; i++)
        mounts[i]->operations->user_set(mounts[i], user);
}

struct mount *mount_at(unsigned index)
{
    return index < MOUNTS_MAX ? mounts[index] : NULL;
}

int mount_lookup(struct tree *tree, const char *path, unsigned flags, struct inode **inode)
{
    static char text[TREE_PATH_MAX], left[TREE_PATH_MAX]; /* too large for the stack; first CPU only */
    struct mount_call call = { .path = text, .left = left };
    struct inode *start = tree->root;
    struct path_lookup found;
    struct mount_file *file;
    size_t length = strnlen(path, TREE_PATH_MAX);
    int error;

    if (length == TREE_PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(text, path, length + 1);
    for (;;) {
        error = tree_find_from(tree, start, 0, text, TREE_FOLLOW, &found);
        *inode = found.inode;
        if (error != TREE_LEFT)
            return error;
        call.mount = found.inode->mount;
        call.symlinks += found.followed;
        if (flags & O_PATH && !text[0] &&
            !mount_file_of(*inode)) { /* the mount point, known without asking */
            spin_lock(&tree->lock);
            inode_get(*inode);
            spin_unlock(&tree->lock);
            return 0;
        }
        left[0] = '\0';
        error = call.mount->operations->open(&call, flags, 0, &file);
        if (error != MOUNT_LEFT)
            break;
        if (call.symlinks++ > TREE_SYMLINKS_MAX)
            return -ELOOP;
        memcpy(text, left, TREE_PATH_MAX);
        start = tree_parent(tree, call.mount->point);
    }
    if (error)
        return error;
    *inode = mount_inode_create(tree, file);
    return *inode ? 0 : -ENOMEM;
}

struct inode *mount_inode_create(struct tree *tree, struct mount_file *file)
{
    tree_lock_to_add(tree);
    struct inode *inode = inode_create(tree, file->mode);

    if (inode) {
        inode->references = 1;
        inode->mount = file->mount;
        inode->data = file;
        inode->filesystem = (uint8_t)(FILESYSTEM_MOUNTS + file->mount->index);
    }
    spin_unlock(&tree->lock);
    if (!inode)
        file->mount->operations->close(file);
    return inode;
}

void inode_drop(struct tree *tree, struct inode *inode)
{
    struct mount_file *file = NULL;

    spin_lock(&tree->lock);
    if (inode->mount && inode->references == 1)
        file = mount_file_of(inode);
    inode_put(tree, inode);
    spin_unlock(&tree->lock);
    if (file)
        file->mount->operations->close(file);
}

int64_t mount_path(const struct tree *tree, const struct inode *inode, char *text, size_t bytes)
{
    int64_t place = tree_path(tree, inode->mount->point, text, bytes), length;

    if (place < 0 || !mount_file_of(inode))
        return place;
    length = inode->mount->operations->path(mount_file_of(inode), text + place, bytes - (size_t)place);
    if (length != 1) /* its root is the mount point */
        return length < 0 ? length : place + length;
    text[place] = '\0';
    return place;
}
