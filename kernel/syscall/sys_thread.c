/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_thread.c: system calls about threads and their CPUs. clone itself begins in the architecture's assembly
 * and goes on in thread.c; futex is in futex.c.
 */
#include "arch.h"
#include "time/clock_event.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "process/process.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

#define ROBUST_HEAD_BYTES 24

/* The thread that a call means by `tid`, 0 for the caller; NULL. Under the process's lock. */
static struct thread *thread_meant(uint64_t tid)
{
    return (uint32_t)tid ? thread_find(arch_process(), (uint32_t)tid) : arch_thread();
}

long sys_gettid(void)
{
    return (long)arch_thread()->tid;
}

long sys_exit(uint64_t status)
{
    thread_exit(status & 0xff);
}

long sys_arch_prctl(uint64_t code, uint64_t address)
{
    return arch_thread_pointer_call(code, address);
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
    struct process *process = arch_process();
    uint64_t head = 0, bytes = ROBUST_HEAD_BYTES;

    spin_lock(&process->lock);
    const struct thread *thread = thread_meant(tid);
    if (thread)
        head = thread->robust_list;
    spin_unlock(&process->lock);
    if (!thread)
        return -ESRCH;
    if (user_write(bytes_address, &bytes, sizeof(bytes)))
        return -EFAULT;
    return user_write(head_address, &head, sizeof(head));
}

long sys_prctl(uint64_t operation, uint64_t argument, uint64_t a2, uint64_t a3, uint64_t a4)
{
    enum { SET_NAME = 15, GET_NAME = 16, SET_TIMERSLACK = 29, GET_TIMERSLACK = 30 };
    struct thread *thread = arch_thread();
    char name[THREAD_NAME_BYTES] =
        ""; /* all of it is shown by GET_NAME: nothing of the stack's may stay behind a short name */
    int64_t length;

    (void)a2, (void)a3, (void)a4;
    switch ((uint32_t)operation) {
    case SET_NAME:
        length = user_read_string(name, argument, sizeof(name));
        if (length == -EFAULT)
            return -EFAULT;
        name[sizeof(name) - 1] = 0;
        memcpy(thread->name, name, sizeof(name));
        if (thread->tid == thread->process->pid)
            memcpy(thread->process->name, name, sizeof(name));
        return 0;
    case SET_TIMERSLACK: /* 0 restores the default, 1 ns is exact */
        thread->latency_bound_ns = argument ? argument : latency_bound_default_ns();
        return 0;
    case GET_TIMERSLACK:
        return (long)thread->latency_bound_ns;
    case GET_NAME:
        return user_write(argument, thread->name, sizeof(thread->name));
    default:
        return -EINVAL;
    }
}

/* ---- CPUs: a thread has one to itself, and may have itself carried to another free one of its rank's ----
 */

long sys_sched_getaffinity(uint64_t tid, uint64_t bytes, uint64_t mask)
{
    struct process *process = arch_process();

    if (bytes < sizeof(uint64_t) || bytes % sizeof(uint64_t))
        return -EINVAL;
    spin_lock(&process->lock);
    const struct thread *thread = thread_meant(tid);
    uint64_t cpus = thread ? thread->affinity : 0;
    spin_unlock(&process->lock);
    if (!thread)
        return -ESRCH;
    return user_write(mask, &cpus, sizeof(cpus)) ? -EFAULT : (long)sizeof(cpus);
}

/* The first CPU of the mask that no other thread is on or on its way to, or -1. Under the process's lock. */
static int cpu_choose(const struct process *process, const struct thread *mover, uint64_t cpus)
{
    CPU_MASK_EACH(cpu, process->cpus)
    {
        const struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread && thread != mover)
            cpus &= ~(1ULL << thread->cpu | 1ULL << thread->wanted_cpu);
    }
    return cpus ? __builtin_ctzll(cpus) : -1;
}

/* Where the mask leaves out the thread's CPU, the thread moves to a free one of the mask; where all of them
 * have a thread, nothing can be done: threads do not share CPUs. */
static int affinity_set(struct process *process, struct thread *thread, uint64_t cpus)
{
    if (!thread)
        return -ESRCH;
    if (!cpus)
        return -EINVAL;
    if (!(cpus & 1ULL << thread->wanted_cpu)) {
        int cpu = cpu_choose(process, thread, cpus);

        if (cpu < 0)
            return -EINVAL;
        thread->wanted_cpu = (unsigned)cpu;
    }
    thread->affinity = cpus;
    return 0;
}

long sys_sched_setaffinity(uint64_t tid, uint64_t bytes, uint64_t mask)
{
    struct process *process = arch_process();
    uint64_t cpus = 0;

    if (user_read(&cpus, mask, bytes < sizeof(cpus) ? bytes : sizeof(cpus)))
        return -EFAULT;
    spin_lock(&process->lock);
    struct thread *thread = thread_meant(tid);
    int error = affinity_set(process, thread, cpus & process->cpus);
    if (!error && thread->wanted_cpu != thread->cpu)
        thread_notify(thread);
    spin_unlock(&process->lock);
    thread_return_check();
    return error;
}

long sys_getcpu(uint64_t cpu_address, uint64_t node_address, uint64_t cache)
{
    uint32_t cpu = arch_cpu_index(), node = arch_cpu_numa_domain(cpu);

    (void)cache; /* unused by Linux since 2.6.24 */
    if (node == NUMA_DOMAIN_NONE)
        node = 0;
    if (cpu_address && user_write(cpu_address, &cpu, sizeof(cpu)))
        return -EFAULT;
    if (node_address && user_write(node_address, &node, sizeof(node)))
        return -EFAULT;
    return 0;
}

/* ---- Scheduling: nothing is ever preempted, so what every policy promises holds for all threads ---- */

enum {
    POLICY_OTHER = 0,
    POLICY_FIFO = 1,
    POLICY_RR = 2,
    POLICY_BATCH = 3,
    POLICY_IDLE = 5,
    RESET_ON_FORK = 0x40000000
};

static bool policy_is_realtime(uint32_t policy)
{
    return policy == POLICY_FIFO || policy == POLICY_RR;
}

/* 0 where a thread may have the policy with the priority. */
static int policy_check(uint32_t policy, int32_t priority)
{
    if (policy > POLICY_IDLE || policy == 4)
        return -EINVAL;
    return policy_is_realtime(policy) ? (priority < 1 || priority > 99 ? -EINVAL : 0)
           : priority                 ? -EINVAL
                                      : 0;
}

/* Both are remembered for whoever asks. */
static long policy_set(uint64_t tid, int64_t policy, uint64_t parameters)
{
    struct process *process = arch_process();
    int32_t priority;
    int error;

    if ((int32_t)tid < 0 || !parameters)
        return -EINVAL;
    if (user_read(&priority, parameters, sizeof(priority)))
        return -EFAULT;
    spin_lock(&process->lock);
    struct thread *thread = thread_meant(tid);
    if (thread && policy < 0)
        policy = thread->policy;
    error = thread ? policy_check((uint32_t)policy, priority) : -ESRCH;
    if (!error) {
        thread->policy = (uint32_t)policy;
        thread->priority = priority;
    }
    spin_unlock(&process->lock);
    return error;
}

long sys_sched_setscheduler(uint64_t tid, uint64_t policy, uint64_t parameters)
{
    policy = (uint32_t)policy & ~(uint32_t)RESET_ON_FORK;
    return policy <= POLICY_IDLE ? policy_set(tid, (int64_t)policy, parameters) : -EINVAL;
}

long sys_sched_setparam(uint64_t tid, uint64_t parameters)
{
    return policy_set(tid, -1, parameters);
}

long sys_sched_getscheduler(uint64_t tid)
{
    struct process *process = arch_process();

    if ((int32_t)tid < 0)
        return -EINVAL;
    spin_lock(&process->lock);
    const struct thread *thread = thread_meant(tid);
    long policy = thread ? (long)thread->policy : -ESRCH;
    spin_unlock(&process->lock);
    return policy;
}

long sys_sched_getparam(uint64_t tid, uint64_t parameters)
{
    struct process *process = arch_process();

    if ((int32_t)tid < 0 || !parameters)
        return -EINVAL;
    spin_lock(&process->lock);
    const struct thread *thread = thread_meant(tid);
    int32_t priority = thread ? thread->priority : 0;
    spin_unlock(&process->lock);
    if (!thread)
        return -ESRCH;
    return user_write(parameters, &priority, sizeof(priority));
}

long sys_sched_get_priority_max(uint64_t policy)
{
    return policy_is_realtime((uint32_t)policy) ? 99 : policy_check((uint32_t)policy, 0);
}

long sys_sched_get_priority_min(uint64_t policy)
{
    return policy_is_realtime((uint32_t)policy) ? 1 : policy_check((uint32_t)policy, 0);
}

/* A slice of a thread that is never preempted has no end: 0, as Linux says of FIFO. */
long sys_sched_rr_get_interval(uint64_t tid, uint64_t interval)
{
    long policy = sys_sched_getscheduler(tid);

    return policy < 0 ? policy : timespec_write(interval, 0);
}

/* ---- Nice values: kept, one for the process ---- */

/* Whether (kind, who) means this process, which is alone in its group, and root alone. */
static int priority_check(uint64_t kind, uint64_t who)
{
    enum { PROCESS, GROUP, USER };
    const struct process *process = arch_process();
    const struct thread *thread;

    if ((uint32_t)kind > USER)
        return -EINVAL;
    if ((uint32_t)who == 0 || ((uint32_t)kind != USER && (uint32_t)who == process->pid))
        return 0;
    if ((uint32_t)kind != PROCESS)
        return -ESRCH;
    spin_lock(&arch_process()->lock);
    thread = thread_meant(who);
    spin_unlock(&arch_process()->lock);
    return thread ? 0 : -ESRCH;
}

/* 20 less the nice value, so that no answer looks like an error. */
long sys_getpriority(uint64_t kind, uint64_t who)
{
    int error = priority_check(kind, who);

    return error ? error : 20 - __atomic_load_n(&arch_process()->nice, __ATOMIC_RELAXED);
}

long sys_setpriority(uint64_t kind, uint64_t who, uint64_t wanted)
{
    int error = priority_check(kind, who), nice = (int32_t)wanted;

    if (!error)
        __atomic_store_n(&arch_process()->nice, nice < -20 ? -20 : nice > 19 ? 19 : nice, __ATOMIC_RELAXED);
    return error;
}
