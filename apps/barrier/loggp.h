/* SPDX-License-Identifier: BSD-2-Clause */
/* loggp.h: measures the cost of a datagram between two nodes, for the LogGP parameters [Hoefler10 §III-A]. */
#ifndef LOGGP_H
#define LOGGP_H

#include "exchange.h"

#define LOGGP_ROUNDS 20
#define LOGGP_BURST  16

/*
 * Exchanges datagrams between two ranks that have met. Each rank prints times, in ticks of its cycle counter:
 *
 *     ping   SENT_BEGIN SENT_END RECEIVED     rank 0, which waits for each answer
 *     pong   RECEIVED SENT_END                rank 1, which waits for each ping
 *     late   BEGIN END                        rank 1 takes a datagram that its card has had for long
 *     burst  BEGIN END …                      rank 0 sends LOGGP_BURST, one after the other
 *     taken  END …                            rank 1 takes them, once its card has had them for long
 *
 * `late_ticks` is how long rank 1 computes before it takes datagrams that its card has.
 */
void loggp_measure(struct exchange *exchange, uint64_t late_ticks);

#endif /* LOGGP_H */
