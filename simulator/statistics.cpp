// SPDX-License-Identifier: BSD-2-Clause
//
// statistics.cpp: see statistics.hpp.
#include "statistics.hpp"

#include "pages.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace sim {

namespace {

// Sorts times. Many times are close together, so few digits of their distance to the minimum suffice.
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

// Selects some of many times by their places in the sorted order. It first counts the times with each high
// digit, then sorts only those with the same high digit as one of the places. Most times are never moved.
class Selection {
public:
    // Selects; `places` are below the number of times.
    Selection(std::span<const Time> times, std::span<const std::size_t> places)
    {
        const auto [minimum, maximum] = std::minmax_element(times.begin(), times.end());
        const auto base = static_cast<std::uint64_t>(*minimum);
        const std::uint64_t range = static_cast<std::uint64_t>(*maximum) - base;
        const unsigned shift =
            std::max(static_cast<unsigned>(std::bit_width(range)), DIGIT_BITS) - DIGIT_BITS;
        const auto digit = [base, shift](Time time) {
            return (static_cast<std::uint64_t>(time) - base) >> shift;
        };
        std::array<bool, DIGITS> is_chosen{};
        std::size_t chosen_count = 0;

        for (const Time time : times)
            begins[digit(time) + 1]++;
        for (std::size_t i = 0; i < DIGITS; i++)
            begins[i + 1] += begins[i];
        for (const std::size_t place : places)
            is_chosen[digit_at(place)] = true;
        for (std::size_t i = 0; i < DIGITS; i++) {
            chosen_begins[i] = chosen_count;
            chosen_count += is_chosen[i] ? begins[i + 1] - begins[i] : 0;
        }
        chosen.reserve(chosen_count);
        for (const Time time : times)
            if (is_chosen[digit(time)])
                chosen.push_back(time);
        sort(chosen);
    }

    Time at(std::size_t place) const
    {
        const std::size_t digit = digit_at(place);
        return chosen[chosen_begins[digit] + (place - begins[digit])];
    }

private:
    static constexpr unsigned DIGIT_BITS = 12;
    static constexpr std::size_t DIGITS = std::size_t{1} << DIGIT_BITS;

    std::size_t digit_at(std::size_t place) const
    {
        return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), place) -
                                        begins.begin()) -
               1;
    }

    std::array<std::size_t, DIGITS + 1> begins{}; // per digit: number of times with a lower digit
    std::array<std::size_t, DIGITS> chosen_begins{};
    LargeVector<Time> chosen;
};

constexpr std::array QUANTILES = {0.0, 0.25, 0.5, 0.75, 0.99, 1.0};

} // namespace

Summary summary_of(std::span<const Time> times)
{
    std::array<std::size_t, 2 * QUANTILES.size()> places;
    Summary summary;

    if (times.empty())
        return summary;
    const auto place_of = [&](double part) { return part * static_cast<double>(times.size() - 1); };
    for (std::size_t i = 0; i < QUANTILES.size(); i++) {
        places[2 * i] = static_cast<std::size_t>(place_of(QUANTILES[i]));
        places[2 * i + 1] = std::min(places[2 * i] + 1, times.size() - 1);
    }
    const Selection selection(times, places);
    const auto ns = [](Time time) { return static_cast<double>(time) / PS_PER_NS; };
    const auto quantile = [&](std::size_t i) {
        const double below = ns(selection.at(places[2 * i])), above = ns(selection.at(places[2 * i + 1]));
        return below + (above - below) * (place_of(QUANTILES[i]) - static_cast<double>(places[2 * i]));
    };
    __int128 sum = 0;
    double squares = 0;
    for (const Time time : times)
        sum += time;
    summary.count = times.size();
    summary.mean = static_cast<double>(sum) / PS_PER_NS / static_cast<double>(times.size());
    for (const Time time : times)
        squares += (ns(time) - summary.mean) * (ns(time) - summary.mean);
    summary.deviation = times.size() > 1 ? std::sqrt(squares / static_cast<double>(times.size() - 1)) : 0;
    summary.minimum = quantile(0);
    summary.quartile1 = quantile(1);
    summary.median = quantile(2);
    summary.quartile3 = quantile(3);
    summary.percentile99 = quantile(4);
    summary.maximum = quantile(5);
    return summary;
}

} // namespace sim
