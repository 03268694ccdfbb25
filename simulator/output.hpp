// SPDX-License-Identifier: BSD-2-Clause
//
// output.hpp: results as JSON for machines and as a few lines for people; files that are complete or not
// there.
#pragma once

#include "engine.hpp"
#include "statistics.hpp"

#include <functional>
#include <iosfwd>
#include <string>

namespace sim {

// One simulation, or several of the same with different random places in the noise.
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
    std::vector<Time> quiet_maximum;  // the same without noise: one value, when there is noise
    std::vector<Time> iteration_ends; // of the last simulation, when it has iterations
    std::vector<Time> latencies; // of every iteration of every simulation: from the end of the one before
};

// Keys are documented in docs/lab/loggops.md. `per_rank`: with every rank's finish time.
void report_json(const Report &report, bool per_rank, std::ostream &out);
void report_text(const Report &report, std::ostream &out);

// Writes a file through a temporary one beside it, so that an interrupted run leaves the old file or none;
// "-" is the standard output. InputError when it cannot be written.
void file_write(const std::string &path, const std::function<void(std::ostream &)> &write);

// A string in JSON's quotes.
std::string json_quoted(const std::string &text);

} // namespace sim
