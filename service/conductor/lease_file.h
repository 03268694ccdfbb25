/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_file.h: the open jobs in a file, FOLDER/jobs, so that they outlive the conductor. Lines:
 *
 *      tacet-jobs 1
 *      last 1796000123                     the last job's number
 *      job 1796000122 1000                 a job whose tacetrun is connected: its number, and the user's
 *      ending 1796000121 0                 one that the conductor is ending
 *      nodes 10.0.0.7/n1 ?10.0.0.8/n2      nodes of the job above; ?: its silence would mean nothing yet
 *      end
 *
 * A new file replaces the old one at once (rename(2)). It is not forced to the disk: after a loss of power no
 * tacetrun is left on this machine.
 */
#ifndef TACET_SERVICE_LEASE_FILE_H
#define TACET_SERVICE_LEASE_FILE_H

#include "service/conductor/lease_table.h"

/* Writes the file. Returns 0, or -1 with errno. */
int lease_file_write(const struct lease_table *table, const char *folder, uint32_t last_job);

/* Reads the file into an empty table: jobs become LEASE_LOST or LEASE_ENDING. *last_job is unchanged if there
 * is no file. Returns 0, or -1 with a message in `why`. */
int lease_file_read(struct lease_table *table, const char *folder, uint32_t *last_job,
                    const struct lease_moment *now, char *why, size_t room);

/* Takes one line of the file, without LF. *lease: the job of the lines before, or NULL. Returns NULL, or what
 * is wrong. */
const char *lease_line_take(struct lease_table *table, const char *line, struct lease **lease,
                            uint32_t *last_job, const struct lease_moment *now);

#endif
