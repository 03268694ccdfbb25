/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix_queue.c: POSIX message queues, mq_overview(7). A queue is an inode with a name in a directory of the
 * file tree that no path leads to; so it lives until it has no name and no open descriptor. Messages of
 * higher priority come first. Runs in system calls.
 */
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/path.h"
#include "ipc/message.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timespec.h"

/* Linux's defaults of /proc/sys/fs/mqueue */
#define QUEUES_MAX        256
#define MESSAGES_MAX      10
#define MESSAGE_BYTES_MAX 8192

#define PRIORITIES   32768
#define STATUS_BYTES 80 /* what stat calls the size of a queue, as on Linux */

#define SIGNAL_BY_QUEUE (-3) /* SI_MESGQ */

/* The tree's lock guards these. */
static struct inode *queues; /* the directory; NULL: there is none yet */
static unsigned queue_count;

static struct message_queue *queue_in(const struct inode *inode)
{
    return (struct message_queue *)(uintptr_t)inode->data;
}

/* ---- As a file ---- */

static unsigned posix_queue_ready(struct file *file)
{
    struct message_queue *queue = queue_in(file->inode);

    event_audience_add(&queue->object.audience, queue);
    SPIN_GUARD(&queue->object.lock);
    return (queue->messages.first ? READY_IN : 0) |
           (queue->object.status.messages.count < queue->count_max ? READY_OUT : 0);
}

static uint64_t posix_queue_events(const struct file *file)
{
    return event_of(file->inode->data);
}

/* Ends the notification that a process has asked for. */
static void notification_end(struct message_queue *queue, const struct process *process)
{
    SPIN_GUARD(&queue->object.lock);
    if (queue->notified == process)
        queue->notified = NULL;
}

/* Closes a file: that ends the notification, whichever of the process's descriptors it was asked for by. */
static void posix_queue_release(struct file *file)
{
    notification_end(queue_in(file->inode), file->process);
}

static const struct file_operations posix_queue_operations = { .ready = posix_queue_ready,
                                                               .events = posix_queue_events,
                                                               .release = posix_queue_release,
                                                               .waits = true,
                                                               .travels = true };

static int posix_queue_bind(struct file *file)
{
    file->operations = &posix_queue_operations;
    return 0;
}

static void queue_release(struct inode *inode)
{
    queue_count--;
    ipc_put(&queue_in(inode)->object);
}

static const struct inode_operations inode_operations = { .open = posix_queue_bind,
                                                          .release = queue_release };

/* Returns the queue of a file that is open for reading, or writing (each O_ flag); NULL: -EBADF. */
static struct message_queue *queue_opened(const struct file *file, unsigned refused)
{
    if (file->operations != &posix_queue_operations || (file->flags & O_ACCMODE) == refused)
        return NULL;
    return queue_in(file->inode);
}

/* ---- Names ---- */

/* Reads a name, from which the C library has taken the first slash, and looks it up; takes the tree's lock.
 * The caller calls path_end, also on errors: -EACCES, -ENAMETOOLONG, -ENOSPC; -ENOENT with
 * path->found.directory if there is no such queue. */
static int name_begin(struct path *path, uint64_t address)
{
    int error = path_read(path, (uint64_t)AT_FDCWD, address, 0);

    if (error)
        return error;
    for (const char *c = path->text; *c; c++)
        if (*c == '/')
            return -EACCES;
    if (strcmp(path->text, ".") == 0 || strcmp(path->text, "..") == 0)
        return -EACCES;
    path_lock(path, true);
    if (!queues) {
        queues = inode_create_writable(path->tree, S_IFDIR | 01777, file_wall_clock_ns());
        if (!queues)
            return -ENOSPC;
        queues->links = 2;
        queues->filesystem = FILESYSTEM_UNNAMED;
    }
    path->directory = queues;
    return path_find(path, TREE_NAME);
}

/* Makes a queue; *out is NULL on errors. */
static int queue_make(const struct linux_mq_attr *given, struct message_queue **out)
{
    static const struct ipc_class class = { .end = queue_end };

    *out = NULL;
    if (given->messages_max < 1 || given->messages_max > MESSAGES_MAX || given->bytes_max < 1 ||
        given->bytes_max > MESSAGE_BYTES_MAX)
        return -EINVAL;
    *out = ipc_allocate(&class, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    (*out)->count_max = (uint64_t)given->messages_max;
    (*out)->message_bytes_max = (uint64_t)given->bytes_max;
    (*out)->object.status.messages.bytes_max = UINT64_MAX;
    (*out)->by_priority = true;
    return 0;
}

/* Gives a new queue the name that was looked up; takes it over. The caller holds the tree's lock. */
static int queue_name(struct path *path, uint32_t rights, struct message_queue *queue)
{
    struct inode *inode;

    if (queue_count == QUEUES_MAX)
        return -ENOSPC;
    int error =
        tree_create(path->tree, &path->found, S_IFREG | rights, NULL, 0, file_wall_clock_ns(), &inode);
    if (error)
        return error;
    inode->data = queue;
    inode->bytes = STATUS_BYTES;
    inode->device = 1; /* not a file with bytes */
    inode->operations = &inode_operations;
    path->found.inode = inode;
    queue_count++;
    return 0;
}

/* Finds or creates a queue's inode, with a reference. */
static long inode_open(uint64_t name, uint64_t flags, uint64_t mode, const struct linux_mq_attr *given,
                       struct inode **out)
{
    const uint32_t rights = (uint32_t)mode & 07777 & ~arch_process()->umask;
    struct message_queue *made = NULL;
    int make_error = flags & O_CREAT ? queue_make(given, &made) : -ENOENT;
    struct path path;
    int error = name_begin(&path, name);

    if (!error && (flags & O_CREAT) && (flags & O_EXCL))
        error = -EEXIST;
    else if (error == -ENOENT && path.found.directory && !(error = make_error) &&
             !(error = queue_name(&path, rights, made)))
        made = NULL;
    if (!error) {
        *out = path.found.inode;
        inode_get(*out);
    }
    path_end(&path, 0);
    if (made)
        ipc_put(&made->object);
    return error;
}

long posix_queue_open(uint64_t name, uint64_t flags, uint64_t mode, uint64_t attributes)
{
    struct linux_mq_attr given = { .messages_max = MESSAGES_MAX, .bytes_max = MESSAGE_BYTES_MAX };
    struct process *process = arch_process();

    if (attributes && user_read(&given, attributes, sizeof(given)))
        return -EFAULT;
    FILE_REFERENCE file = file_allocate(process);
    if (!file)
        return -EMFILE;
    long error = inode_open(name, flags, mode, &given, &file->inode);
    if (error)
        return error;
    file->flags = (unsigned)flags & (O_ACCMODE | O_NONBLOCK);
    error = file_bind(file);
    return error ? error : file_install(process, file, 0, true);
}

long posix_queue_unlink(uint64_t name)
{
    struct path path;
    int error = name_begin(&path, name);

    return path_end(&path, error ? error : tree_remove(path.tree, &path.found, false, file_wall_clock_ns()));
}

/* ---- Messages ---- */

/* Reads until when to wait: a time of CLOCK_REALTIME; NULL: for ever. -EFAULT, -EINVAL. */
static int wait_read(uint64_t address, uint64_t *deadline)
{
    uint64_t ns;
    int error = address ? timespec_read(address, &ns) : 0;

    *deadline = address && !error ? deadline_by(DEADLINE_WALL, ns) : WAIT_FOREVER;
    return error;
}

/* Sends the signal that mq_notify has asked for, once, if a message has come to the empty queue. */
static void arrival_notify(struct message_queue *queue)
{
    spin_lock(&queue->object.lock);
    struct process *notified = queue->arrived ? queue->notified : NULL;
    const struct signal_info info = {
        .signal = queue->signal,
        .code = SIGNAL_BY_QUEUE,
        .sender = { (uint32_t)arch_process()->pid, process_credentials.uid, queue->value },
    };
    queue->arrived = false;
    if (notified)
        queue->notified = NULL;
    spin_unlock(&queue->object.lock);
    if (notified && info.signal)
        signal_send(notified, NULL, &info, NULL);
}

long posix_queue_send(struct file *file, uint64_t address, uint64_t bytes, uint64_t priority,
                      uint64_t timeout)
{
    struct message_queue *queue = queue_opened(file, O_RDONLY);
    uint64_t deadline;
    int error = (uint32_t)priority < PRIORITIES ? wait_read(timeout, &deadline) : -EINVAL;

    if (error || !queue)
        return error ? error : -EBADF;
    if (bytes > queue->message_bytes_max)
        return -EMSGSIZE;
    error = queue_send(queue, (uint32_t)priority, address, bytes, !(file->flags & O_NONBLOCK), deadline);
    if (!error)
        arrival_notify(queue);
    return error;
}

long posix_queue_receive(struct file *file, uint64_t address, uint64_t bytes, uint64_t priority,
                         uint64_t timeout)
{
    struct message_queue *queue = queue_opened(file, O_WRONLY);
    uint64_t flags = file->flags & O_NONBLOCK ? IPC_NOWAIT : 0, deadline;
    int64_t type = 0;
    int error = wait_read(timeout, &deadline);

    if (error || !queue)
        return error ? error : -EBADF;
    if (bytes < queue->message_bytes_max)
        return -EMSGSIZE;
    long got = queue_receive(queue, &type, address, bytes, flags, deadline);
    if (got >= 0 && priority && user_write(priority, &type, sizeof(uint32_t)))
        return -EFAULT;
    return got == -ENOMSG ? -EAGAIN : got;
}

long posix_queue_notify(struct file *file, uint64_t address)
{
    enum { NOTIFY_SIGNAL, NOTIFY_NONE, NOTIFY_THREAD }; /* SIGEV_ */
    struct {
        uint64_t value;
        int32_t signal, notify;
    } event = { 0 };

    if (address && user_read(&event, address, sizeof(event)))
        return -EFAULT;
    if (event.notify == NOTIFY_THREAD)
        return -ENOSYS; /* C libraries would have the kernel write to a netlink socket */
    if ((uint32_t)event.notify > NOTIFY_THREAD ||
        (address && event.notify == NOTIFY_SIGNAL && (uint32_t)event.signal > SIGNAL_COUNT))
        return -EINVAL;
    if (!queue_opened(file, O_ACCMODE))
        return -EBADF;
    struct message_queue *queue = queue_in(file->inode);
    if (!address) {
        notification_end(queue, arch_process());
        return 0;
    }
    SPIN_GUARD(&queue->object.lock);
    if (queue->notified)
        return -EBUSY;
    queue->notified = arch_process();
    queue->signal = event.notify == NOTIFY_SIGNAL ? event.signal : 0;
    queue->value = event.value;
    queue->arrived = false;
    return 0;
}

long posix_queue_attributes(struct file *file, uint64_t to, uint64_t from)
{
    struct message_queue *queue = queue_opened(file, O_ACCMODE);
    struct linux_mq_attr set, now;

    if (to && user_read(&set, to, sizeof(set)))
        return -EFAULT;
    if (to && (set.flags & ~(int64_t)O_NONBLOCK))
        return -EINVAL;
    if (!queue)
        return -EBADF;
    spin_lock(&file->lock);
    now = (struct linux_mq_attr){
        .flags = file->flags & O_NONBLOCK,
        .messages_max = (int64_t)queue->count_max,
        .bytes_max = (int64_t)queue->message_bytes_max,
        .messages = (int64_t)__atomic_load_n(&queue->object.status.messages.count, __ATOMIC_RELAXED),
    };
    if (to)
        file->flags = (file->flags & ~(unsigned)O_NONBLOCK) | (unsigned)set.flags;
    spin_unlock(&file->lock);
    return from && user_write(from, &now, sizeof(now)) ? -EFAULT : 0;
}

void ipc_drop(void)
{
    *ipc_segments.table = *ipc_semaphores.table = *ipc_messages.table = (struct ipc_table){ .count = 0 };
    queues = NULL; /* the tree is built again */
    queue_count = 0;
}
