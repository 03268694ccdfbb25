/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: see thread.h. Owns the threads of all processes and which CPU each is on.
 *
 * Runs in system calls and on the way back from them, interrupts off. A thread is changed by its own CPU
 * only, but for its signals (signal.c), and for what process->lock guards: the set of the process's threads,
 * with `process`, `tid`, `cpu` of each. Storing a thread into `on_cpu` is what starts it.
 */
#include "process/thread.h"
#include "arch.h"
#include "time/clock.h"
#include "time/timer.h"
#include "lib/errno.h"
#include "process/futex.h"
#include "debug/klog.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/process.h"
#include "debug/stop.h"
#include "process/event.h"

/* For how long clone waits for a CPU, if none is free. Threads that are ending but that nobody joins
 * (OpenMP's, when a team gets smaller) keep theirs for a moment. */
#define CPU_FREE_WAIT_NS 1000000000

enum { CPU_NONE = -1, CPU_OF_NEXT = -2 };

static struct thread *threads; /* twice as many as CPUs: one on each, and one queued for it */
static unsigned thread_count;
static struct thread *on_cpu[ARCH_CPUS_MAX];
static struct spinlock threads_lock; /* guards which of `threads` are in use */

static uint64_t tids_used; /* a tid is used once, until the numbers end */

uint64_t threads_bytes(unsigned cpu_count)
{
    return page_up(2 * cpu_count * sizeof(struct thread));
}

void threads_initialise(struct page_pool *pool, unsigned cpu_count)
{
    uint64_t memory = page_pool_allocate(pool, threads_bytes(cpu_count), ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        node_stop(STOP_NO_MEMORY, "no memory for the threads of %u CPUs", cpu_count);
    threads = arch_physical(memory);
    arch_zero(threads, threads_bytes(cpu_count));
    thread_count = 2 * cpu_count;
}

struct thread *thread_of_cpu(unsigned cpu)
{
    return __atomic_load_n(&on_cpu[cpu], __ATOMIC_ACQUIRE);
}

struct thread *thread_find(const struct process *process, uint32_t tid)
{
    PROCESS_THREADS_EACH(thread, process)
    if (thread->tid == tid)
        return thread;
    return NULL;
}

/* ---- Beginning ---- */

static struct thread *thread_allocate(struct process *process)
{
    struct thread *found = NULL;

    spin_lock(&threads_lock);
    for (unsigned i = 0; i < thread_count && !found; i++)
        if (!threads[i].process)
            found = &threads[i];
    /* There is one: a process has at most as many threads, and as many queued, as CPUs, and a thread that
     * ends frees its place before its CPU. */
    memset(found, 0, sizeof(*found));
    found->process = process;
    found->signals.stack.flags = SS_DISABLE;
    spin_unlock(&threads_lock);
    return found;
}

static void thread_free(struct thread *thread)
{
    spin_lock(&threads_lock);
    thread->process = NULL;
    spin_unlock(&threads_lock);
}

/* Gives a new thread its CPU, which its affinity, its parent's, need not hold. With the process's lock,
 * unless it is the first thread. */
static void thread_dispatch(struct process *process, struct thread *thread, unsigned cpu)
{
    thread->cpu = thread->target_cpu = cpu;
    thread->time.arrived = false;
    thread->affinity |= cpu_mask_bit(cpu);
    process->thread_count++;
    __atomic_store_n(&on_cpu[cpu], thread, __ATOMIC_RELEASE);
}

struct thread *thread_first(struct process *process)
{
    struct thread *thread = thread_allocate(process);

    thread->tid = (uint32_t)process->pid;
    thread->affinity = process->cpus;
    thread->latency_bound_ns = latency_bound_default_ns();
    memcpy(thread->name, process->name, sizeof(thread->name));
    thread_dispatch(process, thread, arch_cpu_index());
    arch_thread_set(thread);
    arch_process_set(process);
    return thread;
}

/* Above all pids. */
static uint32_t tid_next(void)
{
    uint64_t used = __atomic_fetch_add(&tids_used, 1, __ATOMIC_RELAXED);

    return PID_LAST + 1 + (uint32_t)(used % (TID_LAST - PID_LAST));
}

/* A CPU of the process without a thread, one of the `preferred` if there is such, or CPU_NONE. Under its
 * lock. */
static int cpu_free(const struct process *process, uint64_t preferred)
{
    uint64_t unused = process->cpus;

    PROCESS_THREADS_EACH(thread, process)
    unused &= ~cpu_mask_bit(thread->cpu);
    if (unused & preferred)
        unused &= preferred;
    return unused ? __builtin_ctzll(unused) : CPU_NONE;
}

/* Where a new thread is to run: on a free CPU, one of the `preferred` if possible; on that of the next thread
 * that ends (CPU_OF_NEXT), where one is about to; else nowhere (CPU_NONE). Takes the process's lock.
 *
 * `end_word` (0: none) is what the end of the new thread will zero. Where it is not the new thread's own, but
 * one of all threads, it is a lock on their number [musl: the thread list's], which whoever starts a thread
 * holds: threads that wait for it are ending, and can go on only when clone has returned. */
static int cpu_find(struct process *process, uint64_t preferred, uint64_t end_word)
{
    uint64_t deadline_ns = clock_now_ns() + CPU_FREE_WAIT_NS;

    for (;;) {
        unsigned ending = end_word ? futex_waiters(end_word) : 0;

        spin_lock(&process->lock);
        int cpu = process->ending ? CPU_NONE : cpu_free(process, preferred);
        if (cpu != CPU_NONE || process->ending)
            return cpu;
        if (ending > process->queued_count)
            return CPU_OF_NEXT;
        if (clock_now_ns() >= deadline_ns)
            return CPU_NONE;
        spin_unlock(&process->lock);
        if (event_wait_polling(deadline_ns)) /* a thread that begins to wait for the word notifies nobody */
            deadline_ns = 0;                 /* interrupted: give up */
    }
}

/* Takes the first thread out of the queue for a CPU; NULL. With the process's lock. */
static struct thread *queued_take(struct process *process)
{
    struct thread *first = (void *)process->queued.first;

    if (first) {
        list_remove(&process->queued, &first->link);
        process->queued_count--;
    }
    return first;
}

long thread_create(const struct thread_arguments *given)
{
    struct process *process = arch_process();
    const struct thread *parent = arch_thread();
    int cpu = cpu_find(process, parent->affinity, given->clear_tid_address);

    if (cpu == CPU_NONE) {
        spin_unlock(&process->lock);
        return -EAGAIN;
    }

    struct thread *child = thread_allocate(process);
    uint32_t tid = child->tid = tid_next();
    child->affinity = parent->affinity;
    child->policy = parent->policy;
    child->priority = parent->priority;
    child->latency_bound_ns = parent->latency_bound_ns;
    memcpy(child->name, parent->name, sizeof(child->name));
    child->signals.blocked = parent->signals.blocked;
    child->set_tid_address = given->set_tid_address;
    child->clear_tid_address = given->clear_tid_address;
    arch_start_clone(&child->start, given->kept_registers, given->stack, given->thread_pointer);
    if (given->parent_tid_address)
        user_write(given->parent_tid_address, &tid, sizeof(tid)); /* an error has no effect, as on Linux */
    if (cpu == CPU_OF_NEXT) {
        list_append(&process->queued, &child->link);
        process->queued_count++;
    } else {
        thread_dispatch(process, child, (unsigned)cpu);
    }
    spin_unlock(&process->lock);
    klog(thread_start, tid, cpu);
    if (cpu >= 0)
        arch_ipi_send((unsigned)cpu);
    return (long)tid;
}

/* The thread of a CPU has left it: it is free, or the first queued thread's. With the process's lock. */
static void cpu_release(struct process *process, unsigned cpu)
{
    struct thread *queued = process->ending ? NULL : queued_take(process);

    if (queued)
        thread_dispatch(process, queued, cpu);
    else
        __atomic_store_n(&on_cpu[cpu], NULL, __ATOMIC_RELEASE);
    event_notify(process); /* cpu_find waits for a free CPU */
}

_Noreturn void thread_idle(void)
{
    unsigned cpu = arch_cpu_index();
    struct thread *thread;

    if (arch_process())
        arch_space_deactivate(&arch_process()->vm.space);
    arch_thread_set(NULL);
    arch_process_set(NULL);
    while (!(thread = thread_of_cpu(cpu))) {
        crosscall_serve();
        arch_cpu_idle();
    }

    arch_thread_set(thread);
    arch_process_set(thread->process);
    arch_space_activate(&thread->process->vm.space);
    if (thread->set_tid_address)
        user_write(thread->set_tid_address, &thread->tid, sizeof(thread->tid));
    thread->set_tid_address = 0;
    if (!thread->time.start_ns)
        thread->time.start_ns = clock_now_ns();
    arch_start_enter(&thread->start);
}

/* ---- End ---- */

/* Takes a thread that ends out of its process; whether it was the last one. Its CPU is free, or the next
 * thread's, from here on, although this one has still to reach thread_idle: so whoever is notified of its end
 * can start another one at once. */
static bool thread_detach(struct thread *thread)
{
    struct process *process = thread->process;
    struct thread *queued;

    spin_lock(&process->lock);
    signal_thread_end(thread); /* a sender that has found it by its tid held this lock until it had sent */
    bool is_last = --process->thread_count == 0;
    process->ended_time = cpu_time_sum(process->ended_time, thread_time(thread));
    if (!is_last) {
        spin_lock(&process->signals.lock); /* its holder goes through all threads */
        thread_free(thread);
        arch_thread_set(NULL);
        cpu_release(process, arch_cpu_index());
        spin_unlock(&process->signals.lock);
    }
    while (is_last && (queued = queued_take(process)))
        thread_free(queued);
    spin_unlock(&process->lock);
    return is_last;
}

_Noreturn void thread_exit(unsigned status)
{
    struct thread *thread = arch_thread();
    struct process *process = thread->process;
    uint64_t clear_tid_address = thread->clear_tid_address;
    uint32_t tid = thread->tid, zero = 0;

    spin_lock(&process->lock);
    if (!process->ending && tid == process->pid)
        process->exit_status = status; /* the first thread's is the process's, unless process_exit sets one */
    spin_unlock(&process->lock);
    futex_robust_list_release(thread);
    if (thread_detach(thread))
        process_end();
    klog(thread_end, tid, status);
    if (clear_tid_address && !process->ending && !user_write(clear_tid_address, &zero, sizeof(zero)))
        futex_wake(clear_tid_address, 1, FUTEX_ANY);
    thread_idle();
}

/* ---- On the way back to the program ---- */

/* Moves this thread to its target CPU, if that is free. */
static void thread_migrate(struct thread *thread, const void *frame)
{
    struct process *process = thread->process;
    unsigned from = thread->cpu, to = thread->target_cpu;

    spin_lock(&process->lock);
    if (thread_of_cpu(to)) { /* another thread got it first: this one stays, which its affinity must allow */
        thread->target_cpu = from;
        thread->affinity |= cpu_mask_bit(from);
        spin_unlock(&process->lock);
        return;
    }
    arch_start_move(&thread->start, frame);
    thread->time.earlier_cpu_ns += clock_ticks_to_ns(arch_kernel_ticks(from));
    thread->time.arrived = false;
    thread->cpu = to;
    __atomic_store_n(&on_cpu[to], thread, __ATOMIC_RELEASE);
    cpu_release(process, from);
    spin_unlock(&process->lock);
    arch_ipi_send(to);
    thread_idle();
}

void thread_slow_return(void *frame)
{
    struct thread *thread = arch_thread();

    __atomic_store_n(&thread->time.arrived, true, __ATOMIC_RELEASE);
    if (thread->process->ending)
        thread_exit(thread->process->exit_status);
    signal_deliver(frame);
    if (thread->target_cpu != thread->cpu)
        thread_migrate(thread, frame);
}

/* ---- Pending work ---- */

bool thread_has_pending_work(const struct thread *thread)
{
    return thread->process->ending || thread->target_cpu != thread->cpu || signal_is_pending(thread);
}

void thread_notify(struct thread *thread)
{
    /* What is pending is stored before `cpu` is read. A thread that moves stores `cpu` first and checks what
     * is pending when it arrives: so one of the two sees the other. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (thread != arch_thread())
        arch_ipi_send(thread->cpu);
}

void threads_notify(struct process *process)
{
    PROCESS_THREADS_EACH(thread, process)
    thread_notify(thread);
}

void thread_return_check(void)
{
    if (thread_has_pending_work(arch_thread()))
        arch_request_slow_return();
}
