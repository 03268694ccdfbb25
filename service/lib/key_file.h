/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h: the key that authenticates beats: a file with 32 hexadecimal digits, which only its owner may
 * read. Every node has the key; any program that has it can send beats in the conductor's name.
 */
#ifndef TACET_SERVICE_KEY_FILE_H
#define TACET_SERVICE_KEY_FILE_H

#include "lib/siphash.h"

#define IDENTITY_BYTES 32

/* Reads a key, or the secret of the conductor's public key. Returns NULL, or what is wrong with the file. */
const char *key_file_load(const char *path, uint8_t key[SIPHASH_KEY_BYTES]);
const char *key_file_load_identity(const char *path, uint8_t secret[IDENTITY_BYTES]);

/* Reads the key; on failure says what is wrong with the file and ends the program with status `failed`. */
void key_file_read(const char *path, uint8_t key[SIPHASH_KEY_BYTES], int failed);

#endif
