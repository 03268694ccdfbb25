/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beats.c: a Linux node under the conductor's beats (launchd.h, docs/nettick.md). It answers beats that ask
 * for an answer, so that the conductor knows the node, and does the commands stop, continue and kill with the
 * job's processes. It answers other commands with ENOSYS. Linux's clocks and timers do not follow beats.
 */
#include "service/launchd/launchd.h"
#include "beat/global_clock.h"
#include "beat/welcome.h"
#include "lib/bytes.h"
#include "service/lib/say.h"
#include "service/lib/wire.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define FRAMES_PER_TURN 64

static struct {
    struct watch watch;
    struct wire wire;
    struct beat_order order;
    struct global_clock clock;
    uint64_t booted_ns, taken, lost;
    uint32_t tai_utc_s;
    uint64_t start;   /* random; another one at each start of the program */
    bool is_welcomed; /* the conductor of this epoch has welcomed the node (beat/welcome.h) */
    uint64_t epoch;   /* the commands' epoch */
    uint32_t done;    /* number of the last command done in this epoch; 0: none */
    uint32_t result;
} beats;

/* Does a command. Returns 0, or an errno. A command for a job that does not run here is done at once. */
static uint32_t command_do(const struct beat_command *command)
{
    const unsigned code = command->code & BEAT_CODE_MASK;

    if (code == BEAT_REKEY)
        return keys_renew();
    if (code != BEAT_STOP && code != BEAT_CONTINUE && code != BEAT_KILL)
        return ENOSYS;
    if (command->bytes != 0 && command->bytes != 4)
        return EINVAL;
    if (command->bytes == 4 && (!job_number() || load_be32(command->body) != job_number()))
        return 0;
    if (code == BEAT_KILL)
        job_kill();
    else
        job_stop(code == BEAT_STOP);
    return 0;
}

static void commands_do(const struct beat *beat)
{
    if (beat->epoch != beats.epoch) {
        beats.epoch = beat->epoch;
        beats.done = beats.result = 0;
        beats.is_welcomed = false;
    }
    beats.is_welcomed = beats.is_welcomed ||
                        welcome_is_in(beat, welcome_of(launchd.keys.beats, beats.wire.address, beats.start));
    for (unsigned i = 0; beats.is_welcomed && i < beat->command_count; i++) {
        if (beat->commands[i].number <= beats.done)
            continue;
        beats.result = command_do(&beat->commands[i]);
        beats.done = beat->commands[i].number;
    }
}

static bool answer_is_due(const struct beat *beat)
{
    bool is_due = beat->answer_every && beat->sequence % beat->answer_every == 0;

    for (unsigned i = 0; i < beat->command_count; i++)
        is_due |= beat->commands[i].code & BEAT_ACKNOWLEDGE;
    return is_due;
}

/* Answers a beat: the last one, or one of an older epoch than that which the node follows. */
static void answer_send(const struct beat *beat, const uint8_t to[6])
{
    const bool is_last = beat->epoch == beats.order.epoch;
    struct answer answer = { .state = job_is_stopped() ? ANSWER_STOPPED : ANSWER_RUNNING,
                             .cpus = (uint16_t)launchd.cpus.count,
                             .epoch = beat->epoch,
                             .sequence = beat->sequence,
                             .follows = beats.order.epoch,
                             .booted_ns = beats.booted_ns,
                             .start = beats.start,
                             .is_welcomed = is_last && beats.is_welcomed,
                             .has_next_keys = keys_have_next(),
                             .error_ns = beats.clock.error_ns,
                             .beats = beats.taken,
                             .lost = beats.lost,
                             .done = is_last ? beats.done : 0,
                             .result = is_last ? beats.result : 0,
                             .ranks = (uint16_t)job_ranks(),
                             .job = job_number() };
    uint8_t payload[ANSWER_BYTES];

    memcpy(answer.address, &launchd.address, sizeof(answer.address));
    memcpy(answer.name, launchd.name, sizeof(answer.name));
    answer_encode(&answer, launchd.keys.beats, beats.wire.address, payload);
    wire_send_to(&beats.wire, to, payload, sizeof(payload)); /* if this fails, the next beat asks again */
}

/* Tells the conductor of an older epoch that the node follows a newer one, and its log once a minute at
 * most. */
static void newer_epoch_tell(const struct beat *beat, const uint8_t to[6])
{
    static uint64_t said_ns;
    const uint64_t now_ns = clock_now_ns();

    answer_send(beat, to);
    if (said_ns && now_ns - said_ns < 60 * SECOND_NS)
        return;
    said_ns = now_ns;
    say("the conductor %02x:%02x:%02x:%02x:%02x:%02x is in epoch %" PRIu64
        "; this node follows epoch %" PRIu64
        ", which is silent, and has told that conductor to begin a higher one",
        to[0], to[1], to[2], to[3], to[4], to[5], beat->epoch, beats.order.epoch);
}

static void beat_take(const struct beat *beat, const struct wire_frame *frame, bool is_under_next)
{
    const uint64_t now_ns = clock_now_ns(); /* monotonic, because the wall clock may be set */
    uint64_t missing;
    const enum beat_place place = beat_order_take(&beats.order, beat, now_ns, &missing);

    if (place == BEAT_LATE && beat_order_passes_over(&beats.order, beat, now_ns))
        newer_epoch_tell(beat, frame->from);
    if (place == BEAT_DUPLICATE || place == BEAT_LATE)
        return;
    if (is_under_next)
        keys_advance();
    if (place == BEAT_NEW_EPOCH)
        global_clock_restart(&beats.clock);
    beats.taken++;
    beats.lost += missing;
    global_clock_update(&beats.clock, now_ns, beat->time_ns + beat->late_ns);
    beats.tai_utc_s = beat->tai_utc_s;
    commands_do(beat);
    if (answer_is_due(beat))
        answer_send(beat, frame->from);
}

static void frame_take(const struct wire_frame *frame)
{
    struct beat beat;
    bool is_under_next;

    if (frame->bytes > 1 && frame->payload[1] == BEAT_KIND_KEY_ANSWER)
        keys_take(frame->payload, frame->bytes);
    else if (keys_beat_decode(frame, &beat, &is_under_next) == BEAT_FINE)
        beat_take(&beat, frame, is_under_next);
}

static void beats_ready(struct watch *watch, uint32_t events)
{
    static struct wire_frame frame;

    (void)watch;  /* there is one wire */
    (void)events; /* reads until nothing is left, or the turn's frames are used up */
    for (unsigned i = 0; i < FRAMES_PER_TURN && wire_receive(&beats.wire, &frame) == 0; i++)
        if (frame.is_for_us)
            frame_take(&frame);
}

uint64_t beats_utc_s(void)
{
    if (!beats.clock.is_set)
        return clock_read_ns(CLOCK_REALTIME) / SECOND_NS;
    return global_line_at(&beats.clock.line, clock_now_ns()) / SECOND_NS - beats.tai_utc_s;
}

int beats_open(const char *interface, const char **what)
{
    beats.booted_ns = clock_read_ns(CLOCK_REALTIME);
    if (wire_open(&beats.wire, interface, what))
        return -1;
    *what = "the number of this start";
    if (getrandom(&beats.start, sizeof(beats.start), 0) != sizeof(beats.start))
        return -1;
    *what = "listening";
    for (unsigned i = 0; i < sizeof(beats.wire.address); i++)
        sprintf(launchd.id + 2 * i, "%02x", beats.wire.address[i]);
    keys_open(&beats.wire, beats.start);
    beats.watch = (struct watch){ .fd = beats.wire.socket, .ready = beats_ready };
    return watch_try(&launchd.loop, &beats.watch, EPOLLIN) ? -1 : 0;
}
