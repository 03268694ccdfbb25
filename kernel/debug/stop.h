/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.h: the two ways in which a node ends. Both print one structured last line and do what `end=` says, by
 * default switch the machine off; a runner at the other end of the serial line makes that line its own exit
 * status (an emulator's exit device cannot report 0).
 *
 *     tacet: exit status=N                    the program ended with N, 0-255; killed by signal s: 128 + s
 *     tacet: stop status=N reason="…"         the node could not run it, or broke
 */
#ifndef TACET_STOP_H
#define TACET_STOP_H

#include "lib/command_line.h"

enum stop_status {
    STOP_BAD_INPUT = 64,     /* command line, boot information, initrd or program is invalid */
    STOP_NO_MEMORY = 65,     /* the machine has too little memory */
    STOP_PANIC = 70,         /* a bug of the kernel */
    STOP_MACHINE_CHECK = 71, /* broken hardware */
};

/* Applies `end=`: what the machine does after the last line. poweroff; reboot; halt; wait, until a key is
 * pressed on the kernel's console or on the machine's keyboard, then it is switched off. -EINVAL with
 * `why`. */
int stop_configure(const struct command_line *line, struct message *why);

_Noreturn void node_exit(unsigned status);
__attribute__((format(printf, 2, 3))) _Noreturn void node_stop(enum stop_status status, const char *format,
                                                               ...);

/* An invariant; a panic if it does not hold. */
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            node_stop(STOP_PANIC, "assertion failed: %s (%s:%d)", #condition, __FILE__, __LINE__); \
    } while (0)

#endif
