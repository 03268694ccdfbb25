/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launcher.h: the node's side of the launch protocol (docs/jobs.md): it listens, takes one request at a time,
 * and says what becomes of it. init/ knows what a job is.
 *
 *      launcher_wait ──► request ──► launcher_receive, if the program is sent
 *                           │
 *                           ├──► launcher_refuse
 *                           └──► launcher_begin ──► ranks: launcher_streams_open, launcher_rank_ended
 *                                                ──► launcher_end
 *
 * Between jobs only the first CPU works, and waits for frames as an idle CPU does. While a job runs, no
 * thread waits here: the CPUs that work for the network serve the connection (stream_watch).
 */
#ifndef TACET_LAUNCHER_H
#define TACET_LAUNCHER_H

#include "launch/launch_request.h"
#include "lib/command_line.h"
#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_BYTES (192 * 1024) /* a request, and where its words are */

struct process;

/* Applies `launch` or `launch=PORT`: the node waits for jobs, and `ticket_key=`, without which it takes those
 * of any host. -EINVAL with `why`, also if an option of a program is given as well. */
int launcher_configure(const struct command_line *line, struct message *why);
bool launcher_is_on(void);

/* Listens, after network_start. `memory` is LAUNCHER_BYTES; `memory_mib` is what all ranks share, for
 * tacetrun to see. -ENODEV, -EADDRINUSE, -ENOMEM with `why`. */
int launcher_start(void *memory, uint64_t memory_mib, struct message *why);

/* Begins or ends the time between jobs: in it the first CPU counts as idle for the network, and frames
 * interrupt it. */
void launcher_rests(bool begins);

/* Waits once between jobs, for frames or until the deadline, whichever comes first. */
void launcher_rest(uint64_t deadline_ns);

/* Waits for the next request. It is valid until the next call. */
const struct launch_request *launcher_wait(void);

/* Returns whom that request's job belongs to. */
const struct credentials *launcher_user(void);

/* Receives the program of the request. -EIO if it does not arrive. */
int launcher_receive(void *to, uint64_t bytes);

/* Refuses the job: sends "refused …", and ends the connection. */
void launcher_refuse(const char *why);

/* Says that the job begins. From now on the hook is called when tacetrun wants the job to end, or is gone: on
 * any CPU, interrupts off, no locks held, perhaps more than once. */
void launcher_begin(void);
extern void (*launcher_kill_hook)(void);

/* Opens descriptors 0, 1, 2 and LAUNCH_PMI_FD of a rank, which has no thread yet: connections to tacetrun.
 * `local` is its number on this node. -EIO, -ENOMEM and the like with `why`; the process's end closes what
 * is open. */
int launcher_streams_open(struct process *process, unsigned local, struct message *why);

/* Says how a rank has ended; launcher_rank_failed says that it could not begin. `local` is its number on this
 * node. On any CPU. */
void launcher_rank_ended(unsigned local, unsigned status);
void launcher_rank_failed(unsigned local, const char *why);

/* Returns whether tacetrun has gone: then what ranks have written is not acknowledged any longer. */
bool launcher_is_alone(void);

/* Stops the calls of the hook; when this returns, none is under way. */
void launcher_watch_end(void);

/* Says that the job has ended: the connection's last line. */
void launcher_end(unsigned status);

#endif
