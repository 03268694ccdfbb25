/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netlink.c: sockets of AF_NETLINK; there are none in this kernel. Runs in system calls.
 */
#include "fs/socket.h"
#include "lib/errno.h"

int netlink_socket_create(struct file *file, int type, int protocol)
{
    (void)file, (void)type, (void)protocol;
    return -EAFNOSUPPORT;
}
