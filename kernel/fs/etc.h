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

/* Says that process_credentials have changed, between jobs: the sizes of passwd and group follow. */
void etc_user_changed(void);

/* Adds one file, with a text that lives as long as the tree, or, if that is an absolute path, a symbolic
 * link; unless there is one. */
int etc_file_add(struct tree *tree, const char *path, const char *text, struct message *why);

#endif
