// SPDX-License-Identifier: BSD-2-Clause
//
// main.cpp: the commands of the simulator.
//
//     sim run SCHEDULE         simulates a GOAL schedule, text or binary
//     sim pattern NAME -n P    simulates a built-in pattern
//     sim goal NAME -n P       writes a built-in pattern as GOAL text
//     sim bench                measures the simulator itself
//
// Exit status: 0; 1 if the input is wrong or the schedule deadlocks, with one line per finding; 2 if the
// command line is wrong.
#include "bench.hpp"
#include "command_line.hpp"
#include "goal.hpp"
#include "goal_program.hpp"
#include "goal_write.hpp"
#include "options.hpp"
#include "output.hpp"
#include "pattern_program.hpp"

#include <iostream>

namespace sim {

namespace {

struct OutputOptions {
    std::string json, timeline;
    std::size_t timeline_limit = 1000000;
    bool per_rank = false, quiet = false;
    unsigned threads = 0;

    void add(Command &command)
    {
        command.option("--json", json, "write the result as JSON to a file; - for the standard output");
        command.flag("--per-rank", per_rank, "include every rank's finish time in the JSON");
        command.option("--timeline", timeline, "write a timeline for chrome://tracing or Perfetto to a file");
        command.option("--timeline-limit", timeline_limit,
                       "most pieces of work in the timeline (1000000)");
        command.option("-j,--threads", threads, "threads; results do not depend on them (all processors)");
        command.flag("-q,--quiet", quiet, "no summary on the standard output");
    }

    void write(const Report &report, const Timeline &recorded) const
    {
        if (!json.empty())
            file_write(json, [&](std::ostream &out) { report_json(report, per_rank, out); });
        if (!timeline.empty()) {
            file_write(timeline, [&](std::ostream &out) { recorded.write(out); });
            if (recorded.dropped())
                std::cerr << "sim: the timeline lacks " << recorded.dropped()
                          << " pieces of work beyond its limit; raise --timeline-limit\n";
        }
        if (quiet || json == "-" || timeline == "-")
            return;
        report_text(report, std::cout);
        if (per_rank && json.empty())
            for (const Time time : report.last.finish)
                std::cout << nanoseconds(time) << '\n';
    }
};

struct Common {
    ParameterOptions parameters;
    NoiseOptions noise;
    OutputOptions output;

    void add(Command &command)
    {
        parameters.add(command);
        noise.add(command);
        output.add(command);
    }

    Report begin(const std::string &subject, std::vector<Trace> &traces) const
    {
        Report report;

        report.subject = subject;
        report.parameters = parameters.parameters();
        traces = noise.read(report.noise);
        report.rule = noise.noise_rule();
        report.coscheduled = noise.coscheduled;
        report.seed = noise.seed;
        return report;
    }
};

class Deadlock : public InputError {
public:
    using InputError::InputError;
};

[[noreturn]] void fail_stuck(const std::string &subject, const std::vector<std::string> &lines)
{
    std::string text =
        subject + ": the schedule does not end; every message needs a receive with its ranks and tag";

    for (const std::string &line : lines)
        text += "\nsim: " + subject + ": " + line;
    throw Deadlock(text);
}

int run_schedule(const Common &common, const std::string &path)
{
    std::vector<Trace> traces;
    Report report = common.begin(path, traces);
    const unsigned threads = threads_of(common.output.threads);
    const auto schedule = goal_read(path, threads);
    GoalProgram program(*schedule, report.parameters);
    const Noise noise = common.noise.noise(traces, report.seed, program.ranks());
    Timeline timeline(common.output.timeline_limit);
    std::vector<Unexpected> left_over;

    report.last = goal_simulate(program, report.parameters, noise, threads,
                                common.output.timeline.empty() ? nullptr : &timeline, &left_over);
    if (!report.last.complete)
        fail_stuck(path, program.stuck(left_over, 10));
    report.ranks = program.ranks();
    report.operations = program.operations();
    report.maxima = {report.last.maximum};
    common.output.write(report, timeline);
    return 0;
}

// Simulates a pattern once; adds its latencies to the report.
void simulate_pattern(const Pattern &pattern, const Noise &noise, unsigned threads, Timeline *timeline,
                      Report &report)
{
    report.last =
        pattern_simulate(pattern, report.parameters, noise, threads, timeline, report.iteration_ends);
    if (!report.last.complete)
        throw std::logic_error("the pattern does not end");
    report.ranks = pattern.ranks();
    report.operations = report.last.operations;
    report.maxima.push_back(report.last.maximum);
    Time before = 0;
    for (const Time end : report.iteration_ends) {
        report.latencies.push_back(end - before);
        before = end;
    }
}

int run_pattern(const Common &common, const PatternArguments &arguments, std::uint32_t repeat, bool no_quiet)
{
    const Pattern pattern(arguments.options());
    std::vector<Trace> traces;
    Report report = common.begin(arguments.name, traces);
    const unsigned threads = threads_of(common.output.threads);
    Timeline timeline(common.output.timeline_limit);
    Timeline *const recorded = common.output.timeline.empty() ? nullptr : &timeline;

    if (repeat > 1 && !common.noise.offsets.empty())
        throw InputError("--repeat with --offsets: all simulations would be the same; leave one out");
    if (!no_quiet && Noise(traces, report.rule, report.seed, false).any()) {
        Report quiet = report;
        simulate_pattern(pattern, Noise(), threads, nullptr, quiet);
        report.quiet_maximum = {quiet.last.maximum};
    }
    for (std::uint32_t i = 0; i < repeat; i++) {
        const Noise noise = common.noise.noise(traces, report.seed + i, pattern.ranks());
        simulate_pattern(pattern, noise, threads, i + 1 == repeat ? recorded : nullptr, report);
    }
    common.output.write(report, timeline);
    return 0;
}

int write_goal(const PatternArguments &arguments, const std::string &path)
{
    const Pattern pattern(arguments.options());

    file_write(path, [&](std::ostream &out) { goal_write(pattern, out); });
    return 0;
}

int command(int count, char **words)
{
    CommandLine line("LogGOPS simulation of message-passing programs under noise [Hoefler10]; "
                     "docs/lab/loggops.md explains it.",
                     "sim");

    Common run_common, pattern_common;
    std::string schedule;
    Command run = line.command("run", "simulate a GOAL schedule");
    run.required("schedule", schedule, "GOAL file, text or binary; - for text on the standard input");
    run_common.add(run);
    run_common.parameters.add_order(run);

    PatternArguments pattern_arguments;
    std::uint32_t repeat = 1;
    Command pattern = line.command("pattern", "simulate a built-in pattern");
    pattern_arguments.add(pattern);
    pattern.option("-r,--repeat", repeat, "simulations, with seeds that count up (1)", {1u, 1u << 24});
    bool no_quiet = false;
    pattern.flag("--no-quiet", no_quiet,
                 "leave out the simulation without noise: saves time, but prints no slowdown");
    pattern_common.add(pattern);

    PatternArguments goal_arguments;
    std::string goal_path = "-";
    Command goal = line.command("goal", "write a built-in pattern as GOAL text");
    goal_arguments.add(goal);
    goal.option("--output", goal_path, "file; - for the standard output (-)");

    BenchOptions bench_options;
    Command bench = line.command("bench", "measure the simulator");
    bench.flag("--json", bench_options.json, "print JSON instead of a table");
    bench.option("--largest", bench_options.largest_log, "log2 of the maximum number of ranks (20)",
                 {10u, 26u});
    bench.option("--largest-goal", bench_options.largest_goal_log,
                 "log2 of the maximum number of ranks of a GOAL file (18)", {10u, 22u});
    bench.option("-j,--threads", bench_options.threads, "threads (all processors)");

    if (const std::optional<int> status = line.parse(count, words))
        return *status;
    if (run.given()) {
        run_common.noise.be_like(run_common.parameters.like);
        return run_schedule(run_common, schedule);
    }
    if (pattern.given())
        return run_pattern(pattern_common, pattern_arguments, repeat, no_quiet);
    if (goal.given())
        return write_goal(goal_arguments, goal_path);
    return bench_run(bench_options, std::cout);
}

} // namespace

} // namespace sim

int main(int count, char **words)
{
    std::ios::sync_with_stdio(false);
    try {
        return sim::command(count, words);
    } catch (const sim::InputError &error) {
        std::cerr << "sim: " << error.what() << '\n';
    } catch (const std::bad_alloc &) {
        std::cerr << "sim: not enough memory; use fewer ranks or a smaller schedule\n";
    } catch (const std::exception &error) {
        std::cerr << "sim: internal error: " << error.what() << '\n';
    }
    return 1;
}
