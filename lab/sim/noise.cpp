// SPDX-License-Identifier: BSD-2-Clause
//
// noise.cpp: replaying traces under both rules; see noise.hpp. trace.cpp reads them.
#include "noise.hpp"

#include <algorithm>

namespace sim {

std::uint64_t random_of(std::uint64_t seed, std::uint64_t index)
{
    std::uint64_t mixed = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

bool Noise::any() const
{
    return std::any_of(traces.begin(), traces.end(), [](const Trace &trace) { return !trace.detours.empty(); });
}

NoiseCursor Noise::begin(std::uint32_t rank) const
{
    NoiseCursor cursor;

    if (traces.empty())
        return cursor;
    cursor.trace = rank % static_cast<std::uint32_t>(traces.size());
    const Trace &trace = traces[cursor.trace];
    if (trace.detours.empty())
        return cursor;
    const std::uint64_t drawn = random_of(seed, coscheduled ? 0 : std::uint64_t{rank} + 1);
    const Time offset = static_cast<Time>((static_cast<unsigned __int128>(drawn) * static_cast<std::uint64_t>(trace.period)) >> 64);
    const auto first = std::partition_point(trace.detours.begin(), trace.detours.end(), [&](const Detour &detour) {
        return detour.start + detour.duration <= offset;
    });
    if (first == trace.detours.end()) {
        cursor.start = trace.period + trace.detours.front().start - offset;
        cursor.duration = trace.detours.front().duration;
        return cursor;
    }
    cursor.index = static_cast<std::uint32_t>(first - trace.detours.begin());
    cursor.start = first->start - offset;
    cursor.duration = first->duration;
    return cursor;
}

void Noise::step(NoiseCursor &cursor) const
{
    const Trace &trace = traces[cursor.trace];
    const Time before = trace.detours[cursor.index].start;

    if (++cursor.index == trace.detours.size()) {
        cursor.index = 0;
        cursor.start += trace.period;
    }
    cursor.start += trace.detours[cursor.index].start - before;
    cursor.duration = trace.detours[cursor.index].duration;
    if (cursor.start > TIME_LIMIT)
        throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
}

Time Noise::delayed(NoiseCursor &cursor, Time now, Time work) const
{
    if (work <= 0)
        return now + work;
    if (rule == NoiseRule::published) {
        while (cursor.start < now)
            step(cursor);
        NoiseCursor ahead = cursor;
        Time delay = 0;
        while (ahead.start < now + work) {
            delay += ahead.duration;
            step(ahead);
        }
        return now + work + delay;
    }
    while (cursor.start + cursor.duration <= now)
        step(cursor);
    NoiseCursor ahead = cursor;
    while (now + work > ahead.start) {
        if (ahead.start > now)
            work -= ahead.start - now;
        now = std::max(now, ahead.start + ahead.duration);
        step(ahead);
    }
    return now + work;
}

} // namespace sim
