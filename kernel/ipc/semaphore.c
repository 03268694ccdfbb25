/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * semaphore.c: sets of semaphores of System V, semget(2), semop(2), semctl(2). Runs in system calls, and when
 * a rank ends.
 *
 * A thread that changes a set carries out the operations of those that wait for it, in the order in which
 * they came, and wakes them with the result: so none is overtaken by a thread that takes a semaphore again
 * and again. A waiter stands on the stack of its thread. One pass over the waiters is made with the set's
 * lock: a comparison each, and the operations of those that can go on. If these raise or zero a semaphore in
 * turn, another pass follows, with the lock taken again. Bounds: SET_MAX semaphores and WAITERS_MAX waiters
 * of a set, OPERATIONS_MAX operations of a call.
 *
 * SEM_UNDO: each process that uses it on a set has a row of numbers there, in its own memory, which its end
 * adds. SETALL makes all rows void at once, by the set's epoch.
 */
#include "arch.h"
#include "fs/path.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/process.h"
#include "time/timespec.h"

#define SET_MAX        (TREE_PATH_MAX / sizeof(uint16_t)) /* their values fit into path_buffer */
#define OPERATIONS_MAX 64
#define WAITERS_MAX    4096
#define VALUE_MAX      32767
#define MUST_WAIT      1

struct semaphore {
    uint16_t value;
    uint32_t pid; /* of the process that changed it last */
};

struct undo {
    struct list_link link;
    struct process *process;
    unsigned epoch; /* the set's when these were valid */
    int16_t adjustments[];
};

struct waiter {
    struct list_link link;
    struct thread *thread;
    const struct linux_sembuf *operations;
    unsigned count;
    unsigned blocking; /* the operation that cannot be done yet */
    bool alters;       /* one of them is no wait for zero */
    struct undo *undo;
    int result;
    uint32_t woken;
};

struct semaphore_set {
    struct ipc_object object;
    struct list waiters, undos;
    unsigned waiting, epoch;
    struct semaphore all[];
};

static struct semaphore_set *set_of(struct ipc_object *object)
{
    return (struct semaphore_set *)object;
}

/* ---- Operations; with the set's lock ---- */

static bool is_blocked(const struct semaphore_set *set, const struct linux_sembuf *operation)
{
    int value = set->all[operation->number].value;

    return operation->change == 0 ? value != 0 : value + operation->change < 0;
}

static void value_add(struct semaphore_set *set, const struct waiter *waiter,
                      const struct linux_sembuf *operation, int change)
{
    struct semaphore *semaphore = &set->all[operation->number];

    semaphore->value = (uint16_t)(semaphore->value + change);
    if (operation->flags & SEM_UNDO)
        waiter->undo->adjustments[operation->number] =
            (int16_t)(waiter->undo->adjustments[operation->number] - change);
}

/* Carries out one operation: 0, MUST_WAIT, -EAGAIN, -ERANGE. */
static int operation_try(struct semaphore_set *set, const struct waiter *waiter,
                         const struct linux_sembuf *operation)
{
    if (is_blocked(set, operation))
        return operation->flags & IPC_NOWAIT ? -EAGAIN : MUST_WAIT;
    if (set->all[operation->number].value + operation->change > VALUE_MAX)
        return -ERANGE;
    if (operation->flags & SEM_UNDO) {
        int adjusted = waiter->undo->adjustments[operation->number] - operation->change;

        if (adjusted < -VALUE_MAX - 1 || adjusted > VALUE_MAX)
            return -ERANGE;
    }
    value_add(set, waiter, operation, operation->change);
    return 0;
}

/* Makes a process's row valid again after SETALL. */
static void undo_refresh(const struct semaphore_set *set, struct undo *undo)
{
    if (undo->epoch != set->epoch)
        memset(undo->adjustments, 0, set->object.size * sizeof(undo->adjustments[0]));
    undo->epoch = set->epoch;
}

/* Carries out all operations of a waiter, or none: as operation_try. */
static int operations_try(struct semaphore_set *set, struct waiter *waiter)
{
    const struct linux_sembuf *operations = waiter->operations;
    unsigned done = 0;
    int result = 0;

    if (waiter->undo)
        undo_refresh(set, waiter->undo);
    while (done < waiter->count && !(result = operation_try(set, waiter, &operations[done])))
        done++;
    waiter->blocking = done;
    if (!result)
        set->object.status.semaphores.times.operated_s = ipc_now_s();
    while (done-- > 0)
        if (result)
            value_add(set, waiter, &operations[done], -operations[done].change);
        else
            set->all[operations[done].number].pid = (uint32_t)waiter->thread->process->pid;
    return result;
}

static void waiter_wake(struct semaphore_set *set, struct waiter *waiter, int result)
{
    struct thread *thread = waiter->thread;

    list_remove(&set->waiters, &waiter->link);
    set->waiting--;
    waiter->result = result;
    __atomic_store_n(&waiter->woken, 1, __ATOMIC_RELEASE); /* from here on the waiter may be gone */
    thread_wake(thread);
}

/* Carries out what waiters can do now. Returns whether that has changed values. */
static bool waiters_serve(struct semaphore_set *set)
{
    bool changed = false;

    LIST_EACH_SAFE(waiter, waiter, &set->waiters) {
        if (is_blocked(set, &waiter->operations[waiter->blocking]))
            continue;
        int result = operations_try(set, waiter);
        if (result == MUST_WAIT)
            continue;
        changed |= !result && waiter->alters;
        waiter_wake(set, waiter, result);
    }
    return changed;
}

/* Releases the set's lock; first, if values have `changed`, serves those that wait for that. */
static void set_release(struct semaphore_set *set, bool changed)
{
    while (changed && (changed = waiters_serve(set))) {
        spin_unlock(&set->object.lock);
        crosscall_serve();
        spin_lock(&set->object.lock);
    }
    spin_unlock(&set->object.lock);
}

/* ---- Undoing ---- */

static uint64_t undo_bytes(const struct semaphore_set *set)
{
    return page_up(sizeof(struct undo) + set->object.size * sizeof(int16_t));
}

static void undo_free(const struct semaphore_set *set, struct undo *undo)
{
    page_pool_free(undo->process->vm.pages, arch_physical_of(undo), undo_bytes(set));
}

/* Finds a process's row; the caller holds the set's lock. At most one step for each rank. */
static struct undo *undo_find(const struct semaphore_set *set, const struct process *process)
{
    LIST_EACH(undo, undo, &set->undos)
        if (undo->process == process)
            return undo;
    return NULL;
}

/* Finds or makes the caller's process's row. NULL: no memory. Other threads of the process use it, too; it
 * stays while there are any, or the set. */
static struct undo *undo_get(struct semaphore_set *set)
{
    struct process *process = arch_process();

    spin_lock(&set->object.lock);
    struct undo *undo = undo_find(set, process);
    spin_unlock(&set->object.lock);
    if (undo)
        return undo;

    uint64_t memory = page_pool_allocate(process->vm.pages, undo_bytes(set), ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        return NULL;
    struct undo *made = arch_physical(memory);
    arch_zero(made, undo_bytes(set));
    made->process = process;
    spin_lock(&set->object.lock);
    made->epoch = set->epoch;
    undo = undo_find(set, process);
    if (!undo)
        list_append(&set->undos, &made->link);
    spin_unlock(&set->object.lock);
    if (undo)
        undo_free(set, made);
    return undo ? undo : made;
}

/* Adds what a process has to make up for, as far as the values stay within bounds. */
static void undo_apply(struct semaphore_set *set, const struct process *process)
{
    spin_lock(&set->object.lock);
    struct undo *undo = undo_find(set, process);
    if (undo) {
        list_remove(&set->undos, &undo->link);
        undo_refresh(set, undo);
    }
    for (unsigned i = 0; undo && i < set->object.size; i++) {
        int value = set->all[i].value + undo->adjustments[i];

        if (!undo->adjustments[i])
            continue;
        if (value < 0)
            value = 0;
        set->all[i].value = (uint16_t)smaller((uint64_t)value, VALUE_MAX);
        set->all[i].pid = (uint32_t)process->pid;
    }
    set_release(set, undo != NULL);
    if (undo)
        undo_free(set, undo);
}

void ipc_process_end(struct process *process)
{
    if (__atomic_load_n(&ipc_semaphores.table->count, __ATOMIC_RELAXED) == 0)
        return;
    for (unsigned slot = 0; slot < IPC_OBJECTS_MAX; slot++) {
        IPC_REFERENCE object = ipc_at(&ipc_semaphores, slot);
        if (object)
            undo_apply(set_of(object), process);
    }
}

/* ---- semtimedop ---- */

/* Checks the operations, and finds out what they do. -EFBIG, -ENOMEM. */
static int operations_check(struct semaphore_set *set, struct waiter *waiter)
{
    bool undoes = false;

    for (unsigned i = 0; i < waiter->count; i++) {
        if (waiter->operations[i].number >= set->object.size)
            return -EFBIG;
        waiter->alters |= waiter->operations[i].change != 0;
        undoes |= waiter->operations[i].flags & SEM_UNDO;
    }
    if (undoes)
        waiter->undo = undo_get(set);
    return undoes && !waiter->undo ? -ENOMEM : 0;
}

/* Sleeps until another thread has carried out the operations, or has removed the set. */
static long operations_wait(struct semaphore_set *set, struct waiter *waiter, uint64_t deadline)
{
    int slept = thread_sleep(&waiter->woken, deadline);

    SPIN_GUARD(&set->object.lock);
    if (!waiter->woken)
        waiter_wake(set, waiter, slept == -ETIMEDOUT ? -EAGAIN : -ERESTARTNOHAND);
    return waiter->result;
}

long semaphores_operate(uint64_t id, uint64_t address, uint64_t count, uint64_t timeout)
{
    struct linux_sembuf operations[OPERATIONS_MAX];
    struct waiter waiter = { .thread = arch_thread(), .operations = operations, .count = (unsigned)count };
    uint64_t deadline;

    if (waiter.count == 0 || waiter.count > OPERATIONS_MAX)
        return waiter.count ? -E2BIG : -EINVAL;
    if (user_read(operations, address, waiter.count * sizeof(operations[0])))
        return -EFAULT;
    int result = deadline_read(timeout, &deadline);
    if (result)
        return result;
    IPC_REFERENCE object = ipc_find(&ipc_semaphores, id);
    if (!object)
        return -EINVAL;
    struct semaphore_set *set = set_of(object);
    result = operations_check(set, &waiter);
    if (result)
        return result;

    spin_lock(&object->lock);
    result = object->removed ? -EIDRM : operations_try(set, &waiter);
    if (result == MUST_WAIT && set->waiting == WAITERS_MAX)
        result = -ENOMEM;
    if (result == MUST_WAIT) {
        list_append(&set->waiters, &waiter.link);
        set->waiting++;
    }
    set_release(set, result == 0 && waiter.alters);
    return result == MUST_WAIT ? operations_wait(set, &waiter, deadline) : result;
}

/* ---- semctl ---- */

static int set_begin(struct ipc_object *object)
{
    object->status.semaphores.count = object->size;
    return 0;
}

/* Carries out GETALL or SETALL. */
static long all_copy(struct semaphore_set *set, uint64_t address, bool to_set)
{
    uint16_t *values = (void *)path_buffer(0);
    uint64_t count = set->object.size, bytes = count * sizeof(values[0]);

    if (!values)
        return -ENOMEM;
    if (to_set && user_read(values, address, bytes))
        return -EFAULT;
    for (uint64_t i = 0; to_set && i < count; i++)
        if (values[i] > VALUE_MAX)
            return -ERANGE;

    spin_lock(&set->object.lock);
    int error = set->object.removed ? -EIDRM : 0;
    for (uint64_t i = 0; !error && i < count; i++)
        if (to_set)
            set->all[i] = (struct semaphore){ values[i], (uint32_t)arch_process()->pid };
        else
            values[i] = set->all[i].value;
    if (to_set && !error) {
        set->epoch++;
        ipc_change_record(&set->object);
    }
    set_release(set, to_set);
    if (!error && !to_set && user_write(address, values, bytes))
        error = -EFAULT;
    return error;
}

/* Counts the waiters that wait for a semaphore to grow, or to be zero. */
static long waiters_count(const struct semaphore_set *set, uint64_t number, bool for_zero)
{
    long count = 0;

    LIST_EACH(waiter, waiter, &set->waiters) {
        const struct linux_sembuf *blocking = &waiter->operations[waiter->blocking];

        count += blocking->number == number && (blocking->change == 0) == for_zero;
    }
    return count;
}

static long set_control(struct ipc_object *object, unsigned command, uint64_t number, uint64_t argument)
{
    struct semaphore_set *set = set_of(object);

    if (command == GETALL || command == SETALL)
        return all_copy(set, argument, command == SETALL);
    if (command == SETVAL && (uint32_t)argument > VALUE_MAX)
        return -ERANGE;
    if ((uint32_t)number >= object->size)
        return -EINVAL;
    number = (uint32_t)number;
    long result = 0;
    spin_lock(&object->lock);
    if (object->removed) {
        result = -EIDRM;
    } else if (command == GETVAL) {
        result = set->all[number].value;
    } else if (command == GETPID) {
        result = set->all[number].pid;
    } else if (command == GETNCNT || command == GETZCNT) {
        result = waiters_count(set, number, command == GETZCNT);
    } else if (command == SETVAL) {
        set->all[number] = (struct semaphore){ (uint16_t)argument, (uint32_t)arch_process()->pid };
        ipc_change_record(object);
        LIST_EACH(undo, undo, &set->undos)
            undo->adjustments[number] = 0;
    } else {
        result = -EINVAL;
    }
    set_release(set, command == SETVAL);
    return result;
}

static unsigned set_info(const struct ipc_table *table, bool in_use, union linux_ipc_info *info)
{
    info->semaphores.objects_max = info->semaphores.undo_max = IPC_OBJECTS_MAX;
    info->semaphores.in_set_max = info->semaphores.undo_entries_max = (int32_t)SET_MAX;
    info->semaphores.all_max = info->semaphores.map = (int32_t)(IPC_OBJECTS_MAX * SET_MAX);
    info->semaphores.operations_max = OPERATIONS_MAX;
    info->semaphores.value_max = VALUE_MAX;
    info->semaphores.objects = in_use ? (int32_t)table->count : (int32_t)sizeof(struct undo);
    info->semaphores.all = in_use ? (int32_t)table->size : VALUE_MAX;
    return sizeof(info->semaphores);
}

static void set_removed(struct ipc_object *object)
{
    LIST_EACH_SAFE(waiter, waiter, &set_of(object)->waiters)
        waiter_wake(set_of(object), waiter, -EIDRM);
}

static void set_end(struct ipc_object *object)
{
    struct semaphore_set *set = set_of(object);

    for (struct undo *undo = (void *)set->undos.first, *next; undo; undo = next) {
        next = (void *)undo->link.next;
        undo_free(set, undo);
    }
}

static struct ipc_table table;

const struct ipc_class ipc_semaphores = { .table = &table,
                                          .bytes = sizeof(struct semaphore_set),
                                          .element_bytes = sizeof(struct semaphore),
                                          .size_max = SET_MAX,
                                          .stat_command = SEM_STAT,
                                          .status_bytes = sizeof(struct linux_semid_ds),
                                          .changed_at =
                                              offsetof(union linux_ipc_status, semaphores.times.changed_s),
                                          .begin = set_begin,
                                          .control = set_control,
                                          .info = set_info,
                                          .remove = ipc_remove,
                                          .removed = set_removed,
                                          .end = set_end };
