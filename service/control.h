/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h: how conductorctl talks with the conductor: a Unix socket of whole messages (SOCK_SEQPACKET),
 * which only the conductor's user can reach. A request is a line of words; the answer is one object of JSON,
 * with "error" where the request could not be done.
 */
#ifndef TACET_SERVICE_CONTROL_H
#define TACET_SERVICE_CONTROL_H

#define CONTROL_SOCKET        "/run/tacet-conductor.sock"
#define CONTROL_REQUEST_BYTES 256
#define CONTROL_ANSWER_BYTES  4096

/* The conductor's side: a listening socket at `path`, where a dead conductor's may still lie; -1 with errno
 * (EADDRINUSE: a conductor listens there). */
int control_listen(const char *path);

/* The other side: a connection; -1 with errno. */
int control_connect(const char *path);

#endif
