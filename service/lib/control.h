/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h: how conductorctl talks with the conductor: a Unix socket of whole messages (SOCK_SEQPACKET),
 * which only the conductor's user can reach. A request is a line of words; the answer is one object of JSON
 * in one message, with "error" where the request could not be done:
 *
 *     status                              what the conductor does
 *     rate HZ                             beats a second from now on; then as status
 *     nodes FROM                          nodes from place FROM on, as many as an answer holds; "next" is the
 *                                         place to ask for then, 0 where there are no more
 *     remove NAME                         the node of this name or Ethernet address is no longer known
 *     ticket NONCE                        {"ticket": "…"}: the ticket for a node's nonce, 16 hexadecimal
 *                                         digits each (docs/jobs.md)
 *     job begin                           {"job": N}: a number that no other job has
 *     page ADDRESS OFFSET COUNT           pages of the held flight log of the node of this Ethernet address:
 *                                         each as a message of its own, {"page": …}, in any order, then
 *                                         {"pages": N} when all have come, or no more will
 *     [one-way | within SECONDS] COMMAND  a command (commands.h); the answer comes when all nodes have done
 *                                         it. After `hold` the logs are held for this client alone, until it
 *                                         asks for `release`, or goes
 */
#ifndef TACET_SERVICE_CONTROL_H
#define TACET_SERVICE_CONTROL_H

#define CONTROL_FOLDER        "/run/tacet-conductor"
#define CONTROL_SOCKET        CONTROL_FOLDER "/socket"
#define CONTROL_VARIABLE      "TACET_CONDUCTOR" /* of the environment: where conductorctl finds it */
#define CONTROL_REQUEST_BYTES 256
#define CONTROL_ANSWER_BYTES  65536

/* The conductor's side: a listening socket at `path`, where a dead conductor's may still lie; -1 with errno
 * (EADDRINUSE: a conductor listens there). CONTROL_SOCKET's folder is made where it is missing. */
int control_listen(const char *path);

/* The other side: a connection; -1 with errno. */
int control_connect(const char *path);

#endif
