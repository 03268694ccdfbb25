/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_shared.c: see beat_shared.h. Owns the frames that are kept and the counts; with the network's lock.
 */
#include "net/beat_shared.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lwip/pbuf.h"
#include "net/beat_card.h"
#include "net/device.h"
#include "time/clock.h"

#define INTERRUPTS_MIN     200 /* a second */
#define INTERRUPTS_DEFAULT 4000
#define INTERRUPTS_MAX     20000

_Static_assert(NS_PER_S / INTERRUPTS_MIN <= NETWORK_INTERVAL_NS_MAX, "what drivers can do");

bool beat_is_shared;

static uint64_t interrupts_max = INTERRUPTS_DEFAULT; /* a second */
static struct pbuf *kept[BEAT_SHARED_KEPT_MAX];
static uint32_t kept_oldest, kept_next; /* free-running */
static struct nettick_shared counts;

int beat_shared_configure(const struct command_line *line, const struct network_device *device,
                          struct message *why)
{
    static const char name[] = "nettick_interrupts";
    const char *text = command_line_option(line, name);

    beat_is_shared = nettick_mode() == NETTICK_INTERRUPT && !beat_card;
    if (text && !beat_is_shared)
        return message_set(why, -EINVAL,
                           "%s=%s goes with nettick=irq, where heartbeats come by the network's own card",
                           name, text);
    if (beat_is_shared && !device)
        return message_set(why, -EINVAL,
                           "nettick=irq: there is no network card that heartbeats could come by");
    if (beat_is_shared)
        nettick_shared_set(&counts);
    return text ? option_number(name, text, INTERRUPTS_MIN, INTERRUPTS_MAX, &interrupts_max, why) : 0;
}

bool beat_shared_route(struct network_device *device)
{
    static bool is_said;

    device->operations->interrupt_interval(device, (uint32_t)(NS_PER_S / interrupts_max));
    if (!device->operations->interrupt_enable(device, BEAT_SHARED_CPU))
        return false;
    if (!is_said)
        kernel_print(
            "nettick: heartbeats by eth0, which carries data, too: while no CPU idles, each frame may "
            "interrupt CPU %u, %lu times a second at most\n",
            BEAT_SHARED_CPU, interrupts_max);
    return is_said = true;
}

void beat_shared_release(struct network_device *device)
{
    device->operations->interrupt_disable(device);
    device->operations->interrupt_interval(device, 0);
}

bool beat_shared_has_room(void)
{
    const bool has_room = kept_next - kept_oldest < BEAT_SHARED_KEPT_MAX;

    counts.data_dropped += !has_room;
    return has_room;
}

void beat_shared_keep(struct pbuf *packet)
{
    kept[kept_next++ % BEAT_SHARED_KEPT_MAX] = packet;
}

struct pbuf *beat_shared_take(void)
{
    return beat_shared_has_kept() ? kept[kept_oldest++ % BEAT_SHARED_KEPT_MAX] : NULL;
}

bool beat_shared_has_kept(void)
{
    return kept_oldest != kept_next;
}

void beat_shared_count(unsigned data_frames, bool had_beat)
{
    counts.interrupts++;
    counts.without_beat += !had_beat;
    counts.data_frames += data_frames;
}
