/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_files.h: what programs read of the network: /etc/resolv.conf, /etc/hosts and /etc/hostname, unless
 * the archives bring them; /proc/net/dev and route, in Linux's formats (proc(5)); /proc/tacet/network.
 */
#ifndef TACET_NETWORK_FILES_H
#define TACET_NETWORK_FILES_H

#include "lib/format.h"

struct tree;

/* Adds the files, after network_start, when the tree has all that the archives bring. -ENOMEM with `why`. */
int network_files_add(struct tree *tree, struct message *why);

#endif
