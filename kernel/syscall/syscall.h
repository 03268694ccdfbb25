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
#include "process/thread.h"
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
#include "syscall/syscalls.def"

/* SYSCALL_NUMBER_<name>: a local call's number on this architecture, negative if it lacks the call. */
enum {
#define LOCAL(name, x86_64, ppc64, arguments, limits) \
    SYSCALL_NUMBER_##name = ARCH_SYSCALL_NUMBER(x86_64, ppc64),
#include "syscall/syscalls.def"
};

/* Kinds of reports (process_report): the numbers of calls without a handler, fork's, and these. */
enum refusal {
    REFUSAL_FORK = ARCH_SYSCALL_NUMBER(57, 2),
    REFUSAL_MEMORY = SYSCALL_SLOTS + 1,
    REFUSAL_THREADS,
    REFUSAL_TIMERS,
    REFUSAL_THREAD_KIND,
    REFUSAL_TRACING,
    REFUSAL_CPU_TIMERS,
    REFUSAL_WATCH
};

/* Reports a call without a handler to the user, and answers -ENOSYS. Called by the entry code's
 * syscall_hole. */
long syscall_unknown(uint64_t number);

/* Refuses to make another process: -ENOMEM, which callers take for what it is; reports it to the user.
 * sys_thread.c */
long fork_refuse(void);

/* Refuses a call, or a part of one: reports its name and the reason to the user; answers -ENOSYS. */
long syscall_refuse(unsigned kind, const char *name, const char *reason);

/* ---- Entry point of the architecture: clone, from the assembly of sys_clone ---- */

/* Creates a thread: returns its tid, or an errno. `kept_registers` are those of the caller that only the
 * assembly sees, for arch_start_clone. */
long thread_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls,
                  const void *kept_registers);

/* ---- Calls that a signal has interrupted (syscall.c) ---- */

/* Ends a call early with -EINTR: records in its thread which call it was, so that it can start again after,
 * or instead of, the signal's handler. */
long thread_interrupted_call(unsigned number, enum restart restart);

/* Does the same for a wait with a relative time limit (RESTART_NEVER): if no handler runs, it continues as
 * restart_syscall, which calls `resume` with the words. */
long thread_interrupted_wait(long (*resume)(const uint64_t *words), const uint64_t words[RESUME_WORDS]);

/* Returns a call's result. If a signal has interrupted it, calls thread_interrupted_call: after -EINTR the
 * call starts again after a handler with SA_RESTART, after -ERESTARTNOHAND only if no handler runs. */
long restartable(unsigned number, long result);

/* Reads the CPU time of a negative clock of Linux's: -EINVAL if there is no such clock. sys_time.c */
int cpu_clock_read(uint64_t clock, uint64_t *ns);

struct file;
struct mount_change;

/* Returns the open file of a descriptor of the caller's process, as file_get. */
struct file *file_of(uint64_t descriptor);

/* Carries out fcntl's commands for record locks; flock. sys_lock.c */
long record_lock(struct file *file, uint64_t descriptor, uint32_t command, uint64_t argument);
long whole_file_lock(struct file *file, uint32_t operation);

/* ---- Called by rows of syscalls.def, which say what for ---- */

/* Reads or writes one part, or several as one operation. `offset` points to the offset that a call brings
 * along; NULL: the file's own offset, which advances. sys_file.c */
long part_transfer(uint64_t descriptor, uint64_t buffer, uint64_t bytes, const uint64_t *offset, bool write);
long parts_transfer(uint64_t descriptor, uint64_t list, uint64_t count, const uint64_t *offset,
                    uint64_t flags, bool write);
int64_t descriptor_seek(uint64_t descriptor, uint64_t offset, uint64_t whence);

/* Opens a file and installs it at a descriptor, which it returns. sys_path.c */
long path_open(uint64_t directory, uint64_t address, uint64_t flags, uint64_t mode);

/* Makes a change of permissions, or of owners, of whom an id of -1 stays as it is. The calls set what a
 * change says, of an open file, or of (directory, path, flags). sys_attributes.c */
struct mount_change mode_change(uint64_t mode);
struct mount_change owner_change(uint64_t user, uint64_t group);
long open_attributes_set(struct file *file, struct mount_change change);
long attributes_set_at(uint64_t directory, uint64_t address, uint64_t flags, struct mount_change change);

/* Answers calls on a path's extended attributes: no file has any. sys_attributes.c */
long attribute_refuse(uint64_t path, uint64_t flags);

/* Carries out timerfd_gettime. sys_event.c */
long timer_file_read(struct file *file, uint64_t buffer);

/* Writes a user's or group's number to three addresses. -EFAULT. sys_process.c */
int ids_write(uint32_t id, uint64_t real, uint64_t effective, uint64_t saved);

/* Checks that calls which set one identity, or several, leave it as it is; -1 of several does so. -EINVAL,
 * -EPERM. */
int id_set(uint32_t id, uint64_t to);
int ids_set(uint32_t id, uint64_t real, uint64_t effective, uint64_t saved);

/* Carries out the call that the number of ipc(2) names. sys_ipc.c */
long ipc_call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t pointer, uint64_t e);

/* Makes the descriptor `to` refer to the file of another; carries out fcntl, ioctl. sys_descriptor.c */
long duplicate_to(uint64_t from, uint64_t to, bool close_on_exec);
long descriptor_control(uint64_t descriptor, uint32_t command, uint64_t argument);
long descriptor_ioctl(uint64_t descriptor, uint32_t request, uint64_t argument);

long directory_read(struct file *file, uint64_t buffer, uint64_t bytes); /* getdents64; sys_path.c */
long regular_make(uint64_t directory, uint64_t address, uint64_t mode);  /* mknod; sys_path.c */

/* Sends a signal to a thread of the process `group`, or of any process if that is 0. sys_signal.c */
long thread_kill(uint32_t group, uint64_t tid, uint64_t signal);

/* Has the server of a mount store the file; allocates a range; the others check their arguments.
 * sys_storage.c */
long storage_sync(struct file *file, bool data_only);
long storage_allocate(struct file *file, uint32_t mode, uint64_t offset, uint64_t bytes);
long storage_range_check(const struct file *file, uint64_t offset, uint64_t bytes, uint32_t flags);
long storage_read_ahead(const struct file *file);
long storage_advise(const struct file *file, int64_t bytes, uint32_t advice);

/* Sets a thread's policy and priority. A negative policy: the thread keeps its policy. Answers the bound of a
 * policy's priorities, which is `realtime` if the policy has any. sys_thread.c */
long policy_set(uint64_t tid, int64_t policy, uint64_t parameters);
long priority_bound(uint32_t policy, long realtime);

/* Installs both ends of a pipe or a pair of sockets, and writes their descriptors to the program; both or
 * none: also none if `error` says that they could not be made. Drops the caller's references in any case.
 * sys_descriptor.c */
long ends_install(int error, struct file *const ends[2], uint64_t buffer, bool close_on_exec);

/* Reads a signal mask from the program's memory, of the size that it gives, and without the signals that
 * cannot be blocked: -EINVAL, -EFAULT. sys_signal.c */
int signal_mask_read(uint64_t address, uint64_t bytes, uint64_t *mask);

#endif
