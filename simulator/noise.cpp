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

namespace {

// Sums that may be far beyond the limit of times.
Time limited(__int128 time)
{
    if (time > TIME_LIMIT)
        throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
    return static_cast<Time>(time);
}

} // namespace

Noise::Noise(std::vector<Trace> chosen, NoiseRule chosen_rule, std::uint64_t chosen_seed, bool together)
    : traces(std::move(chosen)), rule(chosen_rule), seed(chosen_seed), coscheduled(together)
{
    for (Trace &trace : traces) {
        trace.busy = 0;
        for (const Detour &detour : trace.detours)
            trace.busy += detour.duration;
    }
}

bool Noise::any() const
{
    return std::any_of(traces.begin(), traces.end(),
                       [](const Trace &trace) { return !trace.detours.empty(); });
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
    const Time offset = static_cast<Time>(
        (static_cast<unsigned __int128>(drawn) * static_cast<std::uint64_t>(trace.period)) >> 64);
    const auto first =
        std::partition_point(trace.detours.begin(), trace.detours.end(),
                             [&](const Detour &detour) { return detour.start + detour.duration <= offset; });
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
    limited(cursor.start);
}

Time Noise::delayed(NoiseCursor &cursor, Time now, Time work) const
{
    if (work <= 0)
        return now + work;
    return rule == NoiseRule::published ? published(cursor, now, work) : physical(cursor, now, work);
}

// Whole periods are skipped at once: each holds all detours once.
Time Noise::published(NoiseCursor &cursor, Time now, Time work) const
{
    const Trace &trace = traces[cursor.trace];

    if (cursor.start < now)
        cursor.start += (now - cursor.start) / trace.period * trace.period;
    while (cursor.start < now)
        step(cursor);
    NoiseCursor ahead = cursor;
    const Time periods = work / trace.period;
    Time delay = limited(static_cast<__int128>(periods) * trace.busy);
    ahead.start += periods * trace.period;
    while (ahead.start < now + work) {
        delay += ahead.duration;
        step(ahead);
    }
    return now + work + delay;
}

Time Noise::physical(NoiseCursor &cursor, Time now, Time work) const
{
    const Trace &trace = traces[cursor.trace];

    if (cursor.start + cursor.duration <= now)
        cursor.start += (now - cursor.start - cursor.duration) / trace.period * trace.period;
    while (cursor.start + cursor.duration <= now)
        step(cursor);
    NoiseCursor ahead = cursor;
    // Any whole period does the same amount of work; the last bit of work stays for the loop.
    const Time per_period = trace.period - trace.busy;
    const Time periods = (work - 1) / per_period;
    if (periods > 0) {
        const Time skipped = limited(now + static_cast<__int128>(periods) * trace.period) - now;
        now += skipped;
        ahead.start += skipped;
        work -= periods * per_period;
    }
    while (now + work > ahead.start) {
        if (ahead.start > now)
            work -= ahead.start - now;
        now = std::max(now, ahead.start + ahead.duration);
        step(ahead);
    }
    return now + work;
}

} // namespace sim
