// SPDX-License-Identifier: BSD-2-Clause
//
// pattern.hpp: communication patterns that need no schedule: a rank's operations follow from its number.
//
// A pattern is a sequence of steps, the same number for every rank. In a step a rank either computes, or
// sends and receives some messages (perhaps none). All sends and receives of a step begin together; the next
// step begins when all have finished. A message's tag is the step's number. Iterations follow each other
// without a gap.
#pragma once

#include "time.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class PatternName {
    // log2 P steps: send to r + 2^k, receive from r - 2^k (barrier, small allreduce) [Hoefler10 Fig. 4]
    dissemination,
    bcast,              // binomial tree from rank 0 [Hoefler10 Fig. 3]
    reduce,             // binomial tree to rank 0
    recursive_doubling, // exchange with r xor 2^k; ranks beyond a power of two join by a partner
    ring,     // segments go from rank 0 through all ranks; each receives a segment and sends the last one
    alltoall, // one step: to all others and from all others
    nway,     // dissemination with n partners in each step
    halo2d,   // neighbours on a torus, then an allreduce by dissemination
    halo3d,
    global_interrupt, // separate network, no messages (global_interrupt.hpp); must be the last here
};

struct PatternOptions {
    PatternName name = PatternName::dissemination;
    std::uint32_t ranks = 1;
    std::uint64_t bytes = 8;             // of a message; the allreduce of halo patterns always has 8
    std::uint64_t segment_bytes = 16384; // of the ring
    unsigned ways = 2;                   // of n-way dissemination
    std::uint32_t iterations = 1;
    Time compute = 0;   // before each iteration; 0: none
    Time reduction = 0; // after each message that a step of a reducing pattern receives; 0: none
};

struct Step {
    std::uint32_t sends = 0;
    std::uint32_t receives = 0;
    Time work = 0; // length of a computation; such a step has no messages

    bool empty() const
    {
        return sends == 0 && receives == 0 && work == 0;
    }
};

class Pattern {
public:
    // Throws InputError if the options make no pattern.
    explicit Pattern(const PatternOptions &chosen);

    const PatternOptions &options() const
    {
        return given;
    }

    std::uint32_t ranks() const
    {
        return given.ranks;
    }

    // Returns the number of steps of an iteration.
    std::uint32_t steps() const
    {
        return step_count;
    }

    // Returns what `rank` does in `step` of an iteration.
    Step step(std::uint32_t rank, std::uint32_t step) const;

    // Returns the receiver of send `index` < sends of a step.
    std::uint32_t receiver(std::uint32_t rank, std::uint32_t step, std::uint32_t index) const;

    // Returns the sender of receive `index` < receives of a step.
    std::uint32_t sender(std::uint32_t rank, std::uint32_t step, std::uint32_t index) const;

    // Returns the step in which the receivers get this step's sends.
    std::uint32_t received_in(std::uint32_t rank, std::uint32_t step) const;

    // Returns the bytes of each message that is received in a step.
    std::uint64_t bytes(std::uint32_t step) const;

    // Returns whether step() is the same for all ranks.
    bool alike(std::uint32_t step) const;

    // Returns, for a step with one send, the distance to its receiver, upwards modulo the ranks, if it is the
    // same for all ranks; else 0.
    std::uint32_t distance(std::uint32_t step) const;

    // Returns the number of operations of all ranks in one iteration.
    std::uint64_t operations() const;

private:
    enum class Part { compute, reduction, pattern, allreduce };
    struct Place {
        Part part;
        std::uint32_t index; // of the step within the part
    };

    Place place(std::uint32_t step) const;
    Step pattern_step(std::uint32_t rank, std::uint32_t index) const;
    Step exchange_step(std::uint32_t rank, std::uint32_t index) const;
    std::uint32_t partner(std::uint32_t rank, std::uint32_t step, std::uint32_t index, bool send) const;
    std::uint32_t tree_partner(std::uint32_t rank, std::uint32_t index, bool down) const;
    std::uint32_t exchange_partner(std::uint32_t rank, std::uint32_t index) const;
    std::uint32_t neighbour(std::uint32_t rank, std::uint32_t direction) const;
    std::uint32_t children(std::uint32_t rank) const;

    PatternOptions given;
    std::uint32_t inner_steps = 0;  // of the pattern without computation and allreduce
    std::uint32_t reduce_steps = 0; // allreduce steps after the halo exchange
    std::uint32_t step_count = 0;
    bool reduces = false;                    // a reduction follows each receiving step of the pattern
    std::uint32_t power = 1;                 // the largest power of two up to the number of ranks
    unsigned log = 0;                        // its logarithm
    unsigned rounds = 0;                     // of dissemination
    std::vector<std::uint32_t> way_distance; // per step of n-way dissemination
    std::array<std::uint32_t, 3> extent = {1, 1, 1};
    std::uint64_t last_segment = 0; // bytes of the ring's last message
};

// Finds a pattern by its name on the command line, such as "recursive-doubling".
std::optional<PatternName> pattern_named(std::string_view name);

// Returns all names, in the order of PatternName.
const std::vector<std::string> &pattern_names();

} // namespace sim
