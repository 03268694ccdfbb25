/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.c: debug/stop.h for code of the kernel that runs on the host: an invariant that does not hold ends the
 * test, as it would stop a node.
 */
#include "debug/stop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void node_stop(enum stop_status status, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "node_stop, status %d: ", status);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}
