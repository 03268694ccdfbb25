/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.h: the ranks of the node's program: one process each, on cores of its own, with an equal slice of the
 * memory.
 *
 * R ranks share C cores: rank r has the cores r * (C / R) and up, with all their hardware threads: its first
 * thread runs on the first of them, the others wait for threads that it starts. More ranks than cores share
 * them by hardware threads. CPUs that are left over stay parked. Ranks learn their number from TACET_RANK and
 * TACET_SIZE in their environment. In addition a node may have a service (service=): one more process, with a
 * small slice, whose threads may run on the CPUs of all ranks, as SCHED_IDLE unless they change that. The end
 * of a rank does not affect the others; the node ends after the last one, with the highest exit status.
 */
#ifndef TACET_JOB_H
#define TACET_JOB_H

#include "lib/command_line.h"
#include "mm/memplan.h"
#include "fs/tree/tree.h"

#define PROGRAM_DEFAULT "/init" /* app= */

/* Reads `ranks=` (1 … CPUs; all CPUs by default) and what else the command line says of the program. Stops
 * the node on bad values. */
void job_configure(const struct command_line *line, unsigned cpu_count);
unsigned job_cpu_of(unsigned rank); /* the CPU that its first thread runs on */

/* Returns what service= takes of the kernel's pool (`service_memory=`), in whole large pages; 0 without
 * one. */
uint64_t job_service_bytes(const struct command_line *line);

/* Stops the node if its start has failed with an error; `why` is the message. */
void start_check(int error, const struct message *why);

/* Starts the ranks on all CPUs, this one included, and the service in its slice (empty: there is none); with
 * `launch`, those of one job after the other. */
_Noreturn void job_start(struct memplan *plan, const struct memory_slice *service, struct tree *tree);

/* Makes a CPU take part in all jobs that begin after the first `seen` ones. A further CPU joins when the node
 * starts; the first job may have begun by then. */
_Noreturn void job_cpu_join(unsigned cpu, uint64_t seen);

#endif
