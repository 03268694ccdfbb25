/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.c: switches the machine off by ACPI, resets it, and reads the keyboard and the battery clock.
 *
 * Machines with reduced hardware have two registers for it, which may be in memory, as may the reset
 * register.
 *
 * Sources: ACPI Specification 6.5 §4.8.3.2 (PM1 control: SLP_TYP in bits 12:10, SLP_EN in bit 13, SCI_EN in
 * bit 0; the others are not to be changed), §4.8.3.6 (reset register), §4.8.3.7 (sleep control: SLP_TYP in
 * bits 4:2, SLP_EN in bit 5; sleep status: WAK_STS in bit 7), §16.1.6; Intel 8042 (status, data, and the
 * pulse on its output that resets a PC); MC146818A datasheet.
 */
#include "arch.h"
#include "arch/common/calendar.h"
#include "arch/io.h"
#include "arch/setup.h"

#define PM1_SCI_ENABLE   1
#define PM1_SLEEP_TYPE   (7U << 10)
#define PM1_SLEEP_ENABLE (1U << 13)
#define SLEEP_ENABLE     (1U << 5)
#define SLEEP_WAKE       (1U << 7)
#define ACPI_MODE_STEPS  1000000 /* reads of the port before firmware is taken not to change the mode */

/* The PC's keyboard controller. */
#define KEYBOARD_DATA     0x60
#define KEYBOARD_STATUS   0x64 /* and commands */
#define KEYBOARD_ABSENT   0xff
#define KEYBOARD_RECEIVED 0x01
#define KEYBOARD_BUSY     0x02 /* takes no command yet */
#define KEYBOARD_MOUSE    0x20 /* what was received is the mouse's */
#define KEYBOARD_RELEASED 0x80 /* codes from here on: a key was released, or the keyboard answers */
#define KEYBOARD_RESET    0xfe
#define KEYBOARD_STEPS    64      /* codes that a call takes at most */
#define RESET_STEPS       1000000 /* reads of the port, of 1 us each on a PC */

static void register_write(const struct acpi_register *at, unsigned value)
{
    volatile uint8_t *memory = at->is_port || !at->address ? NULL : device_at(at->address);

    if (memory)
        *memory = (uint8_t)value;
    else if (at->is_port && at->address)
        io_write8(at->address, (uint8_t)value);
}

/* Puts the machine to sleep by ACPI's two steps: the type of sleep, then the same with the order to go
 * there. */
static void pm1_sleep(uint16_t port, unsigned type)
{
    unsigned value = (io_read16(port) & ~(PM1_SLEEP_TYPE | PM1_SLEEP_ENABLE)) | type << 10;

    io_write16(port, (uint16_t)value);
    io_write16(port, (uint16_t)(value | PM1_SLEEP_ENABLE));
}

static void acpi_mode_enter(void)
{
    if (!acpi.smi_command_port || !acpi.acpi_enable_command)
        return;
    if (io_read16(acpi.pm1a_control_port) & PM1_SCI_ENABLE)
        return;
    io_write8(acpi.smi_command_port, acpi.acpi_enable_command);
    for (int step = 0; step < ACPI_MODE_STEPS; step++)
        if (io_read16(acpi.pm1a_control_port) & PM1_SCI_ENABLE)
            return;
}

void power_order(void)
{
    if (acpi.hardware_reduced && acpi.soft_off_known) {
        register_write(&acpi.sleep_status, SLEEP_WAKE); /* writing it clears it */
        register_write(&acpi.sleep_control, (unsigned)acpi.soft_off_type_a << 2 | SLEEP_ENABLE);
    } else if (acpi.pm1a_control_port && acpi.soft_off_known) {
        acpi_mode_enter();
        pm1_sleep(acpi.pm1a_control_port, acpi.soft_off_type_a);
        if (acpi.pm1b_control_port)
            pm1_sleep(acpi.pm1b_control_port, acpi.soft_off_type_b);
    }
}

_Noreturn void arch_power_off(void)
{
    power_order();
    arch_halt();
}

_Noreturn void arch_halt(void)
{
    for (;;)
        __asm__ volatile("cli; hlt");
}

/* Gives a write that resets the machine time to do so. */
static void reset_wait(void)
{
    for (int step = 0; step < RESET_STEPS; step++)
        io_read8(KEYBOARD_STATUS);
}

_Noreturn void arch_reboot(void)
{
    static const struct table_pointer no_table = { 0, 0 };

    if (acpi.reset.address) {
        register_write(&acpi.reset, acpi.reset_value);
        reset_wait();
    }
    for (int step = 0; step < RESET_STEPS && io_read8(KEYBOARD_STATUS) & KEYBOARD_BUSY; step++)
        ;
    io_write8(KEYBOARD_STATUS, KEYBOARD_RESET);
    reset_wait();
    /* What every x86 CPU has: a fault that cannot be reported shuts it down, and boards answer by a reset. */
    __asm__ volatile("lidt %0; int3" : : "m"(no_table));
    arch_halt();
}

bool arch_key_pressed(void)
{
    bool pressed = false;

    for (int step = 0; step < KEYBOARD_STEPS; step++) {
        uint8_t status = io_read8(KEYBOARD_STATUS);

        if (status == KEYBOARD_ABSENT || !(status & KEYBOARD_RECEIVED))
            break;
        uint8_t code = io_read8(KEYBOARD_DATA);
        pressed |= !(status & KEYBOARD_MOUSE) && code < KEYBOARD_RELEASED;
    }
    return pressed;
}

#define RTC_INDEX 0x70
#define RTC_DATA  0x71

enum { RTC_STATUS_A = 10, RTC_STATUS_B = 11 };

static unsigned rtc_read(uint8_t index)
{
    io_write8(RTC_INDEX, index);
    return io_read8(RTC_DATA);
}

uint64_t arch_wall_clock_s(void)
{
    static const uint8_t index[6] = { 0, 2, 4, 7, 8, 9 }; /* second, minute, hour, day, month, year */
    unsigned now[6];

    /* Two equal readings were not torn by an update; a missing clock reads as all ones. */
    for (int tries = 0; tries < 1000; tries++) {
        bool same = true;

        for (unsigned i = 0; i < 6; i++)
            now[i] = rtc_read(index[i]);
        for (unsigned i = 0; i < 6; i++)
            same &= rtc_read(index[i]) == now[i];
        if (same && !(rtc_read(RTC_STATUS_A) & 0x80))
            break;
    }

    unsigned status = rtc_read(RTC_STATUS_B);
    bool afternoon = now[2] & 0x80;

    now[2] &= 0x7f;
    if (!(status & 4))
        for (unsigned i = 0; i < 6; i++)
            now[i] = (now[i] >> 4) * 10 + (now[i] & 15); /* from binary coded decimal */
    if (!(status & 2))
        now[2] = now[2] % 12 + (afternoon ? 12 : 0);

    unsigned year = now[5] + (now[5] < 70 ? 2000 : 1900);
    return calendar_seconds(&(struct calendar_time){ year, now[4], now[3], now[2], now[1], now[0] });
}
