/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h: the key that tags beats: a file with 32 hexadecimal digits, which only its owner may read. Who
 * has it can beat for the conductor: every node does.
 */
#ifndef TACET_SERVICE_KEY_FILE_H
#define TACET_SERVICE_KEY_FILE_H

#include "lib/siphash.h"

/* Reads it, or says what is wrong with the file, and ends the program with status `failed`. */
void key_file_read(const char *path, uint8_t key[SIPHASH_KEY_BYTES], int failed);

#endif
