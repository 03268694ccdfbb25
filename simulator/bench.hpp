// SPDX-License-Identifier: BSD-2-Clause
//
// bench.hpp: measures the simulator's speed and memory.
#pragma once

#include <iosfwd>

namespace sim {

struct BenchOptions {
    bool json = false;
    unsigned largest_log = 20;      // of the built-in pattern's ranks
    unsigned largest_goal_log = 18; // of a schedule's ranks
    unsigned threads = 0;
};

// Simulates one dissemination of 8 bytes under noise for 2^10 to 2^largest ranks, with the built-in pattern
// and from GOAL text (written to a temporary file; the time includes reading it).
// Runs each measurement in its own process, so that its memory can be measured.
int bench_run(const BenchOptions &options, std::ostream &out);

} // namespace sim
