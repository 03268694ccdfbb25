/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c: see ipc.h. Runs in system calls, and when a rank or a job ends.
 *
 * An identifier is a slot of the kind's table and, above that, how many objects had been removed by then: so
 * one that was removed is not taken for its successor. Slots are searched from the first one on, as on Linux:
 * IPC_OBJECTS_MAX steps at most.
 */
#include "arch.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "time/clock.h"

#define SLOT_BITS 15 /* as Linux's IPCMNI_SHIFT */
#define SEQUENCES (1U << (31 - SLOT_BITS))

_Static_assert(IPC_OBJECTS_MAX <= 1 << SLOT_BITS, "an identifier holds each slot");

int64_t ipc_now_s(void)
{
    return (int64_t)(clock_wall_ns(NULL) / NS_PER_S);
}

void ipc_change_record(struct ipc_object *object)
{
    *(int64_t *)((char *)&object->status + object->class->changed_at) = ipc_now_s();
}

/* ---- Life ---- */

void *ipc_allocate(const struct ipc_class *class, uint64_t bytes)
{
    struct process *process = arch_process();
    uint64_t memory = page_pool_allocate(process->vm.pages, page_up(bytes), ARCH_PAGE);
    struct ipc_object *object = arch_physical(memory);

    if (memory == PAGE_POOL_NONE)
        return NULL;
    arch_zero(object, page_up(bytes));
    object->class = class;
    object->references = 1;
    object->id = -1;
    object->memory_bytes = page_up(bytes);
    object->payer = process;
    event_audience_add(&object->audience, object);
    return object;
}

void ipc_put(struct ipc_object *object)
{
    if (__atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (object->class->end)
        object->class->end(object);
    page_pool_free(object->payer->vm.pages, arch_physical_of(object), object->memory_bytes);
}

/* Adds a reference, unless it is NULL. The caller holds the table's lock. */
static struct ipc_object *object_get(struct ipc_object *object)
{
    if (object)
        __atomic_fetch_add(&object->references, 1, __ATOMIC_RELAXED);
    return object;
}

struct ipc_object *ipc_at(const struct ipc_class *class, unsigned slot)
{
    SPIN_GUARD(&class->table->lock);
    if (slot >= class->table->room)
        return NULL;
    return object_get(class->table->slots[slot]);
}

struct ipc_object *ipc_find(const struct ipc_class *class, uint64_t id)
{
    struct ipc_object *object = ipc_at(class, (uint32_t)id & ((1U << SLOT_BITS) - 1));

    if (!object || object->id == (int32_t)id)
        return object;
    ipc_put(object);
    return NULL;
}

/* ---- Waiting ---- */

int ipc_wait(struct ipc_object *object, uint64_t deadline)
{
    if (event_audience_add(&object->audience, object))
        return 0; /* earlier changes were not notified here: check again */
    if (deadline_wait_ns(deadline) <= clock_now_ns() && deadline_is_over(deadline))
        return -ETIMEDOUT;
    return event_wait(event_of(object), deadline);
}

void ipc_notify(struct ipc_object *object)
{
    event_audience_notify(&object->audience, event_of(object));
}

/* ---- Making, removing ---- */

/* Gives a table its slots, unless it has them. -ENOMEM */
static int slots_make(struct ipc_table *table)
{
    struct page_pool *pages = arch_process()->vm.pages;
    const uint64_t bytes = page_up(IPC_OBJECTS_MAX * sizeof(table->slots[0]));

    if (__atomic_load_n(&table->room, __ATOMIC_ACQUIRE))
        return 0;
    uint64_t memory = page_pool_allocate(pages, bytes, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    arch_zero(arch_physical(memory), bytes);
    spin_lock(&table->lock);
    bool is_first = !table->room;
    if (is_first)
        table->slots = arch_physical(memory);
    __atomic_store_n(&table->room, IPC_OBJECTS_MAX, __ATOMIC_RELEASE);
    spin_unlock(&table->lock);
    if (!is_first)
        page_pool_free(pages, memory, bytes);
    return 0;
}

/* Finds the object with a key, or lists `made`. -EAGAIN: one has to be made. */
static long find_or_list(const struct ipc_class *class, uint32_t key, uint64_t size, uint32_t flags,
                         struct ipc_object *made)
{
    struct ipc_table *table = class->table;
    unsigned slot = 0;

    SPIN_GUARD(&table->lock);
    const struct ipc_object *found = key != IPC_PRIVATE ? avl_above(table->keys, key) : NULL;
    if (found && found->node.key != key)
        found = NULL;
    if (found && (flags & IPC_CREAT) && (flags & IPC_EXCL))
        return -EEXIST;
    if (found)
        return size > found->size ? -EINVAL : found->id;
    if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
        return -ENOENT;
    if (table->count == IPC_OBJECTS_MAX)
        return -ENOSPC;
    if (!made)
        return -EAGAIN;

    while (table->slots[slot])
        slot++;
    table->slots[slot] = object_get(made);
    table->count++;
    table->size += made->size;
    made->status.permissions.sequence = table->sequence % SEQUENCES;
    made->status.permissions.key = (int32_t)key;
    made->id = (int32_t)(made->status.permissions.sequence << SLOT_BITS | slot);
    made->node.key = key;
    if (key != IPC_PRIVATE)
        avl_insert(&table->keys, &made->node, NULL);
    return made->id;
}

long ipc_get(const struct ipc_class *class, uint32_t key, uint64_t size, uint32_t flags)
{
    long result = size > class->size_max ? -EINVAL : find_or_list(class, key, size, flags, NULL);

    if (result != -EAGAIN)
        return result;
    if (class->size_max && !size)
        return -EINVAL;
    if (slots_make(class->table))
        return -ENOMEM;
    IPC_REFERENCE made = ipc_allocate(class, class->bytes + size * class->element_bytes);
    if (!made)
        return -ENOMEM;
    made->size = size;
    made->status.permissions = (struct linux_ipc_perm){ .user = process_credentials.uid,
                                                        .group = process_credentials.gid,
                                                        .creator = process_credentials.uid,
                                                        .creator_group = process_credentials.gid,
                                                        .mode = flags & 0777 };
    ipc_change_record(made);
    result = class->begin(made);
    if (!result)
        result = find_or_list(class, key, size, flags, made);
    if (made->id < 0)
        class->remove(made);
    return result;
}

/* Takes the key from an object, so that it is found by its identifier alone. */
static void key_end(struct ipc_object *object)
{
    SPIN_GUARD(&object->class->table->lock);
    if (object->node.key != IPC_PRIVATE)
        avl_remove(&object->class->table->keys, &object->node, NULL);
    object->node.key = object->status.permissions.key = IPC_PRIVATE;
}

void ipc_remove(struct ipc_object *object)
{
    struct ipc_table *table = object->class->table;
    struct ipc_object **slot = &table->slots[(unsigned)object->id % IPC_OBJECTS_MAX];

    spin_lock(&table->lock);
    bool is_listed = *slot == object;
    if (is_listed) {
        *slot = NULL;
        table->sequence++;
        table->count--;
        table->size -= object->size;
    }
    spin_unlock(&table->lock);
    if (!is_listed)
        return;
    spin_lock(&object->lock);
    object->removed = true;
    if (object->class->removed)
        object->class->removed(object);
    spin_unlock(&object->lock);
    ipc_notify(object);
    ipc_put(object);
}

/* ---- shmctl, semctl, msgctl ---- */

/* Answers X_INFO, or IPC_INFO: the highest slot in use. */
static long info_write(const struct ipc_class *class, bool in_use, uint64_t address)
{
    union linux_ipc_info info = { .segments = { 0 } };
    const struct ipc_table *table = class->table;
    unsigned bytes = class->info(table, in_use, &info),
             used = __atomic_load_n(&table->room, __ATOMIC_ACQUIRE);

    while (used > 1 && !__atomic_load_n(&table->slots[used - 1], __ATOMIC_RELAXED))
        used--;
    if (user_write(address, &info, bytes))
        return -EFAULT;
    return used ? (long)used - 1 : 0;
}

static int status_set(struct ipc_object *object, uint64_t address)
{
    struct linux_ipc_perm *permissions = &object->status.permissions;
    union linux_ipc_status status;

    if (user_read(&status, address, object->class->status_bytes))
        return -EFAULT;
    SPIN_GUARD(&object->lock);
    int error = object->removed ? -EIDRM : 0;
    if (!error && object->class->set)
        error = object->class->set(object, &status);
    if (error)
        return error;
    permissions->user = status.permissions.user;
    permissions->group = status.permissions.group;
    permissions->mode = (permissions->mode & ~0777U) | (status.permissions.mode & 0777);
    ipc_change_record(object);
    return 0;
}

static long status_write(struct ipc_object *object, uint64_t address, bool by_slot)
{
    spin_lock(&object->lock);
    if (object->class->status)
        object->class->status(object);
    const union linux_ipc_status status = object->status;
    int error = object->removed ? -EIDRM : 0;
    spin_unlock(&object->lock);
    if (!error && user_write(address, &status, object->class->status_bytes))
        error = -EFAULT;
    return !error && by_slot ? object->id : error;
}

long ipc_control(const struct ipc_class *class, uint64_t id, uint64_t command, uint64_t number,
                 uint64_t argument)
{
    unsigned what = (uint32_t)command & ~(unsigned)IPC_64, stat = what - class->stat_command;
    bool by_slot = stat == 0 || stat == 2;

    if (what == IPC_INFO || stat == 1)
        return info_write(class, stat == 1, argument);
    IPC_REFERENCE object = by_slot ? ipc_at(class, (uint32_t)id) : ipc_find(class, id);
    if (!object)
        return -EINVAL;
    if (by_slot || what == IPC_STAT)
        return status_write(object, argument, by_slot);
    if (what != IPC_SET && what != IPC_RMID)
        return class->control ? class->control(object, what, number, argument) : -EINVAL;

    int error = 0;
    if (what == IPC_SET) {
        error = status_set(object, argument);
    } else {
        key_end(object);
        class->remove(object);
    }
    ipc_notify(object); /* a queue may have more room */
    return error;
}
