/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_races.c PART [ROUNDS]: moments at which a signal, or the end of the process, could get lost between
 * CPUs. Linux keeps all of it, too.
 *
 *   newborn   a thread that has not taken its first step gets a signal, and never calls the kernel
 *   travel    a thread gets a signal while it is carried to another CPU, and does not call the kernel
 *             afterwards
 *   ended     the process ends, with 5, while a thread has not taken its first step yet
 *   alarms    a thread ends while many timers send it signals; the timers are deleted afterwards
 *   ignored   a periodic timer's signal waits while the program ignores it for a moment (Linux keeps this
 *             since 6.13)
 *   chaos     threads begin and end, move, sleep, block signals and wait for them, while they get as many as
 *             there is time for
 *   stranger  timers are deleted by a thread that has not made them, before their maker knows of them
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define WAIT_NS     10000000000UL /* longer waits count as never */
#define ALARMS      100

#define THREAD_FLAGS                                                                    \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
     CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID)

static atomic_int handled, finish;
static int thread_left; /* zeroed by the kernel */

static void count(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
}

/* Returns whether *word becomes `value` in time. */
static bool comes(const void *word, int value)
{
    const uint64_t end_ns = now_ns() + WAIT_NS;

    while (__atomic_load_n((const int *)word, __ATOMIC_ACQUIRE) != value)
        if (now_ns() > end_ns)
            return false;
        else
            machine_relax(); /* under QEMU's icount, what lets another CPU run */
    return true;
}

/* Threads without the C library's help, whose own calls on the way would let the kernel look. */
static char stack[STACK_BYTES] __attribute__((aligned(16)));

static int thread_start(int (*run)(void *), void *argument)
{
    return clone(run, stack + STACK_BYTES, THREAD_FLAGS, argument, &thread_left, NULL, &thread_left);
}

static int spin_until(void *value)
{
    while (atomic_load_explicit(&handled, memory_order_relaxed) < (int)(uintptr_t)value)
        machine_relax();
    return 0;
}

static bool newborn(unsigned rounds)
{
    for (unsigned i = 1; i <= rounds; i++) {
        int tid = thread_start(spin_until, (void *)(uintptr_t)i);

        if (tid < 0)
            return false;
        syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
        bool came = comes(&handled, (int)i);
        PROMISE(came, "round %u: the signal got lost", i);
        if (!came || !comes(&thread_left, 0))
            return false;
    }
    return true;
}

static int spin_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        machine_relax();
    return 0;
}

/* ---- A thread on its way ---- */

static atomic_int leaving, traveller_tid;
static unsigned travels;

static void *travel_on(void *unused)
{
    cpu_set_t allowed, one;
    int cpus[2], found = 0;

    (void)unused;
    atomic_store(&traveller_tid, (int)syscall(SYS_gettid));
    sched_getaffinity(0, sizeof(allowed), &allowed);
    for (int cpu = CPU_SETSIZE - 1; cpu > 0 && found < 2; cpu--)
        if (CPU_ISSET(cpu, &allowed))
            cpus[found++] = cpu;
    for (unsigned i = 1; i <= travels && !atomic_load(&finish); i++) {
        CPU_ZERO(&one);
        CPU_SET(cpus[i % 2], &one);
        atomic_store(&leaving, (int)i);
        if (found == 2)
            sched_setaffinity(0, sizeof(one), &one);
        while (atomic_load_explicit(&handled, memory_order_relaxed) < (int)i &&
               !atomic_load_explicit(&finish, memory_order_relaxed))
            machine_relax();
    }
    return NULL;
}

static bool travel(unsigned rounds)
{
    pthread_t traveller;
    bool came = true;

    travels = rounds;
    if (pthread_create(&traveller, NULL, travel_on, NULL))
        return false;
    for (unsigned i = 1; i <= rounds && came; i++) {
        came = comes(&leaving, (int)i);
        for (volatile unsigned wait = i * 7 % 1500; wait; wait--) /* sooner or later on the way */
            ;
        syscall(SYS_tgkill, getpid(), atomic_load(&traveller_tid), SIGUSR1);
        came = came && comes(&handled, (int)i);
        PROMISE(came, "travel %u: the signal got lost", i);
    }
    atomic_store(&finish, 1);
    pthread_kill(traveller, SIGUSR1);
    pthread_join(traveller, NULL);
    return came;
}

/* ---- Timers ---- */

static int nap_and_end(void *value)
{
    while (atomic_load_explicit(&handled, memory_order_relaxed) == (int)(uintptr_t)value)
        machine_relax();
    return 0;
}

static bool alarms(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        int tid = thread_start(nap_and_end, (void *)(uintptr_t)atomic_load(&handled)), ids[ALARMS], made = 0,
            deleted = 0;
        struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
        const struct itimerspec soon = { { 0, 0 }, { 0, 300000 } };

        if (tid < 0)
            return false;
        *((int *)&event + 4) = tid; /* sigev_notify_thread_id, which not every C library names */
        for (int n = 0; n < ALARMS; n++)
            made += syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &ids[n]) == 0;
        PROMISE(made == ALARMS, "%d timers: %d", made, errno);
        for (int n = 0; n < made; n++)
            syscall(SYS_timer_settime, ids[n], 0, &soon, NULL);
        if (!comes(&thread_left, 0))
            return false;
        for (int n = 0; n < made; n++)
            deleted += syscall(SYS_timer_delete, ids[n]) == 0;
        PROMISE(deleted == made, "%d of %d", deleted, made);
    }
    return true;
}

static bool ignored(void)
{
    struct sigaction counting = { .sa_handler = count };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
    const struct itimerspec often = { { 0, 2000000 }, { 0, 2000000 } };
    const uint64_t end_ns = now_ns() + WAIT_NS;
    sigset_t mask, pending;
    int id;

    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) ||
        syscall(SYS_timer_settime, id, 0, &often, NULL))
        return false;
    do
        sigpending(&pending);
    while (!sigismember(&pending, SIGRTMIN) && now_ns() < end_ns);
    signal(SIGRTMIN, SIG_IGN);
    sigpending(&pending);
    PROMISE(!sigismember(&pending, SIGRTMIN), "an ignored signal waits");
    sigaction(SIGRTMIN, &counting, NULL);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    while (atomic_load(&handled) < 3)
        if (now_ns() > end_ns)
            return false;
    return true;
}

static void *delete_all(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&finish, memory_order_relaxed))
        for (int id = 0; id < 4; id++)
            syscall(SYS_timer_delete, id);
    return NULL;
}

static bool stranger(unsigned rounds)
{
    pthread_t thread;
    int id, refused = 0;

    if (pthread_create(&thread, NULL, delete_all, NULL))
        return false;
    for (unsigned i = 0; i < rounds; i++) {
        refused += syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, (void *)8) == -1 && errno == EFAULT;
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) == 0)
            syscall(SYS_timer_delete, id);
    }
    atomic_store(&finish, 1);
    pthread_join(thread, NULL);
    PROMISE(refused == (int)rounds, "%d", refused);
    return true;
}

/* ---- Everything at once ---- */

#define CHAOS_THREADS_MAX 8

static atomic_int chaos_tids[CHAOS_THREADS_MAX];
static int chaos_pipe[2];

static uint32_t random_number(uint32_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
    return *state;
}

static void random_deed(uint32_t *state)
{
    const struct timespec nap = { 0, random_number(state) % 20000 };
    uint32_t word = 0;
    cpu_set_t one;
    sigset_t mask;
    char byte;

    sigemptyset(&mask);
    sigaddset(&mask, random_number(state) % 2 ? SIGUSR1 : SIGRTMIN);
    switch (random_number(state) % 8) {
    case 0:
        CPU_ZERO(&one);
        CPU_SET(random_number(state) % CHAOS_THREADS_MAX, &one);
        sched_setaffinity(0, sizeof(one), &one);
        break;
    case 1:
        nanosleep(&nap, NULL);
        break;
    case 2:
        pthread_sigmask(random_number(state) % 2 ? SIG_BLOCK : SIG_UNBLOCK, &mask, NULL);
        break;
    case 3:
        syscall(SYS_futex, &word, 0, 0, &nap, NULL, 0);
        break;
    case 4:
        syscall(SYS_rt_sigtimedwait, &mask, NULL, &nap, 8);
        break;
    case 5:
        syscall(SYS_write, chaos_pipe[1], "x", 1);
        break;
    case 6:
        syscall(SYS_read, chaos_pipe[0], &byte, 1);
        break;
    default:
        for (volatile uint32_t wait = random_number(state) % 3000; wait; wait--)
            ;
    }
}

static void *live_for_a_while(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number % CHAOS_THREADS_MAX;
    uint32_t state = (uint32_t)(uintptr_t)number * 2654435761U + 1;

    atomic_store(&chaos_tids[me], (int)syscall(SYS_gettid));
    for (unsigned deeds = random_number(&state) % 200; deeds; deeds--)
        random_deed(&state);
    return NULL;
}

/* Sends signals to threads that are alive or have ended, by kill and by timers, to the thread and the
 * process. */
static void harass(uint32_t *state, unsigned count)
{
    int tid = atomic_load(&chaos_tids[random_number(state) % count]), id;
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
    const struct itimerspec soon = { { 0, random_number(state) % 2 * 100000 },
                                     { 0, 1 + random_number(state) % 200000 } };

    switch (random_number(state) % 4) {
    case 0:
        kill(getpid(), SIGUSR1);
        break;
    case 1:
        *((int *)&event + 4) = tid;
        if (tid && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0)
            syscall(SYS_timer_settime, id, 0, &soon, NULL);
        break;
    case 2:
        syscall(SYS_timer_delete, random_number(state) % 128);
        break;
    default:
        if (tid)
            syscall(SYS_tgkill, getpid(), tid, random_number(state) % 2 ? SIGUSR1 : SIGRTMIN);
    }
}

static bool chaos(unsigned rounds)
{
    pthread_t threads[CHAOS_THREADS_MAX];
    cpu_set_t allowed;
    unsigned count, ended = 0;
    uint32_t state = 7;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    count = (unsigned)CPU_COUNT(&allowed) - 1;
    count = count < CHAOS_THREADS_MAX ? count : CHAOS_THREADS_MAX;
    if (count == 0 || pipe2(chaos_pipe, O_NONBLOCK))
        return false;
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned n = 0; n < count; n++)
            if (pthread_create(&threads[n], NULL, live_for_a_while,
                               (void *)(uintptr_t)(i * CHAOS_THREADS_MAX + n)))
                return false;
        for (unsigned n = 0; n < 100; n++)
            harass(&state, count);
        for (unsigned n = 0; n < count; n++)
            ended += pthread_join(threads[n], NULL) == 0;
    }
    for (int id = 0; id < 128; id++)
        syscall(SYS_timer_delete, id);
    PROMISE(ended == rounds * count && atomic_load(&handled) > 0, "%u ended, %d signals", ended,
            atomic_load(&handled));
    return true;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = count };
    const char *part = argc > 1 ? argv[1] : "";
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGRTMIN, &action, NULL);
    if (!strcmp(part, "ended")) {
        thread_start(spin_for_ever, NULL);
        syscall(SYS_exit_group, 5);
    }
    bool done = !strcmp(part, "newborn")    ? newborn(rounds)
                : !strcmp(part, "travel")   ? travel(rounds)
                : !strcmp(part, "alarms")   ? alarms(rounds)
                : !strcmp(part, "ignored")  ? ignored()
                : !strcmp(part, "chaos")    ? chaos(rounds)
                : !strcmp(part, "stranger") ? stranger(rounds)
                                            : false;
    PROMISE(done, "%s did not come to its end", part);
    int status = promises_kept();
    fflush(NULL);
    syscall(SYS_exit_group, status); /* a thread may be lost */
}
