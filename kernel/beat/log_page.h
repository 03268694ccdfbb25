/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_page.h: this node's flight log on its way to the conductor, over the beats' wire: held at a beat by
 * BEAT_HOLD, sent in pages for each BEAT_PAGE that names the node, released by another BEAT_HOLD
 * (docs/nettick.md).
 *
 *      command.c             log_pages_hold, log_pages_request     by the CPU that does the node's part
 *      the beats' card       log_page_write                        by the CPU that has taken the beat
 *
 * Nobody who dies leaves a log held: without a BEAT_PAGE, for whichever node, it is released after the time
 * that the hold has named.
 */
#ifndef TACET_BEAT_LOG_PAGE_H
#define TACET_BEAT_LOG_PAGE_H

#include "beat/page_frame.h"

/* Before the first beat: the key, the address of the card that pages go from, the number drawn for this start
 * of the node. */
void log_pages_set(const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t address[BEAT_ADDRESS_BYTES],
                   uint64_t start);

/* What the two commands do. 0 or a negative error: -EBUSY where the log is held already, -EAGAIN where pages
 * of earlier commands have not gone yet. Interrupts off, no locks held; always the same CPU. */
int log_pages_hold(const struct beat_command *command);
int log_pages_request(const struct beat_command *command);

/* Whether a page is to be sent. */
bool log_page_is_due(void);

/* The next one: its bytes and whom to send it to; 0: none is due. Any CPU, one at a time. */
size_t log_page_write(uint8_t conductor[BEAT_ADDRESS_BYTES], uint8_t payload[PAGE_FRAME_BYTES]);

#endif
