/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * etc.h: the files of /etc that C libraries and programs expect, unless the boot archives bring their own.
 * etc.c
 */
#ifndef TACET_ETC_H
#define TACET_ETC_H

#include "fs/tree/tree.h"

/* Adds them, when the tree has all that the archives bring. -ENOMEM, -EINVAL with `why`. */
int etc_add(struct tree *tree, struct message *why);

/* Writes passwd and group for the job's user (process_credentials): after it has changed, between jobs. */
void etc_user_write(void);

/* Adds one file, with a text that lives as long as the tree, or, if that is an absolute path, a symbolic
 * link; unless there is one: *added (may be NULL) is then NULL. */
int etc_file_add(struct tree *tree, const char *path, const char *text, struct inode **added,
                 struct message *why);

#endif
