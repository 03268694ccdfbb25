/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mounts.h: which servers' files a node sees, and where: mount=.
 */
#ifndef TACET_MOUNTS_H
#define TACET_MOUNTS_H

#include "fs/tree/tree.h"
#include "lib/command_line.h"

/* Mounts what the command line says. On the first CPU, after network_start. If a mount fails: an error
 * with `why`, or with mount_required=no a line on the console. */
int mounts_start(const struct command_line *line, struct tree *tree, struct message *why);

#endif
