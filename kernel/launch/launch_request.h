/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_request.h: what tacetrun asks of a node, to and from bytes (docs/jobs.md). Portable C, for the
 * kernel, for tacet-launchd, and for tests.
 */
#ifndef TACET_LAUNCH_REQUEST_H
#define TACET_LAUNCH_REQUEST_H

#include "lib/credentials.h"
#include "lib/format.h"
#include "lib/key.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_PORT          35019 /* where a node listens by default */
#define LAUNCH_VERSION       2
#define LAUNCH_LINE_BYTES    513  /* a line with its LF, at most */
#define LAUNCH_TICKET_LINE   3585 /* the line before a request, with its LF, at most */
#define LAUNCH_REQUEST_BYTES 131072
#define LAUNCH_ARGUMENTS_MAX 1024
#define LAUNCH_VARIABLES_MAX 1024 /* variables of the environment, including numbered ones */
#define LAUNCH_PROGRAM_MAX   (4ULL << 30)
#define LAUNCH_RANKS_MAX     1048576 /* ranks of a job */
#define LAUNCH_CPUS_MAX      4095    /* CPUs of a rank; the CPUs of a job can be counted in 32 bits */
#define LAUNCH_RANK_NONE     UINT32_MAX
#define LAUNCH_PMI_FD        3 /* a rank's descriptor for PMI, and the value of its variable PMI_FD */
#define LAUNCH_TICKET_BYTES  SIPHASH_128_BYTES
#define LAUNCH_NODE_ID_BYTES 64 /* of a node's id, at most */
#define LAUNCH_TICKET_S      60 /* how long a ticket is valid */

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

/* The line before a request: launch BYTES JOB UID GID GROUPS EXPIRES MAC. */
struct launch_line {
    size_t bytes;
    uint32_t job;
    struct credentials user;
    uint64_t expires_s; /* UTC since 1970; 0: no ticket */
    const char *sealed; /* what the MAC is of: the line from JOB to EXPIRES */
    size_t sealed_bytes;
    bool has_ticket;
    uint8_t mac[LAUNCH_TICKET_BYTES];
};

/* Reads the line, NUL-terminated and without its LF, which must live as long. Returns 0, or -EINVAL with
 * `why`. */
int launch_line_read(const char *text, struct launch_line *line, struct message *why);

/* Makes a ticket by a node's key for a connection of this nonce; `id` is the node's (docs/jobs.md). */
void launch_ticket(uint8_t mac[LAUNCH_TICKET_BYTES], const uint8_t key[KEY_BYTES], uint64_t nonce,
                   const char *id, const char *sealed, size_t bytes);

/* Checks a line's ticket by the node's key; NULL: it has none, and wants no ticket. `now_s` is UTC. Returns
 * 0, or -EACCES with `why`. */
int launch_ticket_check(const struct launch_line *line, const uint8_t *key, uint64_t nonce, const char *id,
                        uint64_t now_s, struct message *why);

/* Checks that a request is that of the line before it. Returns 0, or -EACCES with `why`. */
int launch_job_check(const struct launch_line *line, const struct launch_request *request,
                     struct message *why);

#endif
