// SPDX-License-Identifier: BSD-2-Clause
//
// statistics.cpp: see statistics.hpp.
#include "statistics.hpp"

#include "pages.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim {

namespace {

// Many times lie close together, so that few digits of their distance to the minimum sort them.
void sort(LargeVector<Time> &times)
{
    constexpr std::size_t FEW = 4096;
    constexpr unsigned DIGIT_BITS = 11;
    constexpr std::uint64_t DIGITS = std::uint64_t{1} << DIGIT_BITS;

    if (times.size() < FEW) {
        std::sort(times.begin(), times.end());
        return;
    }
    const auto [minimum, maximum] = std::minmax_element(times.begin(), times.end());
    const auto base = static_cast<std::uint64_t>(*minimum);
    const std::uint64_t range = static_cast<std::uint64_t>(*maximum) - base;
    LargeVector<Time> sorted(times.size());
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        const auto digit = [base, shift](Time time) {
            return (static_cast<std::uint64_t>(time) - base) >> shift & (DIGITS - 1);
        };
        std::array<std::size_t, DIGITS> ends{};
        for (const Time time : times)
            ends[digit(time)]++;
        for (std::size_t i = 1; i < DIGITS; i++)
            ends[i] += ends[i - 1];
        for (std::size_t i = times.size(); i-- > 0;)
            sorted[--ends[digit(times[i])]] = times[i];
        times.swap(sorted);
    }
}

} // namespace

Summary summary_of(std::span<const Time> times)
{
    LargeVector<Time> values(times.begin(), times.end());
    Summary summary;

    if (values.empty())
        return summary;
    sort(values);
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
