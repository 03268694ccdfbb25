/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_file.h: the open jobs in a file, FOLDER/jobs, so that they outlive the conductor: a list of what has
 * happened since it was begun. Lines:
 *
 *      tacet-jobs 1
 *      last 1796000123                        a number that a job has had
 *      job 1796000124 1000                    a job has begun: its number, and the user's
 *      nodes 1796000124 10.0.0.7/n1 10.0.0.8  nodes of the job
 *      heard 1796000124 10.0.0.7/n1           nodes of it that are silent only if they are dead
 *      ending 1796000124                      its tacetrun is gone
 *      end 1796000124                         it has ended
 *
 * Each event is appended by one write(2), which takes some µs; replacing a file may take many ms. A long file
 * is begun again, with the jobs that are open. A line without its end was being written when the machine
 * stopped, and is ignored; so is an empty file. Nothing is forced to the disk: after a loss of power no
 * tacetrun is left on this machine.
 */
#ifndef TACET_SERVICE_LEASE_FILE_H
#define TACET_SERVICE_LEASE_FILE_H

#include "service/conductor/lease_table.h"

/* Reads the file into an empty table: jobs become LEASE_LOST or LEASE_ENDING. *last_job becomes the highest
 * number in the file, if that is higher. Returns 0, also if there is no file, or -1 with a message in `why`.
 */
int lease_file_read(struct lease_table *table, const char *folder, uint32_t *last_job,
                    const struct lease_moment *now, char *why, size_t room);

/* Takes one line of the file, without LF. Returns NULL, or what is wrong. */
const char *lease_line_take(struct lease_table *table, const char *line, uint32_t *last_job,
                            const struct lease_moment *now);

/* Begins the file with the open jobs. This and the others return 0, or -1 with errno. */
int lease_file_begin(struct lease_table *table, const char *folder, uint32_t last_job);

/* Appends that a job has begun, with its nodes so far. */
int lease_file_job(struct lease_table *table, const struct lease *lease);

/* Appends the nodes of a job from this index + 1 on. */
int lease_file_nodes(struct lease_table *table, const struct lease *lease, uint16_t from);

/* Appends "ending" or "end". */
int lease_file_word(const char *word, uint32_t job);

/* Appends which nodes have been heard since the last call. */
int lease_file_heard(struct lease_table *table);

/* Returns whether the file is so long that it should begin again. */
bool lease_file_is_long(void);

#endif
