// SPDX-License-Identifier: BSD-2-Clause
//
// output.cpp: see output.hpp.
#include "output.hpp"

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <span>
#include <unistd.h>

namespace sim {

namespace {

std::string femtoseconds_as_ns(std::int64_t value)
{
    std::string digits = std::to_string(value % 1000000 + 1000000).substr(1);
    while (!digits.empty() && digits.back() == '0')
        digits.pop_back();
    return std::to_string(value / 1000000) + (digits.empty() ? "" : "." + digits);
}

std::string number(double value)
{
    char text[32];

    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

void times_json(std::ostream &out, const char *name, std::span<const Time> times)
{
    out << ",\n  \"" << name << "\": [";
    for (std::size_t i = 0; i < times.size(); i++)
        out << (i ? ", " : "") << nanoseconds(times[i]);
    out << ']';
}

void summary_json(std::ostream &out, const char *name, const Summary &summary)
{
    out << ",\n  \"" << name << "\": {\"count\": " << summary.count
        << ", \"min\": " << number(summary.minimum) << ", \"q1\": " << number(summary.quartile1)
        << ", \"median\": " << number(summary.median) << ", \"q3\": " << number(summary.quartile3)
        << ", \"p99\": " << number(summary.percentile99) << ", \"max\": " << number(summary.maximum)
        << ", \"mean\": " << number(summary.mean) << ", \"stddev\": " << number(summary.deviation) << '}';
}

void parameters_json(std::ostream &out, const Parameters &p)
{
    out << "  \"parameters\": {\"L\": " << nanoseconds(p.latency)
        << ", \"o_send\": " << nanoseconds(p.overhead_send)
        << ", \"o_recv\": " << nanoseconds(p.overhead_receive) << ", \"g\": " << nanoseconds(p.gap);
    if (p.gate > 0)
        out << ", \"gate\": " << nanoseconds(p.gate);
    out << ", \"G\": " << femtoseconds_as_ns(p.gap_per_byte_fs)
        << ", \"O\": " << femtoseconds_as_ns(p.overhead_per_byte_fs) << ", \"S\": " << p.eager_limit
        << ", \"zero_byte\": \"" << (p.zero_bytes == ZeroBytes::published ? "published" : "nothing")
        << "\", \"handling\": \"" << (p.handling == Handling::posted ? "posted" : "arrival")
        << "\", \"order\": \"" << (p.order == Order::published ? "published" : "causes") << "\"},\n";
}

} // namespace

std::string json_quoted(const std::string &text)
{
    std::string quoted = "\"";
    char code[8];

    for (const char c : text) {
        if (c == '"' || c == '\\') {
            (quoted += '\\') += c;
        } else if (static_cast<unsigned char>(c) < ' ') {
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            quoted += code;
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

void report_json(const Report &report, bool per_rank, std::ostream &out)
{
    out << "{\n  \"subject\": " << json_quoted(report.subject) << ",\n  \"ranks\": " << report.ranks
        << ",\n  \"operations\": " << report.operations << ",\n  \"messages\": " << report.last.messages
        << ",\n  \"seed\": " << report.seed << ",\n";
    parameters_json(out, report.parameters);
    out << "  \"noise\": {\"rule\": \"" << noise_rule_name(report.rule)
        << "\", \"coscheduled\": " << (report.coscheduled ? "true" : "false") << ", \"traces\": [";
    for (std::size_t i = 0; i < report.noise.size(); i++)
        out << (i ? ", " : "") << json_quoted(report.noise[i]);
    out << "]},\n  \"max_ns\": " << nanoseconds(report.last.maximum);
    if (!report.quiet_maximum.empty())
        out << ",\n  \"quiet_max_ns\": " << nanoseconds(report.quiet_maximum.front());
    if (report.maxima.size() > 1) {
        times_json(out, "simulations_max_ns", report.maxima);
        summary_json(out, "simulations_ns", summary_of(report.maxima));
    }
    if (report.iteration_ends.size() > 1)
        times_json(out, "iteration_ends_ns", report.iteration_ends);
    if (!report.latencies.empty())
        summary_json(out, "latency_ns", summary_of(report.latencies));
    summary_json(out, "rank_finish_ns", summary_of(report.last.finish));
    if (per_rank)
        times_json(out, "finish_ns", report.last.finish);
    out << "\n}\n";
}

void report_text(const Report &report, std::ostream &out)
{
    const auto line = [&](const char *name, const Summary &s) {
        out << std::fixed << std::setprecision(1) << name << ": min " << s.minimum / 1000 << ", quartiles "
            << s.quartile1 / 1000 << ' ' << s.median / 1000 << ' ' << s.quartile3 / 1000 << ", 99 % "
            << s.percentile99 / 1000 << ", max " << s.maximum / 1000 << ", mean " << s.mean / 1000 << " us ("
            << s.count << ")\n";
    };

    out << report.subject << ": " << report.ranks << " ranks, " << report.operations << " operations, "
        << report.last.messages << " messages\n";
    out << "last rank ends at " << nanoseconds(report.last.maximum) << " ns";
    if (!report.quiet_maximum.empty() && report.quiet_maximum.front() > 0) {
        const double quiet = static_cast<double>(report.quiet_maximum.front());
        out << "; without noise at " << nanoseconds(report.quiet_maximum.front()) << " ns; slowdown "
            << std::fixed << std::setprecision(3) << static_cast<double>(report.last.maximum) / quiet;
        if (report.maxima.size() > 1) {
            const Summary all = summary_of(report.maxima);
            out << " (mean of " << all.count << ": " << all.mean * PS_PER_NS / quiet << ", max "
                << all.maximum * PS_PER_NS / quiet << ')';
        }
    }
    out << '\n';
    if (report.maxima.size() > 1)
        line("simulations", summary_of(report.maxima));
    if (report.latencies.size() > 1)
        line("iterations", summary_of(report.latencies));
    line("ranks", summary_of(report.last.finish));
}

void file_write(const std::string &path, const std::function<void(std::ostream &)> &write)
{
    if (path == "-") {
        write(std::cout);
        std::cout.flush();
        if (!std::cout)
            throw InputError("the standard output cannot be written");
        return;
    }
    const std::string temporary = path + ".part" + std::to_string(getpid());
    try {
        std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
        if (!out)
            throw InputError(path + ": cannot be written; give a path in a folder that exists");
        write(out);
        out.close();
        if (!out || std::rename(temporary.c_str(), path.c_str()) != 0)
            throw InputError(path + ": cannot be written; give a file on a disk with room");
    } catch (...) {
        std::remove(temporary.c_str());
        throw;
    }
}

} // namespace sim
