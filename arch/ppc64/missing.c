/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * missing.c: what this architecture does not do yet.
 */
#include "debug/stop.h"

#define MISSING(name)                                                     \
    void name(void);                                                      \
    void name(void)                                                       \
    {                                                                     \
        node_stop(STOP_PANIC, #name ": ARCH=ppc64 does not do that yet"); \
    }

MISSING(arch_beat_send)
MISSING(arch_beat_send_all)
MISSING(arch_cpu_park)
MISSING(arch_input_route)
MISSING(arch_ipi_send)
MISSING(arch_line_find)
MISSING(arch_line_route)
MISSING(arch_message_interrupt)
MISSING(arch_signal_enter)
MISSING(arch_signal_return)
