/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crowd.c NAME [NUMBER]: many more threads than CPUs: locks, beginnings, signals, ends. Checks exact sums and
 * counts; an `end-…` ends the process with the status that its test expects.
 */
#define _GNU_SOURCE
#include "sharing.h"

#include <fcntl.h>

/* ---- Locks, conditions, barriers, semaphores: exact sums ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphores[THREADS_MAX];
static unsigned members, rounds, token;
static uint64_t sum, meetings;

/* Hands on two tokens: one by a condition for which all wait, one by a semaphore per thread. All meet in
 * between. */
static void *ring(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    for (unsigned round = 0; round < rounds; round++) {
        sem_wait(&semaphores[me]);
        sum += me;
        sem_post(&semaphores[(me + 1) % members]);
        pthread_mutex_lock(&mutex);
        counts[me]++;
        meetings++;
        pthread_mutex_unlock(&mutex);
        if (round % 16)
            continue;
        pthread_mutex_lock(&mutex);
        while (token % members != me)
            pthread_cond_wait(&changed, &mutex);
        token++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            sum += members;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void rings(void)
{
    members = 15 * cpus, rounds = number ? (unsigned)number : 256;
    pthread_barrier_init(&barrier, NULL, members);
    for (unsigned i = 0; i < members; i++)
        sem_init(&semaphores[i], 0, i == 0);
    for (unsigned i = 0; i < members; i++)
        start(i, ring);
    join(0, members);

    unsigned meets = (rounds + 15) / 16;
    PROMISE(sum == (uint64_t)rounds * members * (members - 1) / 2 + (uint64_t)meets * members, "%lu", sum);
    PROMISE(meetings == (uint64_t)rounds * members && token == meets * members, "%lu %u", meetings, token);
    for (unsigned i = 0; i < members; i++)
        PROMISE(counts[i] == rounds, "thread %u: %lu", i, counts[i]);
}

static void *count_once(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Starts and joins the largest number of threads repeatedly; and detached threads, which are not joined. */
static void storm(void)
{
    unsigned many = 15 * cpus, repeats = number ? (unsigned)number : 20, made = 0;
    pthread_attr_t detached;

    for (unsigned repeat = 0; repeat < repeats; repeat++) {
        for (unsigned i = 0; i < many; i++)
            start(i, count_once);
        join(0, many);
    }
    PROMISE(sum == (uint64_t)repeats * many, "%lu", sum);
    pthread_attr_init(&detached);
    pthread_attr_setstacksize(&detached, 1 << 16);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (unsigned i = 0; i < repeats * many; i++) {
        pthread_t handle;
        int error;

        while ((error = pthread_create(&handle, &detached, count_once, NULL)) == EAGAIN)
            sched_yield();
        PROMISE(error == 0, "%s", strerror(error));
        made += error == 0;
    }
    while (__atomic_load_n(&sum, __ATOMIC_RELAXED) < (uint64_t)repeats * many + made)
        sched_yield();
}

/* ---- Signals ---- */

static uint64_t volatile taken[THREADS_MAX];
static __thread unsigned self;

static void count_signal(int unused)
{
    (void)unused;
    taken[self]++;
}

static void *signalled(void *argument)
{
    self = (unsigned)(uintptr_t)argument;
    tids[self] = tid_here();
    while (!over)
        if (self % 2)
            sched_yield();
    return NULL;
}

/* Sends signals to threads that are ready or compute: each must arrive; of real-time signals every one. */
static void signals(void)
{
    struct sigaction action = { .sa_handler = count_signal };
    unsigned many = 4 * cpus, each = 40;

    sigaction(SIGRTMIN, &action, NULL);
    for (unsigned i = 1; i <= many; i++)
        start(i, signalled);
    for (unsigned i = 1; i <= many; i++)
        while (!tids[i])
            sched_yield();
    for (unsigned n = 0; n < each; n++)
        for (unsigned i = 1; i <= many; i++)
            while (syscall(SYS_tgkill, getpid(), tids[i], SIGRTMIN) != 0) {
                PROMISE(errno == EAGAIN, "%s", strerror(errno));
                sched_yield();
            }
    for (unsigned i = 1; i <= many; i++)
        while (taken[i] < each)
            sched_yield();
    over = true;
    join(1, many + 1);
    for (unsigned i = 1; i <= many; i++)
        PROMISE(taken[i] == each, "thread %u: %lu", i, taken[i]);
}

/* Sends a signal every 200 microseconds while threads take turns and hand tokens on, for `number` seconds. */
static void alarms(void)
{
    struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
    struct itimerval often_us = { { 0, 200 }, { 0, 200 } }, none = { { 0, 0 }, { 0, 0 } };
    uint64_t end = now_ns() + number * 1000 * MS, all = 0;

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often_us, NULL);
    while (now_ns() < end) {
        sum = meetings = token = 0, number = 32;
        memset((void *)counts, 0, sizeof(counts));
        rings();
        all++;
    }
    setitimer(ITIMER_REAL, &none, NULL);
    PROMISE(all > 0 && taken[0] > 0, "%lu %lu", all, taken[0]);
}

static volatile int timer_id = -1;

static void *deletes(void *unused)
{
    unsigned random = 1;

    while (!over)
        if (timer_id >= 0) {
            random = random * 1103515245 + 12345;
            spin_ns((random >> 16) % 12000);
            syscall(SYS_timer_delete, timer_id);
            timer_id = -1;
        }
    return unused;
}

/* Deletes timers about when they fire on another thread's CPU, for `number` seconds. */
static void timers(void)
{
    const struct itimerspec soon = { .it_value = { 0, 6000 } };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    uint64_t end = now_ns() + number * 1000 * MS;

    signal(SIGUSR1, SIG_IGN);
    start(0, deletes);
    for (int id; now_ns() < end;) {
        IS((int)syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id), 0);
        IS((int)syscall(SYS_timer_settime, id, 0, &soon, NULL), 0);
        timer_id = id;
        while (timer_id >= 0)
            ;
    }
    over = true;
    join(0, 1);
}

/* ---- Ends, with threads in every state ---- */

static void *computes_on(void *unused)
{
    while (!never)
        ;
    return unused;
}

static void *sleeps(void *unused)
{
    (void)unused;
    sleep_ns(1000000 * MS);
    return NULL;
}

#define LAST (THREADS_MAX - 1) /* in addition to these */

static void everybody_start(void)
{
    for (unsigned i = 0; i < 12 * cpus; i++)
        start(i, i % 3 == 0 ? computes_on : i % 3 == 1 ? sleeps : blocks);
}

static char *volatile nowhere;

static void *fault_at(void *unused)
{
    (void)unused;
    *(volatile int *)(nowhere + 8) = 1;
    return NULL;
}

static void end_exit(void)
{
    everybody_start();
    exit(7);
}

static void end_fault(void)
{
    everybody_start();
    start(LAST, fault_at);
    pause();
}

static void end_signal(void)
{
    everybody_start();
    kill(getpid(), SIGTERM);
    pause();
}

/* Ends the first thread first; the others go on, and the end of the last ends the process. */
static void *leave_last(void *unused)
{
    (void)unused;
    pthread_join(handles[LAST - 1], NULL);
    sleep_ns(5 * MS);
    exit(9);
}

static void end_leave(void)
{
    start(LAST - 1, count_once);
    start(LAST, leave_last);
    everybody_start();
    pthread_exit(NULL);
}

static void *leaves(void *unused)
{
    (void)unused;
    while (!over)
        sched_yield();
    return NULL;
}

/* Ends the process while many of its threads return, between others that never would. */
static void end_among_ends(void)
{
    unsigned many = 15 * cpus;

    for (unsigned i = 0; i < many; i++)
        start(i, i % 4 == 3 ? blocks : leaves);
    sleep_ns(20 * MS);
    over = true;
    spin_ns(number * 1000);
    _exit(promises_kept());
}

/* ---- How many ---- */

static volatile int open_end;

/* Makes a thread by the bare clone. All such threads share one stack, of which they use only their start. */
static long raw_clone(void *stack)
{
#if defined(__x86_64__)
    register void *r8 __asm__("r8") = NULL;
    register void *r10 __asm__("r10") = NULL;
    long result;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 2f\n"
                     "1: mov $202, %%eax\n\t" /* futex(&open_end, FUTEX_WAIT, 0) */
                     "mov %[word], %%rdi\n\t"
                     "xor %%esi, %%esi\n\t"
                     "xor %%edx, %%edx\n\t"
                     "xor %%r10d, %%r10d\n\t"
                     "syscall\n\t"
                     "cmpl $0, (%[word])\n\t"
                     "je 1b\n\t"
                     "mov $60, %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n"
                     "2:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD),
                       "S"(stack), "d"(NULL), "r"(r10), "r"(r8), [word] "r"(&open_end)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long r0 __asm__("r0") = SYS_clone;
    register long r3 __asm__("r3") = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    register void *r4 __asm__("r4") = stack;
    register long r5 __asm__("r5") = 0, r6 __asm__("r6") = 0, r7 __asm__("r7") = 0;
    register volatile int *word __asm__("r14") = &open_end;

    __asm__ volatile("sc\n\t"
                     "bns 3f\n\t"
                     "neg 3, 3\n\t"
                     "b 2f\n"
                     "3: cmpdi 3, 0\n\t"
                     "bne 2f\n"
                     "1: li 0, 221\n\t" /* futex(&open_end, FUTEX_WAIT, 0) */
                     "mr 3, 14\n\t"
                     "li 4, 0\n\t"
                     "li 5, 0\n\t"
                     "li 6, 0\n\t"
                     "sc\n\t"
                     "lwz 5, 0(14)\n\t"
                     "cmpwi 5, 0\n\t"
                     "beq 1b\n\t"
                     "li 0, 1\n\t" /* exit(0) */
                     "li 3, 0\n\t"
                     "sc\n"
                     "2:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
                     : "r"(word)
                     : "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
    return r3;
#endif
}

/* Returns this process's number of threads, by its status; without the C library, which takes memory. */
static unsigned threads_here(void)
{
    char text[2048];
    int file = open("/proc/self/status", O_RDONLY);
    ssize_t bytes = read(file, text, sizeof(text) - 1);

    close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *line = strstr(text, "\nThreads:\t");
    PROMISE(line, "%s", text);
    return line ? (unsigned)strtoul(line + strlen("\nThreads:\t"), NULL, 10) : 1;
}

/* Makes 100,000 calls of clone: `number` - 1 succeed, then EAGAIN. When those threads have ended, the same
 * number succeeds again. */
static void bomb(void)
{
    static char stack[4096] __attribute__((aligned(16)));

    for (unsigned again = 0; again < 2; again++) {
        uint64_t made = 0, refused = 0;

        open_end = 0;
        for (unsigned i = 0; i < 100000; i++) {
            long tid = raw_clone(stack + sizeof(stack));

            made += tid > 0, refused += tid == -EAGAIN;
        }
        PROMISE(made == number - 1 && refused == 100000 - made, "%lu made, %lu refused", made, refused);
        word_set(&open_end, 1);
        for (uint64_t free = 0; free < number - 1;) { /* until all have ended */
            long tid;

            open_end = 1;
            /* Does not go on until a refusal: each thread may end before the next is made. */
            for (free = 0; free < number - 1 && (tid = raw_clone(stack + sizeof(stack))) > 0; free++)
                ;
            sleep_ns(5 * MS);
        }
        while (threads_here() > 1)
            sleep_ns(MS);
    }
}

#define ROOM (4 << 20) /* for some threads, whatever a kernel stack takes, and not for all */

/* Starts threads until there is no memory (EAGAIN). No memory is lost: the second time gives as many. */
static void exhausted(void)
{
    static char stack[4096] __attribute__((aligned(16)));
    uint64_t made[2] = { 0, 0 };
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        ;
    munmap(room, ROOM);
    for (unsigned again = 0; again < 2; again++) {
        long tid;

        open_end = 0;
        while ((tid = raw_clone(stack + sizeof(stack))) > 0)
            made[again]++;
        PROMISE(tid == -EAGAIN, "%ld", tid);
        word_set(&open_end, 1);
        sleep_ns(200 * MS);
    }
    PROMISE(made[0] > 0 && made[0] < number && made[0] == made[1], "%lu, then %lu", made[0], made[1]);
}

static const struct test tests[] = {
    { "rings", rings },         { "storm", storm },
    { "signals", signals },     { "alarms", alarms },
    { "timers", timers },       { "end-exit", end_exit },
    { "end-fault", end_fault }, { "end-signal", end_signal },
    { "end-leave", end_leave }, { "end-among-ends", end_among_ends },
    { "bomb", bomb },           { "exhausted", exhausted },
};

int main(int count, char **arguments)
{
    return test_run(tests, sizeof(tests) / sizeof(tests[0]), count, arguments);
}
