/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devices.c: what can be opened on a stand-alone node: files of the tree, the standard streams, /dev and
 * /proc.
 *
 * A pseudo file's text is made when it is opened, in memory of the process's own slice, and stays as it was
 * until it is closed.
 */
#include "arch.h"
#include "clock.h"
#include "clockevent.h"
#include "console.h"
#include "errno.h"
#include "file.h"
#include "klog.h"
#include "kstring.h"
#include "linux_abi.h"
#include "process.h"

enum device {
    DEVICE_NONE,
    DEVICE_STDOUT, /* and stdin */
    DEVICE_STDERR,
    DEVICE_NULL,
    DEVICE_ZERO,
    DEVICE_RANDOM,
    DEVICE_COUNTERS,
    DEVICE_UPTIME,
    DEVICE_CLOCKEVENTS,
    DEVICE_TIMERS,
    DEVICE_KLOG,
};

#define PREFIX_BYTES 16
#define CHUNK_BYTES  512
#define TEXT_BYTES   (64 * 1024ULL)

/* ---- Files of the tree ---- */

static int64_t bytes_read(const void *data, uint64_t size, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (offset >= size)
        return 0;
    if (bytes > size - offset)
        bytes = size - offset;

    int error = user_write(buffer, (const char *)data + offset, bytes);
    return error ? error : (int64_t)bytes;
}

static int64_t tree_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return bytes_read(file->node->data, file->node->bytes, buffer, bytes, offset);
}

static uint64_t tree_size(const struct file *file)
{
    return file->node->bytes;
}

static const struct file_operations tree_operations = { .read = tree_read, .size = tree_size };
static const struct file_operations directory_operations = { .size = tree_size };

/* ---- Standard streams ---- */

/* Input belongs to the first rank; the others are at its end. */
static int64_t stream_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    char chunk[CHUNK_BYTES];
    size_t got;
    int error;

    (void)file;
    (void)offset;
    if (arch_process()->rank != 0)
        return 0;
    file_streams_flush(
        arch_process()); /* a question that has no end of line is asked before its answer is read */
    while (bytes > 0 && !console_input_ready())
        if (thread_sleep(NULL, clock_now_ns() + CONSOLE_LOOK_NS) == -EINTR)
            return -EINTR;
    got = console_read(chunk, bytes < sizeof(chunk) ? bytes : sizeof(chunk));
    error = user_write(buffer, chunk, got);
    return error ? error : (int64_t)got;
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
    for (enum console_stream stream = CONSOLE_STDOUT; stream <= CONSOLE_STDERR; stream++)
        if (process->lines[stream].used > 0)
            line_write(process, stream);
}

/* With the rank's number in front of each line, and each line in one piece, however it was written: other
 * ranks write, too. */
static void prefixed_write(struct process *process, enum console_stream stream, const char *text,
                           size_t bytes)
{
    struct process_line *line = &process->lines[stream];

    for (size_t i = 0; i < bytes; i++) {
        if (line->used == 0 && !line->continues)
            line->used = format_text(line->text, PREFIX_BYTES, "%u: ", process->rank);
        line->text[line->used++] = text[i];
        if (text[i] == '\n' || line->used == sizeof(line->text))
            line_write(process, stream);
    }
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
                                                            .terminal = true };
static const struct file_operations stream_operations = { .read = stream_read, .write = stream_write };

static void stream_bind(struct file *file, enum device device, enum console_stream stream)
{
    bool terminal = console_is_shared(stream);

    file->operations = terminal ? &terminal_operations : &stream_operations;
    file->mode = terminal ? S_IFCHR | 0620 : S_IFIFO | 0600;
    file->device = device;
    file->flags = O_RDWR;
}

void file_open_streams(struct process *process)
{
    for (unsigned d = 0; d < 3; d++) {
        struct file *file = file_allocate(process);

        if (d < 2)
            stream_bind(file, DEVICE_STDOUT, CONSOLE_STDOUT);
        else
            stream_bind(file, DEVICE_STDERR, CONSOLE_STDERR);
        file_install(process, file, 0, false);
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
    return user_clear(buffer, bytes) ? -EFAULT : (int64_t)bytes;
}

static int64_t random_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t value = arch_random();

        if (user_write(buffer + done, &value, bytes - done < sizeof(value) ? bytes - done : sizeof(value)))
            return done ? (int64_t)done : -EFAULT;
    }
    return (int64_t)bytes;
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
static const struct file_operations random_operations = { .read = random_read,
                                                          .write = null_write,
                                                          .size = no_size };

/* ---- /proc ---- */

static int64_t text_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return bytes_read(file->text, file->text_bytes, buffer, bytes, offset);
}

static uint64_t text_size(const struct file *file)
{
    return file->text_bytes;
}

static void text_release(struct file *file)
{
    page_pool_give(&arch_process()->pages, (uint64_t)file->text - (uint64_t)arch_physical(0),
                   file->text_capacity);
}

static const struct file_operations text_operations = { .read = text_read,
                                                        .size = text_size,
                                                        .release = text_release };

__attribute__((format(printf, 2, 3))) static void text_add(struct file *file, const char *format, ...)
{
    uint64_t room = file->text_capacity - file->text_bytes;
    va_list arguments;

    va_start(arguments, format);
    uint64_t length = format_va(file->text + file->text_bytes, room, format, arguments);
    va_end(arguments);
    file->text_bytes += length < room ? length : room - 1;
}

/* One line a cause that has happened: CPU, cause, count. */
static void counters_text(struct file *file)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct tacet_counters *counters = arch_counters(cpu);

        text_add(file, "cpu%u system_calls %lu\n", cpu, counters->system_calls);
        for (unsigned i = 0; i < TACET_EXCEPTIONS; i++) {
            if (!counters->exceptions[i])
                continue;
            const char *name = arch_exception_name(i);
            text_add(file, "cpu%u exception %u %lu %s\n", cpu, i, counters->exceptions[i], name ? name : "?");
        }
        for (unsigned i = 0; i < TACET_INTERRUPTS; i++)
            if (counters->interrupts[i])
                text_add(file, "cpu%u interrupt %u %lu\n", cpu, i, counters->interrupts[i]);
    }
}

static void uptime_text(struct file *file)
{
    uint64_t hundredths = clock_now_ns() / (NS_PER_S / 100);

    text_add(file, "%lu.%02lu 0.00\n", hundredths / 100, hundredths % 100);
}

/* The timers' own lines, into a pseudo file's text. */
struct file_sink {
    struct text_sink sink;
    struct file *file;
};

static void file_sink_add(struct text_sink *sink, const char *line)
{
    text_add(((struct file_sink *)sink)->file, "%s", line);
}

static void clockevents_text(struct file *file)
{
    struct file_sink sink = { { file_sink_add }, file };

    clockevent_devices_describe(&sink.sink);
}

static void timers_text(struct file *file)
{
    struct file_sink sink = { { file_sink_add }, file };

    clockevent_timers_describe(&sink.sink);
}

/* The flight log as a file; binary. */
static void klog_add(void *context, const void *bytes, uint64_t count)
{
    struct file *file = context;

    memcpy(file->text + file->text_bytes, bytes, count);
    file->text_bytes += count;
}

static void klog_text(struct file *file)
{
    klog_file_write(klog_add, file);
}

/* Pseudo files that take commands: a whole line a write. */
static int64_t command_write(uint64_t buffer, uint64_t bytes, int (*command)(const char *line))
{
    char line[80];
    int error;

    if (bytes >= sizeof(line))
        return -EINVAL;
    if (user_read(line, buffer, bytes))
        return -EFAULT;
    line[bytes] = '\0';
    if (bytes > 0 && line[bytes - 1] == '\n')
        line[bytes - 1] = '\0';
    error = command(line);
    return error ? error : (int64_t)bytes;
}

static int64_t clockevents_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return command_write(buffer, bytes, clockevent_rate);
}

static int64_t klog_command(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return command_write(buffer, bytes, klog_switch);
}

static const struct file_operations klog_operations = {
    .read = text_read, .write = klog_command, .size = text_size, .release = text_release
};

static const struct file_operations clockevents_operations = {
    .read = text_read, .write = clockevents_write, .size = text_size, .release = text_release
};

static int text_bind(struct file *file, const struct file_operations *operations, uint64_t capacity,
                     void (*make)(struct file *file))
{
    uint64_t bytes = (capacity + ARCH_PAGE - 1) & ~(ARCH_PAGE - 1);
    uint64_t memory = page_pool_take(&arch_process()->pages, bytes, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    file->operations = operations;
    file->text_capacity = bytes;
    file->text = arch_physical(memory);
    file->text_bytes = 0;
    make(file);
    return 0;
}

/* ---- All kinds ---- */

bool file_input_ready(const struct file *file)
{
    bool stream = file->operations == &terminal_operations || file->operations == &stream_operations;

    return !stream || arch_process()->rank != 0 || console_input_ready();
}

int file_bind(struct process *process, struct file *file)
{
    uint32_t kind = file->node->mode & S_IFMT;

    (void)process;
    file->mode = file->node->mode;
    switch (file->node->device) {
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
    case DEVICE_RANDOM:
        file->operations = &random_operations;
        return 0;
    case DEVICE_COUNTERS:
        return text_bind(file, &text_operations, TEXT_BYTES, counters_text);
    case DEVICE_UPTIME:
        return text_bind(file, &text_operations, TEXT_BYTES, uptime_text);
    case DEVICE_TIMERS:
        return text_bind(file, &text_operations, TEXT_BYTES, timers_text);
    case DEVICE_CLOCKEVENTS:
        return text_bind(file, &clockevents_operations, TEXT_BYTES, clockevents_text);
    case DEVICE_KLOG:
        return text_bind(file, &klog_operations, klog_file_bytes(), klog_text);
    default:
        if (kind != S_IFREG && kind != S_IFDIR)
            return -ENXIO; /* a device node of the archive that nothing here stands behind */
        file->operations = kind == S_IFDIR ? &directory_operations : &tree_operations;
        return 0;
    }
}

int devices_add(struct tree *tree, struct message *why)
{
    static const struct {
        const char *path;
        uint32_t mode;
        enum device device;
    } nodes[] = {
        { "/dev/null", S_IFCHR | 0666, DEVICE_NULL },
        { "/dev/zero", S_IFCHR | 0666, DEVICE_ZERO },
        { "/dev/random", S_IFCHR | 0666, DEVICE_RANDOM },
        { "/dev/urandom", S_IFCHR | 0666, DEVICE_RANDOM },
        { "/dev/tty", S_IFCHR | 0666, DEVICE_STDOUT },
        { "/dev/stdin", S_IFCHR | 0666, DEVICE_STDOUT },
        { "/dev/stdout", S_IFCHR | 0666, DEVICE_STDOUT },
        { "/dev/stderr", S_IFCHR | 0666, DEVICE_STDERR },
        { "/proc/tacet/counters", S_IFREG | 0444, DEVICE_COUNTERS },
        { "/proc/tacet/clockevents", S_IFREG | 0644, DEVICE_CLOCKEVENTS },
        { "/proc/tacet/klog", S_IFREG | 0644, DEVICE_KLOG },
        { "/proc/tacet/timers", S_IFREG | 0444, DEVICE_TIMERS },
        { "/proc/uptime", S_IFREG | 0444, DEVICE_UPTIME },
    };

    for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct tree_node *node = tree_add(tree, nodes[i].path, nodes[i].mode, NULL, 0, why);

        if (!node)
            return -ENOMEM;
        node->device = nodes[i].device;
    }
    return 0;
}
