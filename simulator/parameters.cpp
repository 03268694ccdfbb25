// SPDX-License-Identifier: BSD-2-Clause
//
// parameters.cpp: the cost of messages; see parameters.hpp.
#include "parameters.hpp"

#include <algorithm>

namespace sim {

Time byte_cost(std::uint64_t bytes, std::int64_t cost_fs)
{
    if (bytes <= 1 || cost_fs == 0)
        return 0;
    const __int128 femtoseconds = static_cast<__int128>(bytes - 1) * cost_fs;
    const __int128 picoseconds = (femtoseconds + 500) / 1000;
    if (picoseconds > STEP_LIMIT)
        throw InputError("a message of " + std::to_string(bytes) + " bytes would take longer than " +
                         nanoseconds(STEP_LIMIT) + " ns; make it smaller or G and O less");
    return static_cast<Time>(picoseconds);
}

ByteCost byte_costs(std::uint64_t bytes, const Parameters &parameters)
{
    if (bytes == 0 && parameters.zero_bytes == ZeroBytes::published) {
        const Time wire = -(parameters.gap_per_byte_fs / 1000);
        const Time work = -(parameters.overhead_per_byte_fs / 1000);
        // The larger of two wrapped numbers; zero does not wrap, so it is the smaller one.
        const Time receive = wire == 0 ? work : work == 0 ? wire : std::max(wire, work);
        return {wire, work, receive, work};
    }
    const Time wire = byte_cost(bytes, parameters.gap_per_byte_fs);
    const Time work = byte_cost(bytes, parameters.overhead_per_byte_fs);
    return {wire, work, std::max(wire, work), work};
}

} // namespace sim
