/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.c: letters on a framebuffer of direct colour, with 15 to 32 bits a pixel, at any address and of any
 * width. For nodes without a serial port and without the BIOS's text screen. Output only; any context.
 *
 * Video memory is slow to write and slower to read. So nothing is read (the cells' letters are kept here),
 * and a cell is drawn only if its letter changes. Lines do not scroll: after the last row the text continues
 * in the first row, over the oldest line, with an empty row below it. So a byte of text costs one drawn and
 * one cleared cell at most, whatever the screen's size. A CPU that waits for the console waits no longer than
 * for a serial port, which takes 87 us a byte. When the node ends, the rows are put into order once, the
 * newest at the bottom (screen_flush).
 *
 * The text is UTF-8; characters beyond Latin-1 are shown as the font's replacement. Letters are enlarged by a
 * whole factor if there would be more than COLUMNS_MAX or ROWS_MAX of them.
 */
#include "drivers/screen/screen.h"
#include "debug/console.h"
#include "drivers/screen/font.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/lock_work.h"

#define COLUMNS_MAX    240
#define ROWS_MAX       80
#define SCALE_MAX      16
#define LIGHT_GREY     0xaa /* of 0xff */
#define CELLS_A_SERVE  16
#define REPLACEMENT    0x80 /* no letter of Latin-1 */
#define ADDRESS_LOWEST (1ULL << 20)

static struct {
    uint8_t *pixels;
    uint64_t pitch;
    unsigned pixel_bytes, scale;
    uint32_t ink;
    unsigned columns, rows, column, row;
    bool wrapped; /* the rows below the current one are older than those above it */
    uint8_t lead; /* first byte of an unfinished UTF-8 character; 0: none */
    unsigned drawn;
    uint8_t cells[ROWS_MAX][COLUMNS_MAX];
} screen;

/* ---- What the loader says ---- */

static bool is_free_memory(const struct boot_info *boot, uint64_t base, uint64_t bytes)
{
    for (unsigned i = 0; i < boot->usable_count; i++) {
        const struct memory_range *range = &boot->usable[i];

        if (range->base < base + bytes && (range->base >= base || range->bytes > base - range->base) &&
            range->bytes)
            return true;
    }
    return false;
}

static bool colour_fits(const struct boot_colour *colour, unsigned bits)
{
    return colour->bits > 0 && colour->bits <= 16 && colour->position + colour->bits <= bits;
}

int screen_check(const struct boot_info *boot, uint64_t *bytes, struct message *why)
{
    const struct boot_framebuffer *frame = &boot->framebuffer;
    const unsigned pixel_bytes = (frame->bits + 7U) / 8;
    const uint64_t row_bytes = (uint64_t)frame->width * pixel_bytes;

    if (frame->kind == FRAMEBUFFER_NONE)
        return -ENODEV;
    if (frame->kind == FRAMEBUFFER_INDEXED)
        return message_set(why, -EINVAL, "a framebuffer of indexed colours; one of direct colours is needed");
    if (frame->kind != FRAMEBUFFER_DIRECT)
        return message_set(why, -EINVAL, "a framebuffer of the unknown type %u", frame->kind);
    if (frame->bits != 15 && frame->bits != 16 && frame->bits != 24 && frame->bits != 32)
        return message_set(why, -EINVAL, "a framebuffer of %u bits a pixel; it must be 15, 16, 24 or 32",
                           frame->bits);
    if (!colour_fits(&frame->red, frame->bits) || !colour_fits(&frame->green, frame->bits) ||
        !colour_fits(&frame->blue, frame->bits))
        return message_set(why, -EINVAL, "a framebuffer whose colours do not fit its %u bits a pixel",
                           frame->bits);
    if (frame->width < FONT_COLUMNS || frame->height < FONT_ROWS ||
        frame->width > FONT_COLUMNS * COLUMNS_MAX * SCALE_MAX ||
        frame->height > FONT_ROWS * ROWS_MAX * SCALE_MAX)
        return message_set(why, -EINVAL, "a framebuffer of %u x %u pixels; it must be %u x %u to %u x %u",
                           frame->width, frame->height, FONT_COLUMNS, FONT_ROWS,
                           FONT_COLUMNS * COLUMNS_MAX * SCALE_MAX, FONT_ROWS * ROWS_MAX * SCALE_MAX);
    if (frame->pitch < row_bytes)
        return message_set(why, -EINVAL,
                           "a framebuffer of %u pixels a row, but only %u bytes from row to row",
                           frame->width, frame->pitch);
    *bytes = (uint64_t)frame->pitch * (frame->height - 1) + row_bytes;
    if (frame->address < ADDRESS_LOWEST || *bytes > UINT64_MAX - frame->address ||
        is_free_memory(boot, frame->address, *bytes))
        return message_set(why, -EINVAL, "a framebuffer at 0x%llx, %llu bytes: an impossible address",
                           (unsigned long long)frame->address, (unsigned long long)*bytes);
    return 0;
}

static uint32_t colour_value(const struct boot_colour *colour)
{
    return (uint32_t)(((1ULL << colour->bits) - 1) * LIGHT_GREY / 0xff << colour->position);
}

/* ---- Cells ---- */

/* A letter's row in the framebuffer: FONT_COLUMNS pixels are whole words of eight bytes. */
typedef uint64_t __attribute__((aligned(1), may_alias)) pixel_word;

static unsigned words_a_row(void)
{
    return screen.pixel_bytes * screen.scale;
}

static void row_make(uint8_t bits, uint64_t *words)
{
    uint8_t *at = (uint8_t *)words;

    for (unsigned x = 0; x < FONT_COLUMNS; x++)
        for (unsigned i = 0; i < screen.scale; i++, at += screen.pixel_bytes)
            for (unsigned byte = 0; byte < screen.pixel_bytes; byte++)
                at[byte] = (uint8_t)(bits << x & 0x80 ? screen.ink >> 8 * byte : 0);
}

static void cell_draw(unsigned row, unsigned column)
{
    const uint8_t letter = screen.cells[row][column];
    const unsigned words = words_a_row();
    uint8_t *line = screen.pixels + (uint64_t)row * FONT_ROWS * screen.scale * screen.pitch +
                    (uint64_t)column * words * sizeof(uint64_t);
    uint64_t made[4 * SCALE_MAX];

    for (unsigned y = 0; y < FONT_ROWS; y++) {
        row_make(screen_font[letter - FONT_FIRST][y], made);
        for (unsigned i = 0; i < screen.scale; i++, line += screen.pitch)
            for (unsigned word = 0; word < words; word++)
                ((volatile pixel_word *)line)[word] = made[word];
    }
    if (++screen.drawn % CELLS_A_SERVE == 0)
        console_serve();
}

static void cell_set(unsigned row, unsigned column, uint8_t letter)
{
    if (screen.cells[row][column] == letter)
        return;
    screen.cells[row][column] = letter;
    cell_draw(row, column);
}

static void new_line(void)
{
    screen.column = 0;
    screen.row = (screen.row + 1) % screen.rows;

    /* With three rows or more, the row below stays empty: it shows where the text ends. */
    unsigned empty = screen.rows < 3 ? screen.row : (screen.row + 1) % screen.rows;
    for (unsigned column = 0; column < screen.columns; column++)
        cell_set(empty, column, ' ');
    screen.wrapped |= empty <= screen.row;
    lock_work_add(screen.columns);
}

/* ---- Text ---- */

static void letter_put(uint8_t letter)
{
    if (screen.column == screen.columns)
        new_line();
    cell_set(screen.row, screen.column++, letter);
}

static void put(uint8_t byte)
{
    const uint8_t lead = screen.lead;

    screen.lead = 0;
    if (byte >= 0xc0) {
        screen.lead = byte;
    } else if (byte >= 0x80) {
        if (lead) /* further bytes of a long character are ignored */
            letter_put((uint8_t)((lead & 0xfe) == 0xc2 ? lead << 6 | (byte & 0x3f) : REPLACEMENT));
    } else if (byte >= ' ' && byte < 0x7f) {
        letter_put(byte);
    } else if (byte == '\n') {
        new_line();
    } else if (byte == '\r') {
        screen.column = 0;
    } else if (byte == '\b') {
        screen.column -= screen.column > 0;
    } else if (byte == '\t') {
        do
            letter_put(' ');
        while (screen.column % 8 && screen.column < screen.columns);
    }
}

static void screen_write(struct console_device *device, const char *text, size_t bytes)
{
    (void)device; /* there is one screen */
    for (size_t i = 0; i < bytes; i++)
        put((uint8_t)text[i]);
}

static void rows_reverse(unsigned from, unsigned to)
{
    for (; from + 1 < to; from++, to--) {
        uint8_t kept[COLUMNS_MAX];

        memcpy(kept, screen.cells[from], sizeof(kept));
        memcpy(screen.cells[from], screen.cells[to - 1], sizeof(kept));
        memcpy(screen.cells[to - 1], kept, sizeof(kept));
    }
}

/* Puts the rows into order when the node ends, so that its last lines can be read. If the text has begun at
 * the top again, this draws the whole screen. That is slow, but no rank waits for it any longer. */
static void screen_flush(struct console_device *device)
{
    unsigned oldest = screen.row + 1;

    (void)device; /* there is one screen */
    if (!screen.wrapped)
        return;
    screen.wrapped = false;
    rows_reverse(0, oldest);
    rows_reverse(oldest, screen.rows);
    rows_reverse(0, screen.rows);
    if (screen.rows >= 3) { /* the empty row, now the first one, becomes the last one */
        rows_reverse(0, 1);
        rows_reverse(1, screen.rows);
        rows_reverse(0, screen.rows);
    }
    screen.row = screen.rows - (screen.rows < 3 ? 1 : 2);
    for (unsigned row = 0; row < screen.rows; row++)
        for (unsigned column = 0; column < screen.columns; column++)
            cell_draw(row, column);
}

static struct console_device device = {
    .name = "screen", .is_default = true, .write = screen_write, .flush = screen_flush
};

void screen_register(const struct boot_info *boot, void *pixels)
{
    const struct boot_framebuffer *frame = &boot->framebuffer;
    unsigned scale = 1;

    while (frame->width / (FONT_COLUMNS * scale) > COLUMNS_MAX ||
           frame->height / (FONT_ROWS * scale) > ROWS_MAX)
        scale++;
    memset(&screen, 0, sizeof(screen));
    memset(screen.cells, ' ', sizeof(screen.cells));
    screen.pixels = pixels;
    screen.pitch = frame->pitch;
    screen.pixel_bytes = (frame->bits + 7U) / 8;
    screen.scale = scale;
    screen.ink = colour_value(&frame->red) | colour_value(&frame->green) | colour_value(&frame->blue);
    screen.columns = frame->width / (FONT_COLUMNS * scale);
    screen.rows = frame->height / (FONT_ROWS * scale);
    for (unsigned y = 0; y < frame->height; y++) {
        uint8_t *line = screen.pixels + y * screen.pitch;
        uint64_t bytes = (uint64_t)frame->width * screen.pixel_bytes;

        for (; bytes >= sizeof(pixel_word); bytes -= sizeof(pixel_word), line += sizeof(pixel_word))
            *(volatile pixel_word *)line = 0;
        while (bytes-- > 0)
            *(volatile uint8_t *)line++ = 0;
    }
    console_register(&device);
}
