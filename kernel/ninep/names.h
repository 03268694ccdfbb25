/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h: the names of open files. diod finds the attributes of a file by the name to which its fid was
 * walked, also if the file is open: once that name is another file's, or gone, no request gets them. So the
 * session, which makes this node's renames and removals, keeps a name for each open file:
 *
 *      its name, or that of a directory above it, is renamed     it has the new name
 *      its name is removed or replaced                           it gets another name before, a hard link
 *                                                                `.tacet…` in the same directory, which is
 *                                                                removed when the last file is closed
 *      a directory's name is removed or replaced                 its last status is kept, without a name
 *
 * What others rename or remove is not known here: -ESTALE.
 *
 * Open files are in a balanced tree by a hash of their names, so a change costs the logarithm of their
 * number; that of a directory's name one step for each file, with the lock released in between. `moves`
 * counts changes: a file whose name may have changed after the walk to it does not enter, but is walked to
 * again.
 */
#ifndef TACET_NINEP_NAMES_H
#define TACET_NINEP_NAMES_H

#include "ninep/file.h"

#define NINEP_HIDDEN ".tacet"

/* Enters an open file that `path` was walked to; -ENOTCONN, which repeats the call, if names have changed
 * since ninep_path_begin. */
int ninep_name_enter(struct ninep_file *file, const struct ninep_path *path);

/* Takes a file out that is to be closed. Returns whether its name is hidden and no other file has it. */
bool ninep_name_leave(struct ninep_file *file);

/* Returns whether a file of this name is open; ninep_name_is_hidden: whether a name in an open directory is a
 * hidden one of this session's. */
bool ninep_name_is_open(struct ninep_session *session, const char *text);
bool ninep_name_is_hidden(const struct ninep_file *directory, const char *name);

/* Gives the files of a name another one; with `below`, also those that are below it. */
void ninep_names_change(struct ninep_session *session, const char *from, const char *to, bool below,
                        bool hides);

/* Ends the name of a directory, which had this status. */
void ninep_names_end(struct ninep_session *session, const char *text, const struct mount_status *status);

/* Writes a hidden name in a directory. Returns false if there is none. */
bool ninep_hidden_find(struct ninep_session *session, const char *directory, char text[TREE_PATH_MAX]);

#endif
