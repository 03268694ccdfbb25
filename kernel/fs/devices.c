/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devices.c: the standard streams, and /dev: the console as a terminal, null, zero, full, random, urandom
 * (null(4), full(4), random(4), tty(4)). Owns the lines of output that ranks have not ended yet; the
 * lines_lock of each process guards its own. console.c has a lock of its own. Runs in system calls;
 * devices_add once at boot.
 */
#include "arch.h"
#include "fs/linux_files.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "fs/file.h"
#include "fs/user_vector.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "mm/user_bytes.h"
#include "process/event.h"
#include "process/signal.h"

enum device {
    DEVICE_NONE,
    DEVICE_STDOUT, /* and stdin */
    DEVICE_STDERR,
    DEVICE_TTY,
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

/* The first rank reads the console's input; the other ranks read an end of file. */
static struct process *input_process;

void input_interrupt(void)
{
    console_input_interrupt();
    event_notify(input_process, EVENT_INPUT);
}

/* Waits for an event of `kinds`, input included. If input is ready already, returns 0 at once if `reads`;
 * else polls, because a caller that does not read may wait for other files. */
static int input_wait(uint64_t kinds, uint64_t deadline_ns, bool reads)
{
    unsigned cpu = arch_cpu_index();
    enum console_input input = console_listen_begin(cpu);

    if (input == CONSOLE_INPUT_READY)
        return reads ? 0 : event_wait_polling(kinds, deadline_ns);
    int result = input == CONSOLE_INPUT_ANNOUNCED ? event_wait(kinds, deadline_ns)
                                                  : event_wait_polling(kinds, deadline_ns);
    console_listen_end(cpu);
    return result;
}

int file_event_wait(uint64_t kinds, uint64_t deadline_ns)
{
    return kinds & EVENT_INPUT ? input_wait(kinds, deadline_ns, false) : event_wait(kinds, deadline_ns);
}

static int64_t stream_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    char chunk[CHUNK_BYTES];
    int64_t got;

    (void)offset;
    if (file->process->rank != 0 || bytes == 0)
        return 0;
    /* A prompt without an end of line must appear before its answer is read. */
    file_streams_flush(file->process);
    while ((got = console_read(chunk, bytes < sizeof(chunk) ? bytes : sizeof(chunk))) == -EAGAIN) {
        int error = file->flags & O_NONBLOCK ? -EAGAIN : input_wait(EVENT_INPUT, WAIT_FOREVER, true);

        if (error)
            return error;
    }
    if (console_listens())
        event_notify(input_process, EVENT_INPUT);
    return user_write(buffer, chunk, (uint64_t)got) ? -EFAULT : got;
}

static uint64_t stream_events(const struct file *file)
{
    return file->process->rank == 0 ? EVENT_INPUT : 0;
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
    SPIN_GUARD_OWN(&process->lines_lock);
    for (enum console_stream stream = CONSOLE_STDOUT; stream <= CONSOLE_STDERR; stream++)
        if (process->lines[stream].used > 0)
            line_write(process, stream);
}

/* Writes text with the rank's number before each line. Prints each line as a whole, in however many pieces
 * the program wrote it, because other ranks print, too. */
static void prefixed_write(struct process *process, enum console_stream stream, const char *text,
                           size_t bytes)
{
    struct process_line *line = &process->lines[stream];

    SPIN_GUARD_OWN(&process->lines_lock);
    for (size_t i = 0; i < bytes; i++) {
        if (line->used == 0 && !line->continues)
            line->used = format_text(line->text, PREFIX_BYTES, "%u: ", process->rank);
        line->text[line->used++] = text[i];
        if (text[i] == '\n' || line->used == sizeof(line->text))
            line_write(process, stream);
    }
}

/* Returns the number of bytes up to the last end of a line; all of them if no line ends. The console does not
 * mix other output into a piece that it gets. */
static uint64_t whole_lines(const char *text, uint64_t bytes)
{
    uint64_t end = bytes;

    while (end > 0 && text[end - 1] != '\n')
        end--;
    return end ? end : bytes;
}

/* Writes a vector to stdout or stderr. A line may have bytes of several parts; a line longer than a chunk
 * goes out in pieces. */
static int64_t stream_write(const struct file *file, struct user_vector *vector)
{
    enum console_stream stream = file->device == DEVICE_STDERR ? CONSOLE_STDERR : CONSOLE_STDOUT;
    struct process *process = arch_process();
    char chunk[CHUNK_BYTES];
    uint64_t held = 0;
    int64_t done = 0;
    int error = 0;

    while (!error && (vector->left > 0 || held > 0)) {
        uint64_t left = vector->left, room = sizeof(chunk) - held;

        error = user_vector_copy(vector, chunk + held, left < room ? left : room, false);
        held += left - vector->left;
        uint64_t part = vector->left > 0 && !error ? whole_lines(chunk, held) : held;
        if (process->prefix)
            prefixed_write(process, stream, chunk, part);
        else
            console_write(stream, chunk, part);
        done += (int64_t)part;
        held -= part;
        memmove(chunk, chunk + part, held);
        if (process->ending || signal_is_pending(arch_thread()))
            break;
    }
    return done ? done : error;
}

static int64_t stream_move(struct file *file, struct user_vector *vector, bool write)
{
    return write ? stream_write(file, vector) : file_move(file, vector, 0, false);
}

static const struct file_operations stream_operations = {
    .read = stream_read, .move = stream_move, .ready = stream_ready, .waits = true, .events = stream_events
};

static void stream_bind(struct file *file, enum device device)
{
    file->is_terminal = console_is_shared(device == DEVICE_STDERR ? CONSOLE_STDERR : CONSOLE_STDOUT);
    file->operations = &stream_operations;
    file->mode = file->is_terminal ? S_IFCHR | 0620 : S_IFIFO | 0600;
    file->device = device;
}

void file_open_streams(struct process *process)
{
    if (process->rank == 0)
        input_process = process;
    for (unsigned d = 0; d < 3; d++) {
        FILE_REFERENCE file = file_allocate(process);

        stream_bind(file, d < 2 ? DEVICE_STDOUT : DEVICE_STDERR);
        file->flags = O_RDWR;
        file_install(process, file, 0, false);
    }
}

/* ---- /dev ---- */

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

static int64_t device_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)offset;
    switch (file->device) {
    case DEVICE_NULL:
        return 0;
    case DEVICE_RANDOM:
    case DEVICE_URANDOM:
        return random_write(buffer, bytes);
    default:
        return user_write_partial(buffer, NULL, bytes);
    }
}

static int64_t device_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)buffer, (void)offset;
    return file->device == DEVICE_FULL ? -ENOSPC : (int64_t)bytes;
}

/* Returns 0 as a device's size: seeking is allowed, and has no effect. */
static uint64_t no_size(const struct file *file)
{
    (void)file;
    return 0;
}

static const struct file_operations device_files = { .read = device_read,
                                                     .write = device_write,
                                                     .size = no_size };

static const struct {
    const char *path;
    uint16_t number; /* major << 8 | minor */
} devices[DEVICE_COUNT] = {
    /* /dev/stdout and /dev/stderr are links to descriptors. */
    [DEVICE_STDOUT] = { NULL, 5 << 8 },
    [DEVICE_STDERR] = { NULL, 5 << 8 },
    [DEVICE_TTY] = { "/dev/tty", 5 << 8 },
    [DEVICE_NULL] = { "/dev/null", 1 << 8 | 3 },
    [DEVICE_ZERO] = { "/dev/zero", 1 << 8 | 5 },
    [DEVICE_FULL] = { "/dev/full", 1 << 8 | 7 },
    [DEVICE_RANDOM] = { "/dev/random", 1 << 8 | 8 },
    [DEVICE_URANDOM] = { "/dev/urandom", 1 << 8 | 9 },
};

void file_open_null(struct process *process)
{
    FILE_REFERENCE file = file_allocate(process);

    file->operations = &device_files;
    file->mode = S_IFCHR | 0666;
    file->device = DEVICE_NULL;
    file->flags = O_RDWR;
    file_install(process, file, 0, false);
}

uint64_t device_number(unsigned device)
{
    return device < DEVICE_COUNT ? devices[device].number : 0;
}

static int device_open(struct file *file)
{
    file->device = file->inode->device;
    file->operations = &device_files;
    if (file->device == DEVICE_TTY && !console_is_shared(CONSOLE_STDOUT))
        return -ENXIO; /* as on Linux, where a process has no terminal */
    if (file->device <= DEVICE_TTY)
        stream_bind(file, file->device == DEVICE_STDERR ? DEVICE_STDERR : DEVICE_STDOUT);
    return 0;
}

static const struct inode_operations device_operations = { .open = device_open };

/* The inodes that /proc/self/fd/N leads to for a standard stream. */
static struct inode *stream_inodes[DEVICE_TTY + 1];

struct inode *device_of_stream(const struct file *file)
{
    if (file->operations != &stream_operations)
        return NULL; /* other kinds of files have device numbers of their own */
    return stream_inodes[file->is_terminal && file->device == DEVICE_STDOUT ? DEVICE_TTY : file->device];
}

int devices_add(struct tree *tree, struct message *why)
{
    static const char *const links[][2] = {
        { "/dev/fd", "/proc/self/fd" },
        { "/dev/stdin", "/proc/self/fd/0" },
        { "/dev/stdout", "/proc/self/fd/1" },
        { "/dev/stderr", "/proc/self/fd/2" },
    };
    const uint32_t mode = S_IFCHR | 0666;

    if (!tree_mount(tree, "/dev", 0755, FILESYSTEM_DEV, why))
        return -ENOMEM;
    for (enum device device = DEVICE_STDOUT; device < DEVICE_COUNT; device++) {
        const char *path = devices[device].path;
        struct inode *inode = path ? tree_add(tree, path, mode, NULL, 0, why) : inode_create(tree, mode);

        if (!inode)
            return -ENOMEM;
        inode->device = device;
        inode->operations = &device_operations;
        inode->filesystem = FILESYSTEM_DEV;
        inode_get(inode); /* a stream's inode has no name that would keep it */
        if (device <= DEVICE_TTY)
            stream_inodes[device] = inode;
    }
    for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        if (!tree_add(tree, links[i][0], S_IFLNK | 0777, links[i][1], strlen(links[i][1]), why))
            return -ENOMEM;
    return 0;
}
