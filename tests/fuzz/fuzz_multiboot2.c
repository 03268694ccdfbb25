/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_multiboot2.c: the input is the only readable physical memory, and begins with Multiboot2's
 * information. If a framebuffer passes the check and is not too large for a fuzzer, text is drawn on it, in a
 * block of exactly its size.
 */
#include "arch/boot_protocol.h"
#include "boot_info_promises.h"
#include "debug/console.h"
#include "drivers/screen/font.h"
#include "drivers/screen/screen.h"
#include "simulated_memory.h"

#define DRAWN_BYTES_MAX (256U << 10)

const uint8_t screen_font[FONT_LETTERS][FONT_ROWS] = { [1] = { [0] = 0xff, [15] = 0xff } };

static struct console_device *screen;

void console_register(struct console_device *device)
{
    screen = device;
}

void console_serve(void)
{
}

static void draw(const struct boot_info *info)
{
    struct message why = { "" };
    uint64_t bytes;
    int error = screen_check(info, &bytes, &why);

    PROMISE(error <= 0 && (error == 0 || error == -ENODEV || why.text[0]));
    if (error)
        return;
    PROMISE(bytes > 0 && info->framebuffer.address <= UINT64_MAX - bytes);
    if (bytes > DRAWN_BYTES_MAX)
        return;
    uint8_t *pixels = malloc(bytes);
    screen_register(info, pixels);
    for (unsigned line = 0; line < 100; line++)
        screen->write(screen, "!!!!!!!!!!!!!\r\n", 15);
    for (unsigned i = 0; i < 500; i++)
        screen->write(screen, "!", 1);
    screen->flush(screen);
    free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct boot_info info;
    struct simulated_memory memory = { SIMULATED_BASE, bytes, data };
    struct message why = { "" };
    int error = multiboot2_parse(SIMULATED_BASE, simulated_read, &memory, &info, &why);

    PROMISE(error <= 0);
    if (error) {
        PROMISE(why.text[0] != '\0');
        return 0;
    }
    promise_boot_info(&info);
    draw(&info);
    return 0;
}
