/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vga_text.h: the PC's text screen as a console device.
 */
#ifndef TACET_VGA_TEXT_H
#define TACET_VGA_TEXT_H

#include "lib/boot_info.h"

/* Registers the text screen that the boot information names, or the PC's own where the BIOS left it in a text
 * mode, as vga. */
void vga_text_register(const struct boot_info *boot);

#endif
