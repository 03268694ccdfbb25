// SPDX-License-Identifier: BSD-2-Clause
//
// options.hpp: the command line's options that several commands share.
#pragma once

#include "command_line.hpp"
#include "noise.hpp"
#include "parameters.hpp"
#include "pattern.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sim {

// Numbers stay text until they are used, so that they are exact and errors name the option.
struct ParameterOptions {
    std::string system, latency, overhead, overhead_send, overhead_receive, gap, gap_per_byte,
        overhead_per_byte, eager_limit;
    std::string gate;
    std::string zero_byte, handling = "arrival", order;
    std::string like; // a simulator whose rules are the defaults

    void add(Command &command);
    void add_order(Command &command);
    Parameters parameters() const; // throws InputError
};

struct NoiseOptions {
    std::vector<std::string> traces;
    std::string period, duration, rule, offsets;
    std::uint64_t seed = 1;
    bool coscheduled = false;

    void add(Command &command);
    // Makes the rule of another simulator the default; `like` is empty or its name.
    void be_like(const std::string &like);
    // Reads the traces. Throws InputError; remarks go to standard error.
    std::vector<Trace> read(std::vector<std::string> &descriptions) const;
    NoiseRule noise_rule() const; // throws InputError
    // Makes the noise of `ranks` ranks, with their places in it. Throws InputError.
    Noise noise(const std::vector<Trace> &read, std::uint64_t from_seed, std::uint32_t ranks) const;
};

struct PatternArguments {
    std::string name, compute, reduction, bytes = "8", segment = "16384";
    std::uint32_t ranks = 0, iterations = 1;
    unsigned ways = 2;

    void add(Command &command);
    PatternOptions options() const; // throws InputError
};

// Returns the number of threads: the requested number, or if that is 0 the number of processors.
unsigned threads_of(unsigned requested);

} // namespace sim
