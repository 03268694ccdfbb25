/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * power.c: switches the machine off by ACPI, resets it, and reads the keyboard and the battery clock.
 *
 * Sources: ACPI Specification 6.5 §4.8.3.2 (PM1 control: SLP_TYP in bits 12:10, SLP_EN in bit 13, SCI_EN in
 * bit 0), §4.8.3.6 (reset register), §16.1.6; Intel 8042 (status, data, and the pulse on its output that
 * resets a PC); MC146818A datasheet.
 */
#include "arch.h"
#include "arch/io.h"
#include "arch/setup.h"

#define PM1_SCI_ENABLE   1
#define PM1_SLEEP_ENABLE (1 << 13)
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

static void acpi_mode_enter(const struct acpi_facts *facts)
{
    if (!facts->smi_command_port || !facts->acpi_enable_command)
        return;
    if (io_read16(facts->pm1a_control_port) & PM1_SCI_ENABLE)
        return;
    io_write8(facts->smi_command_port, facts->acpi_enable_command);
    for (int step = 0; step < ACPI_MODE_STEPS; step++)
        if (io_read16(facts->pm1a_control_port) & PM1_SCI_ENABLE)
            return;
}

_Noreturn void arch_power_off(void)
{
    const struct acpi_facts *facts = acpi_facts();

    if (facts->pm1a_control_port && facts->soft_off_known) {
        acpi_mode_enter(facts);
        io_write16(facts->pm1a_control_port, (uint16_t)(facts->soft_off_type_a << 10 | PM1_SLEEP_ENABLE));
        if (facts->pm1b_control_port)
            io_write16(facts->pm1b_control_port, (uint16_t)(facts->soft_off_type_b << 10 | PM1_SLEEP_ENABLE));
    }
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
    static const struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) no_table = { 0, 0 };
    const struct acpi_facts *facts = acpi_facts();

    if (facts->reset_port) {
        io_write8(facts->reset_port, facts->reset_value);
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

static unsigned from_bcd(unsigned value)
{
    return (value >> 4) * 10 + (value & 15);
}

/* Days from 1970-01-01 to the given date of the Gregorian calendar, for years from 1970 on. Years are counted
 * from March, so that a leap day is the last of its year; five months from March or August on have 153 days.
 */
static uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    uint64_t years = year - (month <= 2), months = (month + 9) % 12;
    const uint64_t until_1970 = 719469; /* the same sum for 1970-01-01 */

    return years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day - until_1970;
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
            now[i] = from_bcd(now[i]);
    if (!(status & 2))
        now[2] = now[2] % 12 + (afternoon ? 12 : 0);

    unsigned year = now[5] + (now[5] < 70 ? 2000 : 1900);
    if (now[4] < 1 || now[4] > 12 || now[3] < 1 || now[3] > 31 || now[2] > 23 || now[1] > 59 || now[0] > 59)
        return 0;
    return days_since_1970(year, now[4], now[3]) * 86400 + now[2] * 3600ULL + now[1] * 60ULL + now[0];
}
