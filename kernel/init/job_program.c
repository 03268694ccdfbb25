/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_program.c: see job_state.h: the program of a job, and where its ranks start. On the first CPU, between
 * jobs, without processes.
 */
#include "init/job_state.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/mount.h"
#include "lib/errno.h"
#include "lib/file_mode.h"
#include "lib/kstring.h"

/* Refuses what mount_lookup has found, and drops it if it is of a mount: such an inode is the caller's.
 * Returns the reason. */
static const char *inode_refuse(struct inode *inode, const char *why)
{
    if (inode->mount)
        inode_drop(job.tree, inode);
    return why;
}

int directory_find(const char *path, struct inode **directory, struct message *why)
{
    const char *fault = NULL;
    int error = 0;

    if (!path)
        path = job.tree->root->writable ? "/" : "/tmp";
    if (path[0] != '/')
        fault = "this path does not begin with /";
    else if ((error = mount_lookup(job.tree, path, O_PATH | O_DIRECTORY, directory)))
        fault = "there is no such directory";
    else if (!mode_is((*directory)->mode, S_IFDIR))
        fault = inode_refuse(*directory, "this is not a directory");
    if (error == -EIO)
        return message_set(why, error, "cwd=%.80s: the file server %s does not answer", path,
                           (*directory)->mount->source);
    return fault ? message_set(why, -EINVAL, "cwd=%.80s: %s; give the full path of a directory, as cwd=/tmp",
                               path, fault)
                 : 0;
}

int program_link(const char *path, struct message *why)
{
    return tree_add(job.tree, "/proc/self/exe", S_IFLNK | 0777, path, strlen(path), why) ? 0 : -ENOMEM;
}

/* Reads all of a file of a mount. */
static int64_t file_read(const struct inode *inode, char *to, uint64_t bytes)
{
    for (uint64_t read = 0; read < bytes;) {
        int64_t got = inode->mount->operations->read(mount_file_of(inode), to + read, bytes - read, read);

        if (got <= 0)
            return got ? got : -EIO; /* it has become shorter */
        read += (uint64_t)got;
    }
    return 0;
}

static int program_copy(const char *option, const char *path, const struct inode *inode, struct inode **copy,
                        struct message *why)
{
    struct mount_status status = { .bytes = 0 };
    int64_t error = inode->mount->operations->file_status(mount_file_of(inode), &status);
    uint64_t memory = error ? UINT64_MAX : memplan_take(job.plan, 0, status.bytes);

    if (!error && memory == UINT64_MAX)
        return message_set(why, -ENOMEM, "%s=%s: no memory for %lu KiB", option, path, status.bytes / 1024);
    if (!error)
        error = file_read(inode, arch_physical(memory), status.bytes);
    if (error)
        return message_set(why, -EIO, "%s=%s: reading it from %s failed (error %lu)", option, path,
                           inode->mount->source, (uint64_t)-error);
    *copy = inode_create(job.tree, S_IFREG | 0755);
    if (!*copy)
        return message_set(why, -ENOMEM, "%s=%s: no memory for the file tree", option, path);
    (*copy)->data = arch_physical(memory);
    (*copy)->bytes = status.bytes;
    return 0;
}

int program_find(const char *option, const char *path, struct inode **program, struct message *why)
{
    struct inode *inode;
    int error = mount_lookup(job.tree, path, O_RDONLY, &inode);

    if (error == -EIO)
        return message_set(why, error, "%s=%s: the file server %s does not answer", option, path,
                           inode->mount->source);
    if (error == -EACCES)
        return message_set(why, error, "%s=%s: its server refuses it to user %u", option, path,
                           process_credentials.uid);
    if (error)
        return message_set(why, -ENOENT, "%s=%s: there is no such file in the initrd, or on a mount", option,
                           path);
    if (!mode_is(inode->mode, S_IFREG) || inode->device)
        return message_set(why, -EINVAL, "%s=%s %s", option, path, inode_refuse(inode, "is not a file"));
    *program = inode;
    if (!inode->mount)
        return 0;
    error = program_copy(option, path, inode, program, why);
    inode_drop(job.tree, inode);
    return error;
}
