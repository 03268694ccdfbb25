/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscall.c: the table of handlers, generated from syscalls.def; the answers to calls without one, and to
 * calls that a signal has interrupted. Such a call records in its thread which call it was and whether it may
 * start again; signal_deliver decides, when it knows whether a handler runs. Runs in system calls.
 */
#include "syscall/syscall.h"
#include "arch.h"
#include "fs/mount.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/socket_call.h"
#include "time/timespec.h"

/* Calls that this architecture lacks have the number -1: they share the slot above all numbers. */
#define SYSCALL_SLOT(number) ((number) < 0 ? SYSCALL_SLOTS : (number))

/* Called by the entry code with the arguments in registers; each handler has a type of its own. */
typedef void syscall_handler(void);

struct file *file_of(uint64_t descriptor)
{
    return file_get(arch_process(), descriptor);
}

/* A call on the file of a descriptor. */
struct file_call {
    long (*carry_out)(struct file *file, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
    int number;
    bool of_socket;
};

static long file_call(uint64_t descriptor, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                      const struct file_call *call)
{
    FILE_REFERENCE file = file_of(descriptor);

    if (!file || (file->flags & O_PATH))
        return -EBADF;
    if (call->of_socket && !file_is_socket(file))
        return -ENOTSOCK;
    return restartable((unsigned)call->number, call->carry_out(file, b, c, d, e, f));
}

/* The handlers that rows describe. The entry code hands over six registers, whatever the call takes. */
#define REGISTER __attribute__((unused)) uint64_t
#define CONST(name, x86_64, ppc64, value, reason)                                                   \
    static long call_##name(REGISTER a, REGISTER b, REGISTER c, REGISTER d, REGISTER e, REGISTER f) \
    {                                                                                               \
        return value;                                                                               \
    }
#define ALIAS(name, x86_64, ppc64, of, arguments, limits) \
    CONST(name, x86_64, ppc64, sys_##of arguments, limits)
#define CALL(name, x86_64, ppc64, result, limits) \
    CONST(name, x86_64, ppc64, restartable(ARCH_SYSCALL_NUMBER(x86_64, ppc64), result), limits)
#define FILE_CALL(name, x86_64, ppc64, result, of_socket)                                                    \
    static long on_##name(__attribute__((unused)) struct file *file, REGISTER b, REGISTER c, REGISTER d,     \
                          REGISTER e, REGISTER f)                                                            \
    {                                                                                                        \
        return result;                                                                                       \
    }                                                                                                        \
    static const struct file_call row_##name = { on_##name, ARCH_SYSCALL_NUMBER(x86_64, ppc64), of_socket }; \
    CONST(name, x86_64, ppc64, file_call(a, b, c, d, e, f, &row_##name), "")
#define ON_FILE(name, x86_64, ppc64, result, limits)   FILE_CALL(name, x86_64, ppc64, result, false)
#define ON_SOCKET(name, x86_64, ppc64, result, limits) FILE_CALL(name, x86_64, ppc64, result, true)
#include "syscall/syscalls.def"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-function-type"
#pragma GCC diagnostic ignored "-Woverride-init"
#define ENTRY(handler, x86_64, ppc64) \
    [SYSCALL_SLOT(ARCH_SYSCALL_NUMBER(x86_64, ppc64))] = (syscall_handler *)(handler),
#define LOCAL(name, x86_64, ppc64, arguments, limits) ENTRY(sys_##name, x86_64, ppc64)
#define CONST(name, x86_64, ppc64, value, reason)     ENTRY(call_##name, x86_64, ppc64)

syscall_handler *const syscall_table[SYSCALL_SLOTS + 1] = {
    [0 ... SYSCALL_SLOTS - 1] = syscall_hole,
#include "syscall/syscalls.def"
    [SYSCALL_SLOTS] = syscall_hole, /* leaves the calls that this architecture lacks out of the kernel */
};
#pragma GCC diagnostic pop

static const struct {
    int number;
    const char *name, *reason;
} refused[] = {
#define REFUSED(name, x86_64, ppc64, reason) { ARCH_SYSCALL_NUMBER(x86_64, ppc64), #name, reason },
#include "syscall/syscalls.def"
};

long syscall_refuse(unsigned kind, const char *name, const char *reason)
{
    process_report(kind, ": %s is not supported: %s (ENOSYS)", name, reason);
    return -ENOSYS;
}

long syscall_unknown(uint64_t number)
{
    const unsigned slot = (unsigned)smaller(number, SYSCALL_SLOTS); /* numbers above share a report */

    _Static_assert((int)REFUSAL_CPU_TIMERS < (int)REPORT_END, "each kind has its bit");
    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (refused[i].number == (int)number)
            return syscall_refuse(slot, refused[i].name, refused[i].reason);
    process_report(slot, ": system call %lu is not supported (ENOSYS); docs/abi.md lists those that are",
                   number);
    return -ENOSYS;
}

/* ---- Calls that a signal has interrupted ---- */

long thread_interrupted_call(unsigned number, enum restart restart)
{
    struct thread *thread = arch_thread();

    thread->restart_number = number;
    thread->restart = restart;
    arch_request_slow_return();
    return -EINTR;
}

long thread_interrupted_wait(long (*resume)(const uint64_t *words), const uint64_t words[RESUME_WORDS])
{
    struct thread *thread = arch_thread();

    thread->resume = resume;
    for (unsigned i = 0; i < RESUME_WORDS; i++)
        thread->resume_words[i] = words[i];
    return thread_interrupted_call(SYSCALL_NUMBER_restart_syscall, RESTART_NEVER);
}

long restartable(unsigned number, long result)
{
    if (result == -EINTR)
        return thread_interrupted_call(number, RESTART_ALWAYS);
    if (result == -ERESTARTNOHAND)
        return thread_interrupted_call(number, RESTART_NEVER);
    return result;
}
