/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console.h: where the kernel speaks and the program's standard streams go.
 *
 * Devices (serial ports, the text screen, a hypervisor's console) register themselves by name. The kernel's
 * own lines go to the devices named by `console=` (by default: to all of them that can serve as a console),
 * each beginning with "tacet: ". A program's stdout, stdin and stderr go to those named by `stdout=` (input
 * from the same) and `stderr=`, by default to the kernel's. Any context; output is synchronous.
 */
#ifndef TACET_CONSOLE_H
#define TACET_CONSOLE_H

#include "lib/command_line.h"
#include <stddef.h>
#include <stdint.h>

struct console_device {
    const char *name;
    bool is_default; /* speaks without being asked to */
    void (*write)(struct console_device *device, const char *text, size_t bytes);
    /* The next byte of input, or -1 when there is none now; NULL where the device has no input. */
    int (*read)(struct console_device *device);
    uintptr_t address; /* the driver's: a port or a mapping */
};

/* At most CONSOLE_DEVICES_MAX; the structure must live for ever. */
#define CONSOLE_DEVICES_MAX 8
void console_register(struct console_device *device);

/* Applies `console=`, `stdout=` and `stderr=`. -EINVAL with `why` naming an unknown device and listing the
 * known ones. */
int console_configure(const struct command_line *line, struct message *why);

/* The device `name` for an option of the command line; -EINVAL with `why` as above. */
int console_find(const char *option, const char *name, struct console_device **out, struct message *why);

/* Kernel text; a line's start gets the prefix. */
__attribute__((format(printf, 1, 2))) void kernel_print(const char *format, ...);

enum console_stream { CONSOLE_STDOUT, CONSOLE_STDERR };

/* A program's bytes, unchanged (a serial terminal gets no carriage returns added: the program's device is a
 * byte stream) unless they share the kernel's console, where each newline gets its carriage return. */
void console_write(enum console_stream stream, const char *bytes, size_t count);

/* Whether a stream goes to the kernel's console: a terminal for people, not a stream of its own. */
bool console_is_shared(enum console_stream stream);

/* Whether console_read would answer something. */
bool console_input_ready(void);

/* The bytes of input that are there, at most `count` and up to the end of a line; -EAGAIN where there are
 * none now. 0 at the end of input: behind as many bytes as `stdin_bytes=` says, else an end-of-transmission
 * (control-D). A stream of the program's own stays at its end; at a terminal, control-D behind other input
 * hands that over. */
int64_t console_read(char *bytes, size_t count);

/* From now on nobody waits for anybody: the node is ending in disorder. */
void console_lock_break(void);

#endif
