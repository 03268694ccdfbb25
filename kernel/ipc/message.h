/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h: queues of messages, as System V's and POSIX's share them (message.c). Messages stand in blocks
 * of pages of the slice of the rank that made the queue; pages are added as needed, up to what the queue's
 * limits take, and stay until it ends. A message is reserved with the queue's lock, copied without it, and
 * then committed: so no sender or receiver waits for another one's copy.
 */
#ifndef TACET_MESSAGE_H
#define TACET_MESSAGE_H

#include "ipc/ipc.h"
#include "lib/list.h"
#include <stdbool.h>

struct block;
struct queued;

struct message_queue {
    struct ipc_object object;
    struct list messages; /* committed, in their order; the status counts all that have blocks */
    uint64_t count_max;
    struct block *free, *pages;
    uint64_t free_count;
    bool by_priority; /* a message with a higher type comes earlier */

    /* Of POSIX queues */
    uint64_t message_bytes_max;
    unsigned receivers;       /* threads that wait for a message */
    bool arrived;             /* a message has come while there was none, and no thread waited for it */
    struct process *notified; /* mq_notify: whom to send a signal; NULL */
    int32_t signal;           /* 0: none */
    uint64_t value;
};

static inline struct message_queue *queue_of(struct ipc_object *object)
{
    return (struct message_queue *)object;
}

/* Sends a message from the program's memory. -EAGAIN if the queue is full and the call does not wait; -EIDRM,
 * -ENOMEM, -EFAULT, -EINTR, -ETIMEDOUT. */
int queue_send(struct message_queue *queue, int64_t type, uint64_t address, uint64_t bytes, bool waits,
               uint64_t deadline);

/* Receives the first message that *type asks for, as msgrcv, into the program's memory; *type becomes its
 * type. Of `flags`, MSG_NOERROR, MSG_EXCEPT and IPC_NOWAIT count. Returns the number of bytes; -ENOMSG if
 * there is none and the call does not wait; -E2BIG, and the others. A message that cannot be copied is lost,
 * as on Linux. */
long queue_receive(struct message_queue *queue, int64_t *type, uint64_t address, uint64_t bytes,
                   uint64_t flags, uint64_t deadline);

void queue_end(struct ipc_object *object);

#endif
