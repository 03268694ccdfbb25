/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.h: open files and the table of descriptors.
 *
 * What a descriptor can do depends on its kind: `struct file_operations`. An operation that is NULL answers
 * as Linux would: reading EBADF or EISDIR, seeking ESPIPE. Addresses are the program's.
 *
 * Several threads of a process may use, and close, one descriptor at the same time. So file_get answers a
 * counted reference, which file_put gives back; the last one, a descriptor's or a caller's, ends the file.
 * file_put takes locks of its own: none but a file's own may be held. The table's lock guards descriptors and
 * which files are in use, a file's own its offset and flags.
 */
#ifndef TACET_FILE_H
#define TACET_FILE_H

#include "smp/spinlock.h"
#include "fs/tree/tree.h"
#include <stdbool.h>

#define FILE_DESCRIPTORS_MAX 256

struct file;
struct process;

/* What poll tells of a file; Linux's bits. */
enum file_ready {
    READY_IN = 1,
    READY_OUT = 4,
    READY_ERROR = 8,
    READY_HANG_UP = 16,
};

struct file_operations {
    int64_t (*read)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    int64_t (*write)(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
    uint64_t (*size)(const struct file *file); /* NULL: not seekable */
    unsigned (*ready)(struct file *file);      /* of enum file_ready; NULL: reads and writes never wait */
    uint64_t (*activity)(struct file *file); /* differs after what may have made it ready anew; may be NULL */
    void (*release)(struct file *file);      /* after the last reference */
    const char *name;                        /* of what has no inode, for /proc/self/fd */
    /* Whether nobody calls event_notify when it becomes ready; NULL: somebody does. */
    bool (*polled)(const struct file *file);
    bool terminal;
    bool
        waits; /* reading or writing may wait: takes no lock for the offset, and looks at O_NONBLOCK itself */
};

struct file {
    const struct file_operations *operations;
    struct process *process; /* whose table it is in */
    struct inode *inode;     /* NULL for streams, pipes and their like; in use for as long as this is open */
    struct spinlock lock;
    uint64_t offset;
    unsigned flags; /* Linux's O_ flags that F_GETFL tells */
    unsigned references;
    uint32_t mode;   /* S_IFMT bits and permissions, for stat */
    unsigned device; /* which stream or device */
    bool in_use;
    uint64_t serial; /* no other open file of the process has, or had, the same; not 0 */
    bool has_locks;  /* maybe: flock, or those of an open file description */
    char *text;      /* contents made at open, for pseudo files */
    uint64_t text_bytes, text_capacity;
    void *object;     /* a pipe, a set of polled files */
    uint64_t counter; /* of an eventfd, and how often it has changed */
    uint64_t changes;
};

struct file_table {
    struct spinlock lock;
    struct file *descriptors[FILE_DESCRIPTORS_MAX];
    bool close_on_exec[FILE_DESCRIPTORS_MAX];
    uint64_t serials; /* given so far */
    struct file files[FILE_DESCRIPTORS_MAX];
};

/* The open file behind a descriptor with one more reference, or NULL. */
struct file *file_get(struct process *process, uint64_t descriptor);
void file_put(struct file *file);

/* An unused open file with one reference, the caller's; NULL where all are in use. */
struct file *file_allocate(struct process *process);

/* A free descriptor at or above `lowest` that is made to stand for `file`, with a reference of its own;
 * -EMFILE. */
int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec);

/* As dup2: at this descriptor, below FILE_DESCRIPTORS_MAX, whatever stood there. */
void file_install_at(struct process *process, struct file *file, unsigned descriptor, bool close_on_exec);

int file_close(struct process *process, uint64_t descriptor);

/* Closes all, at the end of a process. */
void files_close(struct process *process);

/* The calls' shared halves. sys_file.c */
int64_t file_read(struct file *file, uint64_t buffer, uint64_t bytes);
int64_t file_write(struct file *file, uint64_t buffer, uint64_t bytes);

/* What poll would tell, and whether it has to look again by itself. */
unsigned file_ready(struct file *file);
bool file_is_polled(const struct file *file);

/* Opens the three standard streams. */
void file_open_streams(struct process *process);

/* Hands out what a process has written of lines that have not ended. devices.c */
void file_streams_flush(struct process *process);

/* Gives `file` the operations of its inode's kind; makes a pseudo file's contents. -ENOMEM, -ENXIO. devices.c
 */
int file_bind(struct process *process, struct file *file);

/* The operations of files and directories of the tree. tree_file.c */
extern const struct file_operations tree_operations, memory_operations, directory_operations;

/* inode.filesystem: the parts that the tree is told to be made of. The first is what the boot archive has
 * brought; unnamed files are memfd_create's. */
enum filesystem {
    FILESYSTEM_ROOT,
    FILESYSTEM_TMP,
    FILESYSTEM_SHM,
    FILESYSTEM_UNNAMED,
    FILESYSTEM_DEV,
    FILESYSTEM_PROC,
    FILESYSTEM_SYS,
};

/* Adds the directory in which a file system begins; before what is in it. NULL with `why`. tree_file.c */
struct inode *tree_mount(struct tree *tree, const char *path, uint32_t mode, enum filesystem filesystem,
                         struct message *why);

/* The node's writable part: /tmp, /dev/shm. tree_file.c */
int tree_writable_add(struct tree *tree, struct message *why);

/* Notes that a file's bytes have changed now. tree_file.c */
void file_touch(struct inode *inode);
int64_t file_wall_clock_ns(void);

/* Adds /dev to the tree. devices.c */
int devices_add(struct tree *tree, struct message *why);

/* The numbers of a character device, by inode.device or file.device: Linux's admin-guide/devices.txt;
 * zero for what is none. devices.c */
struct device_number {
    uint32_t major, minor;
};
struct device_number device_number(unsigned device);

/* The device behind a standard stream, NULL for other files. devices.c */
struct inode *device_of_stream(const struct file *file);

/* Random bytes to the program's memory: user_write_partial's answers. devices.c */
int64_t random_write(uint64_t buffer, uint64_t bytes);

/* Calls `look` with the open file behind a descriptor, NULL where there is none, under the table's lock;
 * answers what it answers. */
int64_t file_look(struct process *process, uint64_t descriptor,
                  int64_t (*look)(const struct file *file, void *context), void *context);

#endif
