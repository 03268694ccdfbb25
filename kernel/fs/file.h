/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h: open files, and a process's table of descriptors.
 *
 * What an open file can do depends on its kind: `struct file_operations`. An operation that is NULL answers
 * as on Linux: reading EISDIR or EINVAL, seeking ESPIPE. Addresses are the program's.
 *
 * Several threads of a process may use, and close, one descriptor at the same time. So file_get counts a
 * reference, which file_put drops; dropping the last one, a descriptor's or a caller's, ends the file.
 * file_put takes locks: the caller may hold none but a file's. The table's lock guards descriptors and
 * which files are in use, a file's lock its offset, its flags and the value of an event counter.
 */
#ifndef TACET_FILE_H
#define TACET_FILE_H

#include "smp/spinlock.h"
#include "fs/tree/tree.h"
#include "process/process.h"
#include "lib/format.h"
#include <stdbool.h>

struct file;
struct user_vector;

/* What poll answers; Linux's bits. */
enum file_ready {
    READY_IN = 1,
    READY_OUT = 4,
    READY_ERROR = 8,
    READY_HANG_UP = 16,
    READY_PEER_ENDED = 0x2000, /* POLLRDHUP: the peer of a stream sends no more */
};

struct file_operations {
    int64_t (*read)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    int64_t (*write)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    /* For file_read_records: takes the oldest record out, if it has at most `bytes`. Returns its bytes;
     * -EAGAIN if there is none; -EINVAL. */
    int64_t (*take)(struct file *file, void *record, uint64_t bytes);
    /* Replaces read and write in streams, whose reads and writes with several parts are one operation. */
    int64_t (*move)(struct file *file, struct user_vector *vector, bool write);
    /* The same at an offset (NULL: the file's own), for files that wait for another node's answer. */
    int64_t (*move_at)(struct file *file, struct user_vector *vector, const uint64_t *offset, bool write);
    uint64_t (*size)(const struct file *file); /* NULL: not seekable; with `waits` perhaps a negative error */
    unsigned (*ready)(struct file *file);      /* of enum file_ready; NULL: always ready */
    uint64_t (*activity)(struct file *file);   /* differs after each change that may make it ready; or NULL */
    /* Returns when it becomes ready without a thread (clock.h); WAIT_FOREVER with `is_polled`, if it is
     * ready. Or NULL. */
    uint64_t (*deadline)(struct file *file, bool is_polled);
    void (*release)(struct file *file);          /* after the last reference */
    const char *name;                            /* of a file without an inode, for /proc/self/fd */
    uint64_t (*events)(const struct file *file); /* kinds that may make it ready; NULL: event_of(file) */
    bool waits;   /* read and write may wait: they run without the file's lock, and check O_NONBLOCK */
    bool travels; /* with `waits`: other processes may get it, too (SCM_RIGHTS), since it wakes their
                   * threads */
};

struct file {
    const struct file_operations *operations;
    struct process
        *process; /* the process whose table it is in; descriptors of other processes may refer to it, too */
    struct inode *inode; /* with a reference; NULL for streams, pipes and the like */
    uint32_t tid;        /* as path_lookup.tid */
    struct spinlock lock;
    uint64_t offset;
    unsigned flags; /* Linux's O_ flags, as F_GETFL answers */
    unsigned references;
    unsigned in_flight; /* references of these that are in messages not received yet (SCM_RIGHTS) */
    uint32_t mode;      /* S_IFMT bits and permissions, for stat */
    unsigned device;    /* which stream or device */
    int32_t reserved;   /* the number that file_install will give it; -1: none, or it has a descriptor */
    bool is_terminal;   /* a standard stream that is the console */
    uint8_t claim;      /* file_offset_claim */
    bool has_locks;     /* it has, or had, locks of flock or of its open file description */
    uint64_t changes;   /* file_changes: of its value or its setting */
    uint64_t serial;    /* different from that of every other file that was ever opened; not 0 */
    union {             /* what its kind of file keeps */
        void *object;   /* a pipe, a socket, a set of polled files */
        struct file *next_free; /* of a row without an open file */
        struct {
            char *bytes;
            uint64_t size, capacity;
            bool is_lost;          /* there was no memory for them */
            struct text_sink sink; /* appends to them */
        } text;                    /* text_file.h */
        struct {
            uint64_t value;
            bool is_semaphore;
        } event; /* eventfd.c */
        struct {
            uint64_t at_ns;       /* of the first expiry that was not read, by its clock; 0: not set */
            uint64_t interval_ns; /* 0: once */
            uint64_t steps;       /* clock_wall_steps, as far as the program knows */
            bool is_wall;         /* its clock is CLOCK_REALTIME */
            bool by_wall;         /* set to a time of that */
            bool ends_at_steps;   /* TFD_TIMER_CANCEL_ON_SET */
        } timer;                  /* timerfd.c */
        uint64_t signals;         /* signalfd.c: a bit each */
    };
};

#define FILES_MAX (FILE_DESCRIPTORS_MAX + 1) /* process.messages may have no descriptor */

struct descriptor {
    struct file *file; /* NULL: closed, or reserved */
    bool close_on_exec;
};

#define DESCRIPTORS_A_PAGE (ARCH_PAGE / sizeof(struct descriptor))
#define FILES_A_PAGE       ((ARCH_PAGE - sizeof(void *)) / sizeof(struct file))

struct file_page {
    struct file_page *next;
    struct file files[FILES_A_PAGE];
};

/*
 * A table grows by pages of its process's slice, and keeps them. A number is free, reserved (its bit of
 * `taken` is set, but it has no file yet) or open:
 *
 *      free -> reserved    files_allocate, for the file that it makes
 *      reserved -> open    file_install, of that file
 *      reserved -> free    the file ends without a descriptor
 *      free -> open        file_install_at; file_install of a file that has a descriptor
 *      open -> free        file_close
 *
 * So a call that makes a file fails for want of a number before it has done anything.
 */
struct file_table {
    struct spinlock lock;
    struct descriptor *pages[FILE_DESCRIPTORS_MAX / DESCRIPTORS_A_PAGE]; /* NULL: none was needed yet */
    uint64_t taken[FILE_DESCRIPTORS_MAX / 64];                           /* a bit for each number */
    unsigned lowest;                                                     /* numbers below are taken */
    struct file_page *files;
    struct file *free; /* rows of these without an open file */
    unsigned file_count;
    uint64_t last_serial;
    unsigned in_flight;          /* files that the process has sent and no process has received yet */
    struct rights *rights_ended; /* unix_rights.c */
    bool rights_ending;
};

/* Gives a process that has no thread yet its table, with memory for its first files; -ENOMEM. */
int file_table_create(struct process *process);

/* Returns the open file of a descriptor, with one more reference, or NULL. */
struct file *file_get(struct process *process, uint64_t descriptor);
void file_put(struct file *file);

/* The type of a variable whose reference, unless it is NULL, is dropped when the enclosing block ends, also
 * by a return; the value to return is computed before that. */
#define FILE_REFERENCE __attribute__((cleanup(file_reference_end))) struct file *
static inline void file_reference_end(struct file *const *file)
{
    if (*file)
        file_put(*file);
}

/* Makes open files with one reference each, the caller's, and reserves a descriptor for each: all, or none
 * and -EMFILE (the soft limit), -ENFILE (files without descriptors fill the table), -ENOMEM. */
int files_allocate(struct process *process, struct file **files, unsigned count);
struct file *file_allocate(struct process *process); /* one; NULL on any error */

/* Makes a file's reserved descriptor refer to it, or, if it has one already, the lowest free one from
 * `lowest` on, with one more reference; -EMFILE, -ENOMEM. */
int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec);

/* Makes this descriptor, below FILE_DESCRIPTORS_MAX, refer to `file` instead of its old file, as dup2;
 * -ENOMEM, or -EBUSY if it is reserved for a file that another thread makes. */
int file_install_at(struct process *process, struct file *file, unsigned descriptor, bool close_on_exec);

/* Returns the open file of a path_lookup.tid, without a reference. The caller holds the table's lock. */
struct file *file_in_table(const struct file_table *table, uint32_t tid);

/* Returns where it stands that a descriptor is to be closed on exec. The caller has seen it open. */
bool *file_close_on_exec(struct process *process, uint64_t descriptor);

/* Returns the lowest number from `lowest` on that is open or reserved; FILE_DESCRIPTORS_MAX: none. */
unsigned descriptor_next(const struct process *process, unsigned lowest);

int file_close(struct process *process, uint64_t descriptor);

/* Moves the present part of a vector and those after it, until a part moves fewer bytes than it has: at
 * `offset` or, with file_append, at the end of the file, to which it sets *offset. Returns the bytes, or an
 * error if none were moved. The caller holds the file's lock, unless the file `waits`. file_append, in
 * tree_file.c, is for files with an inode.memory. */
int64_t file_move(struct file *file, struct user_vector *vector, uint64_t offset, bool write);
int64_t file_append(struct file *file, struct user_vector *vector, uint64_t *offset);

/* Waits until a file may be ready; -EAGAIN if O_NONBLOCK is set, -EINTR. */
int file_wait(struct file *file);

/* The `read` of files with `take`: takes as many records as there are and fit, and waits for the first; or
 * (file_read_value) one record of eight bytes. */
#define RECORD_BYTES_MAX 272
int64_t file_read_records(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
int64_t file_read_value(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);

/* Closes all descriptors, at the end of a process. */
void files_close(struct process *process);

/* Returns what poll would answer, of enum file_ready; file_events, the kinds of events (event.h) that may
 * change it. */
unsigned file_ready(struct file *file);
uint64_t file_events(const struct file *file);

/* Waits as event_wait (event.h), with input announced: for threads that may wait for EVENT_INPUT.
 * devices.c */
int file_event_wait(uint64_t kinds, uint64_t deadline_ns);

/* Opens the three standard streams. devices.c */
void file_open_streams(struct process *process);

/* Opens /dev/null as the lowest free descriptor of a process that has no thread yet. devices.c */
void file_open_null(struct process *process);

/* Prints the beginnings of lines that a process has not ended. devices.c */
void file_streams_flush(struct process *process);

/* Takes the lock of the offset of a file with move_at. Waiting threads sleep, because the holder may wait for
 * another node's answer. -EINTR. */
int file_offset_claim(struct file *file);
void file_offset_release(struct file *file);

/* Gives `file`, which has its inode and flags, the operations for that inode. -ENOMEM, -ENXIO.
 * tree_file.c */
int file_bind(struct file *file);

/* The mounted file systems, in inode.filesystem. The first is the boot archive's; memfd_create's files are in
 * FILESYSTEM_UNNAMED. */
enum filesystem {
    FILESYSTEM_ROOT,
    FILESYSTEM_TMP,
    FILESYSTEM_SHM,
    FILESYSTEM_UNNAMED,
    FILESYSTEM_DEV,
    FILESYSTEM_PROC,
    FILESYSTEM_SYS,
    FILESYSTEM_MOUNTS, /* the first of mount.h */
};

/* Adds the directory that a file system is mounted on; called before its contents are added. NULL with `why`.
 * tree_file.c */
struct inode *tree_mount(struct tree *tree, const char *path, uint32_t mode, enum filesystem filesystem,
                         struct message *why);

/* Adds the writable file systems: /tmp, /dev/shm. tree_file.c */
int tree_writable_add(struct tree *tree, struct message *why);

/* Records that a file's bytes change now. tree_file.c */
void file_touch(struct inode *inode);
int64_t file_wall_clock_ns(void);

/* ---- Pipes, pipe(7); pipe.c ---- */

/* Makes two unused open files the ends of a pipe, the reading end first. Of `flags`, O_NONBLOCK counts.
 * -ENOMEM. */
int pipe_create(struct file *const ends[2], unsigned flags);

/* Opens a FIFO, whose inode and flags the file has; waits for the other end unless O_NONBLOCK is set. -ENXIO,
 * -ENOMEM, -EINTR. */
int fifo_open(struct file *file);

bool file_is_pipe(const struct file *file);

/* Returns the number of bytes that can be read. */
int32_t pipe_unread(struct file *file);

/* Sends the calling thread a signal because of its call: SIGPIPE, as sockets do, too; SIGXFSZ. */
void caller_signal(int signal);

/* Cuts a write of *bytes at `offset` of a regular file at RLIMIT_FSIZE. -EFBIG at the limit, with SIGXFSZ.
 * tree_file.c */
int file_bytes_limit(uint64_t offset, uint64_t *bytes);

/* ---- Others ---- */

/* Makes an open file without an inode of the caller's process; of `flags`, the access and O_NONBLOCK count.
 * Errors: as files_allocate; *out is NULL then, so that it may be a FILE_REFERENCE. */
int file_make(const struct file_operations *operations, unsigned flags, struct file **out);

/* Returns file->changes: an `activity` for files that count them. */
uint64_t file_changes(struct file *file);

/* Makes an event counter between the threads of a process, eventfd(2), a timer that is read,
 * timerfd_create(2), signals that are read, signalfd(2), or a process, pidfd_open(2), an open file. Returns a
 * descriptor. eventfd.c, timerfd.c, signalfd.c, pidfd.c */
long eventfd_create(uint32_t value, unsigned flags);
long timerfd_create(bool is_wall, unsigned flags);
long signalfd_create(uint64_t set, unsigned flags);
long pidfd_create(struct process *process, unsigned flags);

/* Sets a timer; `flags` are of TFD_TIMER_. 0 ns stops it. *old gets the setting before. -EINVAL if the file
 * is no timer; -ECANCELED, but the timer is set, if it ends at steps of the clock, and there was one. */
struct timer_setting;
int timerfd_set(struct file *file, unsigned flags, uint64_t ns, uint64_t interval_ns,
                struct timer_setting *old);
int timerfd_get(struct file *file, struct timer_setting *setting);

/* Changes the set of signals; -EINVAL if the file is no signalfd. */
int signalfd_set(struct file *file, uint64_t set);

/* Returns the process that a file stands for, perhaps ended; NULL if it stands for none. */
struct process *pidfd_process(const struct file *file);

/* Makes a queue of events of files, inotify(7), an open file: returns a descriptor; -ENOMEM. Adds and removes
 * a watch, as the calls do, the first under the lock of tree_lock_to_add. inotify.c */
long inotify_create(unsigned flags);
int inotify_watch(struct file *file, struct inode *inode, uint32_t mask);
int inotify_unwatch(struct file *file, int32_t number);
bool file_is_inotify(const struct file *file);
int32_t inotify_unread(struct file *file);

/* Notifies the watches of a file and of its directory of what was done with it: events of tree.h. No locks
 * held. Costs nothing while the node has no watch. */
void inode_watchers_notify(struct tree *tree, struct inode *inode, uint32_t events);
static inline void file_notify(const struct file *file, uint32_t events)
{
    if (file->inode && tree_is_watched(file->process->tree))
        inode_watchers_notify(file->process->tree, file->inode, events);
}

/* Adds /dev to the tree. devices.c */
int devices_add(struct tree *tree, struct message *why);

/* Returns the number of a character device (major << 8 | minor) by inode.device or file.device, as in Linux's
 * admin-guide/devices.txt; 0 for other files. devices.c */
uint64_t device_number(unsigned device);

/* Returns the inode of a standard stream's device, NULL for other files. devices.c */
struct inode *device_of_stream(const struct file *file);

/* Writes random bytes to the program's memory; returns as user_write_partial. devices.c */
int64_t random_write(uint64_t buffer, uint64_t bytes);

#endif
