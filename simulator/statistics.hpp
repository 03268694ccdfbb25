// SPDX-License-Identifier: BSD-2-Clause
//
// statistics.hpp: statistics of a set of times for a boxplot [Hoefler10 Fig. 5-7].
#pragma once

#include "time.hpp"

#include <span>

namespace sim {

// Quantiles by linear interpolation between neighbours (numpy's default). All zero if there are no values.
struct Summary {
    std::size_t count = 0;
    double minimum = 0, quartile1 = 0, median = 0, quartile3 = 0, percentile99 = 0, maximum = 0, mean = 0,
           deviation = 0; // ns
};

Summary summary_of(std::span<const Time> times);

} // namespace sim
