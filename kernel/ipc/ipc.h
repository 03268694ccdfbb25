/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ipc.h: what ranks of a node share by a number or a name: segments of shared memory, sets of semaphores and
 * queues of messages of System V, and POSIX message queues. sysvipc(7), mq_overview(7).
 *
 * Objects of all kinds have what this header declares, in object.c: memory of the slice of the rank that
 * makes them, references, identifiers and keys, status, removal, and waiting. A POSIX queue has a name in a
 * directory of the file tree instead of an identifier. An object that its maker leaves stays until it is
 * removed, or the job ends. There are at most IPC_OBJECTS_MAX of a kind. Permissions are stored and reported,
 * and refuse nothing, as those of files.
 *
 * An object's states: new (known to the call that makes it), listed (its identifier finds it; the table has a
 * reference), removed (calls that still have a reference answer -EIDRM), freed (at its last reference). A
 * segment that is removed while it is attached stays listed, without a key, until it is detached.
 *
 * Locks: a kind's table has one, each object another, which may be taken under the table's. Neither is held
 * across a copy or a wait. Loops under them have the constant bounds that are said at their limits.
 */
#ifndef TACET_IPC_H
#define TACET_IPC_H

#include "ipc/linux_ipc.h"
#include "lib/avl.h"
#include "process/event.h"
#include "smp/spinlock.h"

#define IPC_OBJECTS_MAX 1024 /* of a kind */

struct ipc_object;

struct ipc_table {
    struct spinlock lock; /* guards these, and the objects' keys and identifiers */
    struct avl_node *keys;
    unsigned count;
    uint32_t sequence; /* counts removals: so an identifier differs from those that its slot had before */
    uint64_t size;     /* sum of the objects' */
    struct ipc_object **slots; /* from the slice of the rank that made a job's first object */
    unsigned room;             /* IPC_OBJECTS_MAX once they are there, before 0 */
};

/* A kind of objects: its operations. `status` and `set` run with the object's lock. */
struct ipc_class {
    struct ipc_table *table;
    uint64_t bytes, element_bytes; /* of a new object: these, and these for each of its size */
    uint64_t size_max;             /* of a new object; 0: it has no size, else it has at least 1 */
    unsigned stat_command;         /* SHM_STAT, SEM_STAT or MSG_STAT; the next are X_INFO and X_STAT_ANY */
    unsigned status_bytes;         /* of the kind's member of union linux_ipc_status */
    unsigned changed_at;           /* its offset of changed_s */
    int (*begin)(struct ipc_object *object);   /* completes a new object */
    void (*status)(struct ipc_object *object); /* brings its status up to date; or NULL */
    int (*set)(struct ipc_object *object,
               const union linux_ipc_status *status); /* the kind's own of IPC_SET */
    long (*control)(struct ipc_object *object, unsigned command, uint64_t number, uint64_t argument);
    unsigned (*info)(const struct ipc_table *table, bool in_use, union linux_ipc_info *info); /* its bytes */
    void (*remove)(struct ipc_object *object);                                                /* IPC_RMID */
    void (*removed)(struct ipc_object *object); /* wakes its own waiters, with its lock; or NULL */
    void (*end)(struct ipc_object *object);     /* at the last reference, frees what it has; or NULL */
};

extern const struct ipc_class ipc_segments, ipc_semaphores, ipc_messages;

struct ipc_object {
    struct avl_node node; /* by key, unless that is IPC_PRIVATE */
    const struct ipc_class *class;
    struct spinlock lock; /* guards what follows `references`, and what the kind adds */
    unsigned references;
    bool removed;
    int32_t id;                    /* -1: not listed yet */
    uint64_t size;                 /* bytes of a segment, semaphores of a set */
    union linux_ipc_status status; /* what programs see; the kinds keep there what they count */
    uint64_t memory_bytes;         /* of this structure, with what follows it */
    struct process *payer;
    struct event_audience audience;
};

/* ---- object.c ---- */

/* Allocates a zeroed object with one reference, the caller's; NULL if the caller's slice has no memory. */
void *ipc_allocate(const struct ipc_class *class, uint64_t bytes);

void ipc_put(struct ipc_object *object);

/* The type of a variable whose reference, unless it is NULL, is dropped when the enclosing block ends. */
#define IPC_REFERENCE __attribute__((cleanup(ipc_reference_end))) struct ipc_object *
static inline void ipc_reference_end(struct ipc_object *const *object)
{
    if (*object)
        ipc_put(*object);
}

/* Finds an object by its identifier, or by its slot; with a reference, or NULL. */
struct ipc_object *ipc_find(const struct ipc_class *class, uint64_t id);
struct ipc_object *ipc_at(const struct ipc_class *class, unsigned slot);

/* Removes an object without a key, which may be listed; marks it and notifies those that wait. */
void ipc_remove(struct ipc_object *object);

/* Waits until another thread has called ipc_notify since the caller's last check of the object, which may be
 * spurious: 0; -ETIMEDOUT, -EINTR. No locks held. */
int ipc_wait(struct ipc_object *object, uint64_t deadline);
void ipc_notify(struct ipc_object *object);

int64_t ipc_now_s(void);

/* Records in the status that the object changes now. */
void ipc_change_record(struct ipc_object *object);

/* Drops all objects, because the memory of all ranks is about to be reused. posix_queue.c */
void ipc_drop(void);

/* ---- Called by rows of syscalls.def ---- */

/* Carries out shmget, semget, msgget; shmctl, semctl, msgctl (`number` is a semaphore's). object.c */
long ipc_get(const struct ipc_class *class, uint32_t key, uint64_t size, uint32_t flags);
long ipc_control(const struct ipc_class *class, uint64_t id, uint64_t command, uint64_t number,
                 uint64_t argument);

/* Carries out shmat, shmdt. segment.c */
long segment_attach(uint64_t id, uint64_t address, uint64_t flags);
long segment_detach(uint64_t address);

/* Carries out semtimedop. semaphore.c */
long semaphores_operate(uint64_t id, uint64_t address, uint64_t count, uint64_t timeout);

/* Makes up for what a process has done with SEM_UNDO, at its end. */
struct process;
void ipc_process_end(struct process *process);

/* Carries out msgsnd, msgrcv. message.c */
long message_enqueue(uint64_t id, uint64_t address, uint64_t bytes, uint64_t flags);
long message_dequeue(uint64_t id, uint64_t address, uint64_t bytes, uint64_t type, uint64_t flags);

/* Carries out mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr. posix_queue.c */
struct file;
long posix_queue_open(uint64_t name, uint64_t flags, uint64_t mode, uint64_t attributes);
long posix_queue_unlink(uint64_t name);
long posix_queue_send(struct file *file, uint64_t address, uint64_t bytes, uint64_t priority,
                      uint64_t timeout);
long posix_queue_receive(struct file *file, uint64_t address, uint64_t bytes, uint64_t priority,
                         uint64_t timeout);
long posix_queue_notify(struct file *file, uint64_t event);
long posix_queue_attributes(struct file *file, uint64_t to, uint64_t from);

#endif
