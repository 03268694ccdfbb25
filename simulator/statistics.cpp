// SPDX-License-Identifier: BSD-2-Clause
//
// statistics.cpp: see statistics.hpp.
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sim {

Summary summary_of(std::span<const Time> times)
{
    std::vector<Time> values(times.begin(), times.end());
    Summary summary;

    if (values.empty())
        return summary;
    std::sort(values.begin(), values.end());
    const auto ns = [&](std::size_t i) { return static_cast<double>(values[i]) / PS_PER_NS; };
    const auto quantile = [&](double part) {
        const double place = part * static_cast<double>(values.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, values.size() - 1);
        return ns(below) + (ns(above) - ns(below)) * (place - static_cast<double>(below));
    };
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); i++)
        sum += ns(i);
    summary.count = values.size();
    summary.mean = sum / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); i++)
        squares += (ns(i) - summary.mean) * (ns(i) - summary.mean);
    summary.deviation = values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
    summary.minimum = quantile(0);
    summary.quartile1 = quantile(0.25);
    summary.median = quantile(0.5);
    summary.quartile3 = quantile(0.75);
    summary.percentile99 = quantile(0.99);
    summary.maximum = quantile(1);
    return summary;
}

} // namespace sim
