/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.h: exit statuses of the programs that run a job, in addition to those of its ranks.
 */
#ifndef TACET_SERVICE_STATUS_H
#define TACET_SERVICE_STATUS_H

#define STATUS_TIME   124 /* the job has reached its time limit */
#define STATUS_FAILED 125 /* the program or a node has failed */
#define STATUS_CLOSED 141 /* the output's reader has closed it; as for SIGPIPE */

#endif
