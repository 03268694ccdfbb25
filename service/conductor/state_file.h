/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state_file.h: files in the folder of --state that are replaced as a whole: after a power failure a file has
 * its last content or the one before. No file of them is reached through a symbolic link.
 */
#ifndef TACET_SERVICE_STATE_FILE_H
#define TACET_SERVICE_STATE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Opens FOLDER/NAME for reading; -1 with errno. */
int state_file_open(const char *folder, const char *name);

/* Replaces FOLDER/NAME, and waits until it is on the disk. Makes the folder if it is missing. Returns NULL,
 * or what is wrong. */
const char *state_file_replace(const char *folder, const char *name, const char *bytes, size_t count,
                               mode_t mode);

#endif
