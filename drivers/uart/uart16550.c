/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uart16550.c: a serial port: 115200 baud unless it is set otherwise, 8 bits, no parity, FIFO on. Polled; it
 * interrupts only for input, while it is listened to. Any context.
 *
 * A port counts as present if its scratch register keeps what is written to it, or if its modem lines come
 * back in loopback mode: the 8250 has no scratch register, and some hypervisors' ports have no loopback mode.
 * If the transmitter does not get ready within a bounded wait (only broken hardware does that, not a pulled
 * cable), the byte is written all the same, so that printing never hangs the node. Registers are reached
 * through the architecture's arch/io.h. Source: National Semiconductor PC16550D datasheet §8.
 */
#include "drivers/uart/uart16550.h"
#include "arch/io.h"
#include "debug/console.h"
#include "lib/errno.h"

/* Offsets of registers from the port's address. */
enum {
    DATA = 0,
    INTERRUPTS = 1,
    DIVISOR_LOW = 0,
    DIVISOR_HIGH = 1,
    FIFO = 2,
    LINE = 3,
    MODEM = 4,
    STATUS = 5,
    MODEM_STATUS = 6,
    SCRATCH = 7
};

#define LINE_8N1        0x03
#define LINE_DIVISOR    0x80
#define FIFO_ON_CLEARED 0xc7
#define INTERRUPT_INPUT 0x01
#define MODEM_READY     0x03
#define MODEM_LOOPBACK  0x10 /* the outputs, bits 3:0, come back as inputs, bits 7:4 of the status */
#define MODEM_LINE      0x08 /* connects the interrupt line */
#define STATUS_RECEIVED 0x01
#define STATUS_OVERRUN  0x02 /* reading it clears it */
#define STATUS_SENT     0x20 /* the transmit FIFO is empty */
#define STATUS_IDLE     0x40 /* the shift register is empty, too: the last bit has been sent */
#define FIFO_BYTES      16
#define SPEED_MAX       115200
#define WAIT_STEPS      1000000

static void uart_wait(uintptr_t port, uint8_t status)
{
    int step = 0;

    do
        console_serve();
    while (!(io_read8(port + STATUS) & status) && ++step < WAIT_STEPS);
}

static void uart_write(struct console_device *device, const char *text, size_t bytes)
{
    uintptr_t port = device->address;

    for (size_t i = 0; i < bytes; i++) {
        if (i % FIFO_BYTES == 0)
            uart_wait(port, STATUS_SENT);
        io_write8(port + DATA, (uint8_t)text[i]);
    }
}

static void uart_flush(struct console_device *device)
{
    uart_wait(device->address, STATUS_IDLE);
}

static int uart_read(struct console_device *device, bool take)
{
    static bool reported;
    uintptr_t port = device->address;
    uint8_t status = io_read8(port + STATUS);

    if (status & STATUS_OVERRUN && !reported) {
        reported = true;
        kernel_print("%s: input came faster than it was read, and some is lost\n", device->name);
    }
    if (!(status & STATUS_RECEIVED))
        return -1;
    return take ? io_read8(port + DATA) : 0;
}

static void uart_listen(struct console_device *device, bool on)
{
    if (on)
        io_write8(device->address + MODEM, MODEM_READY | MODEM_LINE);
    io_write8(device->address + INTERRUPTS, on ? INTERRUPT_INPUT : 0);
}

static bool scratch_keeps(uintptr_t port, uint8_t value)
{
    io_write8(port + SCRATCH, value);
    return io_read8(port + SCRATCH) == value;
}

static bool loopback_answers(uintptr_t port, uint8_t outputs, uint8_t inputs)
{
    io_write8(port + MODEM, MODEM_LOOPBACK | outputs);
    return (io_read8(port + MODEM_STATUS) & 0xf0) == inputs;
}

static bool uart_present(uintptr_t port)
{
    return (scratch_keeps(port, 0x5a) && scratch_keeps(port, 0xa5)) ||
           /* RTS and OUT2 as CTS and DCD; then DTR and OUT1 as DSR and RI. */
           (loopback_answers(port, 0x0a, 0x90) && loopback_answers(port, 0x05, 0x60));
}

static int uart_speed_set(struct console_device *device, uint64_t baud)
{
    uintptr_t port = device->address;

    if (baud < SPEED_MAX / 0xffff + 1 || SPEED_MAX % baud)
        return -EINVAL;
    const uint64_t divisor = SPEED_MAX / baud;
    uart_wait(port, STATUS_IDLE); /* what is being sent still goes out at its own speed */
    io_write8(port + LINE, LINE_DIVISOR);
    io_write8(port + DIVISOR_LOW, (uint8_t)divisor);
    io_write8(port + DIVISOR_HIGH, (uint8_t)(divisor >> 8));
    io_write8(port + LINE, LINE_8N1);
    return 0;
}

/* Returns the speed that firmware has set; SPEED_MAX if its divisor gives no speed of ours. */
static uint32_t firmware_speed(uintptr_t port)
{
    io_write8(port + LINE, LINE_DIVISOR);
    unsigned divisor = io_read8(port + DIVISOR_LOW) + 256U * io_read8(port + DIVISOR_HIGH);
    io_write8(port + LINE, LINE_8N1);
    return divisor && SPEED_MAX % divisor == 0 ? SPEED_MAX / divisor : SPEED_MAX;
}

void uart_register(struct console_device *device)
{
    uintptr_t port = device->address;

    if (!uart_present(port))
        return;
    device->firmware_speed = firmware_speed(port);
    io_write8(port + INTERRUPTS, 0);
    uart_speed_set(device, SPEED_MAX);
    io_write8(port + FIFO, FIFO_ON_CLEARED);
    io_write8(port + MODEM, MODEM_READY);
    device->write = uart_write;
    device->flush = uart_flush;
    device->read = uart_read;
    device->listen = uart_listen;
    device->speed_set = uart_speed_set;
    console_register(device);
}
