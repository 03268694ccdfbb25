/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_uart.c: which ports count as serial ports, and at which speed they run, on a simulated 16550 of which
 * parts may be missing.
 */
#include "drivers/uart/uart16550.h"
#include "arch/io.h"
#include "check.h"
#include "debug/console.h"
#include "lib/errno.h"

#define PORT 0x2f8

/* The registers that keep what is written to them, and those of the divisor. */
static struct {
    bool is_there, has_scratch, has_loopback;
    uint8_t floating; /* what is read where nothing is */
    uint8_t line, modem, scratch, interrupts, divisor[2];
    unsigned sent;
} uart;

static struct console_device port, *registered;

void io_write8(uintptr_t address, uint8_t value)
{
    uintptr_t at = address - PORT;
    bool divisor = uart.line & 0x80;

    CHECK(at < 8);
    if (at < 2 && divisor)
        uart.divisor[at] = value;
    else if (at == 0)
        uart.sent++;
    else if (at == 1)
        uart.interrupts = value;
    else if (at == 3)
        uart.line = value;
    else if (at == 4)
        uart.modem = value;
    else if (at == 7)
        uart.scratch = value;
}

uint8_t io_read8(uintptr_t address)
{
    uintptr_t at = address - PORT;
    uint8_t looped = (uint8_t)((uart.modem & 0x0c) << 4 | (uart.modem & 2) << 3 | (uart.modem & 1) << 5);

    CHECK(at < 8);
    if (!uart.is_there)
        return uart.floating;
    switch (at) {
    case 0:
    case 1:
        return uart.line & 0x80 ? uart.divisor[at] : at ? uart.interrupts : 0;
    case 3:
        return uart.line;
    case 4:
        return uart.modem;
    case 5:
        return 0x60;
    case 6:
        return uart.has_loopback && uart.modem & 0x10 ? looped : 0xb0;
    case 7:
        return uart.has_scratch ? uart.scratch : 0xff;
    default:
        return 0xc1;
    }
}

void console_register(struct console_device *device)
{
    registered = device;
}

void console_serve(void)
{
}

void kernel_print(const char *format, ...)
{
    (void)format; /* nothing is lost here */
}

static bool found(bool scratch, bool loopback)
{
    memset(&uart, 0, sizeof(uart));
    uart.is_there = true;
    uart.has_scratch = scratch;
    uart.has_loopback = loopback;
    uart.divisor[0] = 2;
    registered = NULL;
    port = (struct console_device){ .name = "com2", .address = PORT };
    uart_register(&port);
    return registered == &port;
}

TEST(a_port_needs_a_scratch_register_or_loopback)
{
    CHECK(found(true, true));
    CHECK(found(true, false));
    CHECK(found(false, true));
    CHECK(!found(false, false));
}

TEST(a_port_is_ready_afterwards_whatever_it_was_found_by)
{
    for (unsigned scratch = 0; scratch < 2; scratch++) {
        CHECK(found(scratch, true));
        CHECK_EQUAL(uart.modem, 3); /* out of loopback */
        CHECK_EQUAL(uart.line, 3);
        CHECK_EQUAL(uart.interrupts, 0);
        port.write(&port, "x", 1);
        CHECK_EQUAL(uart.sent, 1);
    }
}

TEST(where_nothing_is_there_is_no_port)
{
    static const uint8_t floating[] = { 0xff, 0, 0x5a, 0x90, 0x60 };

    for (unsigned i = 0; i < sizeof(floating); i++) {
        memset(&uart, 0, sizeof(uart));
        uart.floating = floating[i];
        registered = NULL;
        port = (struct console_device){ .name = "com2", .address = PORT };
        uart_register(&port);
        CHECK(registered == NULL);
    }
}

TEST(speeds_are_divisors_of_115200)
{
    CHECK(found(true, true));
    CHECK_EQUAL(port.firmware_speed, 57600);
    CHECK_EQUAL(uart.divisor[0] | uart.divisor[1] << 8, 1);
    CHECK_EQUAL(port.speed_set(&port, 9600), 0);
    CHECK_EQUAL(uart.divisor[0] | uart.divisor[1] << 8, 12);
    CHECK_EQUAL(port.speed_set(&port, 300), 0);
    CHECK_EQUAL(uart.divisor[0] | uart.divisor[1] << 8, 384);
    CHECK_EQUAL(uart.line, 3);
    static const uint64_t wrong[] = { 0, 1, 9601, 100000, 115201, 230400, UINT64_MAX };
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_EQUAL(port.speed_set(&port, wrong[i]), -EINVAL);
    CHECK_EQUAL(uart.divisor[0] | uart.divisor[1] << 8, 384);
}

int main(void)
{
    RUN(a_port_needs_a_scratch_register_or_loopback);
    RUN(a_port_is_ready_afterwards_whatever_it_was_found_by);
    RUN(where_nothing_is_there_is_no_port);
    RUN(speeds_are_divisors_of_115200);
    return check_report("uart");
}
