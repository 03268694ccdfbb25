/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hvc.c: the hypervisor's terminals as console devices hvc0, hvc1, …; hvc0 is the firmware's standard output.
 * Any context.
 *
 * A call takes or gives up to 16 bytes [PAPR §14.5.3, §16.6]. A terminal is a stream: what one call returns
 * and was not taken yet stays here. It interrupts when input comes while it has none, once; so a CPU that
 * begins to listen looks for input after that (console_listen_begin). If the other end takes nothing any
 * more, the text is dropped within a bounded wait, so that printing never hangs the node.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "lib/bytes.h"
#include "lib/kstring.h"
#include "mm/page.h"

#define CALL_BYTES 16
#define WAIT_STEPS 1000000
#define LISTEN_ON  1

struct terminal {
    struct console_device device; /* first: a device is its terminal's */
    uint8_t input[CALL_BYTES];    /* bytes [next, end), under the lock of the input */
    unsigned next, end;
    bool listens;
};

static struct terminal terminals[TERMINALS_MAX];

static void terminal_write(struct console_device *device, const char *text, size_t bytes)
{
    for (size_t part; bytes; text += part, bytes -= part) {
        char words[CALL_BYTES] = { 0 };
        int step = 0;

        part = smaller(bytes, sizeof(words));
        memcpy(words, text, part);
        do
            console_serve();
        while (hypercall(H_PUT_TERM_CHAR, device->address, part, load_be64(words), load_be64(words + 8),
                         NULL) == H_BUSY &&
               ++step < WAIT_STEPS);
    }
}

static void input_fetch(struct terminal *terminal)
{
    uint64_t out[4] = { 0 };

    terminal->next = terminal->end = 0;
    if (hypercall(H_GET_TERM_CHAR, terminal->device.address, 0, 0, 0, out))
        return;
    terminal->end = (unsigned)smaller(out[0], CALL_BYTES);
    store_be(terminal->input, 8, out[1]);
    store_be(terminal->input + 8, 8, out[2]);
}

static int terminal_read(struct console_device *device, bool take)
{
    struct terminal *terminal = (struct terminal *)device;

    if (terminal->next == terminal->end)
        input_fetch(terminal);
    if (terminal->next == terminal->end)
        return -1;
    return take ? terminal->input[terminal->next++] : terminal->input[terminal->next];
}

/* Switches interrupts on or off. A hypervisor may interrupt regardless: so the controller mutes it, too. */
static void terminal_listen(struct console_device *device, bool on)
{
    struct terminal *terminal = (struct terminal *)device;

    if (terminal->listens == on)
        return;
    terminal->listens = on;
    hypercall(H_VIO_SIGNAL, device->address, on ? LISTEN_ON : 0, 0, 0, NULL);
    interrupts_mute(device->line, !on);
}

static void terminal_register(unsigned number)
{
    static const char *const names[TERMINALS_MAX] = { "hvc0", "hvc1", "hvc2", "hvc3",
                                                      "hvc4", "hvc5", "hvc6", "hvc7" };

    terminals[number].device = (struct console_device){ .name = names[number],
                                                        .is_default = number == 0,
                                                        .write = terminal_write,
                                                        .read = terminal_read,
                                                        .listen = terminal_listen,
                                                        .line = TERMINAL_SILENT };
    console_register(&terminals[number].device);
}

/* Registers the first terminal: unit 0, which the hypervisor takes for the console. */
void terminals_begin(void)
{
    terminal_register(0);
}

void terminals_register(void)
{
    for (unsigned i = 1; i < machine.terminal_count; i++)
        terminal_register(i);
    for (unsigned i = 0; i < machine.terminal_count; i++) {
        terminals[i].device.address = machine.terminals[i].unit;
        terminals[i].device.line = machine.terminals[i].interrupt;
        hypercall(H_VIO_SIGNAL, terminals[i].device.address, 0, 0, 0, NULL);
    }
}
