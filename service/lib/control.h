/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h: the protocol between conductorctl and the conductor: a Unix socket of whole messages
 * (SOCK_SEQPACKET), which only the conductor's user can reach. A request is a line of words. The answer is
 * one JSON object in one message; it has "error" if the request failed:
 *
 *     status                              answers with the conductor's state
 *     rate HZ                             sets the beats per second; answers as status does
 *     nodes FROM                          lists nodes from index FROM, as many as fit into an answer; "next"
 *                                         is the index to ask for next, 0 at the end
 *     remove NAME                         forgets the node of this name or Ethernet address
 *     ticket NONCE                        {"ticket": "…"}: the ticket for a node's nonce, 16 hexadecimal
 *                                         digits each (docs/jobs.md)
 *     job begin                           {"job": N}: a number that no other job has
 *     page ADDRESS OFFSET COUNT           reads pages of the held flight log of the node with this Ethernet
 *                                         address: each in its own message, {"page": …}, in any order; then
 *                                         {"pages": N} when all have come or no further ones will
 *     [one-way | within SECONDS] COMMAND  runs a command (commands.h); the answer comes when all nodes have
 *                                         done it. After `hold` the logs are held for this client alone,
 *                                         until it asks for `release` or disconnects
 */
#ifndef TACET_SERVICE_CONTROL_H
#define TACET_SERVICE_CONTROL_H

#define CONTROL_FOLDER        "/run/tacet-conductor"
#define CONTROL_SOCKET        CONTROL_FOLDER "/socket"
#define CONTROL_VARIABLE      "TACET_CONDUCTOR" /* environment variable: another path of the socket */
#define CONTROL_REQUEST_BYTES 256
#define CONTROL_ANSWER_BYTES  65536

/* Opens the conductor's listening socket at `path`; replaces the socket of a conductor that has ended. Makes
 * CONTROL_SOCKET's folder if it is missing. -1 with errno, which control_listen_error puts into words:
 * ENOTSOCK if another file is there, EADDRINUSE if a conductor listens there, EPROTOTYPE if another program
 * does. */
int control_listen(const char *path);
const char *control_listen_error(void);

/* Removes the socket that control_listen has made, unless another file has replaced it. */
void control_end(const char *path);

/* Connects to the conductor at `path`. Returns the socket; -1 with errno. */
int control_connect(const char *path);

#endif
