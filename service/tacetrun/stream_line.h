/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_line.h: the first line of a rank's stream (docs/jobs.md), which any program that reaches
 * tacetrun's port can send. Portable C.
 */
#ifndef TACET_SERVICE_STREAM_LINE_H
#define TACET_SERVICE_STREAM_LINE_H

#include <stdint.h>

/* The streams of a rank, by the last word of their first line: out, err, pmi. */
enum stream_kind { STREAM_OUT, STREAM_ERR, STREAM_PMI, STREAM_KINDS };

struct stream_line {
    uint64_t secret;
    uint32_t rank; /* less than LAUNCH_RANKS_MAX */
    enum stream_kind kind;
};

/* Reads "stream SECRET RANK KIND", a NUL-terminated line without its LF. Returns NULL, or why it is wrong. */
const char *stream_line_read(const char *line, struct stream_line *read);

#endif
