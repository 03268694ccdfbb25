/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.c: see stop.h.
 */
#include "debug/stop.h"
#include "arch.h"
#include "debug/console.h"
#include "debug/lock_check.h"
#include "lib/format.h"
#include "debug/klog.h"

_Noreturn void node_exit(unsigned status)
{
    klog_end(false);
    lock_check_report();
    kernel_print("exit status=%u\n", status & 0xff);
    console_flush();
    arch_power_off();
}

_Noreturn void node_stop(enum stop_status status, const char *format, ...)
{
    struct message reason;
    va_list arguments;

    va_start(arguments, format);
    format_va(reason.text, sizeof(reason.text), format, arguments);
    va_end(arguments);
    for (char *c = reason.text; *c; c++)
        if (*c == '"' || (*c > 0 && *c < ' '))
            *c = '\''; /* the reason stays one quoted line */
    if (status == STOP_PANIC) {
        console_lock_break();
        arch_backtrace_print();
    }
    klog_end(status == STOP_PANIC);
    kernel_print("stop status=%d reason=\"%s\"\n", status, reason.text);
    console_flush();
    arch_power_off();
}
