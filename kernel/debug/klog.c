/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * klog.c: classes and the file of the flight log (klog.h). Owns the mask, and what a hold notes; rings belong
 * to their CPUs. Reading runs on any CPU, and needs no lock.
 */
#include "debug/klog.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/crosscall.h"
#include "smp/per_cpu.h"
#include "smp/spinlock.h"

#define PANIC_EVENTS 32

#define CLASSES_ALL     ((1U << KLOG_CLASSES) - 1)
#define CLASSES_DEFAULT (CLASSES_ALL & ~(1U << KLOG_CLASS_syscall))

uint32_t klog_mask = CLASSES_DEFAULT;
static uint32_t classes = CLASSES_DEFAULT; /* klog_mask, unless the log is held */
static uint64_t holds;                     /* and releases so far: odd while the log is held */
static struct spinlock lock;               /* of changes of these three */

#define CLASS(name) #name ", "
static const char class_names[] = KLOG_CLASS_LIST(CLASS) "all, none";
#undef CLASS

/* As they stand in the file. */
static const struct klog_kind kinds[KLOG_KINDS] = {
#define KLOG(name, class, words) { #name, #class, words },
#include "debug/klog.def"
#undef KLOG
};

static struct console_device **port; /* klog= */

/* ---- Classes ---- */

static int classes_parse(const char *text, uint32_t *mask, struct message *why)
{
    const char *const start = text;

    for (*mask = 0; *text;) {
        const char *comma = text;

        while (*comma && *comma != ',')
            comma++;
        int class = word_find(class_names, text, (size_t)(comma - text));
        if (class < 0 || (class >= KLOG_CLASSES && (*comma || text != start)))
            return message_set(why, -EINVAL, "klog_classes=%.*s: no such class; there are %s",
                               (int)(comma - text), text, class_names);
        if (class < KLOG_CLASSES)
            *mask |= 1U << class;
        else if (class == KLOG_CLASSES)
            *mask = CLASSES_ALL;
        text = *comma ? comma + 1 : comma;
    }
    return 0;
}

int klog_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "klog_classes");
    const char *name = command_line_option(line, "klog");

    if (name)
        port = console_find("klog", name, strlen(name), why);
    if ((name && !port) || (text && classes_parse(text, &classes, why)))
        return -EINVAL;
    klog_mask = classes;
    return 0;
}

/* Applies the classes, or a hold. The caller holds the lock. */
static void mask_update(void)
{
    __atomic_store_n(&klog_mask, holds & 1 ? 0 : classes, __ATOMIC_RELAXED);
}

void klog_cpu_start(void)
{
    arch_system_calls_log(classes & 1U << KLOG_CLASS_syscall);
}

/* Switches one class. Only that of system calls needs an IPI to the other CPUs: other events check the
 * mask. */
int klog_switch(const char *text)
{
    int class = text[0] == '+' || text[0] == '-' ? word_find(class_names, text + 1, strlen(text + 1)) : -1;

    if (class < 0 || class >= KLOG_CLASSES)
        return -EINVAL;
    spin_lock(&lock);
    const uint32_t before = classes, bit = 1U << class;
    classes = text[0] == '+' ? before | bit : before & ~bit;
    mask_update();
    spin_unlock(&lock);
    if (class == KLOG_CLASS_syscall && classes != before)
        crosscall_all(klog_cpu_start);
    return 0;
}

/* Logs a system call. Called by the entry code's variant that logs (arch.h). */
void klog_system_call(uint64_t number, uint64_t argument)
{
    klog(system_call, number, argument);
}

void klog_system_call_end(uint64_t number, uint64_t result)
{
    klog(system_call_end, number, result);
}

/* ---- The file ---- */

#define HEAD_BYTES (sizeof(struct klog_header) + sizeof(kinds))

/* Copies one event, and reads the count after that: by then its CPU may have overwritten the event. The count
 * complete events, so the slot of the next one may be half-written, too. */
static struct klog_event event_read(const struct klog_ring *ring, uint64_t number)
{
    struct klog_event event = ring->events[number & ring->last];

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&ring->written, __ATOMIC_RELAXED) - number > ring->last)
        event = (struct klog_event){ .kind = KLOG_OVERWRITTEN };
    return event;
}

/* Makes what stands before a CPU's events, of which `written` were written. */
static struct klog_cpu part_make(unsigned cpu, uint64_t written)
{
    const uint64_t last = arch_klog_of(cpu)->last, first = written > last ? written - last : 0;

    return (struct klog_cpu){ .cpu = cpu, .count = (uint32_t)(written - first), .lost = first };
}

static uint64_t written_of(unsigned cpu)
{
    return __atomic_load_n(&arch_klog_of(cpu)->written, __ATOMIC_ACQUIRE);
}

/* Passes on, of the file's pieces in order, what lies between `from` and `end`. */
struct window {
    void (*write)(void *context, const void *bytes, uint64_t count);
    void *context;
    uint64_t from, end, at; /* of the file; the next piece begins at `at` */
};

static void window_add(struct window *window, const void *piece, uint64_t count)
{
    const uint64_t first = window->from > window->at ? window->from - window->at : 0;
    const uint64_t left = window->end > window->at ? window->end - window->at : 0;
    const uint64_t last = left < count ? left : count;

    if (first < last)
        window->write(window->context, (const uint8_t *)piece + first, last - first);
    window->at += count;
}

static void head_read(struct window *window)
{
    const struct klog_header header = {
        .magic = { 'T', 'A', 'C', 'E', 'T', 'L', 'O', 'G' },
        .version = KLOG_VERSION,
        .cpu_count = arch_cpu_count(),
        .kinds = KLOG_KINDS,
        .event_bytes = sizeof(struct klog_event),
        .clock_hz = arch_clock_hz(),
        .boot_ticks = arch_boot_ticks(),
        .architecture = ARCH_NAME,
    };

    window_add(window, &header, sizeof(header));
    window_add(window, kinds, sizeof(kinds));
}

/* Reads a CPU's part, of which `written` events were written; skips the events before the window. */
static void part_read(struct window *window, unsigned cpu, uint64_t written)
{
    const struct klog_cpu part = part_make(cpu, written);

    window_add(window, &part, sizeof(part));
    uint64_t i = window->from > window->at ? (window->from - window->at) / sizeof(struct klog_event) : 0;
    i = i < part.count ? i : part.count;
    window->at += i * sizeof(struct klog_event);
    for (; i < part.count && window->at < window->end; i++) {
        const struct klog_event event = event_read(arch_klog_of(cpu), part.lost + i);

        window_add(window, &event, sizeof(event));
    }
}

void klog_file_write(void (*write)(void *context, const void *bytes, uint64_t count), void *context)
{
    struct window all = { .write = write, .context = context, .end = UINT64_MAX };

    head_read(&all);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        part_read(&all, cpu, written_of(cpu));
}

/* ---- The held file ---- */

/* Of each CPU, at the hold: its events, and where its part begins in the file. An event that the CPU was
 * writing then is not counted, and no counted event is in its slot. */
struct held_part {
    uint64_t written, at;
};

PER_CPU static struct held_part held_parts;
static uint64_t held_bytes;

bool klog_hold(void)
{
    SPIN_GUARD(&lock);
    if (holds & 1)
        return false;
    __atomic_store_n(&klog_mask, 0, __ATOMIC_SEQ_CST);
    held_bytes = HEAD_BYTES;
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        struct held_part *part = PER_CPU_OF(held_parts, cpu);

        *part = (struct held_part){ .written = written_of(cpu), .at = held_bytes };
        held_bytes +=
            sizeof(struct klog_cpu) + part_make(cpu, part->written).count * sizeof(struct klog_event);
    }
    __atomic_store_n(&holds, holds + 1, __ATOMIC_RELEASE);
    return true;
}

void klog_release(void)
{
    SPIN_GUARD(&lock);
    if (!(holds & 1))
        return;
    __atomic_store_n(&holds, holds + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* a reader that sees a new event sees the release, too */
    mask_update();
}

uint64_t klog_held_bytes(void)
{
    return __atomic_load_n(&holds, __ATOMIC_ACQUIRE) & 1 ? held_bytes : 0;
}

/* Returns the last CPU whose part begins at or before `offset`, else the first. */
static unsigned part_find(uint64_t offset)
{
    unsigned low = 0, high = arch_cpu_count();

    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;

        if (PER_CPU_OF(held_parts, middle)->at <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void bytes_append(void *context, const void *bytes, uint64_t count)
{
    uint8_t **to = context;

    memcpy(*to, bytes, count);
    *to += count;
}

bool klog_held_read(uint64_t offset, void *to, uint64_t count)
{
    const uint64_t hold = __atomic_load_n(&holds, __ATOMIC_ACQUIRE);
    const uint64_t bytes = klog_held_bytes();
    struct window window = { .write = bytes_append, .context = &to, .from = offset, .end = offset + count };

    if (offset > bytes || count > bytes - offset)
        return false;
    unsigned cpu = part_find(offset);
    if (offset < HEAD_BYTES)
        head_read(&window);
    else
        window.at = PER_CPU_OF(held_parts, cpu)->at;
    for (; cpu < arch_cpu_count() && window.at < window.end; cpu++)
        part_read(&window, cpu, PER_CPU_OF(held_parts, cpu)->written);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (hold & 1) && __atomic_load_n(&holds, __ATOMIC_RELAXED) == hold;
}

static void port_write(void *context, const void *bytes, uint64_t count)
{
    struct console_device *device = context;

    device->write(device, bytes, count);
}

static void events_print(void)
{
    const struct klog_ring *ring = arch_klog();
    uint64_t first = ring->written > PANIC_EVENTS ? ring->written - PANIC_EVENTS : 0;

    kernel_print("the last events of CPU %u:\n", arch_cpu_index());
    for (uint64_t i = first; i < ring->written; i++) {
        const struct klog_event *event = &ring->events[i & ring->last];

        kernel_print("  %14lu ticks  %-18s %lx %lx  (%s)\n", event->ticks - arch_boot_ticks(),
                     kinds[event->kind].name, event->words[0], event->words[1], kinds[event->kind].words);
    }
}

void klog_end(bool panic)
{
    classes = klog_mask = 0; /* so that other CPUs no longer overwrite the events that led here */
    if (panic)
        events_print();
    if (port)
        klog_file_write(port_write, *port);
}
