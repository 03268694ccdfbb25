// SPDX-License-Identifier: BSD-2-Clause
//
// bench.hpp: how fast the simulator is, and how much memory it takes.
#pragma once

#include <iosfwd>

namespace sim {

struct BenchOptions {
    bool json = false;
    unsigned largest_log = 20;      // of the built-in pattern's ranks
    unsigned largest_goal_log = 18; // of a schedule's ranks
    unsigned threads = 0;
};

// One dissemination of 8 bytes under noise for 2^10 to 2^largest ranks, by the built-in pattern and from GOAL
// text (written to a temporary file, reading included in the time). Each measurement is a process of its own,
// so that its memory can be measured.
int bench_run(const BenchOptions &options, std::ostream &out);

} // namespace sim
