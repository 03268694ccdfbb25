/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi_protocol.h: what pmi.c, which finds out how this process was started, and the two protocols (pmi1.c,
 * pmi2.c) share: the connection to the launcher (pmi_wire.c), and the functions of a protocol.
 *
 * Everything blocks until the launcher has answered, and runs under the library's lock. An answer that a
 * protocol cannot use is an error with its reason.
 */
#ifndef MPI_PMI_PROTOCOL_H
#define MPI_PMI_PROTOCOL_H

#include "base/base.h"

#define PMI_LINE_BYTES 2048    /* maximum of a line of text, with its LF */
#define PMI_NUMBER_MAX 1 << 24 /* maximum number of ranks */

/* Functions return an MPI error class, or MPI_SUCCESS, unless stated otherwise. */
struct pmi_protocol {
    const char *name;
    int version, subversion; /* in the init line, which both protocols begin with */
    /* Called after init. `rank` and `size` hold the environment's values; the launcher may change them. */
    int (*begin)(int *rank, int *size);
    int (*put)(const char *key, const char *value);
    int (*barrier)(void);
    int (*get)(const char *key, char *value, size_t room);
    void (*end)(void);
    void (*abort)(int status, const char *why); /* returns once the request is sent */
};
extern const struct pmi_protocol pmi1, pmi2;

/* ---- The connection (pmi_wire.c) ---- */

extern int wire_fd; /* -1: not connected */

void wire_close(void);
int wire_send(const char *text, size_t bytes);
int wire_read(char *to, size_t bytes); /* exactly this number */
/* Reads a line, without its LF and with a NUL. */
int wire_line(char line[PMI_LINE_BYTES]);

/* Finds the word NAME=VALUE in a line and copies its value, up to the next blank, as far as it fits; "" if
 * there is none. Returns the value's whole length. */
size_t word_find(const char *line, const char *name, char *value, size_t room);
/* Reads a number. Returns false unless the whole text is a number from 0 to PMI_NUMBER_MAX. */
bool number_read(const char *text, int *number);
/* Sends a line (printf), and reads the answer, which must begin with cmd=`expected`. */
int line_answered(char answer[PMI_LINE_BYTES], const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- The watchdog (watchdog.c) ---- */

/* Starts the watchdog: if this process ends without watchdog_end, it writes `say` to standard error and sends
 * `report` to the launcher. */
void watchdog_begin(const char *say, const char *report, size_t report_bytes);
void watchdog_end(void);

#endif
