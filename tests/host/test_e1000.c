/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_e1000.c: the driver of Intel's gigabit controllers against a model of the device, driven at random: no
 * frame is lost, duplicated, changed or overtaken while the rings wrap; what a device says that lies leads
 * nowhere outside of the rings.
 *
 * The model has the registers and rings of registers.h. It checks what the driver gives it: positions inside
 * the rings, addresses of the driver's own buffers, none that the driver itself is reading. All three
 * generations are tried. tests/host/test_e1000_changed.py breaks the driver and expects this test to fail.
 */
#include "drivers/e1000/e1000.h"
#include "arch.h"
#include "arch/io.h"
#include "check.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STEPS      40000
#define LIES       20000
#define LOG_FRAMES 4096 /* in flight at most: more than both rings have */

/* What has gone wrong once goes wrong for ever after. */
#define MUST(condition)         \
    do {                        \
        if (!CHECK(condition))  \
            exit(EXIT_FAILURE); \
    } while (0)

uintptr_t arena_origin;
uint32_t arena_cpu;

static uint64_t chance_state = 88172645463325252;

static uint32_t chance(uint32_t below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (uint32_t)(chance_state >> 16) % below;
}

/* ---- The device ---- */

struct frame {
    uint32_t bytes;
    uint8_t data[ETHERNET_FRAME_BYTES_MAX];
};

struct frames {
    struct frame *at;
    uint64_t first, end;
};

static struct {
    enum e1000_generation generation;
    uint32_t registers[REG_BYTES / 4];
    uint32_t cause, mask, vector_cause, vector_mask;
    bool table_open, bus_master;
    uint8_t *memory; /* what the driver has allocated */
    uint64_t memory_bytes;
    struct network_device *nic;
    const uint8_t *offered; /* what the driver reads at the moment */
    struct frames received, sent;
} model;

static uint8_t device_registers[REG_BYTES]; /* addresses alone */

static unsigned receive_ring(void)
{
    return model.generation == E1000_ADVANCED ? REG_RECEIVE_RING_ADVANCED : REG_RECEIVE_RING;
}

static unsigned send_ring(void)
{
    return model.generation == E1000_ADVANCED ? REG_SEND_RING_ADVANCED : REG_SEND_RING;
}

static uint32_t *reg(unsigned at)
{
    return &model.registers[at / 4];
}

static uint32_t ring_count(unsigned ring)
{
    return *reg(ring + RING_BYTES) / (uint32_t)sizeof(struct descriptor);
}

static bool is_asserted(void)
{
    if (model.generation == E1000_ADVANCED)
        return model.table_open && ((model.vector_cause & model.vector_mask) || (model.cause & model.mask));
    return (model.cause & model.mask) && (model.generation == E1000_FIRST || model.table_open);
}

uint32_t mmio_read32(const volatile void *address)
{
    const unsigned at = (unsigned)((const volatile uint8_t *)address - device_registers);

    MUST(at < REG_BYTES && at % 4 == 0);
    switch (at) {
    case REG_CAUSE:
        return model.cause;
    case REG_VECTOR_CAUSE:
        return model.vector_cause;
    case REG_CRC_ERRORS:
    case REG_LENGTH_ERRORS:
    case REG_MISSED: {
        uint32_t value = *reg(at);

        *reg(at) = 0;
        return value;
    }
    }
    return *reg(at);
}

static void model_reset(void)
{
    memset(model.registers, 0, sizeof(model.registers));
    model.cause = model.mask = model.vector_cause = model.vector_mask = 0;
    *reg(REG_STATUS) = STATUS_LINK_UP | 2U << STATUS_SPEED_SHIFT;
    *reg(REG_ADDRESS_LOW) = 0x00005452;
    *reg(REG_ADDRESS_HIGH) = ADDRESS_VALID | 0x0100;
    *reg(REG_EEPROM) = EEPROM_READ_DONE;
}

void mmio_write32(volatile void *address, uint32_t value)
{
    const unsigned at = (unsigned)((volatile uint8_t *)address - device_registers);

    MUST(at < REG_BYTES && at % 4 == 0);
    switch (at) {
    case REG_CONTROL:
        if (value & CONTROL_RESET) {
            MUST(!model.bus_master);
            model_reset();
            return;
        }
        break;
    case REG_CAUSE:
        model.cause &= ~value;
        return;
    case REG_CAUSE_SET:
        model.cause |= value;
        return;
    case REG_MASK_SET:
        model.mask |= value;
        return;
    case REG_MASK_CLEAR:
        model.mask &= ~value;
        return;
    case REG_VECTOR_CAUSE:
        model.vector_cause &= ~value;
        return;
    case REG_VECTOR_CAUSE_SET:
        model.vector_cause |= value;
        return;
    case REG_VECTOR_MASK_SET:
        model.vector_mask |= value;
        return;
    case REG_VECTOR_MASK_CLEAR:
        model.vector_mask &= ~value;
        return;
    }
    if (at == receive_ring() + RING_TAIL || at == send_ring() + RING_TAIL)
        MUST(value < ring_count(at - RING_TAIL));
    *reg(at) = value;
}

/* Returns the driver's memory at an address that the device was given. */
static uint8_t *device_memory(uint64_t address, uint64_t bytes)
{
    const uint64_t offset = address - (uintptr_t)model.memory;

    MUST(model.bus_master && offset < model.memory_bytes && bytes <= model.memory_bytes - offset);
    return model.memory + offset;
}

static struct descriptor *descriptor_at(unsigned ring, uint32_t index)
{
    const uint64_t base = (uint64_t)*reg(ring + RING_BASE_HIGH) << 32 | *reg(ring + RING_BASE_LOW);

    MUST(base % 16 == 0 && *reg(ring + RING_BYTES) % 128 == 0);
    return (struct descriptor *)(void *)device_memory(base + index * sizeof(struct descriptor),
                                                      sizeof(struct descriptor));
}

/* Puts bytes into the next buffer, with that status. False: there is none. */
static bool model_receive(const void *data, uint32_t copied, uint32_t length, uint32_t status,
                          uint32_t errors)
{
    const unsigned ring = receive_ring();
    const uint32_t head = *reg(ring + RING_HEAD);

    if (head == *reg(ring + RING_TAIL) || !(*reg(REG_RECEIVE) & RECEIVE_ENABLE))
        return false;
    struct descriptor *descriptor = descriptor_at(ring, head);
    uint8_t *buffer = device_memory(descriptor->address, BUFFER_BYTES);
    MUST(buffer != model.offered);
    memcpy(buffer, data, copied);
    if (model.generation == E1000_ADVANCED) {
        descriptor->address = ((uint64_t)chance(1 << 30) << 32) | chance(1 << 30); /* hash, checksum */
        descriptor->words[0] = status | (errors ? ERRORS_ADVANCED : 0);
        descriptor->words[1] = length;
    } else {
        descriptor->words[0] = length | chance(1 << 16) << 16;
        descriptor->words[1] = status | (errors ? 1U << 8 : 0);
    }
    *reg(ring + RING_HEAD) = (head + 1) % ring_count(ring);
    model.cause |= CAUSE_RECEIVED | CAUSE_QUEUE;
    model.vector_cause |= 1;
    return true;
}

static struct frame *frames_add(struct frames *frames)
{
    MUST(frames->end - frames->first < LOG_FRAMES);
    return &frames->at[frames->end++ % LOG_FRAMES];
}

static struct frame *frames_take(struct frames *frames)
{
    MUST(frames->first < frames->end);
    return &frames->at[frames->first++ % LOG_FRAMES];
}

static uint32_t frame_length(void)
{
    const uint32_t kind = chance(8);

    return kind == 0   ? ETHERNET_HEADER_BYTES
           : kind == 1 ? ETHERNET_FRAME_BYTES_MAX
                       : ETHERNET_HEADER_BYTES + chance(ETHERNET_FRAME_BYTES_MAX - ETHERNET_HEADER_BYTES + 1);
}

static void frame_make(struct frame *frame)
{
    frame->bytes = frame_length();
    for (uint32_t i = 0; i < frame->bytes; i += 7)
        frame->data[i] = (uint8_t)chance(256);
    frame->data[frame->bytes - 1] = (uint8_t)chance(256);
}

static void model_receive_frame(void)
{
    static struct frame frame;

    frame_make(&frame);
    if (model_receive(frame.data, frame.bytes, frame.bytes, DONE | FRAME_END, 0))
        *frames_add(&model.received) = frame;
    else
        ++*reg(REG_MISSED);
}

static uint32_t model_room(void)
{
    const unsigned ring = receive_ring();

    return (*reg(ring + RING_TAIL) - *reg(ring + RING_HEAD)) % ring_count(ring);
}

/* Receives what must be dropped: damaged, too short, too long, or in several buffers. */
static unsigned model_receive_damaged(void)
{
    static const uint8_t junk[BUFFER_BYTES];

    switch (chance(4)) {
    case 0:
        return model_receive(junk, 100, 100, DONE | FRAME_END, 1);
    case 1:
        return model_receive(junk, 60, chance(ETHERNET_HEADER_BYTES), DONE | FRAME_END, 0);
    case 2:
        return model_receive(junk, 60, ETHERNET_FRAME_BYTES_MAX + 1 + chance(60000), DONE | FRAME_END, 0);
    default:
        if (model_room() < 8)
            return 0;
        for (uint32_t more = 1 + chance(4); more; more--)
            model_receive(junk, BUFFER_BYTES, 1000, DONE, 0);
        return model_receive(junk, 60, 60, DONE | FRAME_END, 0);
    }
}

/* Sends up to `count` frames: each must be the oldest that the driver has taken. */
static void model_send(uint32_t count)
{
    const unsigned ring = send_ring();

    while (count-- && *reg(ring + RING_HEAD) != *reg(ring + RING_TAIL)) {
        const uint32_t head = *reg(ring + RING_HEAD);
        struct descriptor *descriptor = descriptor_at(ring, head);
        const struct frame *frame = frames_take(&model.sent);
        const bool is_advanced = model.generation == E1000_ADVANCED;

        MUST((descriptor->words[0] & 0xffff) == frame->bytes);
        MUST((descriptor->words[0] & ~0xffffU) == (COMMAND_SEND | (is_advanced ? COMMAND_ADVANCED : 0)));
        MUST(descriptor->words[1] == (is_advanced ? frame->bytes << LENGTH_SHIFT_ADVANCED : 0));
        MUST(memcmp(device_memory(descriptor->address, frame->bytes), frame->data, frame->bytes) == 0);
        descriptor->words[1] |= DONE;
        *reg(ring + RING_HEAD) = (head + 1) % ring_count(ring);
    }
}

/* ---- What the driver calls ---- */

uint64_t arch_clock_hz(void)
{
    return 0;
}

void *arch_dma_allocate(uint64_t bytes)
{
    MUST(!model.memory && bytes <= e1000_driver.pool_bytes);
    model.memory = aligned_alloc(ARCH_PAGE, bytes);
    model.memory_bytes = bytes;
    MUST(model.memory);
    return memset(model.memory, 0, bytes);
}

volatile void *pci_bar_map(const struct pci_function *function, unsigned bar, uint64_t offset, uint64_t bytes)
{
    MUST(function && bar == 0 && offset == 0 && bytes <= REG_BYTES);
    return device_registers;
}

void pci_bus_master(const struct pci_function *function, bool on)
{
    MUST(function);
    model.bus_master = on;
}

void pci_interrupt_find(struct pci_function *function, void (*raise)(void *context, bool on), void *context)
{
    function->interrupt = model.generation == E1000_FIRST ? PCI_INTERRUPT_LINE : PCI_INTERRUPT_TABLE;
    if (function->interrupt == PCI_INTERRUPT_LINE) {
        raise(context, true);
        MUST(is_asserted());
        raise(context, false);
        MUST(!is_asserted());
    }
}

bool pci_interrupt_enable(struct pci_function *function, unsigned cpu)
{
    MUST(function && cpu == 3);
    return model.table_open = true;
}

void pci_interrupt_disable(struct pci_function *function)
{
    MUST(function);
    model.table_open = false;
}

const char *pci_interrupt_name(const struct pci_function *function)
{
    return function ? "model" : NULL;
}

bool network_device_register(struct network_device *device)
{
    model.nic = device;
    return true;
}

void kernel_print(const char *format, ...)
{
    MUST(format);
}

/* ---- The driver's steps ---- */

static struct network_device_counts expected;

static void driver_receive(bool done)
{
    uint32_t bytes = 0;
    const uint8_t *data = model.nic->operations->receive(model.nic, &bytes);

    model.offered = data;
    MUST(!data == (model.received.first == model.received.end));
    if (!data)
        return;
    const struct frame *frame = &model.received.at[model.received.first % LOG_FRAMES];
    MUST(bytes == frame->bytes && memcmp(data, frame->data, bytes) == 0);
    if (!done)
        return;
    model.received.first++;
    model.offered = NULL;
    expected.received_frames++;
    expected.received_bytes += bytes;
    model.nic->operations->receive_done(model.nic);
}

static void driver_send(void)
{
    static struct frame frame;
    struct frame_part parts[4];
    unsigned count = 0;
    const bool is_full = model.sent.end - model.sent.first == SEND_COUNT - 1;

    frame_make(&frame);
    for (uint32_t at = 0; at < frame.bytes; count++) {
        const uint32_t bytes = count == 3 ? frame.bytes - at : chance(frame.bytes - at + 1);

        parts[count] = (struct frame_part){ frame.data + at, bytes };
        at += bytes;
    }
    const bool taken = model.nic->operations->send(model.nic, parts, count);
    MUST(taken || model.sent.end - model.sent.first >= SEND_COUNT / 2 || is_full);
    MUST(!is_full || !taken);
    if (taken) {
        *frames_add(&model.sent) = frame;
        expected.sent_frames++;
        expected.sent_bytes += frame.bytes;
    }
}

static void absurd_send(void)
{
    static uint8_t junk[ETHERNET_FRAME_BYTES_MAX + 1];
    const struct frame_part longer[] = { { junk, ETHERNET_FRAME_BYTES_MAX }, { junk, 1 } };
    const struct frame_part wrapping[] = { { junk, 20 }, { junk, UINT32_MAX - 10 } };
    const struct frame_part shorter[] = { { junk, ETHERNET_HEADER_BYTES - 1 } };

    model.nic->operations->send(model.nic, longer, 2);
    model.nic->operations->send(model.nic, wrapping, 2);
    model.nic->operations->send(model.nic, shorter, 1);
}

static void interrupts_try(void)
{
    const bool is_due = model.received.first != model.received.end;

    MUST(model.nic->operations->interrupt_enable(model.nic, 3));
    MUST(!is_due || is_asserted());
    if (chance(2)) {
        model_receive_frame();
        MUST(is_asserted() || model.received.first == model.received.end);
        model.nic->operations->service(model.nic);
        MUST(!is_asserted());
    }
    model.nic->operations->interrupt_disable(model.nic);
    model_receive_frame();
    MUST(!is_asserted());
}

/* Tests the time between interrupts, by the register that counts for each generation. */
static void interval_try(enum e1000_generation generation)
{
    const uint32_t ns = chance(2) ? 0 : chance(NETWORK_INTERVAL_NS_MAX + 1);

    model.nic->operations->interrupt_interval(model.nic, ns);
    /* ITR, and the 82574's for messages, EITR. */
    uint64_t set_ns = *reg(generation == E1000_EXPRESS ? 0x00e8 : 0x00c4) * 256ULL;
    if (generation == E1000_ADVANCED) { /* EITR 0: bits 14 to 2, in us */
        MUST(!(*reg(0x1680) & ~0x7ffcU));
        set_ns = (*reg(0x1680) >> 2) * 1000ULL;
    }
    MUST(set_ns >= ns && set_ns < ns + 1000 && *reg(0x00c4) <= UINT16_MAX && *reg(0x00e8) <= UINT16_MAX);
}

static void link_try(void)
{
    const uint64_t changes = model.nic->counts.link_changes;

    *reg(REG_STATUS) ^= STATUS_LINK_UP;
    model.cause |= CAUSE_LINK;
    model.nic->operations->service(model.nic);
    MUST(model.nic->link == !!(*reg(REG_STATUS) & STATUS_LINK_UP));
    MUST(model.nic->counts.link_changes == changes + 1);
    MUST(model.nic->speed_mbit == (model.nic->link ? 1000 : 0));
}

/* ---- Tests ---- */

static void start(enum e1000_generation generation)
{
    static const uint16_t devices[] = { 0x100e, 0x10d3, 0x10c9 };
    static struct pci_function function;

    free(model.memory);
    model.memory = NULL;
    model.nic = NULL;
    model.offered = NULL;
    model.bus_master = false;
    model.generation = generation;
    model.received.first = model.received.end = model.sent.first = model.sent.end = 0;
    memset(&expected, 0, sizeof(expected));
    function = (struct pci_function){ .vendor = 0x8086, .device = devices[generation] };
    MUST(e1000_driver.match(function.vendor, function.device));
    e1000_driver.start(&function);
    MUST(model.nic && model.nic->link && model.nic->address[0] == 0x52);
    MUST(!is_asserted());
}

static void frames_pass(enum e1000_generation generation)
{
    unsigned rush = 0; /* which side is quicker: rings get full and empty */
    uint64_t damaged = 0;

    start(generation);
    for (unsigned step = 0; step < STEPS; step++) {
        if (step % 1000 == 0)
            rush = chance(4);
        const uint32_t what = chance(100);

        if (what < (rush & 1 ? 45 : 15))
            model_receive_frame();
        else if (what < 50)
            driver_receive(chance(4));
        else if (what < (rush & 2 ? 85 : 65))
            driver_send();
        else if (what < 92)
            model_send(chance(6));
        else if (what < 94 && !model.offered)
            damaged += model_receive_damaged();
        else if (what == 95)
            interrupts_try();
        else if (what == 94)
            interval_try(generation);
        else if (what == 96)
            link_try();
        else if (what == 97)
            absurd_send();
        else if (what == 98)
            model.nic->operations->service(model.nic);
    }
    while (model.received.first != model.received.end)
        driver_receive(true);
    driver_receive(true);
    model_send(UINT32_MAX);
    MUST(model.sent.first == model.sent.end);
    MUST(expected.sent_frames > STEPS / 20 && expected.received_frames > STEPS / 20 && damaged > 100);
    MUST(model.nic->counts.sent_frames == expected.sent_frames);
    MUST(model.nic->counts.sent_bytes == expected.sent_bytes);
    MUST(model.nic->counts.receive_errors >= damaged);
}

/* Tests a full ring: it holds all descriptors but one, and none is lost when it is emptied. */
static void full_ring_try(enum e1000_generation generation)
{
    start(generation);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 2 * RECEIVE_COUNT; i++)
            model_receive_frame();
        MUST(model.received.end - model.received.first == RECEIVE_COUNT - 1);
        while (model.received.first != model.received.end)
            driver_receive(true);
        driver_receive(true); /* finds nothing, and so returns what is left to the device */
        for (unsigned i = 0; i < 2 * SEND_COUNT; i++)
            driver_send();
        MUST(model.sent.end - model.sent.first == SEND_COUNT - 1);
        model_send(UINT32_MAX);
    }
}

/* Lets the device write anything: the driver passes on only a frame's bytes in one buffer, and calls end. */
static void device_lie(enum e1000_generation generation)
{
    const uint8_t *offered = NULL; /* and not yet done: that stays as it is */
    uint32_t offered_bytes = 0;

    start(generation);
    for (unsigned step = 0; step < LIES; step++) {
        struct descriptor *descriptor =
            descriptor_at(chance(2) ? receive_ring() : send_ring(), chance(SEND_COUNT));
        uint32_t bytes;

        if (chance(4) == 0) {
            descriptor->address = chance_state;
            descriptor->words[0] = chance(2) ? (uint32_t)chance_state : chance(4);
            descriptor->words[1] = chance(2) ? (uint32_t)(chance_state >> 32) : chance(4);
        }
        if (chance(8) == 0)
            model.cause = chance(2) ? UINT32_MAX : (uint32_t)chance_state;
        const uint8_t *data = model.nic->operations->receive(model.nic, &bytes);
        if (data) {
            device_memory((uintptr_t)data, BUFFER_BYTES);
            MUST(((uintptr_t)data - (uintptr_t)model.memory) % BUFFER_BYTES == 0);
            MUST(bytes >= ETHERNET_HEADER_BYTES && bytes <= ETHERNET_FRAME_BYTES_MAX);
            MUST(!offered || (data == offered && bytes == offered_bytes));
            offered = data;
            offered_bytes = bytes;
            if (chance(2)) {
                model.nic->operations->receive_done(model.nic);
                offered = NULL;
            }
        }
        uint8_t junk[60] = { 0 };
        const struct frame_part part = { junk, sizeof(junk) };
        model.nic->operations->send(model.nic, &part, 1);
        model.nic->operations->service(model.nic);
    }
}

static bool group_passes(const uint8_t *group)
{
    const uint32_t hash = (uint32_t)(group[5] << 8 | group[4]) >> 4;

    return *reg(REG_RECEIVE) & RECEIVE_ALL_MULTICAST || *reg(MULTICAST_REG(hash / 32)) >> hash % 32 & 1;
}

/* Tests that exactly the joined groups pass, apart from those that share a bit with one. */
static void groups_try(enum e1000_generation generation)
{
    uint8_t groups[GROUPS_MAX + 4][ETHERNET_ADDRESS_BYTES];
    bool is_joined[GROUPS_MAX] = { false };

    start(generation);
    for (unsigned i = 0; i < GROUPS_MAX + 4; i++)
        for (unsigned byte = 0; byte < ETHERNET_ADDRESS_BYTES; byte++)
            groups[i][byte] = (uint8_t)(byte < 3 ? 1 : chance(i % 2 ? 256 : 2));
    for (unsigned step = 0; step < 2000; step++) {
        const unsigned which = chance(GROUPS_MAX);

        is_joined[which] = chance(2);
        model.nic->operations->multicast(model.nic, groups[which], is_joined[which]);
        for (unsigned i = 0; i < GROUPS_MAX; i++)
            for (unsigned j = 0; j < i; j++)
                if (memcmp(groups[i], groups[j], ETHERNET_ADDRESS_BYTES) == 0)
                    groups[i][3]++; /* all are different, so that each has its own membership */
        unsigned bits = 0, joined = 0;
        for (unsigned i = 0; i < MULTICAST_WORDS; i++)
            bits += (unsigned)__builtin_popcount(*reg(MULTICAST_REG(i)));
        for (unsigned i = 0; i < GROUPS_MAX; i++) {
            joined += is_joined[i];
            MUST(!is_joined[i] || group_passes(groups[i]));
        }
        MUST(bits <= joined && !(*reg(REG_RECEIVE) & RECEIVE_ALL_MULTICAST));
    }
    for (unsigned i = 0; i < GROUPS_MAX + 4; i++)
        model.nic->operations->multicast(model.nic, groups[i], true);
    for (unsigned i = 0; i < GROUPS_MAX + 4; i++)
        MUST(group_passes(groups[i]));
}

TEST(frames_pass_once_whole_and_in_order)
{
    for (enum e1000_generation generation = E1000_FIRST; generation <= E1000_ADVANCED; generation++)
        frames_pass(generation);
}

TEST(a_full_ring_holds_all_but_one)
{
    full_ring_try(E1000_ADVANCED);
}

TEST(a_device_that_lies_leads_nowhere)
{
    for (enum e1000_generation generation = E1000_FIRST; generation <= E1000_ADVANCED; generation++)
        device_lie(generation);
}

TEST(groups_pass_while_they_are_joined)
{
    groups_try(E1000_FIRST);
}

TEST(other_devices_are_left_alone)
{
    CHECK(!e1000_driver.match(0x8086, 0x1229) && !e1000_driver.match(0x10ec, 0x100e));
}

int main(void)
{
    model.received.at = calloc(LOG_FRAMES, sizeof(struct frame));
    model.sent.at = calloc(LOG_FRAMES, sizeof(struct frame));
    MUST(model.received.at && model.sent.at);
    /* The driver's controllers are as many as there may be: eight starts. */
    RUN(other_devices_are_left_alone);
    RUN(groups_pass_while_they_are_joined);
    RUN(frames_pass_once_whole_and_in_order);
    RUN(a_full_ring_holds_all_but_one);
    RUN(a_device_that_lies_leads_nowhere);
    free(model.memory);
    free(model.received.at);
    free(model.sent.at);
    return check_report("e1000");
}
