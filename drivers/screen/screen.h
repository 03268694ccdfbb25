/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.h: a framebuffer, which the boot loader has set up, as a console device.
 */
#ifndef TACET_SCREEN_H
#define TACET_SCREEN_H

#include "lib/boot_info.h"
#include "lib/format.h"

/* Whether letters can be drawn on the framebuffer that the boot information names: *bytes is then its size.
 * -ENODEV where it names none; -EINVAL with `why` for one that cannot be right, or cannot be used. Pure. */
int screen_check(const struct boot_info *boot, uint64_t *bytes, struct message *why);

/* Clears and registers it, as screen, a console of the kernel by default. It has passed screen_check, and its
 * first pixel is at `pixels`, mapped for ever; writes may be combined, and nothing is read. */
void screen_register(const struct boot_info *boot, void *pixels);

#endif
