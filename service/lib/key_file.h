/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.h: files of keys, which only their owner may read: the site's master key, 32 hexadecimal digits;
 * or a node's keys, which are made of it (lib/key.h), as `conductorctl key` prints them:
 *
 *     beats 000102030405060708090a0b0c0d0e0f
 *     ticket 101112131415161718191a1b1c1d1e1f
 */
#ifndef TACET_SERVICE_KEY_FILE_H
#define TACET_SERVICE_KEY_FILE_H

#include "lib/key.h"

#define IDENTITY_BYTES 32

/* Returns NULL, or why an open file is not one that only its owner, root or this program's user, can read and
 * write. */
const char *key_file_check(int file);

/* Reads a file of the master key, of the secret of the conductor's public key, or of a node's keys. Returns
 * NULL, or what is wrong with it; then the keys are unchanged. */
const char *key_file_load(const char *path, uint8_t key[KEY_BYTES]);
const char *key_file_load_identity(const char *path, uint8_t secret[IDENTITY_BYTES]);
const char *key_file_load_node(const char *path, struct node_keys *keys);

/* Does so; on failure says what is wrong with the file and ends the program with status `failed`. */
void key_file_read(const char *path, uint8_t key[KEY_BYTES], int failed);
void key_file_read_node(const char *path, struct node_keys *keys, int failed);

#endif
