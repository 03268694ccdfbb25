/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount_lock.c: advisory locks on files of mounts. The server is asked for locks on whole files, whatever the
 * range: diod has no others, and would give up a file's lock when the first part is unlocked. So the list of
 * the inode (file_lock.h) has what one open file has locked, and the server's lock is the strongest of these.
 * Two ranges of a file that do not overlap conflict if two nodes, ranks or open files lock them: more
 * conflicts than needed, never fewer. Runs in system calls. Conflicts are tried again, at first after
 * RETRY_NS, because no server reports when a lock was released.
 */
#include "fs/mount_file.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"

#define RETRY_NS     1000000
#define RETRY_NS_MAX 100000000

static bool stronger(int type, int other)
{
    return type != other && (type == F_WRLCK || other == F_UNLCK);
}

static int type_of(const struct file_lock *requested)
{
    if (requested->releases)
        return F_UNLCK;
    return requested->exclusive ? F_WRLCK : F_RDLCK;
}

int mount_lock_held(struct file *file)
{
    int held = F_UNLCK;

    SPIN_GUARD(&file->process->tree->lock);
    for (const struct file_lock *lock = file->inode->locks; lock && held != F_WRLCK; lock = lock->next) {
        lock_work_step();
        held = lock->exclusive ? F_WRLCK : F_RDLCK;
    }
    return held;
}

static int server_lock(struct file *file, int type)
{
    struct mount_lock lock = { .type = type, .process = (uint32_t)file->process->pid };

    return file->inode->mount->operations->lock(mount_file_of(file->inode), &lock);
}

int mount_lock_reduce(struct file *file, int held)
{
    int needed = mount_lock_held(file);

    return stronger(held, needed) ? server_lock(file, needed) : 0;
}

/* Tries a request once; -EAGAIN if it conflicts. The caller has claimed the file's offset: only one thread at
 * a time changes the file's locks. */
static int lock_try(struct file *file, const struct file_lock *requested)
{
    struct tree *tree = file->process->tree;
    int held = mount_lock_held(file), type = type_of(requested), error = 0;

    spin_lock(&tree->lock);
    bool conflicts = file_lock_conflict(file->inode, requested);
    spin_unlock(&tree->lock);
    if (conflicts)
        return -EAGAIN;
    if (stronger(type, held))
        error = server_lock(file, type);
    if (error && held != F_UNLCK)
        server_lock(file, held); /* again: a conversion that fails may lose the lock, flock(2) */
    if (error)
        return error;
    tree_lock_to_add(tree);
    error = file_lock_set(tree, file->inode, requested);
    spin_unlock(&tree->lock);
    int reduced = mount_lock_reduce(file, stronger(type, held) ? type : held);
    return error || !requested->releases ? error : reduced; /* a set lock stays: later calls fail */
}

int mount_lock_set(struct file *file, const struct file_lock *requested, bool wait)
{
    for (uint64_t pause = RETRY_NS;; pause = pause < RETRY_NS_MAX ? 2 * pause : pause) {
        int error = file_offset_claim(file);

        if (error)
            return error;
        error = lock_try(file, requested);
        file_offset_release(file);
        if (error != -EAGAIN || !wait)
            return error;
        if (thread_sleep(NULL, clock_now_ns() + pause) == -EINTR)
            return -EINTR;
    }
}

int mount_lock_query(struct file *file, const struct file_lock *requested, struct mount_lock *answer)
{
    int held = mount_lock_held(file);

    *answer = (struct mount_lock){ .type = type_of(requested), .process = (uint32_t)file->process->pid };
    if (!stronger(answer->type, held)) { /* no other client can have a lock that conflicts */
        answer->type = F_UNLCK;
        return 0;
    }
    return file->inode->mount->operations->lock_get(mount_file_of(file->inode), answer);
}
