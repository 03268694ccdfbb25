/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * e1000.c: the supported controllers; reset and start; link, interrupts, multicast groups, statistics
 * (e1000.h).
 *
 * A controller is reset while bus mastering is off, so that nothing is left of what firmware had it do. After
 * the reset it loads its address from its own memory. The link is left to the controller, as autonegotiated:
 * no register of a PHY is touched, except that an E1000_ADVANCED without a link negotiates again.
 * Operations run with the network's lock held.
 *
 * A cause that was set while it was masked would interrupt as soon as it is unmasked. So interrupt_enable
 * first clears the causes, then unmasks them, then checks the ring: if a frame is there, it raises an
 * interrupt itself.
 */
#include "drivers/e1000/e1000.h"
#include "arch.h"
#include "arch/io.h"
#include "debug/console.h"
#include "lib/kstring.h"

#define VENDOR_INTEL      0x8086
#define RESET_WAIT_HZ     50000 /* 20 us: the wait before each check whether the reset has ended */
#define RESET_LIMIT_HZ    20    /* 50 ms: the longest wait for its end */
#define MEMORY_BYTES      (ARCH_PAGE + (RECEIVE_COUNT + SEND_COUNT) * BUFFER_BYTES)
#define STATISTICS_PERIOD 64 /* calls of e1000_service from one reading to the next */

_Static_assert((RECEIVE_COUNT + SEND_COUNT) * sizeof(struct descriptor) <= ARCH_PAGE, "both rings in a page");

/* Causes to unmask for each generation, if all of them use one message or the line. */
#define CAUSES_EXPRESS (CAUSE_LINK | CAUSE_QUEUE | CAUSE_OTHER)
#define CAUSES_LEGACY  (CAUSE_LINK | CAUSE_RECEIVED | CAUSE_OVERRUN)

static const struct model {
    uint16_t device;
    enum e1000_generation generation;
    const char *name;
} models[] = {
    { 0x100e, E1000_FIRST, "82540EM" },  { 0x100f, E1000_FIRST, "82545EM" },
    { 0x1026, E1000_FIRST, "82545GM" },  { 0x10d3, E1000_EXPRESS, "82574L" },
    { 0x10c9, E1000_ADVANCED, "82576" }, { 0x1521, E1000_ADVANCED, "I350" },
    { 0x1533, E1000_ADVANCED, "I210" },
};

static struct e1000 nics[NETWORK_DEVICES_MAX];
static unsigned nic_count;

uint32_t e1000_read(const struct e1000 *nic, unsigned at)
{
    return mmio_read32(nic->registers + at);
}

void e1000_write(const struct e1000 *nic, unsigned at, uint32_t value)
{
    mmio_write32(nic->registers + at, value);
}

static const void *e1000_match(uint16_t vendor, uint16_t device)
{
    for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++)
        if (vendor == VENDOR_INTEL && device == models[i].device)
            return &models[i];
    return NULL;
}

static bool has_table(const struct e1000 *nic)
{
    return nic->function->interrupt == PCI_INTERRUPT_TABLE;
}

static bool has_vectors(const struct e1000 *nic)
{
    return nic->generation == E1000_ADVANCED && has_table(nic);
}

/* ---- Link and statistics ---- */

static void link_look(struct e1000 *nic)
{
    static const uint32_t speeds[] = { 10, 100, 1000, 1000 };
    const uint32_t status = e1000_read(nic, REG_STATUS);
    const bool link = status != UINT32_MAX && status & STATUS_LINK_UP;

    nic->device.counts.link_changes += link != nic->device.link;
    nic->device.link = link;
    nic->device.speed_mbit = link ? speeds[status >> STATUS_SPEED_SHIFT & 3] : 0;
}

/* Adds up the error counters, which reading clears. */
static void statistics_read(struct e1000 *nic)
{
    struct network_device_counts *counts = &nic->device.counts;

    counts->receive_errors += e1000_read(nic, REG_CRC_ERRORS) + e1000_read(nic, REG_LENGTH_ERRORS);
    counts->receive_missed += e1000_read(nic, REG_MISSED);
}

/* ---- Interrupts ---- */

static void mask_all(const struct e1000 *nic)
{
    if (nic->generation == E1000_ADVANCED)
        e1000_write(nic, REG_VECTOR_MASK_CLEAR, UINT32_MAX);
    e1000_write(nic, REG_MASK_CLEAR, UINT32_MAX);
}

/* Returns the causes that are set, and clears only those; 0 if the controller does not answer. */
static uint32_t causes_take(struct e1000 *nic)
{
    const uint32_t causes = e1000_read(nic, REG_CAUSE);

    if (causes == UINT32_MAX)
        return 0; /* it does not answer */
    if (causes)
        e1000_write(nic, REG_CAUSE, causes);
    if (causes & CAUSE_LINK)
        link_look(nic);
    if (!has_vectors(nic))
        return causes;
    const uint32_t vectors = e1000_read(nic, REG_VECTOR_CAUSE);
    if (vectors)
        e1000_write(nic, REG_VECTOR_CAUSE, vectors);
    return causes | vectors;
}

static bool e1000_interrupt_enable(struct network_device *device, unsigned cpu)
{
    struct e1000 *nic = device->driver;

    if (!pci_interrupt_enable(nic->function, cpu))
        return false;
    const bool link = device->link;
    causes_take(nic);
    nic->has_interrupt = true;
    if (has_vectors(nic)) {
        e1000_write(nic, REG_MASK_SET, CAUSE_LINK);
        e1000_write(nic, REG_VECTOR_MASK_SET, 1);
    } else {
        e1000_write(nic, REG_MASK_SET,
                    nic->generation == E1000_EXPRESS && has_table(nic) ? CAUSES_EXPRESS : CAUSES_LEGACY);
    }
    if (!received_is_due(nic) && device->link == link)
        return true;
    if (has_vectors(nic))
        e1000_write(nic, REG_VECTOR_CAUSE_SET, 1);
    else
        e1000_write(nic, REG_CAUSE_SET, has_table(nic) ? CAUSE_QUEUE : CAUSE_RECEIVED);
    return true;
}

static void e1000_interrupt_disable(struct network_device *device)
{
    struct e1000 *nic = device->driver;

    nic->has_interrupt = false;
    mask_all(nic);
    pci_interrupt_disable(nic->function);
    (void)e1000_read(nic, REG_STATUS); /* a read, so that the writes have arrived when this returns */
}

/* Sets the shortest time between two interrupts, at most 5 ms: each register has room for that. On the 82574
 * both registers are written: its kind of interrupt decides which one counts. */
static void e1000_interrupt_interval(struct network_device *device, uint32_t interval_ns)
{
    struct e1000 *nic = device->driver;
    const uint32_t units = (interval_ns + INTERVAL_NS - 1) / INTERVAL_NS;

    if (nic->generation == E1000_ADVANCED) {
        e1000_write(nic, REG_INTERVAL_ADVANCED,
                    (interval_ns + INTERVAL_ADVANCED_NS - 1) / INTERVAL_ADVANCED_NS
                        << INTERVAL_ADVANCED_SHIFT);
        return;
    }
    e1000_write(nic, REG_INTERVAL, units);
    if (nic->generation == E1000_EXPRESS)
        e1000_write(nic, REG_INTERVAL_EXPRESS, units);
}

static void e1000_service(struct network_device *device)
{
    struct e1000 *nic = device->driver;
    const uint32_t causes = causes_take(nic);

    device->counts.interrupts += nic->has_interrupt && causes;
    if (causes & CAUSE_OVERRUN || nic->services++ % STATISTICS_PERIOD == 0)
        statistics_read(nic);
}

/* Raises the function's interrupt line, or ends that, for arch_line_find. */
static void line_raise(void *context, bool on)
{
    struct e1000 *nic = context;

    if (on) {
        e1000_write(nic, REG_MASK_SET, CAUSE_LINK);
        e1000_write(nic, REG_CAUSE_SET, CAUSE_LINK);
    } else {
        mask_all(nic);
        causes_take(nic);
    }
}

/* Makes all causes send the first message; does nothing without MSI-X. */
static void vectors_set(const struct e1000 *nic)
{
    if (!has_table(nic))
        return;
    if (nic->generation == E1000_EXPRESS)
        e1000_write(nic, REG_VECTORS, VECTORS_ALL_FIRST);
    if (nic->generation == E1000_ADVANCED) {
        e1000_write(nic, REG_VECTOR_MODE, MODE_MESSAGES | MODE_PENDING);
        e1000_write(nic, REG_VECTOR_QUEUE, VECTOR_FIRST_VALID);
        e1000_write(nic, REG_VECTOR_OTHER, VECTOR_FIRST_VALID << 8);
    }
}

/* ---- Groups ---- */

/* Returns the bit of the multicast table for a group: bits 47 to 36 of its address. */
static uint32_t group_hash(const uint8_t *group)
{
    return (uint32_t)group[4] >> 4 | (uint32_t)group[5] << 4;
}

static void filter_write(const struct e1000 *nic, uint32_t word)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < nic->group_count; i++)
        if (group_hash(nic->groups[i]) / 32 == word)
            bits |= 1U << group_hash(nic->groups[i]) % 32;
    e1000_write(nic, MULTICAST_REG(word), bits);
}

/* Adds a group to the filter or removes it. If there are more than GROUPS_MAX, the controller receives the
 * frames of all groups from then on. */
static void e1000_multicast(struct network_device *device, const uint8_t *group, bool on)
{
    struct e1000 *nic = device->driver;
    unsigned at = 0;

    while (at < nic->group_count && memcmp(nic->groups[at], group, ETHERNET_ADDRESS_BYTES) != 0)
        at++;
    if (on == (at < nic->group_count))
        return;
    if (!on) {
        memcpy(nic->groups[at], nic->groups[--nic->group_count], ETHERNET_ADDRESS_BYTES);
    } else if (nic->group_count < GROUPS_MAX) {
        memcpy(nic->groups[nic->group_count++], group, ETHERNET_ADDRESS_BYTES);
    } else {
        e1000_write(nic, REG_RECEIVE, e1000_read(nic, REG_RECEIVE) | RECEIVE_ALL_MULTICAST);
        return;
    }
    filter_write(nic, group_hash(group) / 32);
}

/* ---- Start ---- */

static const struct network_device_operations operations = {
    .send = e1000_send,
    .receive = e1000_receive,
    .receive_done = e1000_receive_done,
    .interrupt_enable = e1000_interrupt_enable,
    .interrupt_disable = e1000_interrupt_disable,
    .interrupt_interval = e1000_interrupt_interval,
    .service = e1000_service,
    .multicast = e1000_multicast,
};

static void ticks_wait(uint64_t ticks)
{
    const uint64_t start = arch_ticks();

    while (arch_ticks() - start < ticks)
        arch_pause();
}

/* Resets the controller, which then loads its address. Returns false if it is not ready within the limit. */
static bool reset(const struct e1000 *nic)
{
    const uint64_t start = arch_ticks(), limit = arch_clock_hz() / RESET_LIMIT_HZ;
    const bool reports_loaded = nic->generation == E1000_EXPRESS;

    mask_all(nic);
    e1000_write(nic, REG_RECEIVE, 0);
    e1000_write(nic, REG_SEND, 0);
    e1000_write(nic, REG_CONTROL, e1000_read(nic, REG_CONTROL) | CONTROL_RESET);
    do {
        ticks_wait(arch_clock_hz() / RESET_WAIT_HZ);
        if (!(e1000_read(nic, REG_CONTROL) & CONTROL_RESET) &&
            e1000_read(nic, REG_ADDRESS_HIGH) & ADDRESS_VALID &&
            (!reports_loaded || e1000_read(nic, REG_EEPROM) & EEPROM_READ_DONE))
            return true;
    } while (arch_ticks() - start < limit);
    return false;
}

static bool address_read(struct e1000 *nic)
{
    const uint32_t low = e1000_read(nic, REG_ADDRESS_LOW), high = e1000_read(nic, REG_ADDRESS_HIGH);
    uint8_t *address = nic->device.address;

    for (unsigned i = 0; i < ETHERNET_ADDRESS_BYTES; i++)
        address[i] = (uint8_t)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
    return !(address[0] & 1) && (low || high & 0xffff);
}

static bool memory_take(struct e1000 *nic)
{
    uint8_t *memory = arch_dma_allocate(MEMORY_BYTES);

    if (!memory)
        return false;
    nic->received = (struct descriptor *)memory;
    nic->sent = nic->received + RECEIVE_COUNT;
    nic->receive_buffers = memory + ARCH_PAGE;
    nic->send_buffers = nic->receive_buffers + RECEIVE_COUNT * BUFFER_BYTES;
    return true;
}

static void configure(struct e1000 *nic)
{
    uint32_t control = e1000_read(nic, REG_CONTROL) | CONTROL_LINK_UP;

    if (nic->generation == E1000_FIRST)
        control |= CONTROL_DETECT_SPEED;
    e1000_write(nic, REG_CONTROL, control);
    if (nic->generation != E1000_FIRST)
        e1000_write(nic, REG_CONTROL_EXTENDED,
                    e1000_read(nic, REG_CONTROL_EXTENDED) | EXTENDED_DRIVER_LOADED);
    e1000_write(nic, REG_WAKE, 0);
    for (unsigned word = 0; word < MULTICAST_WORDS; word++)
        e1000_write(nic, MULTICAST_REG(word), 0);
    mask_all(nic);
}

/* Starts a controller. Returns NULL, or why it cannot be used. */
static const char *nic_start(struct e1000 *nic)
{
    struct pci_function *function = nic->function;

    nic->registers = pci_bar_map(function, 0, 0, REG_BYTES);
    if (!nic->registers)
        return "its registers have no address that the kernel can reach";
    if (!reset(nic))
        return "its reset has timed out";
    if (!address_read(nic))
        return "it has no valid address";
    if (!memory_take(nic))
        return "no memory for its rings";
    configure(nic);
    pci_interrupt_find(function, line_raise, nic);
    vectors_set(nic);
    pci_bus_master(function, true);
    rings_start(nic);
    link_look(nic);
    if (nic->generation == E1000_ADVANCED && !nic->device.link)
        e1000_write(nic, REG_PHY, PHY_NEGOTIATE);
    nic->device.counts.link_changes = 0;
    return network_device_register(&nic->device) ? NULL : "too many controllers";
}

static void e1000_start(struct pci_function *function)
{
    const struct model *model = e1000_match(function->vendor, function->device);
    struct e1000 *nic = &nics[nic_count];
    const char *why = "too many controllers";

    if (nic_count < NETWORK_DEVICES_MAX) {
        *nic = (struct e1000){ .function = function, .generation = model->generation };
        nic->device =
            (struct network_device){ .operations = &operations, .model = model->name, .driver = nic };
        memcpy(nic->device.place, function->place, sizeof(nic->device.place));
        why = nic_start(nic);
    }
    if (why) {
        pci_bus_master(function, false);
        kernel_print("network: %s at %s is not used: %s\n", model->name, function->place, why);
        return;
    }
    nic_count++;
    const uint8_t *a = nic->device.address;
    kernel_print("network: %s at %s, %02x:%02x:%02x:%02x:%02x:%02x, interrupts: %s\n", model->name,
                 function->place, a[0], a[1], a[2], a[3], a[4], a[5], pci_interrupt_name(function));
}

const struct pci_driver PCI_DRIVER e1000_driver = { .match = e1000_match,
                                                    .pool_bytes = MEMORY_BYTES,
                                                    .start = e1000_start };
