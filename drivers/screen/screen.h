/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.h: a framebuffer, which the boot loader has set up, as a console device.
 */
#ifndef TACET_SCREEN_H
#define TACET_SCREEN_H

#include "lib/boot_info.h"
#include "lib/format.h"

/* Checks whether letters can be drawn on the framebuffer that the boot information names. Returns 0, with its
 * size in *bytes; -ENODEV if none is named; -EINVAL with `why` if it cannot be right or is not supported.
 * Pure. */
int screen_check(const struct boot_info *boot, uint64_t *bytes, struct message *why);

/* Clears the framebuffer and registers it as the console device `screen`, by default a console of the kernel.
 * It has passed screen_check, and is mapped for ever from `pixels` on; writes may be combined, and nothing is
 * read. */
void screen_register(const struct boot_info *boot, void *pixels);

#endif
