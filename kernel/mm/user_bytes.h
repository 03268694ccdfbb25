/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_bytes.h: copies between kernel and program that go as far as the program's memory does, for calls that
 * report how many bytes they moved: read(2), write(2).
 *
 * All return how many bytes they copied, or -EFAULT if there were bytes to copy and none could be copied.
 */
#ifndef TACET_USER_BYTES_H
#define TACET_USER_BYTES_H

#include <stdint.h>

int64_t user_read_partial(void *to, uint64_t from, uint64_t bytes);
int64_t user_write_partial(uint64_t to, const void *from, uint64_t bytes); /* NULL: zeros */

#endif
