/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vga_text.c: the text screen of a PC with a BIOS: rows of character and attribute bytes, scrolled by
 * copying. For nodes without a serial port. Output only; any context.
 */
#include "drivers/vga/vga_text.h"
#include "arch.h"
#include "debug/console.h"

#define BIOS_VIDEO_MODE 0x449 /* byte in the BIOS data area */
#define COLOUR_TEXT     0xb8000
#define ATTRIBUTE       0x07 /* light grey on black */
#define COLUMNS_MAX     256
#define ROWS_MAX        128

static struct {
    volatile uint16_t *cells;
    unsigned columns, rows, column, row;
} screen;

static void row_clear(unsigned row)
{
    for (unsigned column = 0; column < screen.columns; column++)
        screen.cells[row * screen.columns + column] = ATTRIBUTE << 8 | ' ';
}

static void new_line(void)
{
    screen.column = 0;
    if (++screen.row < screen.rows)
        return;
    screen.row = screen.rows - 1;
    for (unsigned i = 0; i < screen.columns * screen.row; i++)
        screen.cells[i] = screen.cells[i + screen.columns];
    row_clear(screen.row);
}

static void put(char c)
{
    if (c == '\r') {
        screen.column = 0;
    } else if (c == '\n') {
        new_line();
    } else if (c == '\t') {
        do
            put(' ');
        while (screen.column % 8);
    } else {
        if (screen.column == screen.columns)
            new_line();
        screen.cells[screen.row * screen.columns + screen.column++] = (uint16_t)(ATTRIBUTE << 8 | (uint8_t)c);
    }
}

static void vga_write(struct console_device *device, const char *text, size_t bytes)
{
    (void)device; /* there is one screen */
    for (size_t i = 0; i < bytes; i++)
        put(text[i]);
}

static struct console_device vga = { .name = "vga", .is_default = true, .write = vga_write };

void vga_text_register(const struct boot_info *boot)
{
    uint64_t address = boot->text_screen.address;

    screen.columns = boot->text_screen.columns;
    screen.rows = boot->text_screen.rows;
    if (!address) {
        uint8_t mode = *(const uint8_t *)arch_physical(BIOS_VIDEO_MODE) & 0x7f;

        if (boot->efi || mode < 2 || mode > 3)
            return;
        address = COLOUR_TEXT;
        screen.columns = 80;
        screen.rows = 25;
    }
    if (screen.columns == 0 || screen.columns > COLUMNS_MAX || screen.rows == 0 || screen.rows > ROWS_MAX ||
        address < 0xa0000 || address + (uint64_t)screen.columns * screen.rows * 2 > 0xc0000)
        return;

    screen.cells = arch_physical(address);
    for (unsigned row = 0; row < screen.rows; row++)
        row_clear(row);
    console_register(&vga);
}
