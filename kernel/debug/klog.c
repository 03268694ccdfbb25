/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * klog.c: classes and the file of the flight log (klog.h). Owns the mask; rings belong to their CPUs. Reading
 * runs on any CPU, and needs no lock.
 */
#include "debug/klog.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/cpu_mask.h"
#include "smp/crosscall.h"

#define PANIC_EVENTS 32

uint32_t klog_mask = ((1U << KLOG_CLASSES) - 1) & ~(1U << KLOG_CLASS_syscall);

#define CLASS(name) #name,
static const char *const class_names[KLOG_CLASSES] = { KLOG_CLASS_LIST(CLASS) };
#undef CLASS

static const struct {
    const char *name, *words;
    enum klog_class class;
} kinds[KLOG_KINDS] = {
#define KLOG(name, class, words) { #name, words, KLOG_CLASS_##class },
#include "debug/klog.def"
#undef KLOG
};

static struct console_device *port; /* klog= */

/* ---- Classes ---- */

static int class_find(const char *name, size_t bytes)
{
    for (int class = 0; class < KLOG_CLASSES; class ++)
        if (strlen(class_names[class]) == bytes && strncmp(class_names[class], name, bytes) == 0)
            return class;
    return -1;
}

static int classes_parse(const char *text, uint32_t *mask, struct message *why)
{
    *mask = strcmp(text, "all") == 0 ? (1U << KLOG_CLASSES) - 1 : 0;
    if (*mask || strcmp(text, "none") == 0)
        return 0;
    while (*text) {
        const char *comma = text;

        while (*comma && *comma != ',')
            comma++;
        int class = class_find(text, (size_t)(comma - text));
        if (class < 0)
            return message_set(why, -EINVAL,
                               "klog_classes=%.*s: no such class; there are boot, process, syscall, trap, "
                               "timer, memory, mark, or all, none",
                               (int)(comma - text), text);
        *mask |= 1U << class;
        text = *comma ? comma + 1 : comma;
    }
    return 0;
}

int klog_configure(const struct command_line *line, struct message *why)
{
    const char *classes = command_line_option(line, "klog_classes");
    const char *name = command_line_option(line, "klog");
    int error = classes ? classes_parse(classes, &klog_mask, why) : 0;

    if (!error && name)
        error = console_find("klog", name, &port, why);
    return error;
}

void klog_cpu_start(void)
{
    arch_system_calls_log(klog_mask & 1U << KLOG_CLASS_syscall);
}

static void system_calls_follow(void *unused)
{
    (void)unused; /* of a crosscall */
    klog_cpu_start();
}

/* Only the class of system calls needs an IPI to the other CPUs: events of other classes check the mask. */
int klog_switch(const char *text)
{
    uint32_t before = klog_mask;
    int class = text[0] == '+' || text[0] == '-' ? class_find(text + 1, strlen(text + 1)) : -1;

    if (class < 0)
        return -EINVAL;
    if (text[0] == '+')
        __atomic_fetch_or(&klog_mask, 1U << class, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&klog_mask, ~(1U << class), __ATOMIC_RELAXED);
    if (((before ^ klog_mask) & 1U << KLOG_CLASS_syscall) == 0)
        return 0;
    klog_cpu_start();
    const struct cpu_mask all = cpu_mask_below(arch_cpu_count());
    crosscall(&all, system_calls_follow, NULL);
    return 0;
}

/* Called by the entry code's variant that logs (arch.h). */
void klog_system_call(uint64_t number, uint64_t argument);
void klog_system_call(uint64_t number, uint64_t argument)
{
    klog(system_call, number, argument);
}

void klog_system_call_end(uint64_t number, uint64_t result);
void klog_system_call_end(uint64_t number, uint64_t result)
{
    klog(system_call_end, number, result);
}

/* ---- The file ---- */

uint64_t klog_file_bytes(void)
{
    return sizeof(struct klog_header) + KLOG_KINDS * sizeof(struct klog_kind) +
           arch_cpu_count() * (sizeof(struct klog_cpu) + KLOG_EVENTS * sizeof(struct klog_event));
}

/* Copies one event, and reads the count after that: by then its CPU may have overwritten it. The count is of
 * complete events, so the slot of the next one may be half-written, too. */
static struct klog_event event_read(const struct klog_ring *ring, uint64_t number)
{
    struct klog_event event = ring->events[number & ring->last];

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&ring->written, __ATOMIC_RELAXED) - number > ring->last)
        event = (struct klog_event){ .kind = KLOG_OVERWRITTEN };
    return event;
}

static void ring_write(unsigned cpu, void (*write)(void *context, const void *bytes, uint64_t count),
                       void *context)
{
    const struct klog_ring *ring = arch_klog_of(cpu);
    uint64_t written = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    uint64_t first = written > ring->last ? written - ring->last : 0;
    struct klog_cpu header = { .cpu = cpu, .count = (uint32_t)(written - first), .lost = first };

    write(context, &header, sizeof(header));
    for (uint64_t i = first; i < written; i++) {
        struct klog_event event = event_read(ring, i);

        write(context, &event, sizeof(event));
    }
}

void klog_file_write(void (*write)(void *context, const void *bytes, uint64_t count), void *context)
{
    struct klog_header header = {
        .magic = { 'T', 'A', 'C', 'E', 'T', 'L', 'O', 'G' },
        .version = KLOG_VERSION,
        .cpu_count = arch_cpu_count(),
        .kinds = KLOG_KINDS,
        .event_bytes = sizeof(struct klog_event),
        .clock_hz = arch_clock_hz(),
        .boot_ticks = arch_boot_ticks(),
    };

    write(context, &header, sizeof(header));
    for (unsigned i = 0; i < KLOG_KINDS; i++) {
        struct klog_kind kind = { .name = "" };

        format_text(kind.name, sizeof(kind.name), "%s", kinds[i].name);
        format_text(kind.class, sizeof(kind.class), "%s", class_names[kinds[i].class]);
        format_text(kind.words, sizeof(kind.words), "%s", kinds[i].words);
        write(context, &kind, sizeof(kind));
    }
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        ring_write(cpu, write, context);
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
    klog_mask = 0; /* so that other CPUs no longer overwrite the events that led here */
    if (panic)
        events_print();
    if (port)
        klog_file_write(port_write, port);
}
