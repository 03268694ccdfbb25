/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epochs.c: the conductor's epoch (conductor.h). Nodes obey the highest epoch that they have heard, and no
 * lower one again. So the epoch is TAI at the conductor's start, and higher than the last one, which is kept
 * in a file. If nodes follow a newer epoch nevertheless, because the clock and the file are not those of
 * their last conductor, they say so in an answer, which names the beat that it answers and has a tag. Then,
 * unless that conductor beats, this one begins an epoch above it. A recorded answer raises nothing
 * afterwards: it is of the epoch before.
 */
#include "service/conductor/conductor.h"
#include "service/conductor/epoch_file.h"
#include "service/lib/say.h"
#include "service/lib/options.h"
#include <inttypes.h>
#include <string.h>

/* Returns an epoch above another one. Two conductors never come to the same one: each adds its address. */
static uint64_t epoch_above(uint64_t epoch)
{
    const uint8_t *address = conductor.wire.address;

    return epoch + 1 + ((uint64_t)address[3] << 16 | (uint64_t)address[4] << 8 | address[5]);
}

/* Begins an epoch above another one, which the clock has not reached. Numbers of jobs, which begin at the
 * clock's time, may have been used before, so they begin anywhere. */
static void epoch_set_above(uint64_t epoch)
{
    conductor.timeline.epoch_ns = epoch_above(epoch);
    conductor.last_job = (uint32_t)conductor.timeline.epoch_ns * 2654435761U; /* [Knuth, §6.4] */
}

static bool has_room_above(uint64_t epoch)
{
    return epoch < INT64_MAX;
}

void epoch_start(void)
{
    const char *folder = conductor.state_folder, *why;
    uint64_t last;

    if (!folder)
        return;
    why = epoch_file_read(folder, &last);
    if (!why && !has_room_above(last))
        why = "no epoch is higher; remove it, and restart all nodes";
    if (why)
        give_up(STATUS_WRONG, "the state %s/epoch: %s", folder, why);
    if (conductor.timeline.epoch_ns <= last) {
        say("the clock is earlier than the last epoch, %" PRIu64 ": set it; this epoch follows the last one",
            last);
        epoch_set_above(last);
    }
    why = epoch_file_write(folder, conductor.timeline.epoch_ns);
    if (why)
        give_up(STATUS_WRONG, "the state %s/epoch cannot be written: %s", folder, why);
}

/* Begins an epoch above another one, as a restart would, but knows its nodes, and sends its commands again.
 */
static void epoch_raise(uint64_t above)
{
    const char *why = NULL;

    epoch_set_above(above);
    conductor.sequence = 0;
    conductor.acknowledged_to = 0;
    conductor.epochs_raised++;
    registry_epoch_begin(&conductor.registry);
    commands_epoch_begin(&conductor.commands);
    pages_epoch_begin();
    leases_epoch_begin();
    if (conductor.state_folder)
        why = epoch_file_write(conductor.state_folder, conductor.timeline.epoch_ns);
    if (why)
        say("the state %s/epoch cannot be written: %s", conductor.state_folder, why);
}

bool other_conductor_beats(void)
{
    return conductor.other.epoch && !beat_order_is_silent(&conductor.other, conductor_now_ns());
}

void other_beat_heard(const struct wire_frame *frame, const struct beat *beat)
{
    char address[NODE_ADDRESS_TEXT];
    uint64_t lost;

    if (beat->epoch == conductor.timeline.epoch_ns &&
        memcmp(frame->from, conductor.wire.address, sizeof(frame->from)) == 0) {
        conductor.own_beats++;
        return;
    }
    const uint64_t last_epoch = conductor.other.epoch;
    const enum beat_place place = beat_order_take(&conductor.other, beat, conductor_now_ns(), &lost);
    if (place == BEAT_LATE || place == BEAT_DUPLICATE)
        return; /* recorded, or of a third conductor */
    if (beat->epoch > conductor.timeline.epoch_ns)
        leases_excuse();
    memcpy(conductor.other_address, frame->from, sizeof(conductor.other_address));
    conductor.other_beats++;
    if (beat->epoch == last_epoch)
        return;
    node_address_print(frame->from, address);
    say("another conductor beats on %s, from %s; nodes follow %s conductor, whose epoch is higher: end one",
        conductor.interface, address, beat->epoch > conductor.timeline.epoch_ns ? "the other" : "this");
}

void newer_epoch_heard(const struct wire_frame *frame, const struct answer *answer)
{
    char address[NODE_ADDRESS_TEXT];

    if (conductor.other.epoch > conductor.timeline.epoch_ns && other_conductor_beats())
        return;
    node_address_print(frame->from, address);
    if (!has_room_above(answer->follows)) {
        if (!conductor.epochs_refused++)
            say("node %s (%s) follows epoch %" PRIu64 "; none is higher: restart it", answer->name, address,
                answer->follows);
        return;
    }
    epoch_raise(answer->follows);
    say("node %s (%s) follows epoch %" PRIu64 ", whose conductor is silent; this conductor goes on in epoch "
        "%" PRIu64,
        answer->name, address, answer->follows, conductor.timeline.epoch_ns);
}
