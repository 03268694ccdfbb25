/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: see thread.h. Owns the threads of all processes and which CPU each is on.
 *
 * A thread is changed by its own CPU, but for its signals, and for what process->lock guards: the set of the
 * process's threads, with `process`, `tid`, `cpu` of each. Storing a thread into `on_cpu` is what starts it.
 */
#include "process/thread.h"
#include "arch.h"
#include "time/clock.h"
#include "time/timer.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "process/futex.h"
#include "debug/klog.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "mm/page.h"
#include "process/process.h"
#include "debug/stop.h"
#include "syscall/syscall.h"
#include "process/event.h"

/* For how long clone waits for a CPU, if none is free. Threads that nobody joins (OpenMP's, when a team gets
 * smaller) need theirs for a moment after the program has done with them. */
#define CPU_FREE_WAIT_NS 1000000000

enum { CPU_NONE = -1, CPU_OF_NEXT = -2 };

static struct thread *threads; /* twice as many as CPUs: one on each, and its successor */
static unsigned thread_count;
static struct thread *on_cpu[ARCH_CPUS_MAX];
static struct spinlock threads_lock; /* guards which of `threads` are in use */

static uint32_t last_tid = PID_LAST; /* pids are below; tids are given once, as long as there are */

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
    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread && thread->tid == tid)
            return thread;
    }
    return NULL;
}

/* ---- Beginning ---- */

static struct thread *thread_take(struct process *process)
{
    struct thread *found = NULL;

    spin_lock(&threads_lock);
    for (unsigned i = 0; i < thread_count && !found; i++)
        if (!threads[i].process)
            found = &threads[i];
    /* Every process has at most as many threads and as many successors as CPUs, and a thread that ends gives
     * its place back before its CPU. */
    memset(found, 0, sizeof(*found));
    found->process = process;
    spin_unlock(&threads_lock);
    return found;
}

static void thread_give(struct thread *thread)
{
    spin_lock(&threads_lock);
    thread->process = NULL;
    spin_unlock(&threads_lock);
}

/* The thread has the CPU from now on, and may have it: it has its parent's affinity, but a CPU of its own.
 * With the process's lock, once it has more than the first. */
static void thread_place(struct process *process, struct thread *thread, unsigned cpu)
{
    thread->cpu = thread->wanted_cpu = cpu;
    thread->arrived = false;
    thread->affinity |= cpu_mask_bit(cpu);
    process->thread_count++;
    __atomic_store_n(&on_cpu[cpu], thread, __ATOMIC_RELEASE);
}

struct thread *thread_first(struct process *process)
{
    struct thread *thread = thread_take(process);

    thread->tid = (uint32_t)process->pid;
    thread->affinity = process->cpus;
    thread->latency_bound_ns = latency_bound_default_ns();
    thread->signals.stack.flags = SS_DISABLE;
    memcpy(thread->name, process->name, sizeof(thread->name));
    thread_place(process, thread, arch_cpu_index());
    arch_thread_set(thread);
    arch_process_set(process);
    return thread;
}

static uint32_t tid_next(void)
{
    uint32_t tid = __atomic_add_fetch(&last_tid, 1, __ATOMIC_RELAXED);

    if (tid <= TID_LAST)
        return tid;
    __atomic_store_n(&last_tid, PID_LAST + 1, __ATOMIC_RELAXED);
    return PID_LAST + 1;
}

/* A CPU of the process without a thread, one of the `wanted` if there is such, or -1. Under its lock. */
static int cpu_free(const struct process *process, uint64_t wanted)
{
    uint64_t unused = 0;

    CPU_MASK_EACH(cpu, process->cpus)
    if (!thread_of_cpu((unsigned)cpu))
        unused |= cpu_mask_bit((unsigned)cpu);
    if (unused & wanted)
        unused &= wanted;
    return unused ? __builtin_ctzll(unused) : -1;
}

/* Where a new thread is to run: on a free CPU, of the `wanted` by preference; on that of the next thread that
 * ends (CPU_OF_NEXT), if the program waits for that; else nowhere (CPU_NONE). Takes the process's lock.
 *
 * `end_word` (0: none) is what the end of the new thread will zero. Where it is not the new thread's own, but
 * one of all threads, it is a lock on their number [musl: the thread list's], which whoever starts a thread
 * holds: others that wait for it are on their way out, and get there only when clone has answered. */
static int cpu_find(struct process *process, uint64_t wanted, uint64_t end_word)
{
    uint64_t deadline_ns = clock_now_ns() + CPU_FREE_WAIT_NS;

    for (;;) {
        unsigned leaving = end_word ? futex_waiters(end_word) : 0;

        spin_lock(&process->lock);
        int cpu = process->ending ? CPU_NONE : cpu_free(process, wanted);
        if (cpu >= 0 || process->ending)
            return cpu;
        if (leaving > process->successor_count)
            return CPU_OF_NEXT;
        if (clock_now_ns() >= deadline_ns)
            return CPU_NONE;
        spin_unlock(&process->lock);
        if (event_wait_polling(deadline_ns)) /* nobody announces those that wait for the word */
            deadline_ns = 0;                 /* a signal is more urgent */
    }
}

/* Puts a thread behind those that wait for a CPU, takes the first one. With the process's lock. */
static void successor_add(struct process *process, struct thread *thread)
{
    struct thread **end = &process->successors;

    while (*end)
        end = &(*end)->next;
    *end = thread;
    process->successor_count++;
}

static struct thread *successor_take(struct process *process)
{
    struct thread *first = process->successors;

    if (first) {
        process->successors = first->next;
        process->successor_count--;
    }
    return first;
}

static int clone_flags_check(uint64_t flags)
{
    const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const uint64_t known = thread | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
                           CLONE_CHILD_CLEARTID | CLONE_DETACHED;

    if (((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND)) ||
        ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM)))
        return -EINVAL;
    if (!(flags & CLONE_THREAD))
        return (int)syscall_refuse("clone", "a program cannot start another process");
    if ((flags & thread) != thread)
        return (int)syscall_refuse("clone", "threads share memory, files, directory and signal handlers");
    if (flags & ~known)
        return (int)syscall_refuse("clone", "tracing and namespaces are not there");
    return 0;
}

/* Tells once a process why there are no more threads. */
static long clone_refuse(struct process *process)
{
    if (!__atomic_exchange_n(&process->threads_refused, true, __ATOMIC_RELAXED))
        kernel_print("rank %u (%s) wants more threads than it has CPUs, %u: clone answers EAGAIN; with fewer "
                     "ranks= each has more\n",
                     process->rank, process->name, cpu_mask_count(process->cpus));
    return -EAGAIN;
}

long thread_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls,
                  const void *kept)
{
    struct process *process = arch_process();
    const struct thread *parent = arch_thread();
    int error = clone_flags_check(flags &= ~0xffULL); /* the low byte is a signal for a parent */

    if (error)
        return error;
    if ((flags & CLONE_SETTLS) && tls >= ARCH_USER_LIMIT)
        return -EPERM;

    uint64_t end_word = flags & CLONE_CHILD_CLEARTID ? child_tid : 0;
    int cpu = cpu_find(process, parent->affinity, end_word);
    if (cpu == CPU_NONE) {
        spin_unlock(&process->lock);
        return clone_refuse(process);
    }

    struct thread *child = thread_take(process);
    uint32_t tid = child->tid = tid_next();
    child->affinity = parent->affinity;
    child->policy = parent->policy;
    child->priority = parent->priority;
    child->latency_bound_ns = parent->latency_bound_ns;
    memcpy(child->name, parent->name, sizeof(child->name));
    signal_thread_start(child, parent);
    child->clear_tid_address = end_word;
    child->set_tid_address = flags & CLONE_CHILD_SETTID ? child_tid : 0;
    arch_start_clone(&child->start, kept, stack, flags & CLONE_SETTLS ? &tls : NULL);
    if (flags & CLONE_PARENT_SETTID)
        user_write(parent_tid, &tid, sizeof(tid)); /* a bad address is the caller's loss, as on Linux */
    if (cpu == CPU_OF_NEXT)
        successor_add(process, child);
    else
        thread_place(process, child, (unsigned)cpu);
    spin_unlock(&process->lock);
    klog(thread_start, tid, cpu);
    if (cpu >= 0)
        arch_ipi_send((unsigned)cpu);
    return (long)tid;
}

/* A thread has done with a CPU, which is free now, or its successor's. With the process's lock. */
static void cpu_give(struct process *process, unsigned cpu)
{
    struct thread *successor = process->ending ? NULL : successor_take(process);

    if (successor)
        thread_place(process, successor, cpu);
    else
        __atomic_store_n(&on_cpu[cpu], NULL, __ATOMIC_RELEASE);
    event_notify(process); /* whoever wants a CPU for a new one */
}

_Noreturn static void thread_run(struct thread *thread)
{
    struct process *process = thread->process;

    arch_thread_set(thread);
    arch_process_set(process);
    arch_space_activate(&process->vm.space);
    if (thread->set_tid_address)
        user_write(thread->set_tid_address, &thread->tid, sizeof(thread->tid));
    thread->set_tid_address = 0;
    if (!thread->start_ns)
        thread->start_ns = clock_now_ns();
    arch_start_enter(&thread->start);
}

_Noreturn void thread_idle(void)
{
    unsigned cpu = arch_cpu_index();

    if (arch_process())
        arch_space_deactivate(&arch_process()->vm.space);
    arch_thread_set(NULL);
    arch_process_set(NULL);
    while (!thread_of_cpu(cpu)) {
        crosscall_serve();
        arch_cpu_idle();
    }
    thread_run(thread_of_cpu(cpu));
}

/* ---- End ---- */

/* The CPU is free for another thread from here on, or its successor's, although this one still has to reach
 * thread_idle: so who is told of its end can start the next one at once. Returns whether it was the last of
 * its process. */
static bool thread_leave_process(struct thread *thread)
{
    struct process *process = thread->process;
    struct thread *successor;

    spin_lock(&process->lock);
    signal_thread_end(thread); /* nobody finds it by its tid any more: who does holds the process's lock */
    bool last = --process->thread_count == 0;
    process->ended_time = cpu_time_sum(process->ended_time, thread_time(thread));
    if (!last) {
        spin_lock(&process->signals.lock); /* whose holder looks at all threads */
        thread_give(thread);
        arch_thread_set(NULL);
        cpu_give(process, arch_cpu_index());
        spin_unlock(&process->signals.lock);
    }
    while (last && (successor = successor_take(process)))
        thread_give(successor);
    spin_unlock(&process->lock);
    return last;
}

_Noreturn void thread_exit(unsigned status)
{
    struct thread *thread = arch_thread();
    struct process *process = thread->process;
    uint64_t clear_tid_address = thread->clear_tid_address;
    uint32_t tid = thread->tid, zero = 0;

    spin_lock(&process->lock);
    if (!process->ending && tid == process->pid)
        process->exit_status = status; /* unless somebody ends all of them, the first one's counts */
    spin_unlock(&process->lock);
    futex_robust_list_hand_on(thread);
    if (thread_leave_process(thread))
        process_end();
    klog(thread_end, tid, status);
    if (clear_tid_address && !process->ending && !user_write(clear_tid_address, &zero, sizeof(zero)))
        futex_wake(clear_tid_address, 1, FUTEX_ANY);
    thread_idle();
}

/* ---- On the way back to the program ---- */

/* Carries this thread to another CPU of its process, on its own wish, if that one is free. */
static void thread_move(struct thread *thread, const void *frame)
{
    struct process *process = thread->process;
    unsigned from = thread->cpu, to = thread->wanted_cpu;

    spin_lock(&process->lock);
    if (thread_of_cpu(to)) { /* somebody else was quicker: it stays, and may */
        thread->wanted_cpu = from;
        thread->affinity |= cpu_mask_bit(from);
        spin_unlock(&process->lock);
        return;
    }
    arch_start_move(&thread->start, frame);
    thread->kernel_ns += clock_ticks_to_ns(arch_kernel_ticks(from));
    thread->arrived = false;
    thread->cpu = to;
    __atomic_store_n(&on_cpu[to], thread, __ATOMIC_RELEASE);
    cpu_give(process, from);
    spin_unlock(&process->lock);
    arch_ipi_send(to);
    thread_idle();
}

void thread_slow_return(void *frame)
{
    struct thread *thread = arch_thread();

    __atomic_store_n(&thread->arrived, true, __ATOMIC_RELEASE);
    if (thread->process->ending)
        thread_exit(thread->process->exit_status);
    signal_deliver(frame);
    if (thread->wanted_cpu != thread->cpu)
        thread_move(thread, frame);
}

static bool thread_wanted(const struct thread *thread)
{
    return thread->process->ending || thread->wanted_cpu != thread->cpu || signal_waits(thread);
}

void thread_notify(struct thread *thread)
{
    /* A thread on its way to another CPU has stored that, and looks at what it is wanted for when it arrives;
     * so the order here is the other one. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (thread != arch_thread())
        arch_ipi_send(thread->cpu);
}

void thread_return_check(void)
{
    if (thread_wanted(arch_thread()))
        arch_request_slow_return();
}

/* ---- Sleeping ---- */

void thread_idle_begin(struct thread *thread)
{
    __atomic_store_n(&thread->sleeps_since_ns, clock_now_ns(), __ATOMIC_RELAXED);
}

void thread_idle_end(struct thread *thread)
{
    __atomic_store_n(&thread->time_sequence, thread->time_sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    thread->idle_ns += clock_now_ns() - thread->sleeps_since_ns;
    thread->sleeps_since_ns = 0;
    __atomic_store_n(&thread->time_sequence, thread->time_sequence + 1, __ATOMIC_RELEASE);
}

static void sleep_expire(struct smart_timer *timer, uint64_t now_ns)
{
    bool *over = timer->context;

    klog(timer_expire, timer->deadline_ns, now_ns);
    *over = true;
}

int thread_sleep(const uint32_t *woken, uint64_t deadline_ns)
{
    struct thread *thread = arch_thread();
    volatile bool over = false;
    struct smart_timer timer = { .expire = sleep_expire, .context = (void *)&over };
    int result;

    klog(sleep, deadline_ns, thread->latency_bound_ns);
    thread_idle_begin(thread);
    if (deadline_ns != TIMER_NEVER)
        timer_start(&timer, deadline_ns, thread->latency_bound_ns);
    for (;;) {
        result = woken && __atomic_load_n(woken, __ATOMIC_ACQUIRE) ? 0
                 : over                                            ? -ETIMEDOUT
                 : thread_wanted(thread)                           ? -EINTR
                                                                   : 1;
        if (result <= 0)
            break;
        timer_idle();
    }
    timer_cancel(&timer);
    klog(sleep_end, deadline_ns, clock_now_ns());
    thread_idle_end(thread);
    thread_return_check(); /* what has come meanwhile */
    return result;
}

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

/* ---- Accounting: timestamps at each entry to the kernel and each exit tell user from system time, with no
 * tick [Tsafrir05 §4.2] ---- */

/* What it has slept, the present sleep included. */
static uint64_t idle_until_now_ns(const struct thread *thread)
{
    uint64_t idle_ns, since_ns;
    uint32_t sequence;

    do {
        sequence = __atomic_load_n(&thread->time_sequence, __ATOMIC_ACQUIRE);
        idle_ns = __atomic_load_n(&thread->idle_ns, __ATOMIC_RELAXED);
        since_ns = __atomic_load_n(&thread->sleeps_since_ns, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while ((sequence & 1) || sequence != __atomic_load_n(&thread->time_sequence, __ATOMIC_RELAXED));

    uint64_t now_ns = clock_now_ns();
    return since_ns && now_ns > since_ns ? idle_ns + (now_ns - since_ns) : idle_ns;
}

/* Of another CPU's thread, which may sleep or be in the kernel right now, the parts are read one after the
 * other: none is ever below zero. */
struct cpu_time thread_time(const struct thread *thread)
{
    struct cpu_time time = { .idle_ns = idle_until_now_ns(thread) };
    uint64_t kernel_ns = thread->kernel_ns;

    if (!thread->start_ns)
        return time;
    if (__atomic_load_n(&thread->arrived, __ATOMIC_ACQUIRE))
        kernel_ns += clock_ticks_to_ns(arch_kernel_ticks(thread->cpu));

    uint64_t total_ns = clock_now_ns() - thread->start_ns;

    time.system_ns = kernel_ns > time.idle_ns ? kernel_ns - time.idle_ns : 0;
    time.user_ns = total_ns > kernel_ns ? total_ns - kernel_ns : 0;
    return time;
}

struct cpu_time cpu_time_sum(struct cpu_time a, struct cpu_time b)
{
    return (struct cpu_time){ a.user_ns + b.user_ns, a.system_ns + b.system_ns, a.idle_ns + b.idle_ns };
}
