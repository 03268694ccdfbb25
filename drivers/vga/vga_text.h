/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vga_text.h: the PC's text screen as a console device.
 */
#ifndef TACET_VGA_TEXT_H
#define TACET_VGA_TEXT_H

#include "lib/boot_info.h"

/* Registers as `vga` the text screen that the boot information names, or the PC's own if the BIOS has left it
 * in a text mode. */
void vga_text_register(const struct boot_info *boot);

#endif
