/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * klog.h: the flight log: the latest events of each CPU, in a ring of fixed 32-byte records, from boot on
 * [Tsafrir05 §3.1 uses such a log, "klogger", to find the cause of each detour].
 *
 * Writing takes no lock: only its CPU writes to a ring, with interrupts off (a non-maskable interrupt of the
 * kernel is not logged). A ring is read while its CPU may write to it; an event that was overwritten
 * meanwhile is marked so, wherever in the ring it is. Classes of events can be switched off; system calls are
 * off at first, so that an empty system call stays cheap. The log of all CPUs can be held, so that it can be
 * read in pieces.
 *
 * The file (/proc/tacet/klog, and what klog=PORT sends at the end), little-endian on every architecture that
 * Tacet runs on: struct klog_header, then `kinds` times struct klog_kind, then `cpu_count` times: struct
 * klog_cpu and its events, oldest first.
 */
#ifndef TACET_KLOG_H
#define TACET_KLOG_H

#include "arch/platform.h"
#include "lib/command_line.h"
#include "smp/spinlock.h"

#define KLOG_EVENTS  1024 /* a CPU, at most; a power of two, as the events of any ring */
#define KLOG_VERSION 2

/* In the file, the kind of an event that its CPU overwrote while it was read; its other fields are invalid.
 */
#define KLOG_OVERWRITTEN UINT32_MAX

#define KLOG_CLASS_LIST(CLASS) \
    CLASS(boot) CLASS(process) CLASS(syscall) CLASS(trap) CLASS(timer) CLASS(memory) CLASS(mark)

enum klog_class {
#define CLASS(name) KLOG_CLASS_##name,
    KLOG_CLASS_LIST(CLASS)
#undef CLASS
        KLOG_CLASSES
};

enum klog_event_kind {
#define KLOG(name, class, words) KLOG_##name,
#include "debug/klog.def"
#undef KLOG
    KLOG_KINDS
};

/* The class of each kind, for the macro below. */
enum {
#define KLOG(name, class, words) KLOG_##name##_class = KLOG_CLASS_##class,
#include "debug/klog.def"
#undef KLOG
};

struct klog_event {
    uint64_t ticks; /* of the clock source */
    uint32_t kind;
    uint32_t cpu;
    uint64_t words[2];
};

struct klog_ring {
    uint64_t written; /* events ever; the newest is at (written - 1) & last */
    uint64_t last;    /* index of the last slot */
    struct klog_event events[];
};

/* A ring is memory of this size, zeroed, with `last` set: by the architecture, for each of its CPUs. */
#define KLOG_RING_BYTES(events) (sizeof(struct klog_ring) + (events) * sizeof(struct klog_event))

struct klog_header {
    char magic[8]; /* "TACETLOG" */
    uint32_t version, cpu_count, kinds, event_bytes;
    uint64_t clock_hz, boot_ticks;
    char architecture[16]; /* whose system calls and vectors the numbers in events are; NUL-padded */
};

struct klog_kind {
    char name[24], class[16], words[40]; /* NUL-padded */
};

struct klog_cpu {
    uint32_t cpu, count; /* of events that follow */
    uint64_t lost;       /* older events, overwritten */
};

extern uint32_t klog_mask; /* a bit a class */

ONE_COPY void klog_write(enum klog_event_kind kind, uint64_t first, uint64_t second)
{
    const uint64_t ticks = arch_ticks();
    struct klog_ring *ring = arch_klog();
    const uint64_t number = ring->written;
    struct klog_event *event = &ring->events[number & ring->last];

    /* A reader that sees any of the stores below sees the count of the event before, too. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *event = (struct klog_event){ ticks, kind, arch_cpu_index(), { first, second } };
    __atomic_store_n(&ring->written, number + 1, __ATOMIC_RELEASE);
}

/* klog(timer_arm, deadline, boundary): logs one event, if its class is on. Any context. The mask is read
 * plainly: an event more or less, while a class is switched, does not matter. */
#define klog(name, first, second)                       \
    do {                                                \
        if (klog_mask & 1U << KLOG_##name##_class)      \
            klog_write(KLOG_##name, (first), (second)); \
    } while (0)

/* Applies `klog=PORT` and `klog_classes=CLASS,…` ("all", "none"). -EINVAL with `why`. */
int klog_configure(const struct command_line *line, struct message *why);

/* Applies "+CLASS" or "-CLASS", as written to /proc/tacet/klog. -EINVAL. */
int klog_switch(const char *text);

/* Applies the mask to this CPU's system calls: its entry code has a variant that logs them. */
void klog_cpu_start(void);

/* Passes the file's bytes to `write` in order. */
void klog_file_write(void (*write)(void *context, const void *bytes, uint64_t count), void *context);

/* Holds the log: until it is released no CPU writes an event, whatever classes are on, and the file does not
 * change. What happens meanwhile is in no log. Returns false if it is held already. One CPU's work, any
 * context; so is releasing it. */
bool klog_hold(void);
void klog_release(void);

/* Returns the held file's length in bytes; 0: it is not held. */
uint64_t klog_held_bytes(void);

/* Copies `count` of them, from `offset` on. Returns false if they are not there, or the log has been released
 * meanwhile. Any CPU. Takes time in proportion to `count`, at any offset. */
bool klog_held_read(uint64_t offset, void *to, uint64_t count);

/* Writes the file to klog='s port when the node stops; after a panic, prints this CPU's newest events on the
 * console. */
void klog_end(bool panic);

#endif
