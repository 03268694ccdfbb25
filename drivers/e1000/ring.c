/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.c: sends and receives frames through a controller's two rings. The caller holds the network's lock,
 * interrupts off.
 *
 * The device owns the descriptors from its head up to the tail, exclusive; the driver owns those from the
 * tail to the head. Positions are free-running, and are reduced to the ring's size only to access it: so a
 * full ring is never taken for an empty one. The driver always keeps one descriptor, because equal head and
 * tail mean that the device has none.
 *
 * Nothing that the device writes is trusted beyond one frame: a length is checked before it is used, and a
 * wrong status can at worst yield a frame that was never received, made of the ring's own memory.
 */
#include "drivers/e1000/e1000.h"
#include "arch.h"
#include "arch/io.h"
#include "lib/kstring.h"

_Static_assert(RECEIVE_COUNT % RECEIVE_TAIL_STEP == 0 && !(RECEIVE_COUNT & (RECEIVE_COUNT - 1)) &&
                   !(SEND_COUNT & (SEND_COUNT - 1)),
               "positions are reduced by a mask");
_Static_assert(BUFFER_BYTES >= ETHERNET_FRAME_BYTES_MAX, "a buffer holds a frame");

#define ENABLE_STEPS 1000 /* reads of a register, at most, until a ring is enabled */

static uint32_t word_load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static bool is_advanced(const struct e1000 *nic)
{
    return nic->generation == E1000_ADVANCED;
}

static void receive_write(const struct e1000 *nic, unsigned at, uint32_t value)
{
    e1000_write(nic, (is_advanced(nic) ? REG_RECEIVE_RING_ADVANCED : REG_RECEIVE_RING) + at, value);
}

static void send_write(const struct e1000 *nic, unsigned at, uint32_t value)
{
    e1000_write(nic, (is_advanced(nic) ? REG_SEND_RING_ADVANCED : REG_SEND_RING) + at, value);
}

/* ---- Receiving ---- */

/* Returns a word of the next descriptor: of the older kind, number 0 has the length, 1 the status; of the
 * advanced kind it is the other way round. */
static uint32_t received_word(const struct e1000 *nic, unsigned number)
{
    return word_load(&nic->received[nic->receive_next % RECEIVE_COUNT].words[is_advanced(nic) ^ number]);
}

bool received_is_due(const struct e1000 *nic)
{
    return received_word(nic, 1) & DONE;
}

/* Prepares the descriptor for another frame. The device has overwritten the address in an advanced
 * descriptor. The second half of that is then the address of a buffer for headers, which is not used. */
static void descriptor_renew(struct e1000 *nic, uint32_t position)
{
    const uint32_t index = position % RECEIVE_COUNT;
    struct descriptor *descriptor = &nic->received[index];

    descriptor->address = arch_physical_of(nic->receive_buffers) + index * BUFFER_BYTES;
    descriptor->words[0] = 0;
    descriptor->words[1] = 0;
}

/* Returns read buffers to the device, which then owns all descriptors but one. */
static void tail_move(struct e1000 *nic)
{
    const uint32_t tail = nic->receive_next + RECEIVE_COUNT - 1;

    if (tail == nic->receive_tail)
        return;
    nic->receive_tail = tail;
    dma_barrier();
    receive_write(nic, RING_TAIL, tail % RECEIVE_COUNT);
}

static void receive_skip(struct e1000 *nic)
{
    descriptor_renew(nic, nic->receive_next++);
    if (nic->receive_next % RECEIVE_TAIL_STEP == 0)
        tail_move(nic);
}

/* Returns whether the frame is whole, in one buffer, undamaged, and of a length that Ethernet allows. */
static bool frame_is_sound(struct e1000 *nic, uint32_t status, uint32_t bytes)
{
    const bool continues = nic->receive_partial;

    nic->receive_partial = !(status & FRAME_END);
    return !continues && status & FRAME_END && !(status & (is_advanced(nic) ? ERRORS_ADVANCED : ERRORS)) &&
           bytes >= ETHERNET_HEADER_BYTES && bytes <= ETHERNET_FRAME_BYTES_MAX;
}

const void *e1000_receive(struct network_device *device, uint32_t *bytes)
{
    struct e1000 *nic = device->driver;

    for (unsigned skips = 0; skips < RECEIVE_SKIPS_MAX; skips++) {
        const uint32_t status = received_word(nic, 1);

        if (!(status & DONE))
            break;
        dma_barrier();
        if (!nic->receive_offered) {
            nic->receive_bytes = received_word(nic, 0) & 0xffff;
            nic->receive_offered = frame_is_sound(nic, status, nic->receive_bytes);
        }
        if (nic->receive_offered) {
            *bytes = nic->receive_bytes;
            return nic->receive_buffers + nic->receive_next % RECEIVE_COUNT * BUFFER_BYTES;
        }
        device->counts.receive_errors += !nic->receive_partial;
        receive_skip(nic);
    }
    tail_move(nic);
    return NULL;
}

void e1000_receive_done(struct network_device *device)
{
    struct e1000 *nic = device->driver;

    if (!nic->receive_offered)
        return;
    nic->receive_offered = false;
    device->counts.received_frames++;
    device->counts.received_bytes += nic->receive_bytes;
    receive_skip(nic);
}

/* ---- Sending ---- */

/* Reclaims the descriptors of frames that the device has sent. */
static void sent_reclaim(struct e1000 *nic)
{
    while (nic->send_oldest != nic->send_next) {
        const struct descriptor *descriptor = &nic->sent[nic->send_oldest % SEND_COUNT];

        if (!(word_load(&descriptor->words[1]) & DONE))
            return;
        nic->send_oldest++;
    }
}

/* Copies the parts. Returns their total length, or UINT32_MAX if that is more than a frame's. */
static uint32_t frame_gather(uint8_t *to, const struct frame_part *parts, unsigned part_count)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < part_count; i++) {
        if (parts[i].count > ETHERNET_FRAME_BYTES_MAX - bytes)
            return UINT32_MAX;
        memcpy(to + bytes, parts[i].bytes, parts[i].count);
        bytes += parts[i].count;
    }
    return bytes;
}

bool e1000_send(struct network_device *device, const struct frame_part *parts, unsigned part_count)
{
    struct e1000 *nic = device->driver;
    const uint32_t index = nic->send_next % SEND_COUNT;
    uint8_t *buffer = nic->send_buffers + index * BUFFER_BYTES;
    struct descriptor *descriptor = &nic->sent[index];

    if (nic->send_next - nic->send_oldest >= SEND_COUNT / 2)
        sent_reclaim(nic);
    if (nic->send_next - nic->send_oldest == SEND_COUNT - 1)
        return false;
    const uint32_t bytes = frame_gather(buffer, parts, part_count);
    if (bytes < ETHERNET_HEADER_BYTES || bytes > ETHERNET_FRAME_BYTES_MAX)
        return true; /* not a valid frame: dropped, because a retry could not send it */

    descriptor->address = arch_physical_of(buffer);
    descriptor->words[0] = bytes | COMMAND_SEND | (is_advanced(nic) ? COMMAND_ADVANCED : 0);
    descriptor->words[1] = is_advanced(nic) ? bytes << LENGTH_SHIFT_ADVANCED : 0;
    nic->send_next++;
    dma_barrier();
    send_write(nic, RING_TAIL, nic->send_next % SEND_COUNT);
    device->counts.sent_frames++;
    device->counts.sent_bytes += bytes;
    return true;
}

/* ---- Start ---- */

static void ring_place(const struct e1000 *nic, void (*write)(const struct e1000 *, unsigned, uint32_t),
                       const struct descriptor *first, uint32_t count)
{
    const uint64_t address = arch_physical_of(first);

    write(nic, RING_BASE_LOW, (uint32_t)address);
    write(nic, RING_BASE_HIGH, (uint32_t)(address >> 32));
    write(nic, RING_BYTES, count * (uint32_t)sizeof(struct descriptor));
    write(nic, RING_HEAD, 0);
    write(nic, RING_TAIL, 0);
}

void rings_start(struct e1000 *nic)
{
    nic->receive_next = nic->send_next = nic->send_oldest = 0;
    nic->receive_tail = 0;
    nic->receive_partial = nic->receive_offered = false;
    for (uint32_t i = 0; i < RECEIVE_COUNT; i++)
        descriptor_renew(nic, i);
    ring_place(nic, receive_write, nic->received, RECEIVE_COUNT);
    ring_place(nic, send_write, nic->sent, SEND_COUNT);

    if (is_advanced(nic)) {
        receive_write(nic, RING_SPLIT, SPLIT_ADVANCED);
        receive_write(nic, RING_CONTROL, RING_ENABLE);
        send_write(nic, RING_CONTROL, RING_ENABLE);
        for (unsigned step = 0; step < ENABLE_STEPS; step++)
            if (e1000_read(nic, REG_RECEIVE_RING_ADVANCED + RING_CONTROL) & RING_ENABLE)
                break;
    } else if (nic->generation == E1000_EXPRESS) {
        send_write(nic, RING_CONTROL, RING_COUNT);
    }
    e1000_write(nic, REG_SEND_GAP, SEND_GAP_COPPER);
    e1000_write(nic, REG_SEND, SEND_ENABLE | SEND_PAD | SEND_COLLISION);
    e1000_write(nic, REG_RECEIVE, RECEIVE_ENABLE | RECEIVE_BROADCAST | RECEIVE_STRIP_CRC);
    tail_move(nic); /* the 82576 takes the tail only while the ring is enabled */
}
