/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_call.h: the system calls on sockets, and what they share: sys_socket.c, sys_message.c. Addresses are
 * the program's.
 */
#ifndef TACET_SOCKET_CALL_H
#define TACET_SOCKET_CALL_H

#include "fs/socket.h"

/* Reads an address from the program. Returns -EINVAL if it is too long, -EFAULT. */
int socket_address_read(struct socket_address *address, uint64_t buffer, uint64_t bytes);

/* Writes an answer, as far as the program has room for it, and its size: that of the whole answer, or of what
 * was written. The room is an int at `room_address`, which the size replaces. -EINVAL, -EFAULT. */
long socket_answer_write(const void *answer, uint32_t bytes, uint64_t buffer, uint64_t room_address,
                         bool size_is_whole);

/* ---- Called by the rows of syscalls.def, with the socket of the call's descriptor; socket_accept with any
 * file, because the flags are checked before its kind ---- */

/* Carries out bind, connect, or the call that a function is named after. sys_socket.c */
int64_t socket_address_set(struct file *file, uint64_t buffer, uint64_t bytes, bool connects);
long socket_listen(struct file *file, uint64_t backlog);
long socket_accept(struct file *file, uint64_t buffer, uint64_t room_address, uint64_t flags);
long socket_shutdown(struct file *file, uint64_t how);
long socket_name(struct file *file, uint64_t buffer, uint64_t room_address, bool of_peer);

/* Carries out getsockopt, setsockopt. sys_socket.c */
long socket_option_read(struct file *file, uint32_t level, uint32_t option, uint64_t buffer,
                        uint64_t room_address);
long socket_option_set(struct file *file, uint32_t level, uint32_t option, uint64_t address, uint32_t bytes);

/* Carries out sendto, recvfrom, sendmsg, recvmsg. sys_message.c */
int64_t part_send(struct file *file, uint64_t buffer, uint64_t bytes, uint32_t flags, uint64_t name,
                  uint64_t name_bytes);
int64_t part_receive(struct file *file, uint64_t buffer, uint64_t bytes, uint32_t flags, uint64_t name,
                     uint64_t room_address);
int64_t message_send(struct file *file, uint64_t buffer, unsigned flags);
int64_t message_receive(struct file *file, uint64_t buffer, unsigned flags);

/* Sends or receives messages; returns how many, or the error of the first. The time limit of receiving counts
 * after a message has been received. */
int64_t messages_move(struct file *file, uint64_t list, uint64_t count, unsigned flags, bool send,
                      uint64_t timeout);

#endif
