/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nettick.c: see nettick.h. Owns what is known of the conductor, under a lock that is a leaf, and for each
 * CPU the period that times it, which only that CPU changes, interrupts off.
 */
#include "beat/nettick.h"
#include "arch.h"
#include "beat/beat_frame.h"
#include "beat/command.h"
#include "beat/global_clock.h"
#include "beat/log_page.h"
#include "beat/node_keys.h"
#include "beat/welcome.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/key.h"
#include "lib/kstring.h"
#include "smp/per_cpu.h"
#include "smp/spinlock.h"
#include "time/clock.h"
#include "time/timer.h"
#include "time/timespec.h"

#define KEYS_LOST_NS (10 * NS_PER_S)

static enum nettick_mode mode;
static const struct clock_event_device *local; /* the best one of the CPUs' own */

static struct spinlock lock;
static struct beat beat; /* the beat that is being read */
static struct global_clock conductor_clock;
static struct heard {
    struct beat_order order;
    uint64_t faults[BEAT_FAULTS], places[BEAT_PLACES], lost;
    uint8_t conductor[BEAT_ADDRESS_BYTES]; /* sender of the last beat that counted */
    /* The beat to answer, and its sender: the last one that counted, or one of an older epoch. 0: none. */
    uint64_t due_epoch, due_sequence;
    uint8_t due_to[BEAT_ADDRESS_BYTES];
    uint64_t answered; /* answers sent */
} heard;
static uint8_t own_address[BEAT_ADDRESS_BYTES];
static uint64_t booted_ns;    /* since 1970, by the node's own clock */
static uint64_t start;        /* drawn for this start of the node */
static uint64_t under_key_ns; /* when a beat under the node's keys came, or it requested others */

/* Of the last beat that counted; each CPU reads them without the lock. */
static uint64_t period_ns, offset_ns;

struct beat_cpu {
    bool is_armed;
    uint64_t armed_ns;  /* when the timer queue wants an interrupt */
    uint64_t exact_ns;  /* when an exact interrupt of the local device is due as well; 0: none */
    uint64_t period_ns; /* period of the beats that time this CPU; 0: its local device times it */
    uint64_t beats, fallbacks;
};

PER_CPU static struct beat_cpu cpus;

/* ---- The clock event device ---- */

/* Returns when the CPU stops waiting for a beat. */
static uint64_t fallback_ns(const struct beat_cpu *here)
{
    return time_add(here->armed_ns, NETTICK_FALLBACK_PERIODS * here->period_ns);
}

/* Returns the time for which the local device is to be armed. */
static uint64_t local_ns(const struct beat_cpu *here)
{
    const uint64_t fallback = fallback_ns(here);

    return here->exact_ns && here->exact_ns < fallback ? here->exact_ns : fallback;
}

static void local_arm(const struct beat_cpu *here)
{
    local->arm(local_ns(here));
}

static void arm(uint64_t when_ns)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);

    here->is_armed = true;
    here->armed_ns = when_ns;
    local_arm(here);
}

static void arm_exact(uint64_t when_ns)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);

    here->exact_ns = when_ns;
    if (here->is_armed)
        local_arm(here);
}

/* Drops the requests up to `now_ns`. The queue arms the device again for timers that are still pending. */
static void requests_end(struct beat_cpu *here, uint64_t now_ns)
{
    here->is_armed = false;
    if (here->exact_ns <= now_ns)
        here->exact_ns = 0;
}

static void disarm(void)
{
    requests_end(PER_CPU_HERE(cpus), TIMER_NEVER);
    local->disarm();
}

/* Handles an interrupt of the local device: for an exact request, for lack of beats, or because the device
 * cannot wait as long. Returns false to keep waiting. */
static bool local_fired(void)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);
    uint64_t now_ns = clock_now_ns();

    while (now_ns < here->exact_ns && here->exact_ns - now_ns < TIMER_EARLY_NS)
        now_ns = clock_now_ns();
    if (here->is_armed && here->period_ns) {
        if (now_ns + TIMER_EARLY_NS < local_ns(here)) {
            local_arm(here);
            return false;
        }
        if (now_ns + TIMER_EARLY_NS >= fallback_ns(here)) {
            here->period_ns = 0;
            here->fallbacks++;
        }
    }
    requests_end(here, now_ns);
    return true;
}

static struct clock_event_device device = { .name = "nettick",
                                            .description = "heartbeats of the conductor",
                                            .rating = NETTICK_RATING,
                                            .arm = arm,
                                            .disarm = disarm,
                                            .local_fired = local_fired,
                                            .arm_exact = arm_exact };

void nettick_interrupt(void)
{
    struct beat_cpu *here = PER_CPU_HERE(cpus);
    const uint64_t period = __atomic_load_n(&period_ns, __ATOMIC_RELAXED);
    uint64_t now_ns;

    timer_wall_check();
    if (mode != NETTICK_INTERRUPT) { /* timers stay with the local device */
        commands_do();
        return;
    }
    here->beats++;
    timer_global_offset_set(__atomic_load_n(&offset_ns, __ATOMIC_RELAXED));
    if (here->period_ns != period) {
        here->period_ns = period;
        if (here->is_armed)
            local_arm(here);
    }
    if (here->is_armed && here->armed_ns <= (now_ns = clock_now_ns())) {
        requests_end(here, now_ns);
        local->disarm();
        timer_serve();
    }
    commands_do();
}

/* ---- Frames ---- */

/* Returns whether nodes are to answer the beat. */
static bool beat_answer_due(void)
{
    bool due = beat.answer_every && beat.sequence % beat.answer_every == 0;

    for (unsigned i = 0; i < beat.command_count; i++)
        due |= beat.commands[i].code & BEAT_ACKNOWLEDGE;
    return due;
}

/* Has the beat answered. */
static void answer_set(const uint8_t from[BEAT_ADDRESS_BYTES])
{
    heard.due_epoch = beat.epoch;
    __builtin_memcpy(heard.due_to, from, sizeof(heard.due_to));
    __atomic_store_n(&heard.due_sequence, beat.sequence, __ATOMIC_RELAXED);
}

/* Makes wall time follow the line, if the line or TAI minus UTC has changed. After a change of conductors it
 * follows once the line is made from beats of the new one. Returns as clock_wall_line_set. */
static bool wall_follow(uint64_t last_base_ns)
{
    static uint32_t tai_utc_s;
    const struct global_line *line = &conductor_clock.line;

    if (conductor_clock.windows == 0 || (line->base_local == last_base_ns && beat.tai_utc_s == tai_utc_s))
        return false;
    tai_utc_s = beat.tai_utc_s;
    return clock_wall_line_set(line->base_local, line->base_global, line->slope, tai_utc_s * NS_PER_S);
}

/* Takes a beat that is the next one or a later one. The caller holds the lock. Returns whether all CPUs are
 * to get it: if beats time them, if wall time has stepped, or if there are commands. */
static bool beat_take(uint64_t now_ns, enum beat_place place, uint64_t missing)
{
    const uint64_t last_base_ns = conductor_clock.line.base_local;

    if (place == BEAT_NEW_EPOCH)
        global_clock_restart(&conductor_clock);
    global_clock_update(&conductor_clock, now_ns, beat.time_ns + beat.late_ns);
    __atomic_store_n(&offset_ns, global_line_at(&conductor_clock.line, now_ns) - now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&period_ns, beat.period_ns, __ATOMIC_RELAXED);
    klog(beat, beat.sequence, missing);
    const bool stepped = wall_follow(last_base_ns);
    const bool commanded = beat.command_count && commands_accept(&beat);
    return stepped || commanded || clock_event_top == &device;
}

/* Sets what depends on the beats' key. */
static void welcome_set(void)
{
    commands_welcome_set(welcome_of(node_keys_open()->now.beats, own_address, start));
    node_keys_close();
}

/* Takes an answer with keys. */
static enum beat_fault keys_take(const uint8_t *payload, size_t bytes)
{
    const bool are_first = !node_keys_state.has_keys;
    const enum beat_fault fault = node_keys_take(payload, bytes);

    if (fault == BEAT_FINE && are_first) {
        welcome_set();
        kernel_print("nettick: the conductor's keys have come\n");
    }
    return fault;
}

/* Reads a beat under the keys that count, or under the next ones: then *is_next. */
static enum beat_fault beat_read(const uint8_t *payload, size_t bytes, const uint8_t *from, bool *is_next)
{
    const struct node_secrets *keys = node_keys_open();
    enum beat_fault fault = beat_decode(payload, bytes, keys->now.beats, from, &beat);

    *is_next = fault == BEAT_FORGED && node_keys_state.has_next;
    if (*is_next)
        fault = beat_decode(payload, bytes, keys->next.beats, from, &beat);
    node_keys_close();
    return fault;
}

/* Requests keys once more if beats have come under other keys alone for some time. */
static void keys_check(enum beat_fault fault, uint64_t now_ns)
{
    if (fault == BEAT_FORGED && node_keys_state.come && now_ns - under_key_ns > KEYS_LOST_NS) {
        node_keys_renew();
        under_key_ns = now_ns;
    }
    if (fault == BEAT_FINE)
        under_key_ns = now_ns;
}

bool nettick_frame(const uint8_t *payload, size_t bytes, const uint8_t from[BEAT_ADDRESS_BYTES])
{
    uint64_t missing;
    bool is_next;

    if (mode == NETTICK_OFF)
        return false;
    if (bytes > 1 && payload[1] == BEAT_KIND_KEY_ANSWER) {
        keys_take(payload, bytes);
        return false;
    }
    if (!node_keys_state.has_keys)
        return false;
    SPIN_GUARD(&lock);
    const uint64_t now_ns = clock_now_ns(); /* not before the time of another CPU's beat */
    const enum beat_fault fault = beat_read(payload, bytes, from, &is_next);
    keys_check(fault, now_ns);
    heard.faults[fault]++;
    if (fault == BEAT_FINE) {
        const enum beat_place place = beat_order_take(&heard.order, &beat, now_ns, &missing);

        heard.places[place]++;
        heard.lost += missing;
        if (place != BEAT_DUPLICATE && place != BEAT_LATE) {
            if (is_next) {
                node_keys_advance();
                welcome_set();
            }
            __builtin_memcpy(heard.conductor, from, sizeof(heard.conductor));
            heard.due_sequence = 0;
            if (beat_answer_due())
                answer_set(from);
            return beat_take(now_ns, place, missing);
        }
        if (beat_order_passes_over(&heard.order, &beat, now_ns))
            answer_set(from);
    }
    return false;
}

void nettick_pass_on(void)
{
    arch_beat_send(false);
    nettick_interrupt();
}

/* Checks without the lock, for the CPU that has taken the beat; nettick_answer checks again. */
bool nettick_answer_due(void)
{
    return __atomic_load_n(&heard.due_sequence, __ATOMIC_RELAXED) != 0;
}

/* Says, once a minute at most, that a conductor's beats are passed over. */
static void passed_over_say(const struct answer *answer, const uint8_t *from)
{
    static uint64_t said_ns;
    const uint64_t now_ns = clock_now_ns();

    if (said_ns && now_ns - said_ns < 60 * NS_PER_S)
        return;
    said_ns = now_ns;
    kernel_print(
        "nettick: the conductor %02x:%02x:%02x:%02x:%02x:%02x is in epoch %lu; this node follows epoch "
        "%lu, which is silent, and has told that conductor to begin a higher one\n",
        from[0], from[1], from[2], from[3], from[4], from[5], answer->epoch, answer->follows);
}

bool nettick_answer(const char *name, uint32_t address, uint8_t conductor[BEAT_ADDRESS_BYTES],
                    uint8_t payload[ANSWER_BYTES])
{
    struct answer answer = { .cpus = (uint16_t)arch_cpu_count(),
                             .booted_ns = booted_ns,
                             .start = start,
                             .polls = mode == NETTICK_POLL };

    for (unsigned i = 0; i + 1 < ANSWER_NAME_BYTES && name[i]; i++)
        answer.name[i] = name[i];
    memcpy(answer.address, &address, sizeof(answer.address));

    spin_lock(&lock);
    if (!heard.due_sequence) {
        spin_unlock(&lock);
        return false;
    }
    heard.answered++;
    answer.epoch = heard.due_epoch;
    answer.sequence = heard.due_sequence;
    answer.follows = heard.order.epoch;
    heard.due_sequence = 0;
    answer.error_ns = conductor_clock.error_ns;
    answer.beats = heard.places[BEAT_NEXT] + heard.places[BEAT_AFTER_LOST] + heard.places[BEAT_NEW_EPOCH];
    answer.lost = heard.lost;
    memcpy(conductor, heard.due_to, sizeof(heard.due_to));
    commands_answer(&answer);
    answer.has_next_keys = node_keys_state.has_next;
    spin_unlock(&lock);
    answer_encode(&answer, node_keys_open()->now.beats, own_address, payload);
    node_keys_close();
    if (answer.follows != answer.epoch)
        passed_over_say(&answer, conductor);
    return true;
}

void nettick_moment(struct nettick_moment *moment)
{
    SPIN_GUARD(&lock);
    moment->epoch = heard.order.epoch;
    moment->sequence = heard.order.sequence;
    memcpy(moment->conductor, heard.conductor, sizeof(moment->conductor));
    moment->local_ns = clock_now_ns();
    moment->global_ns = global_line_at(&conductor_clock.line, moment->local_ns);
    moment->drift = conductor_clock.drift;
    moment->error_ns = conductor_clock.error_ns;
}

/* ---- Start ---- */

int nettick_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "nettick");
    const bool is_off = !text || strcmp(text, "off") == 0;

    booted_ns = clock_wall_ns(NULL);
    start = arch_random() ^ booted_ns; /* if nothing better is random, time is */
    const int error = node_keys_configure(line, start, why);
    if (error || is_off)
        return !error && node_keys_state.come
                   ? message_set(why, -EINVAL, "conductor_key= needs nettick=irq or nettick=poll")
                   : error;
    if (strcmp(text, "irq") == 0)
        mode = NETTICK_INTERRUPT;
    else if (strcmp(text, "poll") == 0)
        mode = NETTICK_POLL;
    else
        return message_set(why, -EINVAL, "nettick=%s: unknown; use irq, poll or off", text);
    if (!node_keys_state.has_keys && !node_keys_state.come)
        return message_set(
            why, -EINVAL,
            "nettick=%s needs conductor_key=, the conductor's public key, or nettick_key=, its "
            "key for beats: 32 hexadecimal digits",
            text);
    local = clock_event_top;
    if (mode == NETTICK_INTERRUPT && !local)
        return message_set(why, -EINVAL,
                           "nettick=irq needs CPUs with timers of their own, for lost beats; these "
                           "have none: use nettick=poll");
    if (mode == NETTICK_INTERRUPT)
        clock_event_register(&device);
    return 0;
}

enum nettick_mode nettick_mode(void)
{
    return mode;
}

void nettick_card_set(const uint8_t address[BEAT_ADDRESS_BYTES])
{
    memcpy(own_address, address, sizeof(own_address));
    node_keys_card_set(address);
    welcome_set();
    log_pages_set(address, start);
}

/* ---- For people ---- */

struct nettick_shared nettick_shared;

static const char *state_name(const struct beat_order *order, uint64_t now_ns)
{
    if (!order->epoch)
        return "none";
    if (!order->period_ns)
        return "resting";
    return beat_order_is_silent(order, now_ns) ? "lost" : "beating";
}

/* Prints a copy, made under the lock, so that frames do not wait for the printing. */
static void heard_describe(struct text_sink *sink)
{
    static const char *const fault_names[BEAT_FAULTS] = { "fine",       "truncated", "other_version",
                                                          "other_kind", "forged",    "absurd" };
    static const char *const place_names[BEAT_PLACES] = { "next", "after_lost", "duplicate", "late",
                                                          "new_epoch" };

    spin_lock(&lock);
    const struct heard copy = heard;
    const struct global_line line = conductor_clock.line;
    const int64_t error_ns = conductor_clock.error_ns;
    const uint64_t steps = conductor_clock.steps, period = period_ns, now_ns = clock_now_ns();
    spin_unlock(&lock);

    sink_print(sink, "state %s\nepoch %lu\nsequence %lu\nperiod_ns %lu\nage_ns %lu\n",
               state_name(&copy.order, now_ns), copy.order.epoch, copy.order.sequence, period,
               copy.order.epoch ? now_ns - copy.order.heard_ns : 0);
    for (unsigned i = 0; i < BEAT_FAULTS; i++)
        sink_print(sink, "%s %lu\n", fault_names[i], copy.faults[i]);
    for (unsigned i = 0; i < BEAT_PLACES; i++)
        sink_print(sink, "%s %lu\n", place_names[i], copy.places[i]);
    sink_print(sink, "lost %lu\nanswered %lu\nlocal_ns %lu\nglobal_ns %lu\nerror_ns %ld\nsteps %lu\n",
               copy.lost, copy.answered, now_ns, copy.order.epoch ? global_line_at(&line, now_ns) : 0,
               error_ns, steps);
}

void nettick_describe(struct text_sink *sink)
{
    static const char *const mode_names[] = { "off", "poll", "irq" };

    sink_print(sink, "mode %s\n", mode_names[mode]);
    if (mode == NETTICK_OFF)
        return;
    heard_describe(sink);
    if (nettick_shared.is_used)
        sink_print(sink,
                   "card_interrupts %lu\ncard_interrupts_without_beat %lu\ncard_data_frames %lu\n"
                   "card_data_dropped %lu\n",
                   nettick_shared.interrupts, nettick_shared.without_beat, nettick_shared.data_frames,
                   nettick_shared.data_dropped);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct beat_cpu *of = PER_CPU_OF(cpus, cpu);

        sink_print(sink, "cpu%u beats %lu fallbacks %lu windows %lu goes_by %s\n", cpu, of->beats,
                   of->fallbacks, commands_windows(cpu), of->period_ns ? "beats" : "local");
    }
}
