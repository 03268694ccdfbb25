/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_call.h: what the system calls on sockets share: sys_socket.c, sys_message.c, sys_socket_option.c.
 */
#ifndef TACET_SOCKET_CALL_H
#define TACET_SOCKET_CALL_H

#include "fs/socket.h"

/* Finds the socket of a descriptor. -EBADF, -ENOTSOCK. *out is a FILE_REFERENCE of the caller in any case. */
int socket_get(uint64_t descriptor, struct file **out);

/* Reads an address from the program. -EINVAL if it is too long, -EFAULT. */
int socket_address_read(struct socket_address *address, uint64_t buffer, uint64_t bytes);

/* Writes an answer, as far as the program has room for it, and its size: that of the whole answer, or of what
 * was written. The room is an int at `room_address`, which the size replaces. -EINVAL, -EFAULT. */
long socket_answer_write(const void *answer, uint32_t bytes, uint64_t buffer, uint64_t room_address,
                         bool size_is_whole);

#endif
