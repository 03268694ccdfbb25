/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h: from a path to a fid. A server walks up to 16 names at once, and does not follow symbolic
 * links; these, and "..", are followed here, so that they lead where they would on Linux: an absolute link to
 * the node's root, ".." of the mount's root out of the mount.
 *
 *      text    "usr/lib/python" + "/" + "../x/y"
 *               known: no links in it     still to be walked
 *
 * All is text: a link's target and ".." change it, and the walk begins anew at the root. The known part of
 * a call that starts at an open file is that file's path.
 */
#ifndef TACET_NINEP_PATH_H
#define TACET_NINEP_PATH_H

#include "ninep/session.h"

struct ninep_scratch {
    char path[TREE_PATH_MAX];
    char other[TREE_PATH_MAX];
    uint8_t message[TREE_PATH_MAX + 512]; /* a link's name and target, or the names of a walk */
    uint8_t reply[256];                   /* of a walk */
};

enum ninep_last { NINEP_LAST_NAME, NINEP_LAST_DOT, NINEP_LAST_DOTDOT, NINEP_LAST_START };

struct ninep_path {
    struct ninep_session *session;
    struct mount_call *call;
    struct ninep_scratch *scratch;
    uint32_t generation;
    uint32_t known; /* bytes of the text */
    unsigned symlinks;
    bool must_be_directory, trailing_slash, ends_in_dot;
    bool lacks_last; /* -ENOENT, and `fid` is the directory that lacks the last name of the text */
    uint32_t fid;    /* NINEP_ROOT, or its own */
    struct ninep_qid qid;
    char name[TREE_NAME_MAX + 1]; /* the last one, of ninep_path_parent */
};

/* How a path ends, by its text alone. */
enum ninep_last ninep_path_last(const char *path);

/* Memory for a path, and its text. -ENOMEM, -ENAMETOOLONG. What has begun must end. */
int ninep_path_begin(struct ninep_path *path, struct ninep_session *session, uint32_t generation,
                     struct mount_call *call);
void ninep_path_end(struct ninep_path *path);

/* Walks to what the path names: path->fid and path->qid; scratch->path is where it is, without links. A
 * symbolic link at the end is followed where `follow` says so, or a slash stands there. MOUNT_LEFT with
 * call->left. */
int ninep_path_walk(struct ninep_path *path, bool follow);

/* Reads the link that path->fid is: its target's bytes, or an error; *target is valid until the next request.
 */
int ninep_path_link(struct ninep_path *path, const char **target);

/* Walks to the directory of the last name, path->name. `no_name` is the error where the path ends in none. */
int ninep_path_parent(struct ninep_path *path, int no_name);

/* What creating something else than a directory answers where a slash follows the name: -EEXIST, -ENOENT. */
int ninep_path_slash(struct ninep_path *path);

/* After -ENOENT with lacks_last: the last name becomes path->name, and path->fid a directory's. */
int ninep_path_cut(struct ninep_path *path);

/* A fid of the path's own, which may become an open file. */
int ninep_path_own(struct ninep_path *path);

#endif
