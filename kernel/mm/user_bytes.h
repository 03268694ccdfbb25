/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_bytes.h: copies between kernel and program that go as far as the program's memory does, for calls that
 * answer how many bytes they moved: read(2), write(2).
 *
 * All of them answer how many bytes that were, or -EFAULT where it was not a single one of those wanted.
 * user_bytes.c
 */
#ifndef TACET_USER_BYTES_H
#define TACET_USER_BYTES_H

#include <stdint.h>

int64_t user_read_partial(void *to, uint64_t from, uint64_t bytes);
int64_t user_write_partial(uint64_t to, const void *from, uint64_t bytes);
int64_t user_clear_partial(uint64_t to, uint64_t bytes);

#endif
