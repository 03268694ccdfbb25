/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.c: shared memory of System V, shmget(2), shmop(2), shmctl(2): a struct shared_memory as writable
 * files have it, all of it allocated from the maker's slice and zeroed by shmget. Runs in system calls, and
 * when a process unmaps its memory.
 *
 * The table keeps a reference to the segment, the segment one to the memory, until IPC_RMID drops that. Each
 * attachment is a mapping, which keeps the memory: so the memory's own count of mappings is shm_nattch,
 * however a program or its end detaches it. When the memory ends (shared_memory.ended), the segment leaves
 * the table: the memory has a reference to it until then.
 */
#include "arch.h"
#include "ipc/ipc.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "mm/shared_memory.h"
#include "process/process.h"

struct segment {
    struct ipc_object object;
    struct shared_memory *memory; /* NULL: there is none, or it has ended */
};

static struct segment *segment_of(struct ipc_object *object)
{
    return (struct segment *)object;
}

static void memory_ended(struct shared_memory *memory)
{
    struct segment *segment = memory->context;

    spin_lock(&segment->object.lock);
    segment->memory = NULL;
    spin_unlock(&segment->object.lock);
    ipc_remove(&segment->object);
    ipc_put(&segment->object);
}

static int segment_begin(struct ipc_object *object)
{
    struct page_pool *pages = arch_process()->vm.pages;
    struct segment *segment = segment_of(object);

    object->status.segment.facts.bytes = object->size;
    object->status.segment.creator = (uint32_t)arch_process()->pid;
    segment->memory = shared_memory_create(pages);
    if (!segment->memory)
        return -ENOMEM;
    object->references++;
    segment->memory->context = segment;
    segment->memory->ended = memory_ended;
    return shared_memory_size(segment->memory, pages, object->size, SIZE_RESIZE) ? -ENOMEM : 0;
}

static void segment_remove(struct ipc_object *object)
{
    spin_lock(&object->lock);
    struct shared_memory *memory =
        object->status.permissions.mode & SHM_DEST ? NULL : segment_of(object)->memory;
    object->status.permissions.mode |= SHM_DEST;
    spin_unlock(&object->lock);
    if (memory)
        shared_memory_put(memory);
    shared_memory_reclaim();
}

static void segment_status(struct ipc_object *object)
{
    const struct shared_memory *memory = segment_of(object)->memory;

    object->status.segment.attached = memory ? __atomic_load_n(&memory->uses, __ATOMIC_RELAXED) : 0;
}

/* Records SHM_LOCK, which changes nothing else: all memory is resident. */
static long segment_control(struct ipc_object *object, unsigned command, uint64_t number, uint64_t argument)
{
    (void)number, (void)argument;
    if (command != SHM_LOCK && command != SHM_UNLOCK)
        return -EINVAL;
    SPIN_GUARD(&object->lock);
    object->status.permissions.mode &= ~(uint32_t)SHM_LOCKED;
    object->status.permissions.mode |= command == SHM_LOCK ? SHM_LOCKED : 0;
    return 0;
}

static unsigned segment_info(const struct ipc_table *table, bool in_use, union linux_ipc_info *info)
{
    if (in_use) {
        info->use.objects = table->count;
        info->use.pages = info->use.resident = page_up(table->size) / ARCH_PAGE;
        return sizeof(info->use);
    }
    info->segments.bytes_max = info->segments.pages_max = ipc_segments.size_max;
    info->segments.bytes_min = 1;
    info->segments.objects_max = info->segments.of_process_max = IPC_OBJECTS_MAX;
    return sizeof(info->segments);
}

static struct ipc_table table;

const struct ipc_class ipc_segments = { .table = &table,
                                        .bytes = sizeof(struct segment),
                                        .size_max = UINT64_MAX - (1 << 24), /* as Linux's SHMMAX */
                                        .stat_command = SHM_STAT,
                                        .status_bytes = sizeof(struct linux_shmid_ds),
                                        .changed_at =
                                            offsetof(union linux_ipc_status, segment.facts.changed_s),
                                        .begin = segment_begin,
                                        .status = segment_status,
                                        .control = segment_control,
                                        .info = segment_info,
                                        .remove = segment_remove };

/* ---- Attaching ---- */

/* Returns the segment's memory with a reference; NULL if it has ended. */
static struct shared_memory *memory_get(struct segment *segment)
{
    SPIN_GUARD(&segment->object.lock);
    return segment->memory && shared_memory_get(segment->memory) ? segment->memory : NULL;
}

/* Records that the caller has attached or detached the segment now. */
static void use_record(struct ipc_object *segment, int64_t *time_s)
{
    SPIN_GUARD(&segment->lock);
    *time_s = ipc_now_s();
    segment->status.segment.last = (uint32_t)arch_process()->pid;
}

long segment_attach(uint64_t id, uint64_t address, uint64_t flags)
{
    unsigned rights =
        RIGHT_READ | (flags & SHM_RDONLY ? 0 : RIGHT_WRITE) | (flags & SHM_EXEC ? RIGHT_EXECUTE : 0);
    unsigned vm_flags = (flags & SHM_RDONLY ? VM_READ_ONLY : 0) |
                        (address ? VM_FIXED | (flags & SHM_REMAP ? 0 : VM_NO_REPLACE) : 0);

    if (flags & SHM_RND)
        address -= address % ARCH_PAGE;
    if (address % ARCH_PAGE || (!address && (flags & SHM_REMAP)))
        return -EINVAL;
    if ((rights & RIGHT_WRITE) && (rights & RIGHT_EXECUTE))
        return -EACCES;
    IPC_REFERENCE object = ipc_find(&ipc_segments, id);
    struct shared_memory *memory = object ? memory_get(segment_of(object)) : NULL;
    if (!memory)
        return -EINVAL;

    /* Linux compares the end before it looks whether there are such addresses. */
    const uint64_t end = flags & SHM_REMAP ? UINT64_MAX : address + object->size;
    int error = vm_map_shared(&arch_process()->vm, &address, object->size, rights, vm_flags, memory, 0, "");
    if (!error)
        use_record(object, &object->status.segment.facts.attached_s);
    shared_memory_put(memory);
    shared_memory_reclaim();
    if (error)
        return error == -EEXIST || end < address ? -EINVAL : error;
    return (long)address;
}

/* Finds the segment with this memory, with a reference; NULL. The memory may have ended: only the address
 * counts. */
static struct ipc_object *segment_with(const struct shared_memory *memory)
{
    SPIN_GUARD(&table.lock);
    for (unsigned i = 0; i < table.room; i++) {
        struct ipc_object *object = table.slots[i];

        if (!object || segment_of(object)->memory != memory)
            continue;
        __atomic_fetch_add(&object->references, 1, __ATOMIC_RELAXED);
        return object;
    }
    return NULL;
}

long segment_detach(uint64_t address)
{
    struct vm *vm = &arch_process()->vm;
    struct vm_area area;

    if (address % ARCH_PAGE || !vm_next(vm, address, &area) || !area.object ||
        area.start - area.offset != address)
        return -EINVAL;
    const struct shared_memory *memory = area.object;
    IPC_REFERENCE object = segment_with(memory);
    if (!object)
        return -EINVAL;

    use_record(object, &object->status.segment.facts.detached_s);
    const uint64_t end = address + page_up(object->size);
    for (uint64_t at = address; at < end && vm_next(vm, at, &area); at = area.end)
        if (area.object == memory && area.start - area.offset == address)
            vm_unmap(vm, area.start, area.end - area.start);
    return 0;
}
