/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: see thread.h. Owns the memory of threads.
 *
 * Runs in system calls and on the way back from them, interrupts off. A thread is changed by its own CPU
 * only, except its signals (signal.c), its schedule_entry (schedule.c), and what process->lock guards:
 * the list of the process's threads. The list changes under the lock of the process's signals, too.
 */
#include "process/thread.h"
#include "arch.h"
#include "debug/klog.h"
#include "lib/command_line.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/process.h"

#define THREADS_A_CPU_DEFAULT 128
#define THREADS_A_CPU_MAX     1024

/* A thread's memory: a page that faults, its kernel stack, whose top is the address of its structure. It
 * belongs to the process, and is reused for the next thread when it ends: so a pointer to a thread stays
 * valid, for a late thread_wake. */
#define STACK_AT     ARCH_PAGE
#define STRUCTURE_AT (STACK_AT + ARCH_KERNEL_STACK_BYTES)
#define THREAD_BYTES page_up(STRUCTURE_AT + sizeof(struct thread))

static uint64_t threads_a_cpu = THREADS_A_CPU_DEFAULT;
static uint64_t tids_used; /* a tid is used once, until the numbers end */

int threads_configure(const struct command_line *line, struct message *why)
{
    return option_value(OPTION_NUMBER, "threads", command_line_option(line, "threads"), 1, THREADS_A_CPU_MAX,
                        &threads_a_cpu, why);
}

unsigned threads_max(const struct cpu_mask *cpus)
{
    return cpu_mask_count(cpus) * (unsigned)threads_a_cpu;
}

struct thread *thread_find(const struct process *process, uint32_t tid)
{
    PROCESS_THREADS_EACH(thread, process)
        if (thread->tid == tid)
            return thread;
    return NULL;
}

const struct thread *thread_from(const struct process *process, uint32_t lowest)
{
    const struct thread *found = NULL;

    PROCESS_THREADS_EACH(thread, process)
        if (thread->tid >= lowest && (!found || thread->tid < found->tid))
            found = thread;
    return found;
}

uint32_t thread_tid_from(struct process *process, uint32_t lowest)
{
    SPIN_GUARD(&process->lock);
    const struct thread *thread = thread_from(process, lowest);

    return thread ? thread->tid : 0;
}

bool thread_rename(struct process *process, uint32_t tid, const char name[THREAD_NAME_BYTES])
{
    SPIN_GUARD(&process->lock);
    struct thread *thread = thread_find(process, tid);

    if (!thread)
        return false;
    memcpy(thread->name, name, THREAD_NAME_BYTES);
    if (tid == process->pid)
        memcpy(process->name, name, THREAD_NAME_BYTES);
    return true;
}

/* ---- Beginning ---- */

static struct thread *memory_take(struct process *process)
{
    spin_lock(&process->lock);
    struct thread *thread = (void *)process->threads_free.first;
    if (thread)
        list_remove(&process->threads_free, &thread->link);
    spin_unlock(&process->lock);
    if (thread)
        return thread;

    uint64_t memory = page_pool_allocate(&process->pages, THREAD_BYTES, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        return NULL;
    arch_guard_page((uint64_t)arch_physical(memory), &process->pages);
    thread = arch_physical(memory + STRUCTURE_AT);
    arch_zero(thread, sizeof(*thread));
    return thread;
}

/* Allocates a thread's structure, without registers; NULL: no memory. */
static struct thread *thread_allocate(struct process *process)
{
    struct thread *thread = memory_take(process);

    if (!thread)
        return NULL;

    /* All but the CPU: the thread's group stays the same, for a late thread_wake. */
    arch_zero(thread, offsetof(struct thread, schedule));
    thread->schedule.state = THREAD_NEW;
    thread->schedule.notified = false;
    arch_zero(&thread->policy, offsetof(struct thread, context) - offsetof(struct thread, policy));
    thread->process = process;
    thread->signals.stack.flags = SS_DISABLE;
    return thread;
}

void thread_release(struct thread *thread)
{
    struct process *process = thread->process;

    SPIN_GUARD(&process->lock);
    list_append(&process->threads_free, &thread->link);
}

struct thread *thread_first(struct process *process)
{
    struct thread *thread = thread_allocate(process);

    if (!thread)
        return NULL;
    thread->tid = (uint32_t)process->pid;
    schedule_affinity_begin(&thread->schedule, &process->cpus);
    schedule_rank_begin(&thread->schedule, RANK_ORDINARY, true);
    schedule_cpu_begin(&thread->schedule);
    thread->latency_bound_ns = latency_bound_default_ns;
    memcpy(thread->name, process->name, sizeof(thread->name));
    list_append(&process->threads, &thread->link);
    process->thread_count = 1;
    schedule_thread_here(thread);
    return thread;
}

_Noreturn void thread_first_enter(struct thread *thread, uint64_t entry, uint64_t stack)
{
    arch_start_initial(&thread->context, (uint64_t)thread, entry, stack);
    schedule_enter(thread);
}

void thread_first_start(struct thread *thread, uint64_t entry, uint64_t stack, uint32_t policy)
{
    arch_start_initial(&thread->context, (uint64_t)thread, entry, stack);
    thread->policy = policy;
    schedule_rank_begin(&thread->schedule, policy == POLICY_IDLE ? RANK_BACKGROUND : RANK_ORDINARY, true);
    schedule_thread_here(NULL);
    schedule_start(thread);
}

/* Returns the next tid, above all pids. */
static uint32_t tid_next(void)
{
    uint64_t used = __atomic_fetch_add(&tids_used, 1, __ATOMIC_RELAXED);

    return PID_LAST + 1 + (uint32_t)(used % (TID_LAST - PID_LAST));
}

/* Counts another thread of the process. Returns false if it may not have one. */
static bool thread_count_up(struct process *process)
{
    SPIN_GUARD(&process->lock);
    if (process->ending || process->thread_count >= process_soft_limit(process, LIMIT_THREADS))
        return false;
    process->thread_count++;
    return true;
}

long thread_create(const struct thread_arguments *given)
{
    struct process *process = arch_process();
    const struct thread *parent = arch_thread();
    struct thread *child = thread_allocate(process);

    if (!child)
        return -EAGAIN;
    if (!thread_count_up(process)) {
        thread_release(child);
        return -EAGAIN;
    }

    uint32_t tid = child->tid = tid_next();
    bool resets = parent->resets_policy && parent->schedule.own_rank > RANK_ORDINARY;
    schedule_rank_begin(&child->schedule, resets ? RANK_ORDINARY : parent->schedule.own_rank,
                        resets || parent->schedule.own_rotates);
    schedule_affinity_inherit(&child->schedule, parent);
    schedule_cpu_begin(&child->schedule);
    child->policy = resets ? 0 : parent->policy;
    child->priority = resets ? 0 : parent->priority;
    child->latency_bound_ns = parent->latency_bound_ns;
    child->memory_policy = parent->memory_policy;
    child->memory_nodes = parent->memory_nodes;
    memcpy(child->name, parent->name, sizeof(child->name));
    child->signals.blocked = parent->signals.blocked;
    child->set_tid_address = given->set_tid_address;
    child->clear_tid_address = given->clear_tid_address;
    arch_start_clone(&child->context, (uint64_t)child, given->kept_registers, given->stack,
                     given->thread_pointer);
    if (given->parent_tid_address)
        user_write(given->parent_tid_address, &tid, sizeof(tid)); /* an error has no effect, as on Linux */
    spin_lock(&process->lock);
    spin_lock(&process->signals.lock);
    list_append(&process->threads, &child->link);
    spin_unlock(&process->signals.lock);
    spin_unlock(&process->lock);
    klog(thread_start, tid, arch_cpu_index());
    schedule_start(child);
    thread_return_check(); /* it may be this CPU's next one */
    return (long)tid;
}

_Noreturn void thread_begin(void)
{
    struct thread *thread = arch_thread();

    switch_end();
    if (thread->set_tid_address)
        user_write(thread->set_tid_address, &thread->tid, sizeof(thread->tid));
    arch_start_enter(&thread->context);
}

/* ---- End ---- */

/* Takes a thread that ends out of its process, unless it is the last one. Returns whether it is. */
static bool thread_detach(struct thread *thread)
{
    struct process *process = thread->process;

    SPIN_GUARD(&process->lock);
    signal_thread_end(thread); /* a sender that has found it by its tid held this lock until it had sent */
    bool is_last = --process->thread_count == 0;
    process->ended_time = cpu_time_sum(process->ended_time, thread_time(thread));
    if (!is_last) {
        spin_lock(&process->signals.lock); /* its holder goes through all threads */
        list_remove(&process->threads, &thread->link);
        spin_unlock(&process->signals.lock);
    }
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
    futex_locks_end(thread);
    if (thread_detach(thread))
        process_end();
    if (process->signals.timed)
        posix_timers_thread_end(thread);
    klog(thread_end, tid, status);
    if (clear_tid_address && !process->ending && !user_write(clear_tid_address, &zero, sizeof(zero)))
        futex_wake(clear_tid_address, 1, FUTEX_ANY);
    thread_leave();
}

/* ---- On the way back to the program ---- */

/* Returns whether there is more to do, now that the thread has its CPU. */
static bool work_remains(struct thread *thread)
{
    if (thread->process->signals.timed)
        posix_timers_go_on(thread);
    return signal_is_pending(thread);
}

void thread_slow_return(void *frame)
{
    struct thread *thread = arch_thread();

    do {
        if (thread->process->ending)
            thread_exit(process_exit_status(thread->process));
        signal_deliver(frame);
        schedule_return();
    } while (thread->process->ending || (signal_return_is_slow(thread) && work_remains(thread)));
}

/* ---- Pending work ---- */

/* Returns whether work is pending. These words are read plainly, without the locks of their writers, which
 * call thread_interrupt afterwards. So a thread that has missed a change finds `notified` under its group's
 * lock when it blocks, or is interrupted on its way to the program, and checks again. */
bool thread_has_pending_work(const struct thread *thread)
{
    return thread->process->ending || signal_is_pending(thread) || schedule_must_move(thread);
}

void threads_notify(struct process *process)
{
    PROCESS_THREADS_EACH(thread, process)
        thread_interrupt(thread);
}

/* Returns whether the thread that runs here has to end, take a signal, or give way to others. */
static inline __attribute__((always_inline)) bool others_are_due(const struct thread *thread)
{
    return thread->process->ending || signal_return_is_slow(thread) || schedule_is_due();
}

void thread_return_check(void)
{
    if (others_are_due(arch_thread()))
        arch_request_slow_return();
}

bool thread_must_return_slowly(void)
{
    const struct thread *thread = arch_thread();

    return thread->restart != RESTART_NONE || thread->signals.returns || thread->signals.mask_swapped ||
           others_are_due(thread);
}
