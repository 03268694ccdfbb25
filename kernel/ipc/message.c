/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.c: see message.h; and the queues of System V, msgget(2), msgop(2), msgctl(2). Runs in system calls.
 * A queue has at most QUEUE_BYTES_MAX messages, which a search for a type goes through.
 */
#include "ipc/message.h"
#include "arch.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"

#define QUEUE_BYTES_MAX   16384 /* as Linux's MSGMNB */
#define MESSAGE_BYTES_MAX 8192  /* as Linux's MSGMAX */
#define BLOCK_BYTES       64

struct block {
    struct block *next;
    char bytes[BLOCK_BYTES - sizeof(struct block *)];
};

/* The first block of a message. */
struct queued {
    struct list_link link;
    struct block *data; /* the others, with its bytes */
    int64_t type;
    uint64_t bytes;
};

_Static_assert(sizeof(struct queued) <= sizeof(struct block), "a message begins in a block");

/* ---- Blocks ---- */

static void block_give(struct message_queue *queue, struct block *block)
{
    block->next = queue->free;
    queue->free = block;
    queue->free_count++;
}

/* Gives a message's blocks back, and takes it out of the count. */
static void message_free(struct message_queue *queue, struct queued *message)
{
    SPIN_GUARD(&queue->object.lock);
    queue->object.status.messages.count--;
    queue->object.status.messages.bytes -= message->bytes;
    for (struct block *block = message->data, *next; block; block = next) {
        next = block->next;
        block_give(queue, block);
    }
    block_give(queue, (void *)message);
}

/* Adds a page of blocks; the first of them links the queue's pages. */
static int page_add(struct message_queue *queue)
{
    uint64_t memory = page_pool_allocate(queue->object.payer->vm.pages, ARCH_PAGE, ARCH_PAGE);
    struct block *blocks = arch_physical(memory);

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    SPIN_GUARD(&queue->object.lock);
    blocks->next = queue->pages;
    queue->pages = blocks;
    for (unsigned i = 1; i < ARCH_PAGE / BLOCK_BYTES; i++)
        block_give(queue, &blocks[i]);
    return 0;
}

void queue_end(struct ipc_object *object)
{
    for (struct block *page = queue_of(object)->pages, *next; page; page = next) {
        next = page->next;
        page_pool_free(object->payer->vm.pages, arch_physical_of(page), ARCH_PAGE);
    }
}

/* Copies a message between its blocks and the program. -EFAULT. */
static int message_copy(struct queued *message, uint64_t address, uint64_t bytes, bool to_program)
{
    for (struct block *block = message->data; bytes > 0; block = block->next) {
        uint64_t part = smaller(bytes, sizeof(block->bytes));

        if (to_program ? user_write(address, block->bytes, part) : user_read(block->bytes, address, part))
            return -EFAULT;
        address += part;
        bytes -= part;
    }
    return 0;
}

/* ---- Sending ---- */

/* Takes the blocks and the room for a message. -EIDRM, -EAGAIN if the queue is full, -ENOMEM if it has too
 * few free blocks. */
static int message_reserve(struct message_queue *queue, uint64_t bytes, struct queued **out)
{
    struct linux_msqid_ds *status = &queue->object.status.messages;
    uint64_t unit = sizeof(queue->free->bytes), count = (bytes + unit - 1) / unit;

    SPIN_GUARD(&queue->object.lock);
    struct block *head = queue->free, *last = head;
    if (queue->object.removed)
        return -EIDRM;
    if (status->count >= queue->count_max || status->bytes + bytes > status->bytes_max)
        return -EAGAIN;
    if (queue->free_count < count + 1)
        return -ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        last = last->next;
    queue->free = last->next;
    queue->free_count -= count + 1;
    last->next = NULL;
    status->count++;
    status->bytes += bytes;

    struct block *data = head->next;
    *out = (void *)head;
    **out = (struct queued){ .data = data, .bytes = bytes };
    return 0;
}

static void message_commit(struct message_queue *queue, struct queued *message)
{
    struct list_link *next = NULL;

    SPIN_GUARD(&queue->object.lock);
    queue->arrived |= !queue->messages.first && queue->receivers == 0;
    if (queue->by_priority)
        LIST_EACH(queued, other, &queue->messages)
            if (!next && other->type < message->type)
                next = &other->link;
    list_insert(&queue->messages, &message->link, next);
    queue->object.status.messages.sent_s = ipc_now_s();
    queue->object.status.messages.last_sender = (uint32_t)arch_process()->pid;
}

int queue_send(struct message_queue *queue, int64_t type, uint64_t address, uint64_t bytes, bool waits,
               uint64_t deadline)
{
    struct queued *message;
    int error;

    while ((error = message_reserve(queue, bytes, &message)) != 0) {
        if (error == -ENOMEM)
            error = page_add(queue);
        else if (error == -EAGAIN && waits)
            error = ipc_wait(&queue->object, deadline);
        if (error)
            return error;
    }
    message->type = type;
    error = message_copy(message, address, bytes, false);
    if (error)
        message_free(queue, message);
    else
        message_commit(queue, message);
    ipc_notify(&queue->object);
    return error;
}

/* ---- Receiving ---- */

/* Finds the message that msgrcv asks for: the first, the first of a type, the first of another type, or the
 * first of the lowest type up to -`type`. The caller holds the queue's lock. */
static struct queued *message_find(const struct message_queue *queue, int64_t type, bool except)
{
    uint64_t lowest = type < 0 ? -(uint64_t)type + 1 : 0;
    struct queued *found = NULL;

    LIST_EACH(queued, message, &queue->messages) {
        if (type < 0 && (uint64_t)message->type < lowest) {
            lowest = (uint64_t)message->type;
            found = message;
        }
        if (type == 0 || (type > 0 && (message->type == type) != except))
            return message;
    }
    return found;
}

/* Takes a message out of the queue, without waiting. -EIDRM, -ENOMSG, -E2BIG. */
static int message_take(struct message_queue *queue, int64_t type, uint64_t bytes, uint64_t flags,
                        struct queued **out)
{
    SPIN_GUARD(&queue->object.lock);
    struct queued *message = message_find(queue, type, flags & MSG_EXCEPT);
    if (queue->object.removed)
        return -EIDRM;
    if (!message)
        return -ENOMSG;
    if (message->bytes > bytes && !(flags & MSG_NOERROR))
        return -E2BIG;
    list_remove(&queue->messages, &message->link);
    queue->object.status.messages.received_s = ipc_now_s();
    queue->object.status.messages.last_receiver = (uint32_t)arch_process()->pid;
    *out = message;
    return 0;
}

long queue_receive(struct message_queue *queue, int64_t *type, uint64_t address, uint64_t bytes,
                   uint64_t flags, uint64_t deadline)
{
    struct queued *message;
    int error;

    while ((error = message_take(queue, *type, bytes, flags, &message)) == -ENOMSG && !(flags & IPC_NOWAIT)) {
        __atomic_fetch_add(&queue->receivers, 1, __ATOMIC_RELAXED);
        error = ipc_wait(&queue->object, deadline);
        __atomic_fetch_sub(&queue->receivers, 1, __ATOMIC_RELAXED);
        if (error)
            break;
    }
    if (error)
        return error;
    bytes = smaller(bytes, message->bytes);
    *type = message->type;
    error = message_copy(message, address, bytes, true);
    message_free(queue, message);
    ipc_notify(&queue->object);
    return error ? error : (long)bytes;
}

/* ---- System V's ---- */

static int queue_begin(struct ipc_object *object)
{
    object->status.messages.bytes_max = queue_of(object)->count_max = QUEUE_BYTES_MAX;
    return 0;
}

static int queue_set(struct ipc_object *object, const union linux_ipc_status *status)
{
    uint64_t bytes_max = status->messages.bytes_max;

    if (bytes_max > QUEUE_BYTES_MAX)
        return -EPERM;
    object->status.messages.bytes_max = queue_of(object)->count_max = bytes_max;
    return 0;
}

static unsigned queue_info(const struct ipc_table *table, bool in_use, union linux_ipc_info *info)
{
    info->messages.objects = in_use ? (int32_t)table->count : 0;
    info->messages.bytes_max = MESSAGE_BYTES_MAX;
    info->messages.queue_bytes_max = QUEUE_BYTES_MAX;
    info->messages.objects_max = IPC_OBJECTS_MAX;
    info->messages.segment_bytes = BLOCK_BYTES;
    return sizeof(info->messages);
}

static struct ipc_table table;

const struct ipc_class ipc_messages = { .table = &table,
                                        .bytes = sizeof(struct message_queue),
                                        .stat_command = MSG_STAT,
                                        .status_bytes = sizeof(struct linux_msqid_ds),
                                        .changed_at = offsetof(union linux_ipc_status, messages.changed_s),
                                        .begin = queue_begin,
                                        .set = queue_set,
                                        .info = queue_info,
                                        .remove = ipc_remove,
                                        .end = queue_end };

/* Returns a result with which a call never starts again after a handler, even one with SA_RESTART. */
static long never_restarted(long result)
{
    return result == -EINTR ? -ERESTARTNOHAND : result;
}

long message_enqueue(uint64_t id, uint64_t address, uint64_t bytes, uint64_t flags)
{
    int64_t type;

    if (user_read(&type, address, sizeof(type)))
        return -EFAULT;
    if (bytes > MESSAGE_BYTES_MAX || type < 1)
        return -EINVAL;
    IPC_REFERENCE object = ipc_find(&ipc_messages, id);
    if (!object)
        return -EINVAL;
    return never_restarted(queue_send(queue_of(object), type, address + sizeof(type), bytes,
                                      !(flags & IPC_NOWAIT), WAIT_FOREVER));
}

long message_dequeue(uint64_t id, uint64_t address, uint64_t bytes, uint64_t type, uint64_t flags)
{
    int64_t selected = (int64_t)type;

    if (flags & MSG_COPY)
        return -ENOSYS;
    if (bytes > INT64_MAX)
        return -EINVAL;
    IPC_REFERENCE object = ipc_find(&ipc_messages, id);
    if (!object)
        return -EINVAL;
    long got =
        queue_receive(queue_of(object), &selected, address + sizeof(selected), bytes, flags, WAIT_FOREVER);
    if (got >= 0 && user_write(address, &selected, sizeof(selected)))
        return -EFAULT;
    return never_restarted(got);
}
