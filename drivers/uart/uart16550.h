/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uart16550.h: a 16550 serial port as a console device.
 */
#ifndef TACET_UART16550_H
#define TACET_UART16550_H

struct console_device;

/* Initialises and registers the 16550 at device->address (arch/io.h), if one answers there. The architecture
 * fills in address, name and is_default; the structure must live for ever. */
void uart_register(struct console_device *device);

#endif
