/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_screen.c: the framebuffer console on framebuffers of every shape, in a block of exactly their size: a
 * byte outside is the sanitizer's. What stands there is read back by a font of this test's own, in which no
 * two letters look alike.
 */
#include "drivers/screen/screen.h"
#include "check.h"
#include "debug/console.h"
#include "drivers/screen/font.h"
#include "lib/errno.h"
#include <stdarg.h>

#define BASE 0xc0000000ULL

const uint8_t screen_font[FONT_LETTERS][FONT_ROWS] = {
#define GLYPH(n)                                   \
    {                                              \
        [0] = n, [5] = 0x81, [15] = (uint8_t) ~(n) \
    }
#define GLYPHS(n) [n] = GLYPH(n), [n + 1] = GLYPH(n + 1), [n + 2] = GLYPH(n + 2), [n + 3] = GLYPH(n + 3)
#define GLYPHSS(n)                                                                                           \
    GLYPHS(n), GLYPHS(n + 4), GLYPHS(n + 8), GLYPHS(n + 12), GLYPHS(n + 16), GLYPHS(n + 20), GLYPHS(n + 24), \
        GLYPHS(n + 28)
    [0] = { 0 }, [1] = GLYPH(1), [2] = GLYPH(2), [3] = GLYPH(3), GLYPHS(4),   GLYPHS(8),
    GLYPHS(12),  GLYPHS(16),     GLYPHS(20),     GLYPHS(24),     GLYPHS(28),  GLYPHSS(32),
    GLYPHSS(64), GLYPHSS(96),    GLYPHSS(128),   GLYPHSS(160),   GLYPHSS(192)
};
const char screen_font_owner[] = "the test's";

static struct boot_info boot;
static struct message why;
static struct console_device *device;
static uint8_t *pixels;
static uint64_t frame_bytes;
static unsigned served;

void console_register(struct console_device *registered)
{
    device = registered;
}

void console_serve(void)
{
    served++;
}

static struct boot_framebuffer *frame(uint32_t width, uint32_t height, uint32_t pitch, uint8_t bits)
{
    struct boot_framebuffer *out = &boot.framebuffer;

    memset(&boot, 0, sizeof(boot));
    *out = (struct boot_framebuffer){ .kind = FRAMEBUFFER_DIRECT,
                                      .address = BASE,
                                      .pitch = pitch,
                                      .width = width,
                                      .height = height,
                                      .bits = bits };
    out->red = bits == 16 ? (struct boot_colour){ 11, 5 } : (struct boot_colour){ 16, 8 };
    out->green = bits == 16 ? (struct boot_colour){ 5, 6 } : (struct boot_colour){ 8, 8 };
    out->blue = bits == 16 ? (struct boot_colour){ 0, 5 } : (struct boot_colour){ 0, 8 };
    return out;
}

static int check(void)
{
    return screen_check(&boot, &frame_bytes, &why);
}

static void begin(void)
{
    if (!CHECK_EQUAL(check(), 0))
        return;
    free(pixels);
    pixels = malloc(frame_bytes);
    memset(pixels, 0x5a, frame_bytes);
    device = NULL;
    screen_register(&boot, pixels);
    CHECK(device != NULL && strcmp(device->name, "screen") == 0 && device->is_default);
}

static void print(const char *text)
{
    device->write(device, text, strlen(text));
}

static uint32_t pixel(uint32_t x, uint32_t y)
{
    unsigned bytes = (boot.framebuffer.bits + 7U) / 8;
    uint32_t value = 0;

    memcpy(&value, pixels + (uint64_t)y * boot.framebuffer.pitch + (uint64_t)x * bytes, bytes);
    return value;
}

/* Returns the letter in a cell, or 0 for none. */
static uint8_t cell(unsigned row, unsigned column, unsigned scale)
{
    uint8_t rows[FONT_ROWS] = { 0 };

    for (unsigned y = 0; y < FONT_ROWS * scale; y++)
        for (unsigned x = 0; x < FONT_COLUMNS * scale; x++) {
            bool lit = pixel(column * FONT_COLUMNS * scale + x, row * FONT_ROWS * scale + y) != 0;
            uint8_t bit = (uint8_t)(0x80 >> x / scale);

            if (x % scale == 0 && y % scale == 0)
                rows[y / scale] |= lit ? bit : 0;
            else if (lit != !!(rows[y / scale] & bit))
                return 0; /* not a square */
        }
    for (unsigned letter = 0; letter < FONT_LETTERS; letter++)
        if (memcmp(rows, screen_font[letter], FONT_ROWS) == 0)
            return (uint8_t)(letter + FONT_FIRST);
    return 0;
}

static bool row_is(unsigned row, const char *text, unsigned scale)
{
    unsigned columns = boot.framebuffer.width / (FONT_COLUMNS * scale);

    for (unsigned column = 0; column < columns; column++) {
        uint8_t wanted = *text ? (uint8_t)*text++ : ' ';

        if (cell(row, column, scale) != wanted)
            return false;
    }
    return true;
}

TEST(text_stands_where_it_was_printed_in_every_format)
{
    static const struct {
        uint32_t width, height, more;
        uint8_t bits;
    } shapes[] = { { 640, 480, 0, 32 }, { 1366, 768, 0, 24 }, { 1366, 768, 10, 32 }, { 801, 601, 7, 16 },
                   { 640, 480, 2, 15 }, { 100, 50, 3, 24 },   { 83, 49, 1, 32 } };

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        uint32_t bytes = (shapes[i].bits + 7U) / 8;

        frame(shapes[i].width, shapes[i].height, shapes[i].width * bytes + shapes[i].more, shapes[i].bits);
        if (shapes[i].bits == 15) {
            boot.framebuffer.red = (struct boot_colour){ 10, 5 };
            boot.framebuffer.green = (struct boot_colour){ 5, 5 };
            boot.framebuffer.blue = (struct boot_colour){ 0, 5 };
        }
        begin();
        print("tacet:\tHi\r\nb\bc~");
        CHECK(row_is(0, "tacet:  Hi", 1));
        CHECK(row_is(1, "c~", 1));
        CHECK(row_is(2, "", 1));
    }
}

TEST(the_colour_is_grey_in_the_devices_own_bits)
{
    frame(8, 16, 32, 32);
    boot.framebuffer.red = (struct boot_colour){ 0, 10 };
    boot.framebuffer.green = (struct boot_colour){ 10, 10 };
    boot.framebuffer.blue = (struct boot_colour){ 20, 10 };
    begin();
    print("!");
    CHECK_EQUAL(pixel(0, 5), 682U | 682U << 10 | 682U << 20);
    CHECK_EQUAL(pixel(1, 5), 0);
    frame(8, 16, 16, 16);
    begin();
    print("!");
    CHECK_EQUAL(pixel(7, 5), 20U | 42U << 5 | 20U << 11);
}

TEST(everything_is_cleared_and_nothing_between_the_rows_is_touched)
{
    frame(85, 37, 85 * 4 + 12, 32);
    begin();
    for (uint32_t y = 0; y < 37; y++) {
        for (uint32_t x = 0; x < 85; x++)
            CHECK_EQUAL(pixel(x, y), 0);
        for (unsigned i = 0; y < 36 && i < 12; i++)
            CHECK_EQUAL(pixels[y * boot.framebuffer.pitch + 85 * 4 + i], 0x5a);
    }
}

TEST(letters_are_larger_where_there_would_be_too_many)
{
    frame(3840, 2160, 3840 * 4, 32);
    begin();
    print("four\r\nk");
    CHECK(row_is(0, "four", 2));
    CHECK(row_is(1, "k", 2));
    frame(30720, 16, 30720 * 2, 16);
    boot.framebuffer.height = 256;
    begin();
    print("W");
    CHECK_EQUAL(cell(0, 0, 16), 'W');
}

TEST(a_long_line_goes_on_below)
{
    frame(80, 64, 320, 32);
    begin();
    print("0123456789abc");
    CHECK(row_is(0, "0123456789", 1));
    CHECK(row_is(1, "abc", 1));
}

TEST(lines_begin_again_above_with_an_empty_row_below)
{
    frame(80, 80, 320, 32);
    begin();
    print("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven");
    CHECK(row_is(0, "six", 1));
    CHECK(row_is(1, "seven", 1));
    CHECK(row_is(2, "", 1));
    CHECK(row_is(3, "four", 1));
    CHECK(row_is(4, "five", 1));
    device->flush(device);
    static const char *const ordered[] = { "four", "five", "six", "seven", "" };
    for (unsigned row = 0; row < 5; row++)
        CHECK(row_is(row, ordered[row], 1));
    print("!\r\nend");
    device->flush(device);
    CHECK(row_is(2, "seven!", 1));
    CHECK(row_is(3, "end", 1));
    CHECK(row_is(4, "", 1));
}

TEST(order_is_made_at_every_place_of_the_ring)
{
    for (unsigned rows = 1; rows <= 6; rows++)
        for (unsigned lines = 1; lines < 20; lines++) {
            frame(80, rows * 16, 320, 32);
            begin();
            for (unsigned line = 0; line < lines; line++) {
                char text[16];

                snprintf(text, sizeof(text), "%s%u", line ? "\r\n" : "", line);
                print(text);
            }
            device->flush(device);

            /* All but one row show lines where there are enough rows for an empty one. */
            unsigned room = rows < 3 ? rows : rows - 1, first = lines > room ? lines - room : 0;
            for (unsigned row = 0; row < rows; row++) {
                char text[16] = "";

                if (first + row < lines)
                    snprintf(text, sizeof(text), "%u", first + row);
                CHECK(row_is(row, text, 1));
            }
        }
}

TEST(characters_beyond_ascii_are_one_cell_each)
{
    frame(160, 48, 640, 32);
    begin();
    print("5 \xc2\xb5s \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80.\xff\xc2x\x80\x1b\x01");
    CHECK(row_is(0, "5 \xb5s \xe9 \x80 \x80.x", 1));
}

TEST(crosscalls_are_served_while_it_draws)
{
    frame(640, 480, 2560, 32);
    begin();
    served = 0;
    for (int i = 0; i < 64; i++)
        print("x");
    CHECK_EQUAL(served, 4);
    served = 0;
    print("\r");
    for (int i = 0; i < 64; i++)
        print("x"); /* what stands there already is not drawn */
    CHECK_EQUAL(served, 0);
}

static void refused(const char *words)
{
    why.text[0] = '\0';
    CHECK_EQUAL(check(), -EINVAL);
    CHECK(strstr(why.text, words) != NULL);
    if (!strstr(why.text, words))
        fprintf(stderr, "  \"%s\" has no \"%s\"\n", why.text, words);
}

TEST(what_cannot_be_is_refused_and_named)
{
    frame(640, 480, 2560, 32)->kind = FRAMEBUFFER_NONE;
    CHECK_EQUAL(check(), -ENODEV);
    frame(640, 480, 640, 8)->kind = FRAMEBUFFER_INDEXED;
    refused("indexed colours");
    frame(640, 480, 2560, 32)->kind = FRAMEBUFFER_UNKNOWN;
    refused("unknown type");
    frame(640, 480, 2560, 13);
    refused("13 bits a pixel; it must be 15, 16, 24 or 32");
    frame(640, 480, 2560, 0);
    refused("0 bits a pixel");
    frame(0, 480, 2560, 32);
    refused("0 x 480 pixels; it must be 8 x 16 to 30720 x 20480");
    frame(640, 15, 2560, 32);
    refused("640 x 15 pixels");
    frame(UINT32_MAX, 480, UINT32_MAX, 32);
    refused("pixels; it must be");
    frame(640, 480, 2559, 32);
    refused("640 pixels a row, but only 2559 bytes");
    frame(640, 480, 2560, 32)->address = 0;
    refused("at 0x0, ");
    frame(640, 480, 2560, 32)->address = UINT64_MAX - 1000;
    refused("an impossible address");
    frame(640, 480, 2560, 32)->red.bits = 0;
    refused("colours do not fit its 32 bits");
    frame(640, 480, 2560, 24)->blue = (struct boot_colour){ 20, 8 };
    refused("colours do not fit its 24 bits");
    frame(640, 480, 2560, 32)->green = (struct boot_colour){ 250, 8 };
    refused("colours do not fit");
}

TEST(memory_of_programs_is_no_framebuffer)
{
    static const struct {
        uint64_t base, bytes;
        bool overlaps;
    } ranges[] = { { BASE, 4096, true },
                   { BASE - 4096, 4097, true },
                   { BASE - 4096, 4096, false },
                   { 0, UINT64_MAX, true },
                   { BASE + 100, 1, true },
                   { BASE + 480 * 2560, 4096, false },
                   { BASE + 480 * 2560 - 1, 1, true },
                   { BASE + 5, 0, false } };

    for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        frame(640, 480, 2560, 32);
        boot.usable[0] = (struct memory_range){ ranges[i].base, ranges[i].bytes };
        boot.usable_count = 1;
        CHECK_EQUAL(check(), ranges[i].overlaps ? -EINVAL : 0);
    }
}

int main(void)
{
    RUN(text_stands_where_it_was_printed_in_every_format);
    RUN(the_colour_is_grey_in_the_devices_own_bits);
    RUN(everything_is_cleared_and_nothing_between_the_rows_is_touched);
    RUN(letters_are_larger_where_there_would_be_too_many);
    RUN(a_long_line_goes_on_below);
    RUN(lines_begin_again_above_with_an_empty_row_below);
    RUN(order_is_made_at_every_place_of_the_ring);
    RUN(characters_beyond_ascii_are_one_cell_each);
    RUN(crosscalls_are_served_while_it_draws);
    RUN(what_cannot_be_is_refused_and_named);
    RUN(memory_of_programs_is_no_framebuffer);
    free(pixels);
    return check_report("screen");
}
