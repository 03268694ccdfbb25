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

/* The words of end=, in their order. */
enum { END_POWER_OFF, END_REBOOT, END_HALT, END_WAIT };
static unsigned end = END_POWER_OFF;

int stop_configure(const struct command_line *line, struct message *why)
{
    return option_word(line, "end", "poweroff, reboot, halt, wait", &end, why);
}

/* Does what `end=` says, after the last line. */
_Noreturn static void machine_end(void)
{
    if (end == END_WAIT)
        kernel_print("press a key to switch the node off\n");
    console_flush();
    if (end == END_WAIT) {
        console_key_pressed(); /* keys pressed before do not count */
        arch_key_pressed();
        while (!console_key_pressed() && !arch_key_pressed())
            arch_pause();
    }
    if (end == END_HALT)
        arch_halt();
    if (end == END_REBOOT)
        arch_reboot();
    arch_power_off();
}

_Noreturn void node_exit(unsigned status)
{
    klog_end(false);
    lock_check_report();
    kernel_print("exit status=%u\n", status & 0xff);
    machine_end();
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
    machine_end();
}
