/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listener.c: receives heartbeats on an Ethernet interface as a node does, and counts those that came, were
 * lost, late, duplicate or forged. It measures the drift between the conductor's clock and this machine's,
 * and by how much beats came later than the earliest ones. So it shows what a wire does to beats before nodes
 * depend on it.
 */
#include "beat/beat_frame.h"
#include "beat/global_clock.h"
#include "service/lib/key_file.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include "service/lib/wire.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct listener {
    struct wire wire;
    uint8_t key[SIPHASH_KEY_BYTES];
    struct beat_order order;
    struct global_clock clock;
    uint64_t taken, lost, late, duplicate, epochs, faults[BEAT_FAULTS];
    uint64_t after_ns_max; /* the most by which a beat came later than the earliest beats' clock says */
} listener;

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
    (void)number;
    ended = 1;
}

static const char usage[] =
    "usage: listener --interface NAME --key FILE [--beats N]\n"
    "\n"
    "Receives heartbeats (NETTICK) on an Ethernet interface until N have come, or until it is interrupted,\n"
    "and prints how many came, were lost, late, duplicate or wrong, and how the clocks differ.\n";

static const char *interface, *key_path;
static uint32_t beats_max; /* it ends after this number of beats; 0: never */

static const struct option_row option_rows[] = {
    { "interface", 0, OPTION_TEXT, .value = &interface },
    { "key", 0, OPTION_TEXT, .value = &key_path },
    { "beats", 0, OPTION_NUMBER, .value = &beats_max, .max = UINT32_MAX },
    { 0 },
};
static const struct options options = { .rows = option_rows, .usage = usage, .failed = 1 };

static void prepare(char **words)
{
    const int end = options_read(&options, words, 1);
    struct node_keys keys;
    const char *what;

    if (!interface || !key_path || words[end])
        options_wrong("it takes --interface NAME and --key FILE; --beats N is optional");
    key_file_read_node(key_path, &keys, STATUS_WRONG);
    memcpy(listener.key, keys.beats, sizeof(listener.key));
    if (wire_open(&listener.wire, interface, &what))
        give_up(STATUS_WRONG, "interface %s: %s: %s", interface, what, strerror(errno));
}

static void beat_heard(const struct beat *beat, uint64_t arrived_ns)
{
    uint64_t lost;

    switch (beat_order_take(&listener.order, beat, 0, &lost)) {
    case BEAT_LATE:
        listener.late++;
        return;
    case BEAT_DUPLICATE:
        listener.duplicate++;
        return;
    case BEAT_NEW_EPOCH:
        listener.epochs++;
        global_clock_restart(&listener.clock);
        break;
    case BEAT_NEXT:
    case BEAT_AFTER_LOST:
        break;
    }
    listener.taken++;
    listener.lost += lost;
    uint64_t sent_ns = beat->time_ns + beat->late_ns;
    if (listener.clock.is_set && arrived_ns >= listener.clock.line.base_local) {
        int64_t after_ns = (int64_t)(global_line_at(&listener.clock.line, arrived_ns) - sent_ns);

        if (after_ns > (int64_t)listener.after_ns_max)
            listener.after_ns_max = (uint64_t)after_ns;
    }
    global_clock_update(&listener.clock, arrived_ns, sent_ns);
}

static void report(void)
{
    static const char *const faults[BEAT_FAULTS] = { [BEAT_TRUNCATED] = "truncated",
                                                     [BEAT_OTHER_VERSION] = "other_version",
                                                     [BEAT_OTHER_KIND] = "other_kind",
                                                     [BEAT_FORGED] = "forged",
                                                     [BEAT_ABSURD] = "absurd" };

    printf("beats %" PRIu64 "\nlost %" PRIu64 "\nlate %" PRIu64 "\nduplicate %" PRIu64 "\nnew_epochs %" PRIu64
           "\n",
           listener.taken, listener.lost, listener.late, listener.duplicate, listener.epochs);
    for (unsigned i = BEAT_TRUNCATED; i < BEAT_FAULTS; i++)
        printf("%s %" PRIu64 "\n", faults[i], listener.faults[i]);
    printf("dropped %" PRIu64 "\n", wire_dropped(&listener.wire));
    printf("clock_drift_ppb %" PRId64 "\nclock_steps %" PRIu64 "\nafter_earliest_max_ns %" PRIu64 "\n",
           listener.clock.drift * 1000 / GLOBAL_CLOCK_PPM, listener.clock.steps, listener.after_ns_max);
}

/* Takes a frame if one has come. */
static bool frame_take(void)
{
    struct wire_frame frame;
    struct beat beat;

    if (wire_receive(&listener.wire, &frame))
        return false;
    enum beat_fault fault = beat_decode(frame.payload, frame.bytes, listener.key, frame.from, &beat);
    listener.faults[fault]++;
    if (fault == BEAT_FINE)
        beat_heard(&beat, frame.arrived_ns);
    return true;
}

static bool has_enough(void)
{
    return beats_max && listener.taken >= beats_max;
}

int main(int count, char **words)
{
    struct sigaction action = { .sa_handler = on_signal };

    say_begin("listener", NULL);
    (void)count; /* NULL ends the words */
    prepare(words);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    while (!ended && !has_enough()) {
        wire_wait(&listener.wire);
        frame_take();
    }
    while (!has_enough() && frame_take())
        ; /* what had come before the signal */
    report();
    return 0;
}
