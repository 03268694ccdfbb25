/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_wire.c: see beat_wire.h. A card for heartbeats alone has a lock of its own, so that no beat waits for
 * the network. All of a card that carries both is guarded by the network's lock.
 */
#include "net/beat_wire.h"
#include "debug/console.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/address.h"
#include "net/interface.h"
#include "net/network.h"
#include "smp/spinlock.h"
#include "time/clock.h"

#define CPU                0   /* is interrupted if no CPU idles */
#define FRAMES_MAX         128 /* taken by one interrupt */
#define BEAT_FRAMES        32  /* of these, in exchange for a heartbeat, which is hashed */
#define FRAME_BYTES        (ETHERNET_HEADER_BYTES + PAGE_FRAME_BYTES)
#define INTERRUPTS_MIN     200 /* a second */
#define INTERRUPTS_DEFAULT 4000
#define INTERRUPTS_MAX     20000

_Static_assert(NS_PER_S / INTERRUPTS_MIN <= NETWORK_INTERVAL_NS_MAX, "what drivers can do");

struct network_device *beat_card;
bool beat_is_shared;

static struct spinlock card_lock;
static uint64_t interrupts_max = INTERRUPTS_DEFAULT; /* a second */

int beat_wire_choose(const struct command_line *line, struct message *why)
{
    const char *name = command_line_option(line, "nettick_dev");

    if (name && nettick_mode() != NETTICK_INTERRUPT)
        return message_set(why, -EINVAL, "nettick_dev=%s needs nettick=irq", name);
    return name ? network_device_find("nettick_dev", name, &beat_card, why) : 0;
}

int beat_wire_configure(const struct command_line *line, const struct network_device *device,
                        struct message *why)
{
    static const char name[] = "nettick_interrupts";
    const char *text = command_line_option(line, name);

    beat_is_shared = nettick_mode() == NETTICK_INTERRUPT && !beat_card;
    if (text && nettick_mode() != NETTICK_INTERRUPT)
        return message_set(why, -EINVAL, "%s=%s needs nettick=irq", name, text);
    if (beat_is_shared && !device)
        return message_set(why, -EINVAL, "nettick=irq: there is no network card for heartbeats");
    if (node_keys_state.come && !device && !beat_card)
        return message_set(why, -ENODEV, "conductor_key=: there is no network card to get keys by");
    nettick_shared.is_used = beat_is_shared;
    return option_value(OPTION_NUMBER, name, text, INTERRUPTS_MIN, INTERRUPTS_MAX, &interrupts_max, why);
}

/* Takes and releases the lock of a card. */
static void lock(const struct network_device *card)
{
    if (card == beat_card)
        spin_lock(&card_lock);
    else
        network_lock();
}

static void unlock(const struct network_device *card)
{
    if (card == beat_card)
        spin_unlock(&card_lock);
    else
        network_unlock_alone();
}

static void interval_set(struct network_device *card)
{
    card->operations->interrupt_interval(card, (uint32_t)(NS_PER_S / interrupts_max));
}

int beat_wire_start(struct message *why)
{
    const uint8_t *address;

    if (!beat_card)
        return 0;
    address = beat_card->address;
    nettick_card_set(address);
    lock(beat_card);
    interval_set(beat_card);
    bool interrupts = beat_card->operations->interrupt_enable(beat_card, CPU);
    unlock(beat_card);
    if (!interrupts)
        return message_set(why, -ENODEV, "nettick_dev=: %s at %s has no usable interrupt", beat_card->model,
                           beat_card->place);
    kernel_print("nettick: heartbeats by %s at %s, %02x:%02x:%02x:%02x:%02x:%02x\n", beat_card->model,
                 beat_card->place, address[0], address[1], address[2], address[3], address[4], address[5]);
    return 0;
}

bool beat_shared_route(struct network_device *device)
{
    static bool is_said;

    interval_set(device);
    if (!device->operations->interrupt_enable(device, CPU))
        return false;
    if (!is_said)
        kernel_print(
            "nettick: heartbeats by eth0, which carries data, too: while no CPU idles, each frame may "
            "interrupt CPU %u, %lu times a second at most\n",
            CPU, interrupts_max);
    return is_said = true;
}

void beat_shared_release(struct network_device *device)
{
    device->operations->interrupt_disable(device);
    device->operations->interrupt_interval(device, 0);
}

/* ---- What the conductor is to get ---- */

/* Makes the next payload for the conductor that has sent the last beat. Returns its bytes; 0 if nothing is
 * due. Reads name and address without the network's lock: they change so seldom that a mixed one would be
 * right in the next answer. */
static size_t payload_make(uint8_t *conductor, uint8_t *payload)
{
    if (node_keys_state.waits && node_keys_request(node_facts.name, payload)) {
        memset(conductor, 0xff, BEAT_ADDRESS_BYTES); /* it is not known yet */
        return KEY_REQUEST_BYTES;
    }
    if (nettick_answer_due() &&
        nettick_answer(node_facts.name, netif_ip4_addr(&ethernet_interface)->addr, conductor, payload))
        return ANSWER_BYTES;
    return log_page_is_due() ? log_page_write(conductor, payload) : 0;
}

__attribute__((noinline)) void beat_frames_send(struct network_device *card)
{
    uint8_t frame[FRAME_BYTES];
    size_t bytes;

    while ((bytes = payload_make(frame, frame + ETHERNET_HEADER_BYTES))) {
        const struct frame_part whole = { frame, (uint32_t)(ETHERNET_HEADER_BYTES + bytes) };

        memcpy(frame + ETHERNET_ADDRESS_BYTES, card->address, ETHERNET_ADDRESS_BYTES);
        store_be(frame + 2 * ETHERNET_ADDRESS_BYTES, 2, BEAT_ETHERTYPE);
        lock(card);
        card->operations->send(card, &whole, 1); /* lost if the card's ring is full */
        unlock(card);
    }
}

void beat_keys_await(void (*rest)(uint64_t until_ns))
{
    node_keys_say();
    while (node_keys_state.waits) {
        beat_frames_send(beat_card ? beat_card : network_device);
        rest(node_keys_state.due_ns);
    }
}

/* ---- Interrupts ---- */

/* Takes a frame. The caller holds the lock. A card for heartbeats alone ignores all others. Returns false if
 * there is none to take. */
static bool frame_take(enum beat_taken *beat)
{
    const uint8_t *frame;
    uint32_t bytes;

    if (!beat_card)
        return !idle_has_keeper() && interface_receive(beat, true); /* a CPU that idles now takes the rest */
    frame = beat_card->operations->receive(beat_card, &bytes);
    if (!frame)
        return false;
    *beat = beat_frame_take(frame, bytes);
    beat_card->operations->receive_done(beat_card);
    return true;
}

/* Counts, after the last frame, and enables the card's interrupt again if there may be more frames. The
 * caller holds the lock. */
static void interrupt_end(struct network_device *card, bool has_more, bool had_beat, unsigned data)
{
    nettick_shared.interrupts++;
    nettick_shared.without_beat += !had_beat;
    nettick_shared.data_frames += data;
    if (has_more && (beat_card || !idle_has_keeper()))
        card->operations->interrupt_enable(card, CPU);
}

bool beat_wire_interrupt(void)
{
    struct network_device *card = beat_card ? beat_card : network_device;
    bool received = true, had_beat = false, passes = false;
    unsigned frames = 0, data = 0;

    if (!beat_card && (!beat_is_shared || idle_has_keeper()))
        return false;
    lock(card);
    card->operations->service(card);
    while (received && frames < FRAMES_MAX) {
        enum beat_taken beat = BEAT_NONE;

        received = frame_take(&beat);
        if (received)
            frames += beat == BEAT_NONE ? 1 : BEAT_FRAMES;
        data += received && beat == BEAT_NONE;
        had_beat |= beat != BEAT_NONE;
        passes |= beat == BEAT_PASSES;
        if (beat_is_shared) { /* other CPUs may use the network between two frames */
            unlock(card);
            if (beat == BEAT_PASSES)
                nettick_pass_on(); /* at once: data may follow */
            network_give_way();
            lock(card);
        }
    }
    interrupt_end(card, received, had_beat, data);
    unlock(card);
    if (passes && beat_card)
        nettick_pass_on(); /* once for all of them */
    /* Once, so that a conductor that answers at once does not keep the CPU in here. */
    if ((had_beat || beat_card) && beat_frame_is_due())
        beat_frames_send(card);
    return frames != 0;
}
