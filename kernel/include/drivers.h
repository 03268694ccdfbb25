/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drivers.h: the console devices that there are drivers for. An architecture registers those that its
 * machines have.
 */
#ifndef TACET_DRIVERS_H
#define TACET_DRIVERS_H

#include "boot_info.h"

/* Every 16550 serial port that answers at the four PC addresses, as com1 … com4; drivers/uart. */
void uart_register_all(void);

/* The text screen that the boot information names, or the PC's own where the BIOS left it in a text mode, as
 * vga; drivers/vga. */
void vga_text_register(const struct boot_info *boot);

#endif
