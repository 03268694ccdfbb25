// SPDX-License-Identifier: BSD-2-Clause
//
// noise.hpp: detours that delay the work of a rank's processors [Hoefler10 §IV-A].
//
// A trace is a list of detours that is replayed cyclically; each rank begins at its own random place in it,
// or all ranks begin at one place (co-scheduled noise, [Hoefler10 §IV-B4]). A detour is at a fixed simulated
// time: what happens while the processor waits costs nothing. Work is o, O, computation and reductions; L, g
// and G are the network's and are not delayed. Two rules say what a detour costs:
//
//   published   a piece of work of length d that starts at t is delayed by the whole of each detour that
//               begins in [t, t + d). A detour that begins while another one is being served, or that began
//               before t, does not count.
//   physical    the processor does no work during a detour: work that starts inside one waits for its end,
//               and a detour that begins during the extended work extends it further.
//
// Cursors are moved by one thread at a time; traces are only read.
#pragma once

#include "time.hpp"

#include <string>
#include <vector>

namespace sim {

enum class NoiseRule { published, physical };

struct Detour {
    Time start; // from the beginning of the period
    Time duration;
};

// Detours sorted by start that do not overlap; the last ends within the period. No detours: silence.
struct Trace {
    std::vector<Detour> detours;
    Time period = 0;
    Time busy = 0; // all durations together; Noise sums them
};

// Where a rank is in its trace: the first detour that may still matter, in simulated time.
struct NoiseCursor {
    Time start = NEVER;
    Time duration = 0;
    std::uint32_t index = 0;
    std::uint32_t trace = 0;
};

class Noise {
public:
    Noise() = default;
    Noise(std::vector<Trace> chosen, NoiseRule chosen_rule, std::uint64_t chosen_seed, bool together);

    // False when no rank can ever be delayed.
    bool any() const;

    // Where `rank` begins. Rank r replays trace r modulo their number, from a place that seed and rank alone
    // determine.
    NoiseCursor begin(std::uint32_t rank) const;

    // The end of `work` ps of work that starts at `now`. Successive calls for one cursor have no decreasing
    // `now`.
    Time finish(NoiseCursor &cursor, Time now, Time work) const
    {
        return now + work <= cursor.start ? now + work : delayed(cursor, now, work);
    }

    // The same for a later `now`, without moving the cursor.
    Time finish_ahead(const NoiseCursor &cursor, Time now, Time work) const
    {
        NoiseCursor ahead = cursor;
        return finish(ahead, now, work);
    }

    // A cursor of `rank` that was kept as its start and index only.
    NoiseCursor restored(std::uint32_t rank, Time start, std::uint32_t index) const
    {
        const std::uint32_t trace = rank % static_cast<std::uint32_t>(traces.size());
        return {start, traces[trace].detours[index].duration, index, trace};
    }

    NoiseRule applied_rule() const
    {
        return rule;
    }

private:
    Time delayed(NoiseCursor &cursor, Time now, Time work) const;
    Time published(NoiseCursor &cursor, Time now, Time work) const;
    Time physical(NoiseCursor &cursor, Time now, Time work) const;
    void step(NoiseCursor &cursor) const;

    std::vector<Trace> traces;
    NoiseRule rule = NoiseRule::physical;
    std::uint64_t seed = 0;
    bool coscheduled = false;
};

// Reads a trace: `#` comments, `start<TAB>duration` in ns per line, starts not decreasing. The period is that
// of a comment `# Measurement period: SECONDS s` or `# Period: NS ns`, else the last start times n/(n-1), so
// that the last detour is followed by the mean distance. A single detour without a period never recurs: the
// trace is silent, and `remark` says so. Detours that overlap are served one after the other. InputError
// names file and line.
Trace trace_read(const std::string &path, std::string &remark);

// The same from text in memory; `name` is for messages.
Trace trace_parse(std::string_view text, const std::string &name, std::string &remark);

// One detour of `duration` every `period`, both in ps. InputError unless 0 <= duration < period.
Trace trace_periodic(Time period, Time duration);

// A pseudo-random number of seed and index (splitmix64's output function): the same on every machine.
std::uint64_t random_of(std::uint64_t seed, std::uint64_t index);

} // namespace sim
