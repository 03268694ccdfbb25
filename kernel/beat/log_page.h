/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_page.h: sends this node's flight log to the conductor, over the beats' wire. BEAT_HOLD holds the log at
 * a beat, each BEAT_PAGE that names the node has pages of it sent, another BEAT_HOLD releases it
 * (docs/nettick.md).
 *
 *      command.c             log_pages_hold, log_pages_request     by the CPU that does the node's part
 *      the beats' card       log_page_write                        by the CPU that has taken the beat
 *
 * A log does not stay held if its reader dies: without a BEAT_PAGE, for any node, it is released after the
 * time that the hold has named.
 */
#ifndef TACET_BEAT_LOG_PAGE_H
#define TACET_BEAT_LOG_PAGE_H

#include "beat/page_frame.h"

/* Sets the address of the card that pages are sent from, and the number drawn for this start of the node.
 * Called before the first beat. */
void log_pages_set(const uint8_t address[BEAT_ADDRESS_BYTES], uint64_t start);

/* Does BEAT_HOLD; log_pages_request does BEAT_PAGE. Returns 0 or a negative error: -EBUSY if the log is held
 * already, -EAGAIN if pages of earlier commands have not been sent yet, -EINVAL for a wrong body. Interrupts
 * off, no locks held; always on the same CPU. */
int log_pages_hold(const struct beat_command *command);
int log_pages_request(const struct beat_command *command);

/* Returns whether a page is to be sent. */
bool log_page_is_due(void);

/* Writes the next page and the address to send it to. Returns its bytes; 0 if none is due. Any CPU, one at a
 * time. */
size_t log_page_write(uint8_t conductor[BEAT_ADDRESS_BYTES], uint8_t payload[PAGE_FRAME_BYTES]);

#endif
