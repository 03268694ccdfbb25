/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h: the protocol between conductorctl and the conductor: a Unix socket of whole messages
 * (SOCK_SEQPACKET), which its user and a group can reach. A request is a line of words. The answer is
 * one JSON object in one message; it has "error" if the request failed:
 *
 *     status                              answers with the conductor's state
 *     rate HZ                             sets the beats per second; answers as status does
 *     nodes FROM                          lists nodes from index FROM, as many as fit into an answer; "next"
 *                                         is the index to ask for next, 0 at the end
 *     keys FROM                           lists nodes that ask for keys, as nodes does, and the conductor's
 *                                         public key
 *     admit NODE FINGERPRINT              lets the node of this name or Ethernet address have its keys
 *     remove NAME                         forgets the node of this name or Ethernet address
 *     remove --silent                     forgets all silent nodes
 *     ticket NONCE ID JOB                 {"ticket": "JOB UID GID GROUPS EXPIRES MAC"}: a ticket for the
 *                                         client's own credentials, and a node's nonce and id (docs/jobs.md)
 *     key ID [next]                       {"beats": "…", "ticket": "…"}: the keys of the node with this id;
 *                                         next: as the key file would make them that a rotation is to take
 *     job begin NODES                     {"job": N}: a number that no other job has, and its lease: when the
 *                                         connection ends without "job end", the conductor ends the job.
 *                                         NODES as 10.0.0.7/NAME (lease_table.h)
 *     job nodes NODES                     names further nodes of the job
 *     job resume N NODES                  takes up the lease after the conductor's restart
 *     job end                             the job has ended on all its nodes
 *     page ADDRESS OFFSET COUNT           reads pages of the held flight log of the node with this Ethernet
 *                                         address: each in its own message, {"page": …}, in any order; then
 *                                         {"pages": N} when all have come or no further ones will
 *     [one-way | within SECONDS] COMMAND  runs a command (commands.h); the answer comes when all nodes have
 *                                         done it. After `hold` the logs are held for this client alone,
 *                                         until it asks for `release` or disconnects
 *
 * On a connection with a lease other messages come between answers, which have "event": {"event": "silent",
 * "node": I}, for the job's node I in the order of the requests, from 0. "silent": it has not answered beats;
 * "restarted": it answers, but has restarted without the job; "without": it answers, without the job.
 *
 * A client beyond the conductor's limits gets an error before its first request, and is disconnected.
 */
#ifndef TACET_SERVICE_CONTROL_H
#define TACET_SERVICE_CONTROL_H

#include <sys/types.h>

#define CONTROL_FOLDER        "/run/tacet-conductor"
#define CONTROL_SOCKET        CONTROL_FOLDER "/socket"
#define CONTROL_VARIABLE      "TACET_CONDUCTOR" /* environment variable: another path of the socket */
#define CONTROL_REQUEST_BYTES 4096
#define CONTROL_WORDS_BYTES   256 /* of a request that a person gives */
#define CONTROL_ANSWER_BYTES  65536

/* Opens the conductor's listening socket at `path`; replaces the socket of a conductor that has ended. Makes
 * CONTROL_SOCKET's folder if it is missing. -1 with errno, which control_listen_error puts into words:
 * ENOTSOCK if another file is there, EADDRINUSE if a conductor listens there, EPROTOTYPE if another program
 * does. */
int control_listen(const char *path);
const char *control_listen_error(void);

/* Removes the socket that control_listen has made, unless another file has replaced it. */
void control_end(const char *path);

/* Lets a group reach the socket. Returns 0; -1 with errno. */
int control_share(const char *path, gid_t group);

/* Connects to the conductor at `path`. Returns the socket; -1 with errno. */
int control_connect(const char *path);

/* Does the same without waiting: the socket does not block; -1 with EAGAIN if the conductor's queue is full.
 */
int control_try(const char *path);

#endif
