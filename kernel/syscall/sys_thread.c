/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_thread.c: system calls about threads: making them [man 2 clone], their numbers, names, robust lists,
 * CPUs and scheduling policies. futex is in sys_futex.c.
 */
#include "arch.h"
#include "time/timer.h"
#include "fs/nodes.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

#define ROBUST_HEAD_BYTES 24

/* ---- Making ---- */

long fork_refuse(void)
{
    process_report(REFUSAL_FORK,
                   ": fork is not supported: a rank cannot start another process, so system and "
                   "popen fail, too (ENOMEM)");
    return -ENOMEM;
}

/* Checks the flags of clone, which thread_create carries out. */
static int flags_check(uint64_t flags)
{
    const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const uint64_t known = thread | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
                           CLONE_CHILD_CLEARTID | CLONE_DETACHED;

    if (((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND)) ||
        ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM)))
        return -EINVAL;
    if (!(flags & CLONE_THREAD))
        return (int)fork_refuse();
    if ((flags & thread) != thread)
        return (int)syscall_refuse(REFUSAL_THREAD_KIND, "clone",
                                   "threads must share memory, files, directory and signal handlers");
    if (flags & ~known)
        return (int)syscall_refuse(REFUSAL_TRACING, "clone", "tracing and namespaces are not supported");
    return 0;
}

long thread_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls,
                  const void *kept_registers)
{
    const struct thread_arguments given = {
        .stack = stack,
        .thread_pointer = flags & CLONE_SETTLS ? &tls : NULL,
        .parent_tid_address = flags & CLONE_PARENT_SETTID ? parent_tid : 0,
        .set_tid_address = flags & CLONE_CHILD_SETTID ? child_tid : 0,
        .clear_tid_address = flags & CLONE_CHILD_CLEARTID ? child_tid : 0,
        .kept_registers = kept_registers,
    };
    struct process *process = arch_process();
    int error = flags_check(flags & ~0xffULL); /* the low byte is a signal for a parent */

    if (error)
        return error;
    if ((flags & CLONE_SETTLS) && tls >= ARCH_USER_LIMIT)
        return -EPERM;

    long tid = thread_create(&given);
    if (tid == -EAGAIN)
        process_report(REFUSAL_THREADS,
                       " wants more threads than %u, or has no memory left for one: clone answers EAGAIN; "
                       "threads= sets how many it may have for each CPU",
                       (unsigned)process_soft_limit(process, LIMIT_THREADS));
    return tid;
}

/* ---- Identity ---- */

/* Finds a thread of the process by its tid, 0 for the caller; NULL if there is none. The caller holds the
 * process's lock. */
static struct thread *thread_by_tid(uint64_t tid)
{
    return (uint32_t)tid ? thread_find(arch_process(), (uint32_t)tid) : arch_thread();
}

/* What calls report of a thread, copied under the lock, under which nothing is written to the program. */
struct thread_state {
    uint64_t robust_list;
    struct cpu_mask affinity;
    uint32_t policy;
    int32_t priority;
};

static int thread_state_read(uint64_t tid, struct thread_state *state)
{
    struct process *process = arch_process();

    SPIN_GUARD(&process->lock);
    const struct thread *thread = thread_by_tid(tid);
    if (!thread)
        return -ESRCH;
    *state = (struct thread_state){ thread->robust_list, thread->schedule.affinity,
                                    thread->policy | (thread->resets_policy ? RESET_ON_FORK : 0),
                                    thread->priority };
    return 0;
}

long sys_exit(uint64_t status)
{
    thread_exit(status & 0xff);
}

long sys_set_tid_address(uint64_t address)
{
    arch_thread()->clear_tid_address = address;
    return (long)arch_thread()->tid;
}

long sys_set_robust_list(uint64_t head, uint64_t bytes)
{
    if (bytes != ROBUST_HEAD_BYTES)
        return -EINVAL;
    arch_thread()->robust_list = head;
    return 0;
}

long sys_get_robust_list(uint64_t tid, uint64_t head_address, uint64_t bytes_address)
{
    const uint64_t bytes = ROBUST_HEAD_BYTES;
    struct thread_state state;
    int error = thread_state_read(tid, &state);

    if (error)
        return error;
    if (user_write(bytes_address, &bytes, sizeof(bytes)))
        return -EFAULT;
    return user_write(head_address, &state.robust_list, sizeof(state.robust_list));
}

/* Attributes of a rank that PR_SET_… keeps and PR_GET_… tells. They change nothing here: a rank has neither a
 * parent nor children, no process traces it, and its user, program and page sizes stay. */
static const struct attribute {
    uint8_t set, get; /* operations */
    uint8_t max;      /* the highest value */
    bool is_flag;     /* any other value than 0 counts as 1 */
    bool is_sticky;   /* can only be set to 1 */
    bool is_written;  /* told in memory, not by the result */
} attributes[PROCESS_ATTRIBUTES] = {
    [ATTRIBUTE_PARENT_DEATH] = { 1, 2, .max = 64, .is_written = true },
    [ATTRIBUTE_DUMPABLE] = { 4, 3, .max = 1 },
    [ATTRIBUTE_KEEP_CAPABILITIES] = { 8, 7, .max = 1 },
    [ATTRIBUTE_SUBREAPER] = { 36, 37, .is_flag = true, .is_written = true },
    [ATTRIBUTE_NO_NEW_PRIVILEGES] = { 38, 39, .max = 1, .is_sticky = true },
    [ATTRIBUTE_SMALL_PAGES] = { 41, 42, .is_flag = true },
};

static long attribute_set(const struct attribute *attribute, uint8_t *value, uint64_t argument)
{
    if (attribute->is_flag)
        argument = argument != 0;
    else if (argument > attribute->max || (attribute->is_sticky && !argument))
        return -EINVAL;
    __atomic_store_n(value, (uint8_t)argument, __ATOMIC_RELAXED);
    return 0;
}

static long attribute_get(const struct attribute *attribute, const uint8_t *value, uint64_t argument)
{
    const uint32_t now = __atomic_load_n(value, __ATOMIC_RELAXED);

    return attribute->is_written ? user_write(argument, &now, sizeof(now)) : (long)now;
}

/* Carries out an operation on an attribute, or one of the architecture's. */
static long attribute_call(uint32_t operation, uint64_t argument)
{
    uint8_t *values = arch_process()->attributes;

    for (unsigned i = 0; i < PROCESS_ATTRIBUTES; i++) {
        if (operation == attributes[i].set)
            return attribute_set(&attributes[i], &values[i], argument);
        if (operation == attributes[i].get)
            return attribute_get(&attributes[i], &values[i], argument);
    }
    return arch_thread_option(operation, argument);
}

long sys_prctl(uint64_t operation, uint64_t argument)
{
    enum { SET_NAME = 15, GET_NAME = 16, SET_TIMERSLACK = 29, GET_TIMERSLACK = 30 };
    struct thread *thread = arch_thread();
    char name[THREAD_NAME_BYTES] = ""; /* zeroes after a short name, because GET_NAME shows all of it */
    int64_t length;

    switch ((uint32_t)operation) {
    case SET_NAME:
        length = user_read_string(name, argument, sizeof(name));
        if (length == -EFAULT)
            return -EFAULT;
        name[sizeof(name) - 1] = 0;
        thread_rename(thread->process, thread->tid, name);
        return 0;
    case SET_TIMERSLACK: /* 0 restores the default, 1 ns is exact */
        thread->latency_bound_ns = argument ? argument : latency_bound_default_ns;
        return 0;
    case GET_TIMERSLACK:
        return (long)thread->latency_bound_ns;
    case PR_TACET_TIE:
        return (long)process_tie_set(argument != 0);
    case GET_NAME:
        return user_write(argument, thread->name, sizeof(thread->name));
    default:
        return attribute_call((uint32_t)operation, argument);
    }
}

/* ---- CPUs ---- */

/* Returns the bytes of a set of the node's CPUs: whole words. The rest of a program's set is left alone. */
static uint64_t affinity_bytes(void)
{
    return (arch_cpu_count() + 63) / 64 * sizeof(uint64_t);
}

long sys_sched_getaffinity(uint64_t tid, uint64_t bytes, uint64_t mask)
{
    struct thread_state state;

    /* As Linux: an unsigned number of bits, which must be enough for the node's CPUs. */
    if ((uint32_t)(bytes * 8) < arch_cpu_count() || bytes % sizeof(uint64_t))
        return -EINVAL;
    int error = thread_state_read(tid, &state);
    if (error)
        return error;
    bytes = smaller((uint32_t)bytes, affinity_bytes());
    return user_write(mask, state.affinity.words, bytes) ? -EFAULT : (long)bytes;
}

long sys_sched_setaffinity(uint64_t tid, uint64_t bytes, uint64_t mask)
{
    struct process *process = arch_process();
    struct cpu_mask cpus = { .used = process->cpus.used };

    bytes = smaller((uint32_t)bytes, affinity_bytes());
    if (user_read(cpus.words, mask, bytes))
        return -EFAULT;
    cpus = cpu_mask_and(&cpus, &process->cpus);
    SPIN_GUARD(&process->lock);
    struct thread *thread = thread_by_tid(tid);
    if (!thread)
        return -ESRCH;
    if (cpu_mask_is_empty(&cpus))
        return -EINVAL;
    schedule_affinity_set(thread, &cpus);
    return 0;
}

long sys_getcpu(uint64_t cpu_address, uint64_t domain_address)
{
    uint32_t cpu = arch_cpu_index(), domain = node_of_cpu(cpu);

    if (cpu_address && user_write(cpu_address, &cpu, sizeof(cpu)))
        return -EFAULT;
    if (domain_address && user_write(domain_address, &domain, sizeof(domain)))
        return -EFAULT;
    return 0;
}

/* ---- Scheduling ---- */

static bool policy_is_realtime(uint32_t policy)
{
    return policy == POLICY_FIFO || policy == POLICY_RR;
}

/* Returns -EINVAL if the policy does not exist, or does not have the priority. */
static int policy_check(uint32_t policy, int32_t priority)
{
    if (policy > POLICY_IDLE || policy == 4)
        return -EINVAL;
    if (policy_is_realtime(policy))
        return priority < 1 || priority > 99 ? -EINVAL : 0;
    return priority ? -EINVAL : 0;
}

long policy_set(uint64_t tid, int64_t policy, uint64_t parameters)
{
    struct process *process = arch_process();
    int32_t priority;

    if ((int32_t)tid < 0 || !parameters)
        return -EINVAL;
    if (user_read(&priority, parameters, sizeof(priority)))
        return -EFAULT;
    SPIN_GUARD(&process->lock);
    struct thread *thread = thread_by_tid(tid);
    if (!thread)
        return -ESRCH;
    bool resets = policy < 0 ? thread->resets_policy : policy & RESET_ON_FORK;
    uint32_t plain = policy < 0 ? thread->policy : (uint32_t)policy & ~(uint32_t)RESET_ON_FORK;
    int error = policy_check(plain, priority), rank = plain == POLICY_IDLE ? RANK_BACKGROUND : RANK_ORDINARY;
    if (error)
        return error;
    thread->policy = plain;
    thread->priority = priority;
    thread->resets_policy = resets;
    schedule_rank_set(thread, policy_is_realtime(plain) ? priority : rank, plain != POLICY_FIFO);
    return 0;
}

long sys_sched_getscheduler(uint64_t tid)
{
    struct thread_state state;
    int error = (int32_t)tid < 0 ? -EINVAL : thread_state_read(tid, &state);

    return error ? error : (long)state.policy;
}

long sys_sched_getparam(uint64_t tid, uint64_t parameters)
{
    struct thread_state state;
    int error = (int32_t)tid < 0 || !parameters ? -EINVAL : thread_state_read(tid, &state);

    return error ? error : user_write(parameters, &state.priority, sizeof(state.priority));
}

long priority_bound(uint32_t policy, long realtime)
{
    return policy_is_realtime(policy) ? realtime : policy_check(policy, 0);
}

/* Writes the length of a turn; 0 if it has no end, as on Linux for SCHED_FIFO. */
long sys_sched_rr_get_interval(uint64_t tid, uint64_t interval)
{
    long policy = sys_sched_getscheduler(tid);
    bool has_end = (policy & ~RESET_ON_FORK) != POLICY_FIFO;

    return policy < 0 ? policy : timespec_write(interval, has_end ? rotation_ns : 0);
}

long sys_sched_yield(void)
{
    thread_yield();
    return 0;
}

/* ---- Nice values: stored, one for the process ---- */

/* Returns 0 if (kind, who) names this process, or its group or user, in which it counts as alone; or one of
 * its threads. */
static int priority_check(uint64_t kind, uint64_t who)
{
    enum { PROCESS, GROUP, USER };
    struct thread_state state;

    if ((uint32_t)kind > USER)
        return -EINVAL;
    if ((uint32_t)who == 0 || ((uint32_t)kind != USER && (uint32_t)who == arch_process()->pid))
        return 0;
    return (uint32_t)kind == PROCESS ? thread_state_read(who, &state) : -ESRCH;
}

/* Returns 20 minus the nice value, as Linux, so that no result looks like an error. */
long sys_getpriority(uint64_t kind, uint64_t who)
{
    int error = priority_check(kind, who);

    return error ? error : 20 - __atomic_load_n(&arch_process()->nice, __ATOMIC_RELAXED);
}

long sys_setpriority(uint64_t kind, uint64_t who, uint64_t value)
{
    int error = priority_check(kind, who), nice = (int32_t)value;

    if (error)
        return error;
    nice = nice < -20 ? -20 : nice;
    __atomic_store_n(&arch_process()->nice, nice > 19 ? 19 : nice, __ATOMIC_RELAXED);
    return 0;
}
