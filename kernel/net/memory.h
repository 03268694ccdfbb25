/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h: memory of the network, all of it under the network's lock: what lwIP allocates (packets,
 * segments, control blocks) and what belongs to connections. It is charged to an account: a process's, whose
 * slice pays, or the kernel's, of fixed size. Pieces up to NETWORK_PIECE_MAX come from pages cut alike;
 * larger ones are runs of pages. A page that has become free returns to its pool.
 *
 * Whoever calls lwIP for a connection names who pays; what is freed returns to the account that paid for it:
 *
 *      struct network_account *before = network_account_use(connection->account);
 *      … tcp_write(…) …
 *      network_account_use(before);
 */
#ifndef TACET_NETWORK_MEMORY_H
#define TACET_NETWORK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETWORK_PIECE_MAX 2000

struct memory_range;
struct network_account;
struct process;

/* Gives the kernel's account its memory, once: page-aligned extents. */
void network_memory_start(const struct memory_range *extents, unsigned count);

/* A process's account, NULL where its slice has no page for it; the kernel's, of NULL. It stays for as long
 * as the process's memory does. */
struct network_account *network_account_of(struct process *process);

/* From now on this one pays (NULL: the kernel's, as it is whenever the lock is taken). The one before. */
struct network_account *network_account_use(struct network_account *account);

/* Aligned to 16 bytes, contents undefined; NULL where there is none. */
void *network_allocate(size_t bytes);
void *network_allocate_array(size_t count, size_t bytes); /* zeroed */
void network_free(void *memory);                          /* may be NULL */

/* Whether nothing of the account is in use: the pages that it has wait for their next use. */
bool network_account_is_idle(const struct network_account *account);

/* Bytes in pages that the account has taken; of NULL the kernel's. */
uint64_t network_account_bytes(const struct network_account *account);

#endif
