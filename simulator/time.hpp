// SPDX-License-Identifier: BSD-2-Clause
//
// time.hpp: simulated time, and decimal numbers for it.
//
// All times are signed 64-bit picoseconds, so that sums are exact and every machine computes the same digits.
// Costs per byte (G and O of [Hoefler10 Table II]) are femtoseconds: 100 Gbyte/s is 10 000 fs/byte. A
// simulation ends with an error before a time could overflow: single costs are below STEP_LIMIT, times below
// TIME_LIMIT.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sim {

using Time = std::int64_t; // picoseconds

constexpr Time PS_PER_NS = 1000;
constexpr Time NEVER = INT64_MAX;
constexpr Time TIME_LIMIT = Time{1} << 62; // 53 days
constexpr Time STEP_LIMIT = Time{1} << 59; // 6.7 days: the longest single operation, gap or detour
constexpr Time STEP_LIMIT_NS = STEP_LIMIT / PS_PER_NS;

// An error in the user's input: one line that says where it is, what is wrong, and what would be right.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Reads a non-negative decimal number such as "1500" or "0.58", scaled by 10^digits and exact. Refuses
// further decimals, signs, exponents, NaN, infinity, and a result above `limit` with an InputError, in which
// `what` names the number. Example: decimal("0.58", 6, ...) == 580000.
std::int64_t decimal(std::string_view text, unsigned digits, std::int64_t limit, const std::string &what);

// Returns a time in ns as a decimal without trailing zeros: 1500 ps are "1.5".
std::string nanoseconds(Time time);

} // namespace sim
