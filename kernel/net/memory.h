/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h: memory of the network, all of it under the network's lock: what lwIP allocates (packets,
 * segments, control blocks) and what belongs to connections. It is charged to an account: a process's, whose
 * slice pays, or one of the node's own, of fixed size (enum network_own). Pieces up to NETWORK_PIECE_MAX come
 * from pages that are cut into pieces of one size; larger ones are runs of pages. A page that has become free
 * returns to its pool.
 *
 * A caller of lwIP says which account pays; what is freed returns to the account that paid for it:
 *
 *      NETWORK_PAYER(connection->account);
 *      … tcp_write(…) …                        to the end of the block
 */
#ifndef TACET_NETWORK_MEMORY_H
#define TACET_NETWORK_MEMORY_H

#include "arch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETWORK_PIECE_MAX 4032

/* The least memory of all the node's own accounts together. POWER, whose pages have 64 KiB, has no driver of
 * a network card: ranks pay for its packets, and one account serves for everything else. */
#define NETWORK_OWN_BYTES ((ARCH_PAGE > 4096 ? 3 : 126) * ARCH_PAGE)

/* Accounts of the node itself. Each takes at most its share of their memory; only received frames may also
 * borrow pages that the others have not taken. */
enum network_own {
    NETWORK_KERNEL,    /* the kernel's own connections, requests and groups */
    NETWORK_FRAMES,    /* received frames, until lwIP has handled them */
    NETWORK_STRANGERS, /* fragments of datagrams, and answers to packets that no socket takes */
    NETWORK_VISITORS,  /* connections to the launch port that have not shown a valid request line */
    NETWORK_OWN
};

struct memory_range;
struct network_account;
struct process;

/* Gives the node's own accounts their memory, once: page-aligned extents of NETWORK_OWN_BYTES or more. */
void network_memory_start(const struct memory_range *extents, unsigned count);

/* Returns the account of a process, NULL if its slice has no page for it; for NULL, the kernel's account. It
 * exists as long as the process's memory does. */
struct network_account *network_account_of(struct process *process);

/* Returns one of the node's own accounts. */
struct network_account *network_account_own(enum network_own which);

/* Makes this account pay from now on (NULL: the kernel's, which pays whenever the lock is taken). Returns the
 * one before. */
struct network_account *network_account_use(struct network_account *account);

static inline __attribute__((always_inline)) void network_payer_end(struct network_account *const *before)
{
    network_account_use(*before);
}

/* Makes this account pay until the enclosing block ends, and then the one before. */
#define NETWORK_PAYER(account)                                                                       \
    struct network_account *const payer_before __attribute__((cleanup(network_payer_end), unused)) = \
        network_account_use(account)

/* Allocates memory, aligned to 16 bytes, its contents undefined; NULL if there is too little. */
void *network_allocate(size_t bytes);
void *network_allocate_array(size_t count, size_t bytes); /* zeroed */
void network_free(void *memory);                          /* may be NULL */

/* Returns whether nothing of the account is in use: its pages are only kept for their next use. */
bool network_account_is_idle(const struct network_account *account);

/* Returns the bytes in pages that the account has taken. */
uint64_t network_account_bytes(const struct network_account *account);

/* Returns the number of multicast memberships of the account's sockets, which inet_option.c counts. */
unsigned *network_account_memberships(struct network_account *account);

#endif
