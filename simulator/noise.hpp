// SPDX-License-Identifier: BSD-2-Clause
//
// noise.hpp: detours that delay the work of a rank's processors [Hoefler10 §IV-A].
//
// A trace is a list of detours that is replayed cyclically; each rank begins at its own place in it, a random
// or a given one, or all ranks begin at one place (co-scheduled noise, [Hoefler10 §IV-B4]). Work is o, O,
// computation and reductions; L, g and G are the network's and are not delayed. What a detour costs a piece
// of work of length d that starts at t, three rules say:
//
//   physical    the processor does no work during a detour: work that starts inside one waits for its end,
//               and a detour that begins during the extended work extends it further.
//   loggopsim   what the public LogGOPSim does: the rest of a detour that is in progress at t, and the whole
//               of each that begins in (t, t + d). What begins while another one is being served does not
//               count. Only the processor is delayed: the message leaves at t + o, O counts as undisturbed.
//               A file is replayed from 0 to the start of its last detour, less d.
//   paper2010   what [Hoefler10 §IV-A] says: each rank has a place in its trace that only its work moves, by
//               d. The whole of each detour is added whose start the place passes.
//
// Cursors are moved by one thread at a time; traces are only read.
#pragma once

#include "time.hpp"

#include <string>
#include <vector>

namespace sim {

enum class NoiseRule { physical, loggopsim, paper2010 };

// The rule's name on the command line and in results.
const char *noise_rule_name(NoiseRule rule);

struct Detour {
    Time start; // from the beginning of the period
    Time duration;
};

// Detours sorted by start that do not overlap; the last ends within the period. No detours: silence.
struct Trace {
    std::vector<Detour> detours;
    Time period = 0;
    Time busy = 0; // all durations together; Noise sums them
    Time lap = 0;  // of a file for the rule loggopsim, whose detours are as they stand: the start of the last
};

// Where a rank is in its trace. `start` is of the first detour that may still matter, in simulated time;
// under the rules that do not go by that time it is less than 0, and -1 - start is the rank's place
// (loggopsim) or the work until the next detour (paper2010).
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

    // Each rank's place in its trace, instead of random ones.
    void begin_at(std::vector<Time> chosen)
    {
        places = std::move(chosen);
    }

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

    // The same for work that goes on with what was begun: `now` is ahead of what other calls may come with.
    Time finish_ahead(NoiseCursor &cursor, Time now, Time work) const
    {
        NoiseCursor ahead = cursor;
        return finish(by_work() ? cursor : ahead, now, work);
    }

    // A cursor of `rank` that was kept as its start and index only.
    NoiseCursor restored(std::uint32_t rank, Time start, std::uint32_t index) const
    {
        const std::uint32_t trace = rank % static_cast<std::uint32_t>(traces.size());
        return {start, traces[trace].detours[index].duration, index, trace};
    }

    // True when noise delays the processor, but not the message whose o it lengthens.
    bool spares_messages() const
    {
        return rule == NoiseRule::loggopsim;
    }

    // True when a rank's place is moved by its work, not by the time.
    bool by_work() const
    {
        return rule == NoiseRule::paper2010;
    }

private:
    Time place(std::uint32_t rank, const Trace &trace) const;
    Time delayed(NoiseCursor &cursor, Time now, Time work) const;
    Time physical(NoiseCursor &cursor, Time now, Time work) const;
    Time loggopsim(NoiseCursor &cursor, Time now, Time work) const;
    Time paper2010(NoiseCursor &cursor, Time now, Time work) const;
    static Time delay_in_file(NoiseCursor &cursor, const Trace &trace, Time now, Time work);
    Time delay_in_cycle(NoiseCursor &cursor, const Trace &trace, Time now, Time work) const;
    void step(NoiseCursor &cursor) const;

    std::vector<Trace> traces;
    NoiseRule rule = NoiseRule::physical;
    std::uint64_t seed = 0;
    bool coscheduled = false;
    std::vector<Time> places; // per rank, or none
};

// Reads a trace: `#` comments, `start<TAB>duration` in ns per line, starts not decreasing. The period is that
// of a comment `# Measurement period: SECONDS s` or `# Period: NS ns`, else the last start times n/(n-1), so
// that the last detour is followed by the mean distance. A single detour without a period never recurs: the
// trace is silent, and `remark` says so. Detours that overlap are served one after the other. For the rule
// loggopsim the file is taken as the public tool takes it: whole ns, every line, no period but the start of
// the last line. InputError names file and line.
Trace trace_read(const std::string &path, NoiseRule rule, std::string &remark);

// The same from text in memory; `name` is for messages.
Trace trace_parse(std::string_view text, const std::string &name, NoiseRule rule, std::string &remark);

// Reads places in traces, one number of ns a line for each of so many ranks; `#` comments. InputError names
// file and line.
std::vector<Time> offsets_read(const std::string &path, std::uint32_t ranks);
std::vector<Time> offsets_parse(std::string_view text, const std::string &name, std::uint32_t ranks);

// One detour of `duration` every `period`, both in ps. InputError unless 0 <= duration < period.
Trace trace_periodic(Time period, Time duration);

// A pseudo-random number of seed and index (splitmix64's output function): the same on every machine.
std::uint64_t random_of(std::uint64_t seed, std::uint64_t index);

} // namespace sim
