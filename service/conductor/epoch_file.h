/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch_file.h: the conductor's last epoch on disk: the file FOLDER/epoch, a number of 20 digits and a
 * newline. It is replaced as a whole, so that after a power failure it holds the last epoch or the one
 * before.
 */
#ifndef TACET_SERVICE_EPOCH_FILE_H
#define TACET_SERVICE_EPOCH_FILE_H

#include <stdint.h>

/* Reads the last epoch; 0 if there is no file yet. Returns NULL, or what is wrong. */
const char *epoch_file_read(const char *folder, uint64_t *epoch);

/* Writes an epoch, and waits until it is on the disk. Makes the folder if it is missing. Returns NULL, or
 * what is wrong. */
const char *epoch_file_write(const char *folder, uint64_t epoch);

#endif
