/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscall.h: the handlers of system calls. Generated from syscalls.def, so that a call in the list without a
 * handler does not link.
 *
 * A handler runs in the caller's context, interrupts off, and returns a result or a negative errno. All
 * arguments are whole 64-bit registers; a handler narrows what Linux defines as int. An address is a
 * uint64_t, which only user_read, user_write and their variants may access.
 */
#ifndef TACET_SYSCALL_H
#define TACET_SYSCALL_H

#include "arch/platform.h"
#include <stdint.h>

#define SYSCALL_SLOTS 512 /* the table's size; all of Linux's numbers are below */

#define SYSCALL_ARGUMENTS_0 void
#define SYSCALL_ARGUMENTS_1 uint64_t
#define SYSCALL_ARGUMENTS_2 uint64_t, uint64_t
#define SYSCALL_ARGUMENTS_3 uint64_t, uint64_t, uint64_t
#define SYSCALL_ARGUMENTS_4 uint64_t, uint64_t, uint64_t, uint64_t
#define SYSCALL_ARGUMENTS_5 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define SYSCALL_ARGUMENTS_6 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t

#define LOCAL(name, x86_64, ppc64, arguments, limits) long sys_##name(SYSCALL_ARGUMENTS_##arguments);
#define STUB(name, x86_64, ppc64, arguments, reason)  long sys_##name(SYSCALL_ARGUMENTS_##arguments);
#include "syscall/syscalls.def"

/* SYSCALL_NUMBER_<name>: a local call's number on this architecture, negative where it lacks the call. */
enum {
#define LOCAL(name, x86_64, ppc64, arguments, limits) \
    SYSCALL_NUMBER_##name = ARCH_SYSCALL_NUMBER(x86_64, ppc64),
#include "syscall/syscalls.def"
};

/* For numbers without a handler, from the entry code's syscall_hole: logs the call once, answers -ENOSYS. */
long syscall_unknown(uint64_t number);

/* For a part of a call that is refused: logs `name` and the reason, once for each reason; answers -ENOSYS. */
long syscall_refuse(const char *name, const char *reason);

struct file;

/* fcntl's commands for record locks. sys_lock.c */
long record_lock(struct file *file, uint64_t descriptor, uint32_t command, uint64_t argument);

/* A signal mask in the program's memory, of the size that it gives: -EINVAL, -EFAULT. sys_signal.c */
int signal_mask_read(uint64_t address, uint64_t bytes, uint64_t *mask);

#endif
