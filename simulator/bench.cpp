// SPDX-License-Identifier: BSD-2-Clause
//
// bench.cpp: see bench.hpp. The noise is one detour of 10 us every 4 ms, about the cost of a Linux tick at
// 250 Hz.
#include "bench.hpp"

#include "goal.hpp"
#include "goal_program.hpp"
#include "goal_write.hpp"
#include "options.hpp"
#include "output.hpp"
#include "pattern_program.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim {

namespace {

struct Measured {
    double seconds = 0;
    double read_seconds = 0; // the part of it for reading the schedule
    std::uint64_t operations = 0, messages = 0;
    Time maximum = 0;
};

struct Line {
    const char *what;
    std::uint32_t ranks;
    Measured measured;
    double megabytes;
    double cpu_seconds; // of all threads, user and system
};

const Noise &bench_noise()
{
    static const Noise noise({trace_periodic(4000000 * PS_PER_NS, 10000 * PS_PER_NS)}, NoiseRule::physical, 1,
                             false);
    return noise;
}

PatternOptions dissemination(std::uint32_t ranks)
{
    PatternOptions options;

    options.ranks = ranks;
    return options;
}

class Clock {
public:
    double seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

private:
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

double seconds_of(const timeval &time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Runs a measurement in a child process, which sends its result through a pipe.
template <typename Work> Line in_a_process(const char *what, std::uint32_t ranks, const Work &work)
{
    int ends[2];

    if (pipe(ends) != 0)
        throw InputError("bench: cannot make a pipe; raise the limit of open files");
    std::cout.flush();
    const pid_t child = fork();
    if (child < 0)
        throw InputError("bench: cannot start a process; raise the limit of processes");
    if (child == 0) {
        int status = 1;
        try {
            const Measured measured = work();
            if (write(ends[1], &measured, sizeof measured) == sizeof measured)
                status = 0;
        } catch (const std::exception &error) {
            std::cerr << "sim: bench: " << error.what() << '\n';
        }
        _exit(status);
    }
    close(ends[1]);
    Line line = {what, ranks, {}, 0, 0};
    const ssize_t got = read(ends[0], &line.measured, sizeof line.measured);
    close(ends[0]);
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child || status != 0 || got != sizeof line.measured)
        throw InputError("bench: a measurement failed");
    line.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
    line.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    return line;
}

Measured simulate_built_in(std::uint32_t ranks, unsigned threads)
{
    const Clock clock;
    const Pattern pattern(dissemination(ranks));
    const Parameters parameters;
    std::vector<Time> iteration_ends;
    const Result result =
        pattern_simulate(pattern, parameters, bench_noise(), threads, nullptr, iteration_ends);

    return {clock.seconds(), 0, result.operations, result.messages, result.maximum};
}

Measured simulate_goal(const std::string &path, unsigned threads)
{
    const Clock clock;
    const Parameters parameters;
    const auto schedule = goal_read(path, threads);
    const double read_seconds = clock.seconds();
    GoalProgram program(*schedule, parameters);
    const Result result = goal_simulate(program, parameters, bench_noise(), threads, nullptr);

    return {clock.seconds(), read_seconds, result.operations, result.messages, result.maximum};
}

class TemporaryFile {
public:
    TemporaryFile()
    {
        const char *const folder = std::getenv("TMPDIR");
        path = std::string(folder ? folder : "/tmp") + "/sim-bench-XXXXXX";
        const int file = mkstemp(path.data());
        if (file < 0)
            throw InputError("bench: cannot write a temporary file in " + path +
                             "; set TMPDIR to a folder with room");
        close(file);
    }

    ~TemporaryFile()
    {
        std::remove(path.c_str());
    }

    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    std::string path;
};

void print(const std::vector<Line> &lines, bool json, std::ostream &out)
{
    if (!json)
        out << "what      ranks     seconds   to read   CPU s     million messages/s  MB       last rank "
               "ends, us\n";
    for (std::size_t i = 0; i < lines.size(); i++) {
        const Line &line = lines[i];
        const Measured &measured = line.measured;
        const double rate = static_cast<double>(measured.messages) / measured.seconds / 1e6;
        if (json)
            out << (i ? ",\n " : "[") << "{\"what\": \"" << line.what << "\", \"ranks\": " << line.ranks
                << ", \"seconds\": " << measured.seconds << ", \"read_seconds\": " << measured.read_seconds
                << ", \"cpu_seconds\": " << line.cpu_seconds << ", \"operations\": " << measured.operations
                << ", \"messages\": " << measured.messages << ", \"megabytes\": " << line.megabytes
                << ", \"max_ns\": " << nanoseconds(measured.maximum) << '}';
        else
            out << std::left << std::setw(10) << line.what << std::setw(10) << line.ranks << std::fixed
                << std::setprecision(4) << std::setw(10) << measured.seconds << std::setw(10)
                << measured.read_seconds << std::setw(10) << line.cpu_seconds << std::setprecision(2)
                << std::setw(20) << rate << std::setprecision(1) << std::setw(9) << line.megabytes
                << static_cast<double>(measured.maximum) / 1e6 << '\n';
    }
    if (json)
        out << "]\n";
}

} // namespace

int bench_run(const BenchOptions &options, std::ostream &out)
{
    const unsigned threads = threads_of(options.threads);
    std::vector<Line> lines;

    for (unsigned log = 10; log <= options.largest_log; log += 2)
        lines.push_back(
            in_a_process("pattern", 1u << log, [&] { return simulate_built_in(1u << log, threads); }));
    for (unsigned log = 10; log <= options.largest_goal_log; log += 2) {
        const TemporaryFile file;
        file_write(file.path,
                   [&](std::ostream &schedule) { goal_write(Pattern(dissemination(1u << log)), schedule); });
        lines.push_back(in_a_process("goal", 1u << log, [&] { return simulate_goal(file.path, threads); }));
    }
    print(lines, options.json, out);
    return 0;
}

} // namespace sim
