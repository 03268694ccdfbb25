/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uart16550.c: a serial port, polled: 115200 baud, 8 bits, no parity, FIFO on, no interrupts ever. Any
 * context.
 *
 * A port counts as present when its scratch register keeps what is written to it. Where the transmitter does
 * not get ready within a bounded wait (only broken hardware does that, not a pulled cable), the byte is
 * written regardless, so that printing never hangs the node. Registers are reached through the architecture's
 * arch/io.h. Source: National Semiconductor PC16550D datasheet §8.
 */
#include "drivers/uart/uart16550.h"
#include "arch/io.h"
#include "debug/console.h"

/* Registers, from the port's address on. */
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

static void uart_wait(uintptr_t port)
{
    for (int step = 0; step < WAIT_STEPS && !(io_read8(port + STATUS) & STATUS_SENT); step++)
        console_wait();
}

static void uart_write(struct console_device *device, const char *text, size_t bytes)
{
    uintptr_t port = device->address;

    for (size_t i = 0; i < bytes; i++) {
        if (i % FIFO_BYTES == 0)
            uart_wait(port);
        io_write8(port + DATA, (uint8_t)text[i]);
    }
}

static int uart_read(struct console_device *device)
{
    uintptr_t port = device->address;

    return io_read8(port + STATUS) & STATUS_RECEIVED ? io_read8(port + DATA) : -1;
}

static bool uart_present(uintptr_t port)
{
    io_write8(port + SCRATCH, 0x5a);
    if (io_read8(port + SCRATCH) != 0x5a)
        return false;
    io_write8(port + SCRATCH, 0xa5);
    return io_read8(port + SCRATCH) == 0xa5;
}

void uart_register(struct console_device *device)
{
    uintptr_t port = device->address;

    if (!uart_present(port))
        return;
    io_write8(port + INTERRUPTS, 0);
    io_write8(port + LINE, LINE_DIVISOR);
    io_write8(port + DIVISOR_LOW, 1); /* 115200 baud */
    io_write8(port + DIVISOR_HIGH, 0);
    io_write8(port + LINE, LINE_8N1);
    io_write8(port + FIFO, FIFO_ON_CLEARED);
    io_write8(port + MODEM, MODEM_READY);
    device->write = uart_write;
    device->read = uart_read;
    console_register(device);
}
