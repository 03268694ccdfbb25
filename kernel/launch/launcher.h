/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launcher.h: the node's side of the launch protocol (docs/jobs.md): it listens, takes one request at a time,
 * and says what becomes of it. What a job is, init/ knows.
 *
 *      launcher_wait ──► request ──► launcher_receive, where the program is sent
 *                           │
 *                           ├──► launcher_refuse
 *                           └──► launcher_begin ──► ranks: launcher_streams_open, launcher_rank_ended
 *                                                ──► launcher_end
 *
 * Between jobs only the first CPU is at work, and waits for frames as an idle CPU does. While a job runs
 * nobody waits here: whoever works for the network serves the connection (stream_watch).
 */
#ifndef TACET_LAUNCHER_H
#define TACET_LAUNCHER_H

#include "launch/launch_request.h"
#include "lib/command_line.h"
#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_BYTES (192 * 1024) /* of memory: a request, and where its words are */

struct process;

/* Applies `launch` or `launch=PORT`: the node waits for jobs. -EINVAL with `why`, also where options stand
 * beside it that are of a program. */
int launcher_configure(const struct command_line *line, struct message *why);
bool launcher_is_on(void);

/* Listens, after network_start. `memory` is LAUNCHER_BYTES; `memory_mib` is what ranks have together, for
 * tacetrun to see. -ENODEV, -EADDRINUSE, -ENOMEM with `why`. */
int launcher_start(void *memory, uint64_t memory_mib, struct message *why);

/* Around all that the first CPU does between jobs: meanwhile it idles, as the network sees it, and frames
 * interrupt it. */
void launcher_rests(bool begins);

/* Waits there once, for frames or for the deadline, whatever comes first. */
void launcher_rest(uint64_t deadline_ns);

/* Waits for the next request. It is valid until the next call. */
const struct launch_request *launcher_wait(void);

/* Receives the program of the request. -EIO: it has not come. */
int launcher_receive(void *to, uint64_t bytes);

/* The job does not run: "refused …", and the connection ends. */
void launcher_refuse(const char *why);

/* Says that the job begins. From now on the hook is called when tacetrun wants the job's end, or is gone: on
 * any CPU, interrupts off, no locks held; more than once, perhaps. */
void launcher_begin(void);
extern void (*launcher_kill_hook)(void);

/* Opens descriptors 0, 1 and 2 of a rank, which has no thread yet: connections to tacetrun. `local`: its
 * number on this node. -EIO, -ENOMEM with `why`. */
int launcher_streams_open(struct process *process, unsigned local, struct message *why);

/* Says how a rank has ended, by its number on this node; or that it could not begin. On any CPU. */
void launcher_rank_ended(unsigned local, unsigned status);
void launcher_rank_failed(unsigned local, const char *why);

/* Whether tacetrun has gone, so that nobody is left to acknowledge what ranks have written. */
bool launcher_is_alone(void);

/* The hook is called no more once this returns. */
void launcher_watch_end(void);

/* Says that the job has ended: the connection's last line. */
void launcher_end(unsigned status);

#endif
