/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * say.c: see say.h.
 */
#include "service/lib/say.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void line_write(const char *line)
{
    fputs(line, stderr);
}

static const char *program_name = "";
static void (*write_line)(const char *line) = line_write;

void say_begin(const char *program, void (*write)(const char *line))
{
    program_name = program;
    write_line = write ? write : line_write;
}

void say_without_waiting(const char *line)
{
    struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
    char clean[SAY_BYTES];
    size_t i = 0;

    if (poll(&standard_error, 1, 0) != 1 || !(standard_error.revents & POLLOUT))
        return;
    for (; line[i + 1] && i + 2 < sizeof(clean); i++)
        clean[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
    clean[i++] = '\n';
    clean[i] = '\0';
    fputs(clean, stderr);
}

const char *say_program(void)
{
    return program_name;
}

void say_va(const char *format, va_list arguments)
{
    char line[SAY_BYTES];
    const int name_bytes = snprintf(line, sizeof(line), "%s: ", program_name);

    vsnprintf(line + name_bytes, sizeof(line) - (size_t)name_bytes - 1, format, arguments);
    strcat(line, "\n");
    write_line(line);
}

void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say_va(format, arguments);
    va_end(arguments);
}

void give_up(int status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say_va(format, arguments);
    va_end(arguments);
    exit(status);
}
