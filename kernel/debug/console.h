/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * console.h: output of the kernel, and the programs' standard streams.
 *
 * Devices (serial ports, the text screen, a hypervisor's console) are registered by name. The kernel's own
 * lines, each of which begins with "tacet: ", go to the devices named by `console=`, by default to all whose
 * is_default is set. A program's stdout and stderr go to those named by `stdout=`, from which stdin comes,
 * too, and `stderr=`; by default to the kernel's. Any context; output is synchronous. CPUs that print take
 * turns, line by line, and serve crosscalls while they wait for each other and for a device.
 */
#ifndef TACET_CONSOLE_H
#define TACET_CONSOLE_H

#include "lib/command_line.h"
#include <stddef.h>
#include <stdint.h>

struct console_device {
    const char *name;
    bool is_default; /* a console of the kernel unless console= names others */
    void (*write)(struct console_device *device, const char *text, size_t bytes);
    /* Optional. Waits, within bounds, until what was written has left the device. NULL if that is at once. */
    void (*flush)(struct console_device *device);
    /* Returns the next byte of input, or -1 if there is none now; only `take` removes it. NULL if the device
     * has no input. */
    int (*read)(struct console_device *device, bool take);
    /* Sets whether it interrupts, on its line (arch_input_route), while it has input. */
    void (*listen)(struct console_device *device, bool on);
    unsigned line;
    uintptr_t address; /* of the device's registers; for the driver */
    /* Sets the speed of a port, in baud; -EINVAL for one that it does not have. NULL if there is none to
     * set. */
    int (*speed_set)(struct console_device *device, uint64_t baud);
    uint32_t firmware_speed; /* found at the start, in baud */
};

/* Registers a device: at most CONSOLE_DEVICES_MAX; the structure must live for ever. After console_configure,
 * it is a console of the kernel, whatever `console=` says. */
#define CONSOLE_DEVICES_MAX 8
void console_register(struct console_device *device);

/* Makes `to` a console of the kernel by default, instead of `from`; both may be one, or not registered. */
void console_default_move(struct console_device *from, struct console_device *to);

/* Applies `console=`, `stdout=` and `stderr=`. -EINVAL with `why` naming an unknown device and listing the
 * known ones. */
int console_configure(const struct command_line *line, struct message *why);

/* Finds the device of a name of `bytes` bytes, for an option of the command line; NULL with `why` as above.
 */
struct console_device **console_find(const char *option, const char *name, size_t bytes, struct message *why);

/* Prints kernel text; a line's start gets the prefix. */
__attribute__((format(printf, 1, 2))) void kernel_print(const char *format, ...);

#define CONSOLE_PREFIX "tacet: "

enum console_stream { CONSOLE_STDOUT, CONSOLE_STDERR };

/* Writes a program's bytes: unchanged to a device of its own, which is a byte stream; on the kernel's
 * console, with a carriage return before each newline. */
void console_write(enum console_stream stream, const char *bytes, size_t count);

/* Writes a line of the kernel's to a program's stderr, if that has a device of its own, as a line of its own
 * there. */
void console_message(const char *line, size_t bytes);

/* Returns whether a stream shares the kernel's console, a terminal, and has no device of its own. */
bool console_is_shared(enum console_stream stream);

/* Returns whether console_read would return something other than -EAGAIN. */
bool console_input_ready(void);

/* Reads the input that has arrived, at most `count` bytes, on a terminal up to the end of a line; -EAGAIN
 * if there is none. 0 at the end of input: after as many bytes as `stdin_bytes=` says, else at an
 * end-of-transmission (control-D). A device of the program's own stays at its end; on a terminal, control-D
 * after other input makes that available. */
int64_t console_read(char *bytes, size_t count);

/* For a thread of this CPU that is about to wait for input. READY: it need not; else it waits, and calls
 * console_listen_end afterwards. ANNOUNCED: this CPU, or another one on which a thread waits, gets an
 * interrupt when input arrives. POLLED: none does. */
enum console_input { CONSOLE_INPUT_READY, CONSOLE_INPUT_ANNOUNCED, CONSOLE_INPUT_POLLED };
enum console_input console_listen_begin(unsigned cpu);
void console_listen_end(unsigned cpu);

/* Returns whether a thread waits for input: it must be woken when another one has read, perhaps the end. */
bool console_listens(void);

/* Takes what has arrived, in the interrupt, and lets no other follow until a thread listens again. The caller
 * wakes all threads that wait for input. */
void console_input_interrupt(void);

/* Serves crosscalls if this CPU may: for drivers, before each piece of their work. */
void console_serve(void);

/* Sets whether this CPU serves crosscalls while it prints: not in an interrupt that may have come anywhere in
 * the kernel. */
void console_serving(bool on);

/* Takes what has arrived on the kernel's own consoles. Returns whether there was any. Once the node has
 * ended: no lock. */
bool console_key_pressed(void);

/* Waits until all output has left the devices, or cannot: before the machine is switched off. */
void console_flush(void);

/* Lets only this CPU print from now on, without the lock, whose holder may never release it: for a panic. */
void console_lock_break(void);

/* Returns whether this CPU has done so. */
bool console_lock_is_broken(void);

#endif
