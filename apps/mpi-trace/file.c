/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c: the file of a rank's trace. It is begun in MPI_Init, so that a process that is killed leaves one
 * that says so, and written whole at MPI_Finalize, at MPI_Abort, at exit without them, or by the signal that
 * ends the process, unless the program has a handler of its own for it.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "trace.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 1024
#define TEXT_BYTES (32 << 10) /* of the text before the records: the calls' names are most of it */
#define FOLDER     "mpi-trace"
#define LINE_FIRST "TACET-MPI-TRACE %d %06zu\n"

static char path[PATH_BYTES], host[65];
static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGHUP, SIGINT, SIGTERM };
#define SIGNALS_FATAL 5 /* the first ones: no handler is expected to return */
static struct sigaction before[sizeof(signals) / sizeof(*signals)];

/* ---- Text ---- */

struct text {
    char bytes[TEXT_BYTES];
    size_t used;
};

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->used, TEXT_BYTES - text->used, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < TEXT_BYTES - text->used)
        text->used += (size_t)length;
}

static void offset_say(struct text *text, const char *when, int index)
{
    say(text, "clock-offset-%s-ns: %lld within %llu\n", when, (long long)trace_facts.offset_ns[index],
        (unsigned long long)trace_facts.within_ns[index]);
}

static void text_make(struct text *text, const char *how, size_t records)
{
    say(text, LINE_FIRST, TRACE_VERSION, (size_t)0);
    say(text, "rank: %d\nranks: %d\nend: %s\n", trace.rank, trace.ranks, how);
    say(text, "records: %zu\nlost-calls: %llu\nmissed-calls: %llu\n", records, (unsigned long long)trace.lost,
        (unsigned long long)trace.missed);
    say(text, "program: %.60s\nhost: %s\nlibrary: %s\n", program_invocation_short_name, host,
        trace_facts.library);
    offset_say(text, "init", 0);
    offset_say(text, "finalize", 1);
    say(text, "cost-between-ns: %llu\ncost-inside-ns: %llu\ncost-cpu-ns: %llu\ncpu-time: %s\n",
        (unsigned long long)trace_facts.between_ns, (unsigned long long)trace_facts.inside_ns,
        (unsigned long long)trace_facts.cpu_ns, trace.cpu_time ? "yes" : "no");
    for (unsigned i = 0; i < trace_functions; i++)
        if (trace.counts[i])
            say(text, "call %u MPI_%s %u\n", i, trace_names[i], (unsigned)trace.counts[i]);
    say(text, "\n");
    while (text->used % sizeof(struct trace_record) && text->used < TEXT_BYTES)
        text->bytes[text->used++] = ' ';
    char first[64];
    int length = snprintf(first, sizeof(first), LINE_FIRST, TRACE_VERSION, text->used);
    memcpy(text->bytes, first, (size_t)length);
}

/* ---- The file ---- */

static bool write_all(int file, const void *from, size_t bytes)
{
    const char *at = from;

    while (bytes) {
        ssize_t written = write(file, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

bool trace_file_write(const char *how)
{
    static struct text text;

    if (!trace.on)
        trace_times_end();
    size_t records = (size_t)(trace.next - trace.records);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    text.used = 0;
    text_make(&text, how, records);
    bool is_whole = file >= 0 && write_all(file, text.bytes, text.used) &&
                    write_all(file, trace.records, records * sizeof(*trace.records));
    if (!is_whole)
        fprintf(stderr, "mpi-trace: rank %d: %s: %s\n", trace.rank, path, strerror(errno));
    if (file >= 0 && close(file) != 0 && is_whole) {
        fprintf(stderr, "mpi-trace: rank %d: %s: %s\n", trace.rank, path, strerror(errno));
        is_whole = false;
    }
    return is_whole;
}

/* ---- The process ends ---- */

static void at_exit(void)
{
    if (!trace.on)
        return;
    trace.on = false;
    trace_file_write("exit without MPI_Finalize");
}

/* Writes the file, and passes the signal to the handler before this one. */
static void at_signal(int number)
{
    char how[32];

    if (trace.on) {
        trace.on = false;
        snprintf(how, sizeof(how), "signal %d", number);
        trace_file_write(how);
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (signals[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
}

static void signals_await(void)
{
    struct sigaction ours = { .sa_handler = at_signal, .sa_flags = SA_NODEFER };

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (sigaction(signals[i], NULL, &before[i]) == 0 &&
            (i < SIGNALS_FATAL ? before[i].sa_handler != SIG_IGN : before[i].sa_handler == SIG_DFL))
            sigaction(signals[i], &ours, NULL);
}

bool trace_file_begin(void)
{
    const char *folder = getenv("TACET_TRACE");

    if (!folder || !*folder)
        folder = FOLDER;
    int length = snprintf(path, sizeof(path), "%s/rank-%d.trace", folder, trace.rank);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        fprintf(stderr, "mpi-trace: rank %d: TACET_TRACE has more than %d bytes\n", trace.rank,
                PATH_BYTES - 32);
        return false;
    }
    mkdir(folder, 0777); /* if that fails, so does the file */
    gethostname(host, sizeof(host) - 1);
    if (!trace_file_write("none: the process was killed, or still runs"))
        return false;
    atexit(at_exit);
    signals_await();
    return true;
}

void mpi_lite_tracer_end(const char *why)
{
    char how[96];

    if (!trace.on)
        return;
    trace.on = false;
    snprintf(how, sizeof(how), "an error: %.80s", why);
    trace_file_write(how);
}

void trace_abort(unsigned code)
{
    if (!trace.on || trace.inside)
        return;
    trace.counts[code]++;
    trace.on = false;
    trace_file_write("MPI_Abort");
}
