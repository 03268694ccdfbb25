/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inotify.c: queues of what is done with files of the tree, inotify(7). A queue's watches are in the tree
 * (fs/tree/watch.c); what they are notified of is put into a ring of units, each as long as an event without
 * a name, in memory of the slice of the process that made the queue. An event that equals the newest in the
 * ring is left out. A full ring gets one more event, TREE_OVERFLOW, and then none until there is room.
 *
 * The ring has a lock of its own, which is taken under the tree's; readers take only that, and copy to the
 * program without it. Runs in system calls.
 */
#include "arch.h"
#include "fs/file.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"

/* Linux's struct inotify_event. `bytes` of name follow, padded with zeros to whole units. */
struct unit {
    int32_t watch;
    uint32_t what, cookie, bytes;
};

#define EVENT_UNITS_MAX (1 + (TREE_NAME_MAX + 1) / sizeof(struct unit))
_Static_assert(EVENT_UNITS_MAX * sizeof(struct unit) <= RECORD_BYTES_MAX, "an event is a record");

#define QUEUE_BYTES (64 * 1024)
#define QUEUE_UNITS ((QUEUE_BYTES - 128) / sizeof(struct unit))

struct inotify {
    struct watch_set watches; /* the tree's lock guards them */
    struct file *file;
    struct spinlock lock; /* guards what follows */
    bool overflown;       /* TREE_OVERFLOW is in the ring */
    uint64_t head, tail;  /* units ever taken out, put in */
    uint64_t newest;      /* where the newest event begins */
    struct unit units[QUEUE_UNITS];
};

_Static_assert(sizeof(struct inotify) <= QUEUE_BYTES, "the queue fits");

static struct unit *unit_at(struct inotify *queue, uint64_t index)
{
    return &queue->units[index % QUEUE_UNITS];
}

static unsigned units_of(const struct unit *event)
{
    return 1 + event->bytes / (unsigned)sizeof(*event);
}

/* ---- Putting ---- */

/* Returns whether an event equals the newest. The caller holds the lock. */
static bool is_newest(struct inotify *queue, const struct unit *event)
{
    bool same = queue->newest >= queue->head && queue->newest < queue->tail;

    for (unsigned i = 0; same && i < units_of(event); i++)
        same = memcmp(unit_at(queue, queue->newest + i), &event[i], sizeof(*event)) == 0;
    return same;
}

/* Puts an event into the ring. Returns whether it was put. */
static bool put(struct inotify *queue, const struct unit *event)
{
    const struct unit overflow = { .watch = -1, .what = TREE_OVERFLOW };

    SPIN_GUARD(&queue->lock);
    bool fits = queue->tail - queue->head + units_of(event) < QUEUE_UNITS; /* one is left for `overflow` */

    if ((!fits && queue->overflown) || is_newest(queue, event))
        return false;
    queue->overflown |= !fits;
    event = fits ? event : &overflow;
    queue->file->changes++;
    queue->newest = queue->tail;
    for (unsigned i = 0; i < units_of(event); i++)
        *unit_at(queue, queue->tail++) = event[i];
    lock_work_add(units_of(event) * sizeof(*event));
    return true;
}

/* Takes an event for a watch. The caller holds the tree's lock. */
static void watch_notify(const struct watch *watch, const struct tree_event *happened)
{
    struct inotify *queue = LIST_OWNER(watch->set, inotify, watches);
    struct unit event[EVENT_UNITS_MAX] = {
        { .watch = (int32_t)watch->node.key, .what = happened->what, .cookie = happened->cookie }
    };

    if (happened->name) {
        event->bytes = (happened->name_bytes + (unsigned)sizeof(*event)) & ~((unsigned)sizeof(*event) - 1);
        memcpy(event + 1, happened->name, happened->name_bytes);
    }
    if (put(queue, event))
        event_notify(queue->file->process, event_of(queue->file));
}

/* ---- Reading ---- */

static int64_t inotify_take(struct file *file, void *record, uint64_t bytes)
{
    struct inotify *queue = file->object;
    struct unit *event = record;

    SPIN_GUARD(&queue->lock);
    if (queue->head == queue->tail)
        return -EAGAIN;
    unsigned units = units_of(unit_at(queue, queue->head));
    if (units * sizeof(*event) > bytes)
        return -EINVAL;
    for (unsigned i = 0; i < units; i++)
        event[i] = *unit_at(queue, queue->head++);
    if (event->what == TREE_OVERFLOW)
        queue->overflown = false;
    return (int64_t)(units * sizeof(*event));
}

/* ---- As a file ---- */

static unsigned inotify_ready(struct file *file)
{
    return inotify_unread(file) ? READY_IN : 0;
}

static void inotify_release(struct file *file)
{
    struct tree *tree = file->process->tree;
    struct inotify *queue = file->object;
    bool more = true;

    while (more) {
        SPIN_GUARD(&tree->lock);
        more = watch_drop(tree, &queue->watches);
    }
    page_pool_free(file->process->vm.pages, arch_physical_of(queue), page_up(sizeof(*queue)));
}

static const struct file_operations inotify_operations = { .read = file_read_records,
                                                           .take = inotify_take,
                                                           .ready = inotify_ready,
                                                           .activity = file_changes,
                                                           .release = inotify_release,
                                                           .name = "anon_inode:inotify",
                                                           .waits = true };

long inotify_create(unsigned flags)
{
    struct process *process = arch_process();
    FILE_REFERENCE file;
    int error = file_make(NULL, O_RDONLY | flags, &file);

    if (error)
        return error;
    uint64_t memory = page_pool_allocate(process->vm.pages, page_up(sizeof(struct inotify)), ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    struct inotify *queue = file->object = arch_physical(memory);
    file->operations = &inotify_operations;
    memset(queue, 0, offsetof(struct inotify, units));
    queue->file = file;
    process->tree->watch_notify = watch_notify;
    return file_install(process, file, 0, flags & O_CLOEXEC);
}

bool file_is_inotify(const struct file *file)
{
    return file->operations == &inotify_operations;
}

int32_t inotify_unread(struct file *file)
{
    struct inotify *queue = file->object;

    SPIN_GUARD(&queue->lock);
    return (int32_t)((queue->tail - queue->head) * sizeof(struct unit));
}

int inotify_watch(struct file *file, struct inode *inode, uint32_t mask)
{
    struct inotify *queue = file->object;

    if ((mask & WATCH_DIRECTORY) && !mode_is(inode->mode, S_IFDIR))
        return -ENOTDIR;
    return watch_add(file->process->tree, &queue->watches, inode, mask);
}

int inotify_unwatch(struct file *file, int32_t number)
{
    struct inotify *queue = file->object;
    struct tree *tree = file->process->tree;

    SPIN_GUARD(&tree->lock);
    return watch_remove(tree, &queue->watches, number);
}

void inode_watchers_notify(struct tree *tree, struct inode *inode, uint32_t events)
{
    SPIN_GUARD(&tree->lock);
    tree_notify(tree, inode, events);
}
