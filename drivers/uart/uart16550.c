/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uart16550.c: serial ports of the PC, polled: 115200 baud, 8 bits, no parity, FIFO on, no interrupts ever.
 * Any context.
 *
 * A port counts as present when its scratch register keeps what is written to it. A transmitter that never
 * gets ready (a pulled cable cannot do that, broken hardware can) is given up after a bounded wait, so that
 * printing never hangs the node. Source: National Semiconductor PC16550D datasheet §8.
 */
#include "arch/cpu.h"
#include "debug/console.h"
#include "drivers/uart/uart16550.h"

enum {
    DATA = 0,
    INTERRUPTS = 1,
    DIVISOR_LOW = 0,
    DIVISOR_HIGH = 1,
    FIFO = 2,
    LINE = 3,
    MODEM = 4,
    STATUS = 5,
    SCRATCH = 7
};

#define LINE_8N1        0x03
#define LINE_DIVISOR    0x80
#define FIFO_ON_CLEARED 0x07
#define MODEM_READY     0x03
#define STATUS_RECEIVED 0x01
#define STATUS_SENT     0x20 /* the transmit FIFO is empty */
#define FIFO_BYTES      16
#define WAIT_STEPS      1000000

static void uart_wait(uint16_t port)
{
    for (int step = 0; step < WAIT_STEPS; step++)
        if (port_read8(port + STATUS) & STATUS_SENT)
            return;
}

static void uart_write(struct console_device *device, const char *text, size_t bytes)
{
    uint16_t port = (uint16_t)device->address;

    for (size_t i = 0; i < bytes; i++) {
        if (i % FIFO_BYTES == 0)
            uart_wait(port);
        port_write8(port + DATA, (uint8_t)text[i]);
    }
}

static int uart_read(struct console_device *device)
{
    uint16_t port = (uint16_t)device->address;

    return port_read8(port + STATUS) & STATUS_RECEIVED ? port_read8(port + DATA) : -1;
}

static struct console_device ports[] = {
    { .name = "com1", .is_default = true, .write = uart_write, .read = uart_read, .address = 0x3f8 },
    { .name = "com2", .write = uart_write, .read = uart_read, .address = 0x2f8 },
    { .name = "com3", .write = uart_write, .read = uart_read, .address = 0x3e8 },
    { .name = "com4", .write = uart_write, .read = uart_read, .address = 0x2e8 },
};

static bool uart_present(uint16_t port)
{
    port_write8(port + SCRATCH, 0x5a);
    if (port_read8(port + SCRATCH) != 0x5a)
        return false;
    port_write8(port + SCRATCH, 0xa5);
    return port_read8(port + SCRATCH) == 0xa5;
}

void uart_register_all(void)
{
    for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        uint16_t port = (uint16_t)ports[i].address;

        if (!uart_present(port))
            continue;
        port_write8(port + INTERRUPTS, 0);
        port_write8(port + LINE, LINE_DIVISOR);
        port_write8(port + DIVISOR_LOW, 1); /* 115200 baud */
        port_write8(port + DIVISOR_HIGH, 0);
        port_write8(port + LINE, LINE_8N1);
        port_write8(port + FIFO, FIFO_ON_CLEARED);
        port_write8(port + MODEM, MODEM_READY);
        console_register(&ports[i]);
    }
}
