/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h: open files of a server. A file has its path (names.h), and its qid, by which it is recognised.
 * After a reconnection the next use opens it again by the path, and if
 *
 *      another file is there, or none      -ESTALE from now on
 *      it had locks                        -EIO from now on: the server has released them
 *      it has writes that were not synced  the next fsync returns -EIO: what became of them is unknown
 *
 * Large transfers are cut into messages, several of which are in flight. Reads, and writes at an offset, are
 * repeated on a new connection. Appending writes are not, if the server may have executed them: -EIO.
 */
#ifndef TACET_NINEP_FILE_H
#define TACET_NINEP_FILE_H

#include "fs/linux_files.h"
#include "ninep/path.h"

struct ninep_file {
    struct mount_file file;
    struct ninep_session *session;
    uint64_t memory_bytes; /* size of this structure with its path */
    uint32_t flags;        /* Linux's, with which it was opened */
    struct ninep_qid qid;
    struct mount_status last; /* if is_removed */
    /* Under the session's lock. */
    uint32_t fid, generation; /* generation 0: there is no fid */
    bool has_locks, is_unsynced, sync_is_lost;
    int lost; /* the error of all calls from now on */
    /* Its name (names.h). */
    struct avl_node named;
    bool is_named;   /* in the tree */
    bool is_moved;   /* `path` is not the name to which its fid was walked */
    bool is_hidden;  /* `path` is a name of the session's own */
    bool is_removed; /* a directory without a name */
    /* For listing the directory, by one thread at a time. */
    uint8_t *entries;
    struct ninep_reader entries_left;
    uint64_t entries_next;
    uint32_t path_bytes, path_room; /* under the lock, as the path itself */
    char path[];                    /* without the leading slash */
};

#define NINEP_ENTRIES_BYTES 8192
/* The flags of Linux's that a server is sent; the last are O_SYNC and O_DSYNC. */
#define NINEP_OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY | 04010000)

/* Makes a file for what the path names, without a fid. -ENOMEM; -ENOTCONN: the call is to be repeated. */
int ninep_file_create(struct ninep_path *path, uint32_t flags, uint32_t mode, struct ninep_file **file);
void ninep_file_free(struct ninep_file *file);

/* Opens the file that a path was walked to. */
int ninep_open(struct ninep_path *path, uint32_t flags);

/* Implements a call of struct mount_operations, as the following functions do. */
int64_t ninep_file_read(struct mount_file *file, void *bytes, uint64_t count, uint64_t offset);
int64_t ninep_file_write(struct mount_file *file, const void *bytes, uint64_t count, uint64_t offset);
int ninep_file_status(struct mount_file *file, struct mount_status *status);
int ninep_file_change(struct mount_file *file, const struct mount_change *change);
int ninep_file_sync(struct mount_file *file, bool data_only);
int ninep_file_list(struct mount_file *file, uint64_t position, struct mount_entry *entry);
int ninep_file_lock(struct mount_file *file, const struct mount_lock *lock);
int ninep_file_lock_get(struct mount_file *file, struct mount_lock *lock);
int64_t ninep_file_path(const struct mount_file *file, char *text, uint64_t bytes);
void ninep_file_close(struct mount_file *file);

/* Gets the attributes of what a path was walked to, or of an open file, whose fid the path has; ninep_change
 * changes them. */
int ninep_attributes(const struct ninep_path *path, struct mount_status *status);
int ninep_change(const struct ninep_path *path, const struct mount_change *change);

/* Returns the result of a call that is not repeated: -EIO if the server may have executed it. */
static inline int ninep_once(int result)
{
    return result == -ECONNRESET ? -EIO : result;
}

#endif
