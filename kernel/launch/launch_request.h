/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_request.h: what tacetrun asks of a node, to and from bytes (docs/jobs.md). Portable C, for the
 * kernel, for tacet-launchd, and for tests.
 */
#ifndef TACET_LAUNCH_REQUEST_H
#define TACET_LAUNCH_REQUEST_H

#include "lib/format.h"
#include "lib/siphash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_PORT          35019 /* where a node listens by default */
#define LAUNCH_VERSION       2
#define LAUNCH_LINE_BYTES    513 /* a line with its LF, at most */
#define LAUNCH_REQUEST_BYTES 131072
#define LAUNCH_ARGUMENTS_MAX 1024
#define LAUNCH_VARIABLES_MAX 1024 /* variables of the environment, including numbered ones */
#define LAUNCH_PROGRAM_MAX   (4ULL << 30)
#define LAUNCH_RANKS_MAX     1048576 /* ranks of a job */
#define LAUNCH_CPUS_MAX      4095    /* CPUs of a rank; the CPUs of a job can be counted in 32 bits */
#define LAUNCH_RANK_NONE     UINT32_MAX

/* A request that has been read; its texts are pieces of the request's bytes, which must live as long. */
struct launch_request {
    uint32_t job;
    uint32_t ranks, first, size;
    uint32_t cpus; /* CPUs of each rank; 0: the ranks share all */
    uint16_t port;
    uint64_t secret;
    uint32_t stdin_rank; /* the rank that reads standard input, or LAUNCH_RANK_NONE */
    const char *path;
    uint64_t program_bytes; /* 0: the program is at path */
    const char *directory;  /* NULL: the node's own choice */
    unsigned argument_count, variable_count, number_count;
    const char *arguments[LAUNCH_ARGUMENTS_MAX + 1];
    const char *variables[LAUNCH_VARIABLES_MAX + 1]; /* NAME=VALUE */
    const char *numbers[LAUNCH_VARIABLES_MAX + 1];   /* NAME: its value is the rank's number */
};

/* Reads the words of a request. Returns 0, or -EINVAL: then `why` names the word and what would be valid. */
int launch_request_read(const char *bytes, size_t count, struct launch_request *request, struct message *why);

/* Reads "launch BYTES TICKET", a NUL-terminated line without its LF. With "-" for TICKET, *has_ticket is
 * false and *ticket 0. Returns 0, or -EINVAL with `why`. */
int launch_line_read(const char *line, size_t *bytes, bool *has_ticket, uint64_t *ticket,
                     struct message *why);

/* Returns the ticket for a nonce. */
uint64_t launch_ticket(const uint8_t key[SIPHASH_KEY_BYTES], uint64_t nonce);

#endif
