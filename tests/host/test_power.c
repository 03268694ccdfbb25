/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_power.c: how machines of several kinds are switched off. Their ports and memory are the test's.
 */
#include "arch.h"
#include "arch/io.h"
#include "arch/setup.h"
#include "check.h"

#define PM1A 0x604
#define PM1B 0x704
#define SMI  0xb2

uintptr_t arena_origin;
uint32_t arena_cpu;

struct acpi_facts acpi;
static uint16_t control[2];   /* PM1a, PM1b */
static uint16_t type_seen[2]; /* in the first of the two steps */
static uint8_t ports[0x10000], memory[16];
static unsigned orders; /* writes of SLP_EN to a port */

void io_write16(uintptr_t port, uint16_t value)
{
    unsigned which = port == PM1B;

    CHECK(port == PM1A || port == PM1B);
    control[which] = value;
    if (value & 1 << 13)
        orders++;
    else
        type_seen[which] = value >> 10 & 7;
}

uint16_t io_read16(uintptr_t port)
{
    CHECK(port == PM1A || port == PM1B);
    return control[port == PM1B];
}

void io_write8(uintptr_t port, uint8_t value)
{
    ports[port] = value;
    if (port == SMI)
        control[0] |= 1; /* the firmware hands over: SCI_EN */
}

uint8_t io_read8(uintptr_t port)
{
    return ports[port];
}

volatile void *device_at(uint64_t physical)
{
    return physical >= 0x1000 && physical < 0x1000 + sizeof(memory) ? memory + (physical - 0x1000) : NULL;
}

static void begin(void)
{
    orders = 0;
    memset(&acpi, 0, sizeof(acpi));
    memset(control, 0, sizeof(control));
    memset(type_seen, 0xff, sizeof(type_seen));
    memset(ports, 0, sizeof(ports));
    memset(memory, 0, sizeof(memory));
    acpi.soft_off_known = true;
    acpi.soft_off_type_a = 5;
    acpi.soft_off_type_b = 6;
}

TEST(other_bits_of_the_control_register_stay_as_they_are)
{
    begin();
    acpi.pm1a_control_port = PM1A;
    control[0] = 0xc3ff & ~(1 << 13); /* all but the type, which is another one's */
    control[0] |= 2 << 10;
    power_order();
    CHECK_EQUAL(orders, 1);
    CHECK_EQUAL(control[0], 0xc3ff | 5 << 10 | 1 << 13);
    CHECK_EQUAL(type_seen[0], 5);
}

TEST(both_halves_get_their_own_type)
{
    begin();
    acpi.pm1a_control_port = PM1A;
    acpi.pm1b_control_port = PM1B;
    control[1] = 1;
    power_order();
    CHECK_EQUAL(orders, 2);
    CHECK_EQUAL(control[0], 5 << 10 | 1 << 13);
    CHECK_EQUAL(control[1], 1 | 6 << 10 | 1 << 13);
    CHECK_EQUAL(type_seen[1], 6);
}

TEST(acpi_is_entered_before_and_stays_on)
{
    begin();
    acpi.pm1a_control_port = PM1A;
    acpi.smi_command_port = SMI;
    acpi.acpi_enable_command = 0xf1;
    power_order();
    CHECK_EQUAL(ports[SMI], 0xf1);
    CHECK_EQUAL(control[0], 1 | 5 << 10 | 1 << 13);
}

TEST(reduced_hardware_is_switched_off_by_its_register_in_memory)
{
    begin();
    acpi.hardware_reduced = true;
    acpi.sleep_control = (struct acpi_register){ false, 0x1000 };
    acpi.sleep_status = (struct acpi_register){ false, 0x1008 };
    power_order();
    CHECK_EQUAL(memory[0], 5 << 2 | 1 << 5);
    CHECK_EQUAL(memory[8], 1 << 7);
}

TEST(reduced_hardware_is_switched_off_by_its_port)
{
    begin();
    acpi.hardware_reduced = true;
    acpi.sleep_control = (struct acpi_register){ true, 0x404 };
    acpi.sleep_status = (struct acpi_register){ true, 0x405 };
    power_order();
    CHECK_EQUAL(ports[0x404], 5 << 2 | 1 << 5);
    CHECK_EQUAL(ports[0x405], 1 << 7);
}

TEST(what_is_not_known_is_not_written)
{
    begin();
    acpi.soft_off_known = false;
    acpi.pm1a_control_port = PM1A;
    power_order();
    acpi.hardware_reduced = true;
    acpi.sleep_control = (struct acpi_register){ false, 0x1000 };
    power_order();
    begin();
    acpi.hardware_reduced = true;
    acpi.sleep_control = (struct acpi_register){ false, 0x99000 }; /* the map does not reach it */
    power_order();
    static const uint8_t none[sizeof(memory)];
    CHECK_EQUAL(orders, 0);
    CHECK(memcmp(memory, none, sizeof(none)) == 0);
    CHECK_EQUAL(control[0], 0);
}

int main(void)
{
    RUN(other_bits_of_the_control_register_stay_as_they_are);
    RUN(both_halves_get_their_own_type);
    RUN(acpi_is_entered_before_and_stays_on);
    RUN(reduced_hardware_is_switched_off_by_its_register_in_memory);
    RUN(reduced_hardware_is_switched_off_by_its_port);
    RUN(what_is_not_known_is_not_written);
    return check_report("power");
}
