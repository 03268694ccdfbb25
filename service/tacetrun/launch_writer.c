/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_writer.c: see launch_writer.h. Words for default values are left out.
 */
#include "service/tacetrun/launch_writer.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct writing {
    char *at;
    size_t left;
    bool is_cut; /* a word did not fit; no further one is added */
};

/* Adds a word and its NUL. */
__attribute__((format(printf, 2, 3))) static void word_add(struct writing *writing, const char *format, ...)
{
    va_list values;
    int length;

    if (writing->is_cut)
        return;
    va_start(values, format);
    length = vsnprintf(writing->at, writing->left, format, values);
    va_end(values);
    writing->is_cut = length < 0 || (size_t)length >= writing->left;
    if (writing->is_cut)
        return;
    writing->at += length + 1;
    writing->left -= (size_t)length + 1;
}

static void texts_add(struct writing *writing, const char *name, const char *const *texts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        word_add(writing, "%s=%s", name, texts[i]);
}

size_t launch_request_write(const struct launch_request *request, char *bytes, size_t room)
{
    size_t whole = room < LAUNCH_REQUEST_BYTES ? room : LAUNCH_REQUEST_BYTES;
    struct writing writing = { bytes, whole, false };

    word_add(&writing, "job=%" PRIu32, request->job);
    word_add(&writing, "ranks=%" PRIu32, request->ranks);
    word_add(&writing, "first=%" PRIu32, request->first);
    word_add(&writing, "size=%" PRIu32, request->size);
    if (request->cpus)
        word_add(&writing, "cpus=%" PRIu32, request->cpus);
    word_add(&writing, "port=%" PRIu16, request->port);
    word_add(&writing, "secret=%016" PRIx64, request->secret);
    if (request->stdin_rank != LAUNCH_RANK_NONE)
        word_add(&writing, "stdin=%" PRIu32, request->stdin_rank);
    word_add(&writing, "path=%s", request->path);
    if (request->program_bytes)
        word_add(&writing, "program=%" PRIu64, request->program_bytes);
    if (request->directory)
        word_add(&writing, "cwd=%s", request->directory);
    texts_add(&writing, "arg", request->arguments, request->argument_count);
    texts_add(&writing, "env", request->variables, request->variable_count);
    texts_add(&writing, "number", request->numbers, request->number_count);
    return writing.is_cut ? 0 : whole - writing.left;
}
