// SPDX-License-Identifier: BSD-2-Clause
//
// parameters.hpp: the LogGOPS parameters [Hoefler10 §III-A, Table II] and what a message of some size costs.
#pragma once

#include "time.hpp"

namespace sim {

// How a message of no bytes is counted. A message of k bytes costs (k-1)G and (k-1)O beyond its first byte;
// for k = 0 the published simulator's unsigned (k-1) wraps around, which makes such a message arrive G
// earlier than one of a byte.
enum class ZeroBytes { nothing, published };

// When the receiver's processor pays for a message (o, and G or O for the rest): as soon as it arrives,
// posted or not, as the published simulator does; or once a receive that it matches is posted too.
enum class Handling { arrival, posted };

// Which of several things at one time goes first: by the times of their causes (event.hpp), or what was put
// first into the published simulator's one queue; that sorts what becomes ready at once by its type,
// unstably.
enum class Order { causes, published };

struct Parameters {
    Time latency = 2500 * PS_PER_NS;          // L
    Time overhead_send = 1500 * PS_PER_NS;    // o of a send
    Time overhead_receive = 1500 * PS_PER_NS; // o of a receive
    Time gate = 0;                            // messages are carried at multiples of it only; 0: at once
    Time gap = 1000 * PS_PER_NS;              // g
    std::int64_t gap_per_byte_fs = 6000000;   // G
    std::int64_t overhead_per_byte_fs = 0;    // O
    std::uint64_t eager_limit = 65535;        // S: larger messages are sent by rendezvous
    ZeroBytes zero_bytes = ZeroBytes::nothing;
    Handling handling = Handling::arrival;
    Order order = Order::causes;

    // When a message that is sent at a time arrives: L later, or L after the first gate from then on.
    Time arrival(Time sent) const
    {
        return (gate > 0 ? (sent + gate - 1) / gate * gate : sent) + latency;
    }
};

// What a message of one size costs beyond its first byte; may be negative for ZeroBytes::published only.
struct ByteCost {
    Time wire;    // (k-1)G
    Time send;    // (k-1)O at the sender
    Time receive; // max((k-1)G, (k-1)O) when nothing disturbs
    Time work;    // (k-1)O at the receiver
};

// Picoseconds of `bytes` - 1 times a cost per byte, rounded to nearest; InputError above STEP_LIMIT.
Time byte_cost(std::uint64_t bytes, std::int64_t cost_fs);

ByteCost byte_costs(std::uint64_t bytes, const Parameters &parameters);

} // namespace sim
