// SPDX-License-Identifier: BSD-2-Clause
//
// parameters.hpp: the LogGOPS parameters [Hoefler10 §III-A, Table II] and the cost of a message by its size.
#pragma once

#include "time.hpp"

namespace sim {

// The cost of a message of no bytes. A message of k bytes costs (k-1)G and (k-1)O beyond its first byte. For
// k = 0 the unsigned (k-1) of the published simulator wraps around, so that the message arrives G earlier
// than a message of one byte.
enum class ZeroBytes { nothing, published };

// When the receiver's processor pays for a message (o, and G or O for the rest): as soon as it arrives,
// posted or not, as in the published simulator; or once a matching receive is posted, too.
enum class Handling { arrival, posted };

// The order of events at one time: by the times of their causes (event.hpp), or as in the published
// simulator's one queue, first in, first out. That simulator sorts operations that become ready at once by
// their type, unstably.
enum class Order { causes, published };

struct Parameters {
    Time latency = 2500 * PS_PER_NS;          // L
    Time overhead_send = 1500 * PS_PER_NS;    // o of a send
    Time overhead_receive = 1500 * PS_PER_NS; // o of a receive
    Time gate = 0;                            // the network takes messages only at multiples; 0: at once
    Time gap = 1000 * PS_PER_NS;              // g
    std::int64_t gap_per_byte_fs = 6000000;   // G
    std::int64_t overhead_per_byte_fs = 0;    // O
    std::uint64_t eager_limit = 65535;        // S: larger messages are sent by rendezvous
    ZeroBytes zero_bytes = ZeroBytes::nothing;
    Handling handling = Handling::arrival;
    Order order = Order::causes;

    // Returns the arrival of a message that is sent at `sent`: L later, or L after the next gate.
    Time arrival(Time sent) const
    {
        return (gate > 0 ? (sent + gate - 1) / gate * gate : sent) + latency;
    }
};

// The cost of a message of one size beyond its first byte; negative only with ZeroBytes::published.
struct ByteCost {
    Time wire;    // (k-1)G
    Time send;    // (k-1)O at the sender
    Time receive; // max((k-1)G, (k-1)O) without noise
    Time work;    // (k-1)O at the receiver
};

// Returns `bytes` - 1 times a cost per byte in ps, rounded to nearest. Throws InputError above STEP_LIMIT.
Time byte_cost(std::uint64_t bytes, std::int64_t cost_fs);

ByteCost byte_costs(std::uint64_t bytes, const Parameters &parameters);

} // namespace sim
