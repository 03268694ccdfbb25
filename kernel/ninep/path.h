/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h: from a path to a fid. A server walks up to 16 names at once, and does not follow symbolic links.
 * These, and "..", are followed here, so that they lead where they would on Linux: an absolute link to the
 * node's root, ".." of the mount's root out of the mount.
 *
 *      text    "usr/lib/python" + "/" + "../x/y"
 *               known: no links in it     still to be walked
 *
 * All is text: a link's target and ".." change it, and the walk begins again at the root. If a call starts at
 * an open file, the known part is that file's path.
 */
#ifndef TACET_NINEP_PATH_H
#define TACET_NINEP_PATH_H

#include "ninep/session.h"

struct ninep_scratch {
    char path[TREE_PATH_MAX];
    char other[TREE_PATH_MAX];
    uint8_t message[TREE_PATH_MAX + 512]; /* a link's name and target, or the names of a walk */
    uint8_t reply[256];                   /* reply to a walk */
};

enum ninep_last { NINEP_LAST_NAME, NINEP_LAST_DOT, NINEP_LAST_DOTDOT, NINEP_LAST_START };

struct ninep_path {
    struct ninep_session *session;
    struct mount_call *call;
    struct ninep_scratch *scratch;
    uint32_t generation;
    uint64_t moves; /* of the session, when the path began */
    uint32_t known; /* bytes of the text, from its beginning */
    unsigned symlinks;
    bool must_be_directory, trailing_slash, ends_in_dot;
    bool lacks_last; /* -ENOENT, and `fid` is the directory that lacks the last name of the text */
    uint32_t fid;    /* NINEP_ROOT, or one of the path's own */
    struct ninep_qid qid;
    char name[TREE_NAME_MAX + 1]; /* the last name, after ninep_path_parent or ninep_path_cut */
};

/* Returns the last name of a path without a slash at its end. */
const char *ninep_last_name(const char *text);

/* Returns how a path ends, by its text alone. */
enum ninep_last ninep_path_last(const char *path);

/* Allocates memory for a path, and sets its text. -ENOMEM, -ENAMETOOLONG. ninep_path_end must follow, also
 * after an error. */
int ninep_path_begin(struct ninep_path *path, struct ninep_session *session, uint32_t generation,
                     struct mount_call *call);
void ninep_path_end(struct ninep_path *path);

/* Begins a request on path->fid, in the path's memory; sends one and waits for its reply. */
struct ninep_request ninep_path_request(const struct ninep_path *path, enum ninep_type type);
int ninep_path_call(const struct ninep_path *path, struct ninep_request *request);

/* Walks to what the path names: sets path->fid and path->qid; scratch->path is where it is, without links. A
 * symbolic link at the end is followed if `follow` says so, or if a slash comes after it. MOUNT_LEFT with
 * call->left. */
int ninep_path_walk(struct ninep_path *path, bool follow);

/* Reads the link that path->fid is. Returns its target's bytes, or an error; *target is valid until the next
 * request. */
int ninep_path_link(struct ninep_path *path, const char **target);

/* Walks to the directory of the last name, which becomes path->name. Returns `no_name` if the path ends in no
 * name. */
int ninep_path_parent(struct ninep_path *path, int no_name);

/* Returns the error for creating something other than a directory if a slash follows the name: -EEXIST,
 * -ENOENT. */
int ninep_path_slash(struct ninep_path *path);

/* Sets path->name to the last name, after -ENOENT with lacks_last: path->fid is its directory's then.
 * -ENAMETOOLONG. */
int ninep_path_cut(struct ninep_path *path);

/* Makes path->fid a fid of the path's own, which may become an open file. */
int ninep_path_own(struct ninep_path *path);

#endif
