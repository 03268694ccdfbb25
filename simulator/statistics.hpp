// SPDX-License-Identifier: BSD-2-Clause
//
// statistics.hpp: what a set of times looks like, as a boxplot needs it [Hoefler10 Fig. 5-7].
#pragma once

#include "time.hpp"

#include <span>

namespace sim {

// Quantiles by linear interpolation between neighbours (numpy's default). All zero for no values.
struct Summary {
    std::size_t count = 0;
    double minimum = 0, quartile1 = 0, median = 0, quartile3 = 0, percentile99 = 0, maximum = 0, mean = 0,
           deviation = 0; // ns
};

Summary summary_of(std::span<const Time> times);

} // namespace sim
