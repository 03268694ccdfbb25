/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * font.h: the letters of the framebuffer console, which ports/font/make.py makes from a font of Debian's when
 * the kernel is built.
 */
#ifndef TACET_FONT_H
#define TACET_FONT_H

#include <stdint.h>

#define FONT_COLUMNS 8
#define FONT_ROWS    16
#define FONT_FIRST   0x20 /* the first letter; all are Latin-1's, in order */
#define FONT_LETTERS (0x100 - FONT_FIRST)

/* A byte for each row; the highest bit is the leftmost pixel. */
extern const uint8_t screen_font[FONT_LETTERS][FONT_ROWS];

/* The font's copyright notice, which copies of the font have to carry. */
extern const char screen_font_owner[];

#endif
