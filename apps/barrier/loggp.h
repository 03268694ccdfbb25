/* SPDX-License-Identifier: BSD-2-Clause */
/* loggp.h: what a datagram between two nodes costs, as the parameters of LogGP [Hoefler10 §III-A]. */
#ifndef LOGGP_H
#define LOGGP_H

#include "exchange.h"

#define LOGGP_ROUNDS 20
#define LOGGP_BURST  16

/*
 * Two ranks that have met exchange datagrams; each prints when it did what, in ticks of its cycle counter:
 *
 *     ping   SENT_BEGIN SENT_END RECEIVED     rank 0, which waits for each answer
 *     pong   RECEIVED SENT_END                rank 1, which waits for each ping
 *     late   BEGIN END                        rank 1 takes a datagram that its card has had for long
 *     burst  BEGIN END …                      rank 0 sends LOGGP_BURST, one after the other
 *     taken  END …                            rank 1 takes them, once its card has had them for long
 *
 * `late_ticks` is for how long rank 1 computes before it takes what its card has.
 */
void loggp_measure(struct exchange *exchange, uint64_t late_ticks);

#endif /* LOGGP_H */
