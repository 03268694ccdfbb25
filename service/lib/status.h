/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.h: exit statuses of the programs that run a job, other than those of its ranks.
 */
#ifndef TACET_SERVICE_STATUS_H
#define TACET_SERVICE_STATUS_H

#define STATUS_TIME   124 /* the job's time is over */
#define STATUS_FAILED 125 /* the program, or a node, could not do its part */
#define STATUS_CLOSED 141 /* the output's reader has gone: as SIGPIPE */

#endif
