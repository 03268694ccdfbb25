/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ipc_ranks.c: three ranks share objects of System V, a POSIX queue and a FIFO. The last step: rank 2 ends
 * with a semaphore that it has taken with SEM_UNDO, by exit, or (argument "kill") by SIGKILL, and the others
 * go on.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY     0x1bc0
#define ROUNDS  200
#define RECORDS 50
#define FIFO    "/tmp/ipc_ranks"
#define QUEUE   "/ipc_ranks"

enum { MUTEX, LAST, FIRST_BARRIER, SEMAPHORES = 64 };

static unsigned rank, size;
static int set;

static int operate(int number, int change, int flags)
{
    struct sembuf one = { (unsigned short)number, (short)change, (short)flags };

    return semop(set, &one, 1);
}

/* Waits for the other ranks. Each barrier is a semaphore of its own, which counts those that are there. */
static void barrier(void)
{
    static unsigned short next = FIRST_BARRIER;
    struct sembuf all[] = { { next, (short)-(int)size, 0 }, { next, (short)size, 0 } };

    IS(operate(next, 1, 0), 0);
    IS(semop(set, all, 2), 0);
    next++;
}

static void set_find(void)
{
    if (rank == 0)
        set = semget(KEY, SEMAPHORES, IPC_CREAT | IPC_EXCL | 0600);
    while (rank > 0 && (set = semget(KEY, SEMAPHORES, 0)) < 0)
        usleep(1000);
    PROMISE(set >= 0, "the set: %s", strerror(errno));
    if (rank == 0)
        operate(MUTEX, 1, 0);
}

static void shared(void)
{
    if (rank == 0)
        PROMISE(shmget(KEY, 3 << 20, IPC_CREAT | IPC_EXCL | 0600) >= 0, "%s", strerror(errno));
    barrier();
    int id = shmget(KEY, 0, 0);
    volatile unsigned *counts = shmat(id, NULL, 0);
    PROMISE(counts != (void *)-1, "attach: %s", strerror(errno));
    barrier();
    struct shmid_ds status;
    IS(shmctl(id, IPC_STAT, &status), 0);
    PROMISE(status.shm_nattch == size, "%lu attached", (unsigned long)status.shm_nattch);
    barrier();
    for (unsigned i = 0; i < ROUNDS; i++) {
        operate(MUTEX, -1, 0);
        counts[0] = counts[0] + 1;
        counts[(2 << 20) / sizeof(*counts) + rank] = i;
        operate(MUTEX, 1, 0);
    }
    barrier();
    PROMISE(counts[0] == size * ROUNDS, "%u", counts[0]);
    if (rank == 0) {
        IS(shmctl(id, IPC_RMID, NULL), 0);
        IS(shmdt((const void *)counts), 0);
    }
    barrier();
    if (rank > 0) { /* it lives on for those that have it */
        PROMISE(counts[(2 << 20) / sizeof(*counts) + rank] == ROUNDS - 1, "its bytes");
        void *again = shmat(id, NULL, SHM_RDONLY);
        PROMISE(again != (void *)-1, "attach again: %s", strerror(errno));
        IS(shmdt(again), 0);
        FAILS(shmget(KEY, 0, 0), ENOENT);
    }
    barrier();
    if (rank > 0)
        munmap((void *)counts, 3 << 20);
    barrier();
    FAILS(shmctl(id, IPC_STAT, &status), EINVAL);
}

/* Makes as many sets as there can be, and removes them. */
static void table_fill(void)
{
    static int sets[2000];
    int count = 0;

    while (count < 2000 && (sets[count] = semget(IPC_PRIVATE, 1, 0600)) >= 0)
        count++;
    PROMISE(errno == ENOSPC && count > 1000 && count < 1024, "%d sets: %s", count, strerror(errno));
    while (count > 0)
        IS(semctl(sets[--count], 0, IPC_RMID), 0);
}

/* Makes and removes segments, whose memory comes back: together they have more than there is. */
static void freed(void)
{
    for (int i = 0; rank == 0 && i < 14; i++) {
        int id = shmget(IPC_PRIVATE, 8 << 20, 0600);
        char *bytes = shmat(id, NULL, 0);

        PROMISE(bytes != (void *)-1 && bytes[i << 10] == 0, "segment %d: %s", i, strerror(errno));
        if (bytes == (void *)-1)
            break;
        bytes[i << 10] = 1;
        IS(shmctl(id, IPC_RMID, NULL), 0);
        IS(shmdt(bytes), 0);
    }
    if (rank == 1) {
        FAILS(shmget(IPC_PRIVATE, 1UL << 40, 0600), ENOMEM);
        table_fill();
    }
    if (rank == 2) { /* is freed at the end of the rank */
        int id = shmget(IPC_PRIVATE, 1 << 20, 0600);

        PROMISE(shmat(id, NULL, 0) != (void *)-1, "attach: %s", strerror(errno));
        IS(shmctl(id, IPC_RMID, NULL), 0);
    }
    barrier();
}

struct note {
    long type;
    unsigned from, number;
    char filler[200];
};

static void messages(void)
{
    struct note note = { .from = rank };
    int queue = msgget(KEY, IPC_CREAT | 0600);

    for (unsigned i = 0; rank > 0 && i < ROUNDS; i++) {
        note.type = 1;
        note.number = i;
        IS(msgsnd(queue, &note, sizeof(note) - sizeof(long), 0), 0);
        IS(msgrcv(queue, &note, sizeof(note) - sizeof(long), 10 + rank, 0), sizeof(note) - sizeof(long));
        PROMISE(note.from == rank && note.number == i, "rank %u, number %u", note.from, note.number);
    }
    for (unsigned i = 0; rank == 0 && i < ROUNDS * (size - 1); i++) {
        IS(msgrcv(queue, &note, sizeof(note) - sizeof(long), -5, 0), sizeof(note) - sizeof(long));
        note.type = 10 + note.from;
        IS(msgsnd(queue, &note, sizeof(note) - sizeof(long), 0), 0);
    }
    barrier();
}

static void posix_queue(void)
{
    struct mq_attr attributes = { .mq_maxmsg = 3, .mq_msgsize = 64 };
    mqd_t queue = mq_open(QUEUE, O_RDWR | O_CREAT, 0600, &attributes);
    char bytes[64] = "";
    unsigned sum = 0, priority;

    PROMISE(queue != (mqd_t)-1, "open: %s", strerror(errno));
    barrier();
    for (unsigned i = 0; rank > 0 && i < ROUNDS; i++) {
        bytes[0] = (char)rank;
        IS(mq_send(queue, bytes, 64, rank), 0);
    }
    for (unsigned i = 0; rank == 0 && i < ROUNDS * (size - 1); i++) {
        struct pollfd ready = { .fd = (int)queue, .events = POLLIN };

        IS(poll(&ready, 1, -1), 1);
        IS(mq_receive(queue, bytes, sizeof(bytes), &priority), 64);
        sum += priority == (unsigned)bytes[0] ? priority : 0;
    }
    PROMISE(rank > 0 || sum == ROUNDS * 3, "%u", sum);
    barrier();
    mq_close(queue);
    if (rank == 0)
        IS(mq_unlink(QUEUE), 0);
}

static void fifo(void)
{
    char record[512];
    unsigned whole = 0, mixed = 0;

    if (rank == 0)
        IS(mkfifo(FIFO, 0600), 0);
    barrier();
    int file = open(FIFO, rank == 0 ? O_RDONLY : O_WRONLY);
    PROMISE(file >= 0, "open: %s", strerror(errno));
    memset(record, 'a' + (int)rank, sizeof(record));
    for (unsigned i = 0; rank > 0 && i < RECORDS; i++)
        IS(write(file, record, sizeof(record)), sizeof(record));
    barrier(); /* all are open, and what they write fits */
    close(rank > 0 ? file : -1);
    while (rank == 0 && read(file, record, sizeof(record)) == sizeof(record)) {
        whole++;
        for (unsigned i = 1; i < sizeof(record); i++)
            mixed += record[i] != record[0];
    }
    PROMISE(rank > 0 || (whole == RECORDS * (size - 1) && mixed == 0), "%u whole, %u mixed", whole, mixed);
    close(file);
    barrier();
    if (rank == 0)
        IS(unlink(FIFO), 0);
}

/* Lets the others wait for objects that rank 0 removes. */
static void removed(void)
{
    int other = rank == 0 ? semget(KEY + 1, 1, IPC_CREAT | 0600) : -1;
    int queue = msgget(KEY, 0);
    struct sembuf take = { 0, -1, 0 };
    struct note note;

    barrier();
    if (rank == 1) {
        other = semget(KEY + 1, 0, 0);
        FAILS(semop(other, &take, 1), EIDRM);
    } else if (rank == 2) {
        int got = (int)msgrcv(queue, &note, sizeof(note), 99, 0);

        PROMISE(got == -1 && (errno == EIDRM || errno == EINVAL), "%d: %s", got, strerror(errno));
    } else {
        while (semctl(other, 0, GETNCNT) != 1)
            usleep(1000);
        IS(semctl(other, 0, IPC_RMID), 0);
        IS(msgctl(queue, IPC_RMID, NULL), 0);
    }
    barrier();
}

static void undone(int by_kill)
{
    if (rank == 2) {
        operate(MUTEX, -1, SEM_UNDO);
        operate(LAST, 1, 0);
        while (semctl(set, MUTEX, GETNCNT) != 2)
            usleep(1000);
        if (by_kill)
            raise(SIGKILL);
        return;
    }
    operate(LAST, -1, 0);
    operate(LAST, 1, 0);
    IS(operate(MUTEX, -1, 0), 0);
    IS(operate(MUTEX, 1, 0), 0);
}

int main(int count, char **words)
{
    rank = (unsigned)atoi(getenv("TACET_RANK"));
    size = (unsigned)atoi(getenv("TACET_SIZE"));
    set_find();
    barrier();
    shared();
    freed();
    messages();
    posix_queue();
    fifo();
    removed();
    undone(count > 1 && strcmp(words[1], "kill") == 0);
    return promises_kept();
}
