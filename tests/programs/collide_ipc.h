/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collide_ipc.h: collide.c's family ipc: segments, semaphores and messages of System V, POSIX queues, FIFOs.
 * Objects have few keys and names, so that threads remove what others use and wait for.
 */
#ifndef COLLIDE_IPC_H
#define COLLIDE_IPC_H

#include <mqueue.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

enum { IPC = SIGNALS + FAMILY_STEP };

#define IPC_KEY       0x1c0
#define IPC_SEGMENT   (3 * 65536 + 5000)
#define IPC_SEMAPHORE 6

static volatile int segment, semaphores, messages;
static void *volatile attached;

static const char *ipc_name(struct thread *t, bool fifo)
{
    static const char *const names[] = { "/collide0", "/collide1", "/tmp/collide0", "/tmp/collide1" };

    return names[below(t, 2) + (fifo ? 2 : 0)];
}

static void ipc_make(struct thread *t, unsigned object)
{
    const int key = below(t, 2) ? IPC_PRIVATE : IPC_KEY + (int)below(t, 2);
    struct mq_attr attributes = { .mq_maxmsg = 1 + below(t, 10), .mq_msgsize = 1 + below(t, 8192) };
    const int modes[] = { O_RDWR, O_RDONLY, O_WRONLY };

    if (object == 0) {
        shmctl(segment, IPC_RMID, NULL);
        segment = shmget(key, 1 + below(t, IPC_SEGMENT), IPC_CREAT | 0600);
    } else if (object == 1) {
        semctl(semaphores, 0, IPC_RMID);
        semaphores = semget(key, IPC_SEMAPHORE, IPC_CREAT | 0600);
    } else if (object == 2) {
        msgctl(messages, IPC_RMID, NULL);
        messages = msgget(key, IPC_CREAT | 0600);
    } else if (object == 3) {
        const char *name = ipc_name(t, false);

        if (below(t, 2))
            mq_unlink(name);
        put(mq_open(name, O_CREAT | modes[below(t, 3)] | (below(t, 2) ? O_NONBLOCK : 0), 0600, &attributes),
            IPC + (int)below(t, 2));
    } else {
        const char *name = ipc_name(t, true);

        if (below(t, 2))
            unlink(name);
        mkfifo(name, 0600);
        put(open(name, modes[below(t, 3)] | O_NONBLOCK), IPC + 2 + (int)below(t, 3));
    }
}

static long segment_act(struct thread *t)
{
    struct shmid_ds status;
    char *at;

    switch (below(t, 6)) {
    case 0:
        at = shmat(segment, NULL, below(t, 4) ? 0 : SHM_RDONLY);
        if (at != (void *)-1)
            shmdt(__atomic_exchange_n(&attached, at, __ATOMIC_RELAXED));
        return at == (void *)-1 ? -1 : 0;
    case 1:
        return shmdt(__atomic_exchange_n(&attached, NULL, __ATOMIC_RELAXED));
    case 2:
        at = attached;
        return at ? munmap(at + PAGE * below(t, 3), PAGE) : 0;
    case 3:
        at = attached; /* replaces what is there, which another thread may be detaching */
        return at && shmat(segment, at, SHM_REMAP) == (void *)-1 ? -1 : 0;
    case 4:
        return shmctl((int)below(t, 4), SHM_STAT, &status);
    default:
        return shmctl(segment, IPC_STAT, &status);
    }
}

static long semaphore_act(struct thread *t)
{
    unsigned short all[IPC_SEMAPHORE];
    struct sembuf operations[3];
    unsigned count = 1 + below(t, 3);

    for (unsigned i = 0; i < count; i++)
        operations[i] =
            (struct sembuf){ (unsigned short)below(t, IPC_SEMAPHORE), (short)((int)below(t, 5) - 2),
                             (short)((below(t, 2) ? SEM_UNDO : 0) | (below(t, 4) ? 0 : IPC_NOWAIT)) };
    switch (below(t, 8)) {
    case 0:
        return semctl(semaphores, 0, GETALL, all);
    case 1:
        for (unsigned i = 0; i < IPC_SEMAPHORE; i++)
            all[i] = (unsigned short)below(t, 4);
        return semctl(semaphores, 0, SETALL, all);
    case 2:
        return semctl(semaphores, (int)below(t, IPC_SEMAPHORE), SETVAL, (int)below(t, 4));
    case 3:
        return semctl(semaphores, (int)below(t, IPC_SEMAPHORE), below(t, 2) ? GETNCNT : GETZCNT);
    default:
        return semtimedop(semaphores, operations, count, &moment);
    }
}

static long message_act(struct thread *t)
{
    struct msqid_ds status;
    long type = 1 + (long)below(t, 4);

    memcpy(t->room, &type, sizeof(type));
    switch (below(t, 5)) {
    case 0:
        return msgctl(messages, IPC_STAT, &status);
    case 1:
    case 2:
        return msgsnd(messages, t->room, below(t, below(t, 2) ? 100 : 8192), IPC_NOWAIT);
    default:
        return msgrcv(messages, t->room, below(t, 8192), (long)below(t, 9) - 4,
                      IPC_NOWAIT | (below(t, 2) ? MSG_NOERROR : 0) | (below(t, 4) ? 0 : MSG_EXCEPT));
    }
}

static long queue_act(struct thread *t)
{
    struct sigevent event = { .sigev_notify = below(t, 2) ? SIGEV_NONE : SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR1 };
    const int queue = IPC + (int)below(t, 2);
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec = (until.tv_nsec + WAIT_NS) % 1000000000;
    switch (below(t, 5)) {
    case 0:
        return mq_notify(queue, below(t, 2) ? &event : NULL);
    case 1:
    case 2:
        return mq_timedsend(queue, t->room, below(t, below(t, 2) ? 100 : 8192), below(t, 4), &until);
    default:
        return mq_timedreceive(queue, t->room, 8192, NULL, &until);
    }
}

static long ipc_act(struct thread *t)
{
    const int end = IPC + 2 + (int)below(t, 3);
    struct pollfd set = { end, POLLIN | POLLOUT, 0 };

    switch (below(t, 6)) {
    case 0:
        return segment_act(t);
    case 1:
    case 2:
        return semaphore_act(t);
    case 3:
        return message_act(t);
    case 4:
        return queue_act(t);
    default:
        if (below(t, 4) == 0)
            return poll(&set, 1, 0);
        return below(t, 2) ? read(end, t->room, below(t, 9000)) : write(end, t->room, below(t, 9000));
    }
}

#endif
