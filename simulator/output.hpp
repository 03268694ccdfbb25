// SPDX-License-Identifier: BSD-2-Clause
//
// output.hpp: writes results as JSON for machines and as a few lines for people. A file is written whole or
// not at all.
#pragma once

#include "engine.hpp"
#include "statistics.hpp"

#include <functional>
#include <iosfwd>
#include <string>

namespace sim {

// One simulation, or several that differ only in the random places in the noise.
struct Report {
    std::string subject; // the schedule's path or the pattern's name
    std::uint32_t ranks = 0;
    std::uint64_t operations = 0; // of one simulation
    std::uint64_t seed = 0;
    Parameters parameters;
    std::vector<std::string> noise; // a description per trace
    NoiseRule rule = NoiseRule::physical;
    bool coscheduled = false;
    Result last;                      // of the last simulation
    std::vector<Time> maxima;         // the end of the last rank, per simulation
    std::vector<Time> quiet_maximum;  // that without noise: one value, if there is noise
    std::vector<Time> iteration_ends; // of the last simulation, if it has iterations
    std::vector<Time> latencies; // of every iteration of every simulation, from the end of the last one
};

// Writes the report as JSON, with every rank's finish time if `per_rank`. docs/lab/loggops.md lists the keys.
void report_json(const Report &report, bool per_rank, std::ostream &out);
void report_text(const Report &report, std::ostream &out);

// Writes a file through a temporary file next to it, so that an interrupted run leaves the old file or none.
// Writes to the standard output if `path` is "-". Throws InputError if it fails.
void file_write(const std::string &path, const std::function<void(std::ostream &)> &write);

// Returns a string in JSON's quotes.
std::string json_quoted(const std::string &text);

} // namespace sim
