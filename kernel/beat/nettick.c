/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nettick.c: see nettick.h. Owns what is known of the conductor, under a lock that is a leaf, and of each CPU
 * the period that it goes by, which that CPU alone changes, interrupts off.
 */
#include "beat/nettick.h"
#include "arch.h"
#include "beat/beat_frame.h"
#include "beat/global_clock.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/per_cpu.h"
#include "smp/spinlock.h"
#include "time/clock.h"
#include "time/timer.h"
#include "time/timespec.h"

static enum nettick_mode mode;
static uint8_t key[SIPHASH_KEY_BYTES];
static const struct clock_event_device *local; /* the best of the CPUs' own; NULL: they have none */

static struct spinlock lock;
static struct beat beat; /* the one that is being read */
static struct beat_order order;
static struct global_clock conductor_clock;
static uint64_t received_ns; /* the last one that counted; local time */
static uint64_t faults[BEAT_FAULTS], places[BEAT_PLACES], lost;

/* Of the last beat that counted; each CPU reads them without the lock. */
static uint64_t period_ns, offset_ns;

struct beat_cpu {
    bool is_armed;
    uint64_t armed_ns;  /* the timer queue's request */
    uint64_t period_ns; /* that it goes by; 0: by its local device */
    uint64_t beats, fallbacks;
};

PER_CPU static struct beat_cpu cpus;

/* ---- The clock event device ---- */

static void local_arm(const struct beat_cpu *here)
{
    if (local)
        local->arm(time_add(here->armed_ns, NETTICK_FALLBACK_PERIODS * here->period_ns));
}

static void local_disarm(void)
{
    if (local)
        local->disarm();
}

static void arm(uint64_t when_ns)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);

    here->is_armed = true;
    here->armed_ns = when_ns;
    local_arm(here);
}

static void disarm(void)
{
    PER_CPU_HERE(cpus)->is_armed = false;
    local_disarm();
}

/* The local device has fired, for the lack of beats or for itself. The timers that are due expire now, so it
 * is for the lack of beats also where it fires before the last period is over: by some microseconds, as it is
 * calibrated, or by more, where it cannot wait as long. */
static void local_fired(void)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);

    if (!here->is_armed || !here->period_ns || clock_now_ns() < here->armed_ns)
        return;
    here->period_ns = 0;
    here->fallbacks++;
}

static struct clock_event_device device = { .name = "nettick",
                                            .description = "heartbeats of the conductor",
                                            .rating = NETTICK_RATING,
                                            .arm = arm,
                                            .disarm = disarm,
                                            .local_fired = local_fired };

void nettick_interrupt(void)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);
    const uint64_t period = __atomic_load_n(&period_ns, __ATOMIC_RELAXED);

    here->beats++;
    timer_global_offset_set(__atomic_load_n(&offset_ns, __ATOMIC_RELAXED));
    if (here->period_ns != period) {
        here->period_ns = period;
        if (here->is_armed)
            local_arm(here);
    }
    if (here->is_armed && here->armed_ns <= clock_now_ns()) {
        disarm();
        timer_serve();
    }
}

/* ---- Frames ---- */

/* With the lock: what a beat says that is the next one, or a later one. */
static void beat_take(uint64_t now_ns, enum beat_place place)
{
    if (place == BEAT_NEW_EPOCH)
        global_clock_restart(&conductor_clock);
    global_clock_update(&conductor_clock, now_ns, beat.time_ns + beat.late_ns);
    received_ns = now_ns;
    __atomic_store_n(&offset_ns, global_line_at(&conductor_clock.line, now_ns) - now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&period_ns, beat.period_ns, __ATOMIC_RELAXED);
}

void nettick_frame(const uint8_t *payload, size_t bytes)
{
    const uint64_t now_ns = clock_now_ns();
    bool counts = false;
    uint64_t missing;

    if (mode == NETTICK_OFF)
        return;
    spin_lock(&lock);
    const enum beat_fault fault = beat_decode(payload, bytes, key, &beat);
    faults[fault]++;
    if (fault == BEAT_FINE) {
        const enum beat_place place = beat_order_take(&order, &beat, &missing);

        places[place]++;
        lost += missing;
        counts = place != BEAT_DUPLICATE && place != BEAT_LATE;
        if (counts) {
            beat_take(now_ns, place);
            klog(beat, beat.sequence, missing);
        }
    }
    spin_unlock(&lock);
    if (counts && mode == NETTICK_INTERRUPT && clock_event_top() == &device)
        arch_beat_send();
}

/* ---- Start ---- */

/* A hexadecimal digit's value; 16: it is none. */
static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 16;
}

static bool key_read(const char *text)
{
    if (!text || strlen(text) != 2 * sizeof(key))
        return false;
    for (size_t i = 0; i < sizeof(key); i++) {
        const unsigned high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

        if (high > 15 || low > 15)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

int nettick_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "nettick");

    if (!text || strcmp(text, "off") == 0)
        return 0;
    mode = strcmp(text, "irq") == 0    ? NETTICK_INTERRUPT
           : strcmp(text, "poll") == 0 ? NETTICK_POLL
                                       : NETTICK_OFF;
    if (mode == NETTICK_OFF)
        return message_set(why, -EINVAL, "nettick=%s: heartbeats can be taken by irq or poll, or be off",
                           text);
    if (!key_read(command_line_option(line, "nettick_key")))
        return message_set(why, -EINVAL,
                           "nettick=%s takes nettick_key=, the conductor's key: 32 hexadecimal digits", text);
    local = clock_event_top();
    if (mode == NETTICK_INTERRUPT)
        clock_event_register(&device);
    return 0;
}

enum nettick_mode nettick_mode(void)
{
    return mode;
}

/* ---- For people ---- */

static const char *state_name(uint64_t now_ns)
{
    return !order.epoch                                                  ? "none"
           : !period_ns                                                  ? "resting"
           : now_ns - received_ns > NETTICK_FALLBACK_PERIODS * period_ns ? "lost"
                                                                         : "beating";
}

void nettick_describe(struct text_sink *sink)
{
    static const char *const fault_names[BEAT_FAULTS] = { "fine",       "truncated", "other_version",
                                                          "other_kind", "forged",    "absurd" };
    static const char *const place_names[BEAT_PLACES] = { "next", "after_lost", "duplicate", "late",
                                                          "new_epoch" };
    static const char *const mode_names[] = { "off", "poll", "irq" };

    sink_print(sink, "mode %s\n", mode_names[mode]);
    if (mode == NETTICK_OFF)
        return;
    spin_lock(&lock);
    const uint64_t now_ns = clock_now_ns();

    sink_print(sink, "state %s\nepoch %lu\nsequence %lu\nperiod_ns %lu\nage_ns %lu\n", state_name(now_ns),
               order.epoch, order.sequence, period_ns, order.epoch ? now_ns - received_ns : 0);
    for (unsigned i = 0; i < BEAT_FAULTS; i++)
        sink_print(sink, "%s %lu\n", fault_names[i], faults[i]);
    for (unsigned i = 0; i < BEAT_PLACES; i++)
        sink_print(sink, "%s %lu\n", place_names[i], places[i]);
    sink_print(sink, "lost %lu\nlocal_ns %lu\nglobal_ns %lu\nerror_ns %ld\nsteps %lu\n", lost, now_ns,
               conductor_clock.is_set ? global_line_at(&conductor_clock.line, now_ns) : 0,
               conductor_clock.error_ns, conductor_clock.steps);
    spin_unlock(&lock);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct beat_cpu *of = PER_CPU_OF(cpus, cpu);

        sink_print(sink, "cpu%u beats %lu fallbacks %lu goes_by %s\n", cpu, of->beats, of->fallbacks,
                   of->period_ns ? "beats" : "local");
    }
}
