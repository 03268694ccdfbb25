// SPDX-License-Identifier: BSD-2-Clause
//
// noise.hpp: detours that delay the work of a rank's processors [Hoefler10 §IV-A].
//
// A trace is a list of detours that is replayed cyclically. Each rank begins at its own place in it, random
// or given; or all ranks begin at one place (co-scheduled noise, [Hoefler10 §IV-B4]). Noise delays work: o,
// O, computation and reductions. It does not delay L, g and G, which belong to the network. Three rules
// define how detours delay a piece of work of length d that starts at t:
//
//   physical    the processor does no work during a detour: work that starts inside a detour waits for its
//               end, and a detour that begins during the extended work extends it further.
//   loggopsim   as in the public LogGOPSim: adds the rest of a detour that is in progress at t, and the whole
//               of each that begins in (t, t + d). A detour that begins while another is served does not
//               count. Only the processor is delayed: the message leaves at t + o, and O is undisturbed.
//               A file is replayed from 0 to the start of its last detour, less d.
//   paper2010   as in [Hoefler10 §IV-A]: each rank has a place in its trace that only its work moves, by d.
//               Adds the whole of each detour whose start the place passes.
//
// One thread at a time moves a cursor; traces are only read.
#pragma once

#include "time.hpp"

#include <string>
#include <vector>

namespace sim {

enum class NoiseRule { physical, loggopsim, paper2010 };

// Returns the rule's name on the command line and in results.
const char *noise_rule_name(NoiseRule rule);

struct Detour {
    Time start; // from the beginning of the period
    Time duration;
};

// Detours sorted by start, without overlap; the last ends within the period. No detours mean silence.
struct Trace {
    std::vector<Detour> detours;
    Time period = 0;
    Time busy = 0; // sum of all durations; Noise computes it
    Time lap = 0;  // for the rule loggopsim, which takes a file as it is: the start of the last detour
};

// A rank's place in its trace. Under the rule physical, `start` is the start of the first detour that may
// still matter, in simulated time. Under the other rules `start` is negative, and -1 - start is the rank's
// place (loggopsim) or the work until the next detour (paper2010).
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

    // Sets each rank's place in its trace, instead of random places.
    void begin_at(std::vector<Time> chosen)
    {
        places = std::move(chosen);
    }

    // Returns whether any rank can be delayed.
    bool any() const;

    // Returns where `rank` begins. Rank r replays trace r modulo the number of traces, from a place that only
    // seed and rank determine.
    NoiseCursor begin(std::uint32_t rank) const;

    // Returns the end of `work` ps of work that starts at `now`. In successive calls for a cursor `now` must
    // not decrease.
    Time finish(NoiseCursor &cursor, Time now, Time work) const
    {
        return now + work <= cursor.start ? now + work : delayed(cursor, now, work);
    }

    // Returns the end of work that continues earlier work: later calls may come with an earlier `now`.
    Time finish_ahead(NoiseCursor &cursor, Time now, Time work) const
    {
        NoiseCursor ahead = cursor;
        return finish(by_work() ? cursor : ahead, now, work);
    }

    // Restores the cursor of `rank` from its start and index.
    NoiseCursor restored(std::uint32_t rank, Time start, std::uint32_t index) const
    {
        const std::uint32_t trace = rank % static_cast<std::uint32_t>(traces.size());
        return {start, traces[trace].detours[index].duration, index, trace};
    }

    // Returns whether noise delays the processor, but not the message whose o it lengthens.
    bool spares_messages() const
    {
        return rule == NoiseRule::loggopsim;
    }

    // Returns whether a rank's place is moved by its work, not by time.
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

// Reads a trace: `#` comments, `start<TAB>duration` in ns per line, starts not decreasing. The period comes
// from a comment `# Measurement period: SECONDS s` or `# Period: NS ns`; otherwise it is the last start times
// n/(n-1), so that the last detour is followed by the mean distance. A single detour without a period never
// recurs: the trace is silent, and `remark` says so. Detours that overlap are served one after the other. For
// the rule loggopsim the file is taken as the public tool takes it: whole ns, every line, and the start of
// the last line as period. InputError names file and line.
Trace trace_read(const std::string &path, NoiseRule rule, std::string &remark);

// Reads a trace from text in memory; `name` is for messages.
Trace trace_parse(std::string_view text, const std::string &name, NoiseRule rule, std::string &remark);

// Reads places in traces: one line for each of `ranks` ranks, a number of ns; `#` comments. InputError names
// file and line.
std::vector<Time> offsets_read(const std::string &path, std::uint32_t ranks);
std::vector<Time> offsets_parse(std::string_view text, const std::string &name, std::uint32_t ranks);

// Makes a trace of one detour of `duration` every `period`, both in ps. Throws InputError unless
// 0 <= duration < period.
Trace trace_periodic(Time period, Time duration);

// Returns a pseudo-random number of seed and index (splitmix64's output function), the same on every machine.
std::uint64_t random_of(std::uint64_t seed, std::uint64_t index);

} // namespace sim
