/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devices.c: what can be opened on a stand-alone node: files of the tree, the standard streams and /dev; and,
 * by way of proc.h, /proc and /sys.
 */
#include "arch.h"
#include "time/clock.h"
#include "debug/console.h"
#include "smp/crosscall.h"
#include "lib/errno.h"
#include "fs/file.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "fs/proc/proc.h"
#include "process/process.h"
#include "mm/user_bytes.h"
#include "process/event.h"

enum device {
    DEVICE_NONE,
    DEVICE_STDOUT, /* and stdin */
    DEVICE_STDERR,
    DEVICE_NULL,
    DEVICE_ZERO,
    DEVICE_FULL,
    DEVICE_RANDOM,
    DEVICE_URANDOM,
    DEVICE_COUNT
};

#define PREFIX_BYTES 16
#define CHUNK_BYTES  512

/* ---- Standard streams ---- */

/* How long a read looks without a pause: what a runner sends comes in small pieces, close to each other. */
#define INPUT_EAGER_NS 1000000

/* Input belongs to the first rank; the others are at its end. */
static int64_t stream_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    char chunk[CHUNK_BYTES];
    int64_t got;

    (void)offset;
    if (file->process->rank != 0 || bytes == 0)
        return 0;
    /* A question that has no end of line is asked before its answer is read. */
    file_streams_flush(file->process);
    uint64_t eager_until = clock_now_ns() + INPUT_EAGER_NS;
    while ((got = console_read(chunk, bytes < sizeof(chunk) ? bytes : sizeof(chunk))) == -EAGAIN) {
        int error = file->flags & O_NONBLOCK       ? -EAGAIN
                    : clock_now_ns() < eager_until ? 0
                                                   : event_wait_polling(WAIT_FOREVER);

        if (error)
            return error;
        arch_pause();
        crosscall_serve();
    }
    return user_write(buffer, chunk, (uint64_t)got) ? -EFAULT : got;
}

/* Nothing interrupts when input comes. The other ranks' has always ended. */
static bool stream_is_polled(const struct file *file)
{
    return file->process->rank == 0;
}

static unsigned stream_ready(struct file *file)
{
    return READY_OUT | (file->process->rank != 0 || console_input_ready() ? READY_IN : 0);
}

static void line_write(struct process *process, enum console_stream stream)
{
    struct process_line *line = &process->lines[stream];

    console_write(stream, line->text, line->used);
    line->continues = line->used > 0 && line->text[line->used - 1] != '\n';
    line->used = 0;
}

void file_streams_flush(struct process *process)
{
    spin_lock(&process->lines_lock);
    for (enum console_stream stream = CONSOLE_STDOUT; stream <= CONSOLE_STDERR; stream++)
        if (process->lines[stream].used > 0)
            line_write(process, stream);
    spin_unlock(&process->lines_lock);
}

/* With the rank's number in front of each line, and each line in one piece, however it was written: other
 * ranks write, too. */
static void prefixed_write(struct process *process, enum console_stream stream, const char *text,
                           size_t bytes)
{
    struct process_line *line = &process->lines[stream];

    spin_lock(&process->lines_lock);
    for (size_t i = 0; i < bytes; i++) {
        if (line->used == 0 && !line->continues)
            line->used = format_text(line->text, PREFIX_BYTES, "%u: ", process->rank);
        line->text[line->used++] = text[i];
        if (text[i] == '\n' || line->used == sizeof(line->text))
            line_write(process, stream);
    }
    spin_unlock(&process->lines_lock);
}

static int64_t stream_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    enum console_stream stream = file->device == DEVICE_STDERR ? CONSOLE_STDERR : CONSOLE_STDOUT;
    struct process *process = arch_process();
    char chunk[CHUNK_BYTES];

    (void)offset;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t part = bytes - done < sizeof(chunk) ? bytes - done : sizeof(chunk);

        if (user_read(chunk, buffer + done, part))
            return done ? (int64_t)done : -EFAULT;
        if (process->prefix)
            prefixed_write(process, stream, chunk, part);
        else
            console_write(stream, chunk, part);
        done += part;
    }
    return (int64_t)bytes;
}

static const struct file_operations terminal_operations = { .read = stream_read,
                                                            .write = stream_write,
                                                            .ready = stream_ready,
                                                            .terminal = true,
                                                            .waits = true,
                                                            .polled = stream_is_polled };
static const struct file_operations stream_operations = { .read = stream_read,
                                                          .write = stream_write,
                                                          .ready = stream_ready,
                                                          .waits = true,
                                                          .polled = stream_is_polled };

static void stream_bind(struct file *file, enum device device, enum console_stream stream)
{
    bool terminal = console_is_shared(stream);

    file->operations = terminal ? &terminal_operations : &stream_operations;
    file->mode = terminal ? S_IFCHR | 0620 : S_IFIFO | 0600;
    file->device = device;
}

void file_open_streams(struct process *process)
{
    for (unsigned d = 0; d < 3; d++) {
        struct file *file = file_allocate(process);

        if (d < 2)
            stream_bind(file, DEVICE_STDOUT, CONSOLE_STDOUT);
        else
            stream_bind(file, DEVICE_STDERR, CONSOLE_STDERR);
        file->flags = O_RDWR;
        file_install(process, file, 0, false);
        file_put(file);
    }
}

/* ---- /dev ---- */

static int64_t null_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)buffer, (void)bytes, (void)offset;
    return 0;
}

static int64_t null_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)buffer, (void)offset;
    return (int64_t)bytes;
}

static int64_t zero_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return user_clear_partial(buffer, bytes);
}

static int64_t full_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)buffer, (void)bytes, (void)offset;
    return -ENOSPC;
}

int64_t random_write(uint64_t buffer, uint64_t bytes)
{
    uint64_t values[CHUNK_BYTES / sizeof(uint64_t)], done = 0, part = 0;
    int64_t got = 0;

    for (; done < bytes && (uint64_t)got == part; done += got > 0 ? (uint64_t)got : 0) {
        part = bytes - done < sizeof(values) ? bytes - done : sizeof(values);
        for (unsigned i = 0; i * sizeof(uint64_t) < part; i++)
            values[i] = arch_random();
        got = user_write_partial(buffer + done, values, part);
    }
    return got < 0 && done == 0 ? got : (int64_t)done;
}

static int64_t random_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return random_write(buffer, bytes);
}

/* They can be sought in, to no effect. */
static uint64_t no_size(const struct file *file)
{
    (void)file;
    return 0;
}

static const struct file_operations null_operations = { .read = null_read,
                                                        .write = null_write,
                                                        .size = no_size };
static const struct file_operations zero_operations = { .read = zero_read,
                                                        .write = null_write,
                                                        .size = no_size };
static const struct file_operations full_operations = { .read = zero_read,
                                                        .write = full_write,
                                                        .size = no_size };
static const struct file_operations random_operations = { .read = random_read,
                                                          .write = null_write,
                                                          .size = no_size };

/* ---- All kinds ---- */

int file_bind(struct process *process, struct file *file)
{
    uint32_t kind = file->inode->mode & S_IFMT;

    (void)process;
    file->mode = file->inode->mode;
    if (file->flags & O_PATH) {
        file->operations = &directory_operations; /* nothing can be done with it but to tell about it */
        return 0;
    }
    switch (file->inode->device) {
    case DEVICE_STDOUT:
        stream_bind(file, DEVICE_STDOUT, CONSOLE_STDOUT);
        return 0;
    case DEVICE_STDERR:
        stream_bind(file, DEVICE_STDERR, CONSOLE_STDERR);
        return 0;
    case DEVICE_NULL:
        file->operations = &null_operations;
        return 0;
    case DEVICE_ZERO:
        file->operations = &zero_operations;
        return 0;
    case DEVICE_FULL:
        file->operations = &full_operations;
        return 0;
    case DEVICE_RANDOM:
    case DEVICE_URANDOM:
        file->operations = &random_operations;
        return 0;
    default:
        if (inode_is_of_proc(file->inode))
            return proc_bind(file);
        if (kind != S_IFREG && kind != S_IFDIR)
            return -ENXIO; /* a device node of the archive that nothing here stands behind */
        file->operations = kind == S_IFDIR       ? &directory_operations
                           : file->inode->memory ? &memory_operations
                                                 : &tree_operations;
        return 0;
    }
}

struct device_number device_number(unsigned device)
{
    static const struct device_number numbers[DEVICE_COUNT] = {
        [DEVICE_STDOUT] = { 5, 0 },  [DEVICE_STDERR] = { 5, 0 }, [DEVICE_NULL] = { 1, 3 },
        [DEVICE_ZERO] = { 1, 5 },    [DEVICE_FULL] = { 1, 7 },   [DEVICE_RANDOM] = { 1, 8 },
        [DEVICE_URANDOM] = { 1, 9 },
    };

    return device < DEVICE_COUNT ? numbers[device] : (struct device_number){ 0, 0 };
}

/* The streams' own nodes: what /proc/self/fd/N leads to. */
static struct inode *stream_inodes[2];

struct inode *device_of_stream(const struct file *file)
{
    if (file->inode || (file->device != DEVICE_STDOUT && file->device != DEVICE_STDERR))
        return NULL;
    return stream_inodes[file->device - DEVICE_STDOUT];
}

/* The one of standard error has no name: /dev/stderr is a link to the descriptor. */
static int streams_add(struct tree *tree, struct inode *terminal)
{
    struct inode *error_stream = inode_create(tree, S_IFCHR | 0666);

    if (!error_stream)
        return -ENOMEM;
    error_stream->device = DEVICE_STDERR;
    error_stream->filesystem = FILESYSTEM_DEV;
    error_stream->uses = 1;
    stream_inodes[0] = terminal;
    stream_inodes[1] = error_stream;
    return 0;
}

int devices_add(struct tree *tree, struct message *why)
{
    static const struct {
        const char *path, *target;
        enum device device;
    } nodes[] = {
        { "/dev/tty", NULL, DEVICE_STDOUT },     { "/dev/null", NULL, DEVICE_NULL },
        { "/dev/zero", NULL, DEVICE_ZERO },      { "/dev/full", NULL, DEVICE_FULL },
        { "/dev/random", NULL, DEVICE_RANDOM },  { "/dev/urandom", NULL, DEVICE_URANDOM },
        { "/dev/fd", "/proc/self/fd", 0 },       { "/dev/stdin", "/proc/self/fd/0", 0 },
        { "/dev/stdout", "/proc/self/fd/1", 0 }, { "/dev/stderr", "/proc/self/fd/2", 0 },
    };
    struct inode *terminal = NULL;

    if (!tree_mount(tree, "/dev", 0755, FILESYSTEM_DEV, why))
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        const char *target = nodes[i].target;
        struct inode *inode = tree_add(tree, nodes[i].path, target ? S_IFLNK | 0777 : S_IFCHR | 0666, target,
                                       target ? strlen(target) : 0, why);

        if (!inode)
            return -ENOMEM;
        inode->device = nodes[i].device;
        terminal = terminal ? terminal : inode;
    }
    return streams_add(tree, terminal);
}
