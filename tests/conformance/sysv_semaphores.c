/* SPDX-License-Identifier: BSD-2-Clause */
/* sysv_semaphores.c: sets of semaphores of System V. */
#include "sysv.h"

#define BUSY_MS 2

static long set, answers[4];

static long value(int number)
{
    return sys(SYS_semctl, set, number, GETVAL, 0);
}

static void made_by_key(void)
{
    long id = sys(SYS_semget, KEY(2), 3, IPC_CREAT | IPC_EXCL | 0600), other;

    holds("made by a key", id >= 0);
    holds("found by it", sys(SYS_semget, KEY(2), 0, 0) == id);
    result("found by it, larger", sys(SYS_semget, KEY(2), 4, 0));
    result("made again", sys(SYS_semget, KEY(2), 3, IPC_CREAT | IPC_EXCL | 0600));
    result("no semaphores", sys(SYS_semget, IPC_PRIVATE, 0, 0600));
    result("fewer than none", sys(SYS_semget, IPC_PRIVATE, -1, 0600));
    result("removed", sys(SYS_semctl, id, 0, IPC_RMID, 0));
    result("gone", sys(SYS_semctl, id, 0, GETVAL, 0));
    other = sys(SYS_semget, KEY(2), 3, IPC_CREAT | 0600);
    holds("the next has another identifier", other >= 0 && other != id);
    result("remove the next", sys(SYS_semctl, other, 0, IPC_RMID, 0));
}

static void values(void)
{
    unsigned short all[4] = { 1, 2, 3, 32767 }, wrong[4] = { 0, 0, 0, 32768 };
    struct semid_ds status;

    result("set all", sys(SYS_semctl, set, 0, SETALL, all));
    memset(all, 0, sizeof(all));
    result("get all", sys(SYS_semctl, set, 0, GETALL, all));
    result("all", all[0] * 1000000L + all[1] * 100000 + all[2] * 10000 + (all[3] == 32767));
    result("set all, one too high", sys(SYS_semctl, set, 0, SETALL, wrong));
    result("set all from nobody's memory", sys(SYS_semctl, set, 0, SETALL, NOWHERE));
    result("get all to nobody's memory", sys(SYS_semctl, set, 0, GETALL, NOWHERE));
    result("set one", sys(SYS_semctl, set, 1, SETVAL, 9));
    result("one", value(1));
    result("set one too high", sys(SYS_semctl, set, 1, SETVAL, 32768));
    result("set one below 0", sys(SYS_semctl, set, 1, SETVAL, -1));
    result("no such semaphore", sys(SYS_semctl, set, 4, GETVAL, 0));
    result("a negative one", sys(SYS_semctl, set, -1, GETVAL, 0));
    result("no such command", sys(SYS_semctl, set, 0, 99, 0));
    holds("whose value", sys(SYS_semctl, set, 1, GETPID, 0) == getpid());
    memset(&status, 0xff, sizeof(status));
    result("status", sys(SYS_semctl, set, 0, IPC_STAT, &status));
    result("how many", (long)status.sem_nsems);
    result("mode", status.sem_perm.mode);
    result("not operated yet", status.sem_otime);
    holds("changed now", status.sem_ctime > 1000000000);
}

static void operations(void)
{
    struct sembuf two[] = { { 0, -1, 0 }, { 1, -10, IPC_NOWAIT } };
    struct timespec none = { 0, 0 }, wrong = { 0, 1000000000 };
    static struct sembuf many[4000];
    struct semid_ds status;

    result("take", sem_add(set, 0, -1, 0));
    result("take from 0", sem_add(set, 0, -1, IPC_NOWAIT));
    result("wait for 0", sem_add(set, 0, 0, 0));
    result("wait for 0 where 9 is", sem_add(set, 1, 0, IPC_NOWAIT));
    result("give", sem_add(set, 0, 1, 0));
    result("two, of which one cannot", sem_operate(set, two, 2, NULL));
    result("neither is done", value(0) * 100 + value(1));
    two[1].sem_op = -9;
    result("two that can", sem_operate(set, two, 2, NULL));
    result("both are done", value(0) * 100 + value(1));
    result("above the highest value", sem_add(set, 3, 1, 0));
    result("no such semaphore to operate", sem_add(set, 4, 1, 0));
    result("no operations", sem_operate(set, two, 0, NULL));
    result("too many operations", sem_operate(set, many, 4000, NULL));
    result("operations in nobody's memory", sem_operate(set, NOWHERE, 1, NULL));
    result("a wrong time", sem_operate(set, two, 2, &wrong));
    two[1].sem_flg = 0;
    result("no time", sem_operate(set, two, 2, &none));
    none.tv_nsec = 1000000;
    uint64_t start = now_ns();
    result("a little time", sem_operate(set, two, 2, &none));
    holds("which passed", now_ns() - start >= 1000000);
    sys(SYS_semctl, set, 0, IPC_STAT, &status);
    holds("operated now", status.sem_otime > 1000000000);
    result("no such set", sem_add(-1, 0, 1, 0));
}

/* ---- Threads that wait ---- */

static void *taker(void *argument)
{
    answers[(long)argument] = sem_add(set, 2, (long)argument == 3 ? 0 : -2, 0);
    return NULL;
}

static void waiters_reach(int command, long count)
{
    while (sys(SYS_semctl, set, 2, command, 0) != count)
        rest_ms(BUSY_MS);
}

static void waiters(void)
{
    pthread_t threads[4];
    struct sembuf both[] = { { 2, 2, 0 }, { 2, -1, 0 } };

    sys(SYS_semctl, set, 2, SETVAL, 1);
    for (long i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, taker, (void *)i);
        waiters_reach(GETNCNT, i + 1);
    }
    pthread_create(&threads[3], NULL, taker, (void *)3L);
    waiters_reach(GETZCNT, 1);
    result("wait for more, and for none",
           sys(SYS_semctl, set, 2, GETNCNT, 0) * 10 + sys(SYS_semctl, set, 2, GETZCNT, 0));
    result("give to the first", sem_operate(set, both, 2, NULL));
    pthread_join(threads[0], NULL);
    pthread_join(threads[3], NULL);
    result("the first", answers[0]);
    result("the one that waited for 0", answers[3]);
    result("one waits on", sys(SYS_semctl, set, 2, GETNCNT, 0));
    result("set its value", sys(SYS_semctl, set, 2, SETVAL, 5));
    pthread_join(threads[1], NULL);
    result("the second", answers[1] * 10 + value(2));

    sys(SYS_semctl, set, 2, SETVAL, 0);
    pthread_create(&threads[0], NULL, taker, (void *)0L);
    waiters_reach(GETNCNT, 1);
    result("remove", sys(SYS_semctl, set, 0, IPC_RMID, 0));
    pthread_join(threads[0], NULL);
    result("the waiter", answers[0]);
}

static void ignore(int signal)
{
    (void)signal;
}

static void *interrupted(void *argument)
{
    (void)argument;
    answers[0] = sem_add(set, 0, -30000, 0);
    return NULL;
}

static void a_signal(void)
{
    const struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, interrupted, NULL);
    while (sys(SYS_semctl, set, 0, GETNCNT, 0) != 1)
        rest_ms(BUSY_MS);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    result("interrupted, with SA_RESTART", answers[0]);
    result("none waits then", sys(SYS_semctl, set, 0, GETNCNT, 0));
}

static void undone(void)
{
    struct seminfo limits;
    int differ = 0;

    sys(SYS_semctl, set, 0, SETVAL, 3);
    result("take, to be undone", sem_add(set, 0, -2, SEM_UNDO));
    result("give back", sem_add(set, 0, 1, SEM_UNDO));
    result("its value", value(0));
    sys(SYS_semctl, set, 3, SETVAL, 0);
    result("much, to be undone", sem_add(set, 3, 32767, SEM_UNDO));
    sem_add(set, 3, -32767, 0);
    result("twice as much is too much", sem_add(set, 3, 2, SEM_UNDO));
    holds("limits", sys(SYS_semctl, 0, 0, IPC_INFO, &limits) >= 0 && limits.semvmx == 32767);
    sys(SYS_semctl, 0, 0, IPC_INFO, &limits);
    for (unsigned i = 0; i < 4; i++) {
        const int numbers[] = { limits.semmsl, limits.semmns, limits.semopm, limits.semmni };

        differ += limit_in("/proc/sys/kernel/sem", i) != (unsigned long)numbers[i];
    }
    result("limits in /proc that differ", differ);
    holds("in use",
          sys(SYS_semctl, 0, 0, SEM_INFO, &limits) >= 0 && limits.semusz >= 1 && limits.semaem >= 4);
}

CONFORM(sysv_semaphores)
{
    made_by_key();
    set = sys(SYS_semget, IPC_PRIVATE, 4, 0620);
    holds("made", set >= 0);
    values();
    operations();
    undone();
    a_signal();
    waiters();
}
