/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beats.c: the beats of the conductor (conductor.h): when the next one is due, its contents, and the rate.
 * The clock and the network are elsewhere (timeline.c, wire.c).
 *
 * A beat whose time is over because the machine did something else is left out and counted, so that beats
 * never come in a burst. The last beat before a pause says so: its period is zero.
 */
#include "service/conductor/conductor.h"
#include <errno.h>
#include <stdlib.h>

#define RATE_MAX_HZ 1000.0
#define RATE_MIN_HZ (1.0 / 60)
#define GREETINGS   3 /* first beats of an epoch, all of which ask for answers */

bool is_beating(void)
{
    return conductor.timeline.period_ns && !conductor.is_last;
}

uint16_t answer_every(uint64_t sequence)
{
    uint64_t beats_a_second;

    if (conductor.answer_every >= 0 && (sequence > GREETINGS || !conductor.answer_every))
        return (uint16_t)conductor.answer_every;
    if (sequence <= GREETINGS || !conductor.timeline.period_ns)
        return 1;
    beats_a_second = (SECOND_NS + conductor.timeline.period_ns / 2) / conductor.timeline.period_ns;
    return beats_a_second ? (uint16_t)beats_a_second : 1;
}

static void beat_send(void)
{
    struct timeline *timeline = &conductor.timeline;
    uint64_t late = conductor_now_ns() - timeline->due_ns;
    struct beat beat = {
        .epoch = timeline->epoch_ns,
        .sequence = ++conductor.sequence,
        .time_ns = timeline->due_ns,
        .period_ns = conductor.is_last ? 0 : timeline->period_ns,
        .late_ns = late < UINT32_MAX ? (uint32_t)late : UINT32_MAX,
        .tai_utc_s = timeline_tai_utc_s(timeline),
        .answer_every = answer_every(conductor.sequence),
    };
    uint8_t payload[BEAT_BYTES_MAX];

    welcomes_put(&conductor.welcomes, &conductor.registry, conductor.key,
                 BEAT_COMMANDS_MAX - conductor.commands.carried_count, &beat);
    commands_put(&conductor.commands, &beat);
    size_t bytes = beat_encode(&beat, conductor.key, conductor.wire.address, payload, sizeof(payload));

    if (wire_send(&conductor.wire, payload, bytes)) {
        conductor.failed++;
        conductor.last_error = errno;
    } else {
        conductor.sent++;
        conductor.asked += beat.answer_every && beat.sequence % beat.answer_every == 0;
        conductor.beaten_ns += timeline->period_ns;
        commands_sent(&conductor.commands, beat.time_ns);
    }
    conductor.late_sum_ns += late;
    if (late > conductor.late_max_ns)
        conductor.late_max_ns = late;
}

void beat_due(void)
{
    const uint64_t now = conductor_now_ns();

    if (!conductor.timeline.period_ns || now < conductor.timeline.due_ns)
        return;
    beat_send();
    conductor.left_out += timeline_advance(&conductor.timeline, conductor_now_ns());
    if (conductor.is_last) {
        conductor.is_last = false;
        timeline_period_set(&conductor.timeline, 0, 0);
    }
    beat_timer_set();
}

bool rate_set(const char *text)
{
    char *end;
    double hz = strtod(text, &end);

    if (end == text || *end || !(hz == 0 || (hz >= RATE_MIN_HZ && hz <= RATE_MAX_HZ)))
        return false;
    if (hz == 0) {
        conductor.is_last = conductor.timeline.period_ns != 0;
        return true;
    }
    conductor.is_last = false;
    timeline_period_set(&conductor.timeline, (uint64_t)(1e9 / hz + 0.5), conductor_now_ns());
    beat_timer_set();
    return true;
}

void beats_end(void)
{
    if (!conductor.timeline.period_ns)
        return;
    conductor.is_last = true;
    beat_send();
}
