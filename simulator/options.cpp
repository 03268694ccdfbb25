// SPDX-License-Identifier: BSD-2-Clause
//
// options.cpp: see options.hpp. The systems are those of [Hoefler10 Table III], with its S (65 KiB) and O
// (0).
#include "options.hpp"

#include "schedule.hpp"

#include <algorithm>
#include <iostream>
#include <thread>

namespace sim {

namespace {

struct System {
    const char *name;
    Time latency_ns, overhead_ns, gap_ns;
    std::int64_t gap_per_byte_fs;
};

constexpr System SYSTEMS[] = {
    {"chic", 5330, 770, 1560, 1250000}, {"altix", 1640, 990, 900, 1230000},
    {"cnl", 4770, 2870, 2040, 2670000}, {"zeptoos", 8670, 3420, 2810, 2690000},
    {"xt4", 9900, 1750, 3400, 580000},
};

std::uint64_t whole(const std::string &text, const std::string &what)
{
    return static_cast<std::uint64_t>(decimal(text, 0, INT64_MAX, what));
}

} // namespace

void ParameterOptions::add(Command &command)
{
    command.option(
        "--system", system,
        "parameters of a system of [Hoefler10 Table III]: chic altix cnl zeptoos xt4; others override");
    command.option("-L,--latency", latency, "L in ns, decimals allowed (2500)");
    command.option("-o,--overhead", overhead, "o in ns, of sends and receives (1500)");
    command.option("--os", overhead_send, "o of sends only");
    command.option("--or", overhead_receive, "o of receives only");
    command.option("-g,--gap", gap, "g in ns (1000)");
    command.option("-G,--gap-per-byte", gap_per_byte, "G in ns per byte, up to 6 decimals (6)");
    command.option("-O,--overhead-per-byte", overhead_per_byte, "O in ns per byte, up to 6 decimals (0)");
    command.option("-S,--eager-limit", eager_limit, "S in bytes; larger messages use rendezvous (65535)");
    command.option("--gate", gate,
                   "ns; the network takes messages only at multiples of it, and carries them for L from "
                   "then on (takes them at once)");
    command.choice(
        "--zero-byte", zero_byte,
        "cost per byte of messages of no bytes: nothing, or as in the published simulator",
        {"nothing", "published"});
    command.choice("--handling", handling,
                   "the receiver's processor handles a message on arrival (as published), or once its "
                   "receive is posted too",
                   {"arrival", "posted"});
}

void ParameterOptions::add_order(Command &command)
{
    command.choice("--like", like,
                   "compute what another simulator does, to the nanosecond: loggopsim stands for --order "
                   "published --zero-byte published --noise-rule loggopsim; those that are given take "
                   "precedence",
                   {"loggopsim"});
    command.choice("--order", order,
                   "order of events at one time: by their causes, or as in the published simulator's queue",
                   {"causes", "published"});
}

Parameters ParameterOptions::parameters() const
{
    Parameters p;

    if (!system.empty()) {
        bool known = false;
        for (const System &one : SYSTEMS) {
            if (system != one.name)
                continue;
            known = true;
            p.latency = one.latency_ns * PS_PER_NS;
            p.overhead_send = p.overhead_receive = one.overhead_ns * PS_PER_NS;
            p.gap = one.gap_ns * PS_PER_NS;
            p.gap_per_byte_fs = one.gap_per_byte_fs;
            p.eager_limit = 65 * 1024;
        }
        if (!known)
            throw InputError("--system: \"" + system +
                             "\" is unknown; expected chic, altix, cnl, zeptoos or xt4");
    }
    const auto time = [](const std::string &text, const char *name, Time &value) {
        if (!text.empty())
            value = decimal(text, 3, STEP_LIMIT / 4, std::string(name) + " in ns");
    };
    time(latency, "L (-L)", p.latency);
    time(overhead, "o (-o)", p.overhead_send);
    if (!overhead.empty())
        p.overhead_receive = p.overhead_send;
    time(overhead_send, "o of sends (--os)", p.overhead_send);
    time(overhead_receive, "o of receives (--or)", p.overhead_receive);
    time(gap, "g (-g)", p.gap);
    time(gate, "--gate in ns", p.gate);
    if (!gap_per_byte.empty())
        p.gap_per_byte_fs = decimal(gap_per_byte, 6, STEP_LIMIT, "G (-G) in ns per byte");
    if (!overhead_per_byte.empty())
        p.overhead_per_byte_fs = decimal(overhead_per_byte, 6, STEP_LIMIT, "O (-O) in ns per byte");
    if (!eager_limit.empty())
        p.eager_limit = whole(eager_limit, "S (-S) in bytes");
    const auto published = [this](const std::string &given) {
        return given.empty() ? !like.empty() : given == "published";
    };
    p.zero_bytes = published(zero_byte) ? ZeroBytes::published : ZeroBytes::nothing;
    p.order = published(order) ? Order::published : Order::causes;
    p.handling = handling == "posted" ? Handling::posted : Handling::arrival;
    return p;
}

void NoiseOptions::add(Command &command)
{
    command.option("--noise", traces,
                   "noise trace: lines of start<TAB>duration in ns; ranks take several traces in turn");
    command.option("--noise-period", period, "periodic noise: distance of detours in ns");
    command.option("--noise-duration", duration, "periodic noise: length of each detour in ns");
    command.option("--noise-rule", rule,
                   "cost of a detour: physical (no work is done during it), loggopsim (as in the public "
                   "LogGOPSim) or paper2010 (as in [Hoefler10 §IV-A])");
    command.option("--seed", seed, "seed of the ranks' random places in their traces (1)");
    command.option("--offsets", offsets,
                   "file of the ranks' places in their noise traces instead of random ones: ns, one a line");
    command.flag("--coscheduled", coscheduled, "all ranks begin at the same place");
}

std::vector<Trace> NoiseOptions::read(std::vector<std::string> &descriptions) const
{
    std::vector<Trace> all;

    for (const std::string &path : traces) {
        std::string remark;
        all.push_back(trace_read(path, noise_rule(), remark));
        if (!remark.empty())
            std::cerr << "sim: " << remark << '\n';
        descriptions.push_back(path);
    }
    if (period.empty() != duration.empty())
        throw InputError("--noise-period and --noise-duration belong together; give both");
    if (!period.empty()) {
        all.push_back(trace_periodic(decimal(period, 3, STEP_LIMIT, "--noise-period in ns"),
                                     decimal(duration, 3, STEP_LIMIT, "--noise-duration in ns")));
        descriptions.push_back(duration + " ns every " + period + " ns");
    }
    return all;
}

void NoiseOptions::be_like(const std::string &like)
{
    if (rule.empty())
        rule = like;
}

NoiseRule NoiseOptions::noise_rule() const
{
    if (rule.empty())
        return NoiseRule::physical;
    for (const NoiseRule one : {NoiseRule::physical, NoiseRule::loggopsim, NoiseRule::paper2010})
        if (rule == noise_rule_name(one))
            return one;
    throw InputError("--noise-rule: \"" + rule +
                     "\" is unknown; expected physical, loggopsim (the public simulator) or paper2010 "
                     "([Hoefler10 §IV-A])");
}

Noise NoiseOptions::noise(const std::vector<Trace> &read, std::uint64_t from_seed, std::uint32_t ranks) const
{
    Noise made(read, noise_rule(), from_seed, coscheduled);

    if (offsets.empty())
        return made;
    if (coscheduled)
        throw InputError("--offsets and --coscheduled both say where ranks begin; leave one out");
    if (read.empty())
        throw InputError("--offsets without noise; give --noise or --noise-period, too");
    made.begin_at(offsets_read(offsets, ranks));
    return made;
}

void PatternArguments::add(Command &command)
{
    std::string names;

    for (const std::string &one : pattern_names())
        names += ' ' + one;
    command.required("pattern", name, "one of:" + names);
    command.required("-n,--ranks", ranks, "number of ranks");
    command.option("-b,--bytes", bytes, "bytes of each message; for ring: of all segments together (8)");
    command.option("--segment", segment, "bytes of a segment of the ring (16384)");
    command.option("--ways", ways, "partners per step of n-way dissemination (2)");
    command.option("-i,--iterations", iterations, "how often the pattern runs (1)");
    command.option("--compute", compute, "computation before each iteration, ns");
    command.option("--reduction", reduction,
                   "computation for each message that a reducing pattern receives, ns");
}

PatternOptions PatternArguments::options() const
{
    PatternOptions options;
    const auto known = pattern_named(name);

    if (!known) {
        std::string names;
        for (const std::string &one : pattern_names())
            names += (names.empty() ? "" : ", ") + one;
        throw InputError("pattern \"" + name + "\" is unknown; expected one of " + names);
    }
    options.name = *known;
    options.ranks = ranks;
    options.iterations = iterations;
    options.ways = ways;
    options.bytes = whole(bytes, "--bytes");
    options.segment_bytes = whole(segment, "--segment");
    if (!compute.empty())
        options.compute = decimal(compute, 3, STEP_LIMIT, "--compute in ns");
    if (!reduction.empty())
        options.reduction = decimal(reduction, 3, STEP_LIMIT, "--reduction in ns");
    return options;
}

unsigned threads_of(unsigned requested)
{
    return requested ? requested : std::max(1u, std::thread::hardware_concurrency());
}

} // namespace sim
