// SPDX-License-Identifier: BSD-2-Clause
//
// noise.cpp: replays traces under the three rules; see noise.hpp. trace.cpp reads traces.
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

const char *noise_rule_name(NoiseRule rule)
{
    static constexpr const char *NAMES[] = {"physical", "loggopsim", "paper2010"};

    return NAMES[static_cast<unsigned>(rule)];
}

namespace {

// Checks a sum that may be far above the limit of times.
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
    const Time offset = place(rank, trace);
    if (rule == NoiseRule::loggopsim) {
        cursor.start = -1 - offset;
        return cursor;
    }
    // The first detour that ends after the place; if only starts count, the first that starts there or later.
    const bool starts = rule == NoiseRule::paper2010;
    const auto first =
        std::partition_point(trace.detours.begin(), trace.detours.end(), [&](const Detour &detour) {
            return starts ? detour.start < offset : detour.start + detour.duration <= offset;
        });
    const bool again = first == trace.detours.end();
    const Detour &next = again ? trace.detours.front() : *first;
    const Time distance = (again ? trace.period : 0) + next.start - offset;

    cursor.index = again ? 0 : static_cast<std::uint32_t>(first - trace.detours.begin());
    cursor.start = starts ? -1 - distance : distance;
    cursor.duration = next.duration;
    return cursor;
}

// Returns the place in the trace at which a rank begins.
Time Noise::place(std::uint32_t rank, const Trace &trace) const
{
    const Time length = trace.lap ? trace.lap : trace.period;

    if (!places.empty())
        return rule == NoiseRule::loggopsim ? places[rank] : places[rank] % length;
    const std::uint64_t drawn = random_of(seed, coscheduled ? 0 : std::uint64_t{rank} + 1);
    return static_cast<Time>((static_cast<unsigned __int128>(drawn) * static_cast<std::uint64_t>(length)) >>
                             64);
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
    if (rule == NoiseRule::loggopsim)
        return loggopsim(cursor, now, work);
    if (work <= 0)
        return now + work;
    return rule == NoiseRule::paper2010 ? paper2010(cursor, now, work) : physical(cursor, now, work);
}

Time Noise::loggopsim(NoiseCursor &cursor, Time now, Time work) const
{
    const Trace &trace = traces[cursor.trace];

    return limited(
        static_cast<__int128>(now) + work +
        (trace.lap ? delay_in_file(cursor, trace, now, work) : delay_in_cycle(cursor, trace, now, work)));
}

// Returns the delay in a file. The first line never delays: the search finds it only for places after its
// start, and only lines that follow another line are added. The cursor's index is the line found last.
Time Noise::delay_in_file(NoiseCursor &cursor, const Trace &trace, Time now, Time work)
{
    if (work >= trace.lap)
        throw InputError("rule loggopsim: work of " + nanoseconds(work) + " ns in a noise trace of " +
                         nanoseconds(trace.lap) +
                         " ns, which the public tool cannot replay; take a longer trace or another rule");
    const std::vector<Detour> &detours = trace.detours;
    const Time at = (now + (-1 - cursor.start)) % (trace.lap - work); // before the last line's start
    std::size_t line = cursor.index;
    Time delay = 0;

    if (line + 1 >= detours.size() || detours[line].start > at || detours[line + 1].start <= at) {
        const auto after = std::partition_point(detours.begin(), detours.end(),
                                                [&](const Detour &detour) { return detour.start <= at; });
        line = after == detours.begin() ? 0 : static_cast<std::size_t>(after - detours.begin()) - 1;
        cursor.index = static_cast<std::uint32_t>(line);
    }
    if (at > detours.front().start)
        delay = std::max<Time>(detours[line].start + detours[line].duration - at, 0);
    for (; line + 1 < detours.size() && detours[line + 1].start < at + work; line++)
        delay += detours[line + 1].duration;
    return delay;
}

// Returns the delay in a trace that repeats without end.
Time Noise::delay_in_cycle(NoiseCursor &cursor, const Trace &trace, Time now, Time work) const
{
    const std::vector<Detour> &detours = trace.detours;
    const Time at = (now + (-1 - cursor.start)) % trace.period;
    const auto after = std::partition_point(detours.begin(), detours.end(),
                                            [&](const Detour &detour) { return detour.start <= at; });
    NoiseCursor next = {trace.period + detours.front().start, detours.front().duration, 0, cursor.trace};
    Time delay = 0;

    if (after != detours.begin())
        delay = std::max<Time>(after[-1].start + after[-1].duration - at, 0);
    if (after != detours.end())
        next = {after->start, after->duration, static_cast<std::uint32_t>(after - detours.begin()),
                cursor.trace};
    // Whole periods are skipped at once: each holds all detours once.
    delay = limited(delay + static_cast<__int128>(work / trace.period) * trace.busy);
    for (const Time end = at + work % trace.period; next.start < end; step(next))
        delay += next.duration;
    return delay;
}

Time Noise::paper2010(NoiseCursor &cursor, Time now, Time work) const
{
    const Trace &trace = traces[cursor.trace];
    NoiseCursor next = cursor;
    Time delay = limited(static_cast<__int128>(work / trace.period) * trace.busy);

    for (next.start = -1 - cursor.start; next.start < work % trace.period; step(next))
        delay += next.duration;
    cursor = next;
    cursor.start = -1 - (next.start - work % trace.period);
    return limited(static_cast<__int128>(now) + work + delay);
}

Time Noise::physical(NoiseCursor &cursor, Time now, Time work) const
{
    const Trace &trace = traces[cursor.trace];

    if (cursor.start + cursor.duration <= now)
        cursor.start += (now - cursor.start - cursor.duration) / trace.period * trace.period;
    while (cursor.start + cursor.duration <= now)
        step(cursor);
    NoiseCursor ahead = cursor;
    // Every whole period does the same amount of work; the rest is left for the loop.
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
