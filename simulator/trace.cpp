// SPDX-License-Identifier: BSD-2-Clause
//
// trace.cpp: reads and makes noise traces, and reads places in traces; see noise.hpp.
#include "noise.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>

namespace sim {

namespace {

// Returns the period, in ps, of "# Measurement period: 12.5 s" or "# Period: 1000 ns".
std::optional<Time> period_of(std::string_view comment, const std::string &where)
{
    for (const auto &[head, digits] :
         {std::pair<std::string_view, unsigned>{"Measurement period:", 12}, {"Period:", 3}}) {
        const std::size_t at = comment.find(head);
        if (at == std::string_view::npos)
            continue;
        std::string_view number = comment.substr(at + head.size());
        number.remove_prefix(std::min(number.find_first_not_of(" \t"), number.size()));
        number = number.substr(0, number.find_first_of(" \t\r"));
        if (digits == 12 && number.find('.') != std::string_view::npos)
            number = number.substr(0, number.find('.') + 1 + digits);
        return decimal(number, digits, STEP_LIMIT, where + ": the period");
    }
    return std::nullopt;
}

// Reads a duration or start in ns; cuts off decimals beyond picoseconds, as tools print more digits than they
// measure.
Time nanoseconds_of(std::string_view number, const std::string &where, const char *what)
{
    const std::size_t point = number.find('.');

    if (point != std::string_view::npos &&
        number.find_first_not_of("0123456789", point + 1) == std::string_view::npos)
        number = number.substr(0, point + 4);
    return decimal(number, 3, STEP_LIMIT, where + ": the " + what + " in ns");
}

void separate(Trace &trace)
{
    Time free = 0;

    for (Detour &detour : trace.detours) {
        detour.start = std::max(detour.start, free);
        free = detour.start + detour.duration;
    }
}

// Changes a trace to what the public tool makes of its file: every line, in whole ns.
void as_it_stands(Trace &trace)
{
    const auto whole = [](Time time) { return (time + PS_PER_NS / 2) / PS_PER_NS * PS_PER_NS; };

    for (Detour &detour : trace.detours)
        detour = {whole(detour.start), whole(detour.duration)};
    trace.lap = trace.detours.back().start;
}

// Takes the next line off a text.
std::string_view line_of(std::string_view &text)
{
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);

    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string file_content(const std::string &path, const std::string &what)
{
    std::ifstream file(path, std::ios::binary);

    if (!file)
        throw InputError(path + ": cannot be opened; give the path of " + what);
    // The stream's own functions report errors in its state; iterators would throw if the path is a folder.
    std::string text;
    for (std::array<char, 65536> piece; file.read(piece.data(), piece.size()) || file.gcount() > 0;)
        text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (file.bad())
        throw InputError(path + ": cannot be read; give the path of " + what + ", a file");
    return text;
}

} // namespace

Trace trace_parse(std::string_view text, const std::string &name, NoiseRule rule, std::string &remark)
{
    Trace trace;
    std::optional<Time> stated;
    std::size_t line_number = 0;

    while (!text.empty()) {
        std::string_view line = line_of(text);
        line_number++;
        const auto where = [&] { return name + ":" + std::to_string(line_number); };
        const std::size_t content = line.find_first_not_of(" \t\r");
        if (content == std::string_view::npos)
            continue;
        line.remove_prefix(content);
        if (line.front() == '#') {
            if (const auto period = period_of(line, where()))
                stated = period;
            continue;
        }
        const std::size_t gap = line.find_first_of(" \t");
        const std::size_t second = gap == std::string_view::npos ? gap : line.find_first_not_of(" \t\r", gap);
        if (second == std::string_view::npos)
            throw InputError(
                where() + ": one column; each line is a start and a duration in ns, with a tab between them");
        std::string_view duration = line.substr(second);
        const std::size_t rest = duration.find_first_of(" \t\r");
        if (rest != std::string_view::npos &&
            duration.find_first_not_of(" \t\r", rest) != std::string_view::npos)
            throw InputError(where() + ": more than two columns; each line is a start and a duration in ns");
        const Detour detour = {nanoseconds_of(line.substr(0, gap), where(), "start"),
                               nanoseconds_of(duration.substr(0, rest), where(), "duration")};
        if (!trace.detours.empty() && detour.start < trace.detours.back().start)
            throw InputError(where() +
                             ": starts before the detour of the line above; sort the lines by start");
        if (trace.detours.size() == UINT32_MAX - 1)
            throw InputError(where() + ": more detours than 2^32; cut the trace into several files");
        trace.detours.push_back(detour);
    }

    if (rule == NoiseRule::loggopsim && !trace.detours.empty()) {
        as_it_stands(trace);
        if (trace.lap == 0) {
            remark = name +
                     ": no time before the last detour: silence under the rule loggopsim, which replays a "
                     "file up to the start of its last detour";
            trace.detours.clear();
        }
        return trace;
    }
    std::erase_if(trace.detours, [](const Detour &detour) { return detour.duration == 0; });
    if (trace.detours.empty())
        return trace;
    if (trace.detours.size() == 1 && !stated) {
        remark = name + ": one detour and no period, so that it never recurs: silence. "
                        "A line \"# Measurement period: SECONDS s\" would give the period.";
        trace.detours.clear();
        return trace;
    }
    const std::size_t count = trace.detours.size();
    const Time span = trace.detours.back().start - trace.detours.front().start;
    trace.period =
        stated ? *stated
               : trace.detours.back().start + span / static_cast<Time>(std::max<std::size_t>(count - 1, 1));
    if (stated && trace.detours.back().start >= *stated)
        throw InputError(name + ": the last detour starts at " + nanoseconds(trace.detours.back().start) +
                         " ns, after the period of " + nanoseconds(*stated) + " ns that the file states");
    separate(trace);
    trace.period = std::max(trace.period, trace.detours.back().start + trace.detours.back().duration);
    Time busy = 0;
    for (const Detour &detour : trace.detours)
        busy += detour.duration;
    if (busy >= trace.period || trace.period > STEP_LIMIT)
        throw InputError(name + ": detours of " + nanoseconds(busy) + " ns in total in a period of " +
                         nanoseconds(trace.period) + " ns leave no time to work");
    return trace;
}

Trace trace_read(const std::string &path, NoiseRule rule, std::string &remark)
{
    return trace_parse(file_content(path, "a readable noise trace"), path, rule, remark);
}

std::vector<Time> offsets_parse(std::string_view text, const std::string &name, std::uint32_t ranks)
{
    std::vector<Time> places;
    std::size_t line_number = 0;
    const auto where = [&] { return name + ":" + std::to_string(line_number); };

    while (!text.empty()) {
        std::string_view line = line_of(text);
        line_number++;
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
            line.remove_suffix(1);
        if (line.empty() || line.front() == '#')
            continue;
        if (places.size() == ranks)
            throw InputError(where() + ": more places than the " + std::to_string(ranks) +
                             " ranks; give each rank one line");
        places.push_back(decimal(line, 3, STEP_LIMIT,
                                 where() + ": the place of rank " + std::to_string(places.size()) +
                                     " in its noise trace, in ns"));
    }
    line_number++;
    if (places.size() < ranks)
        throw InputError(where() + ": the file ends after " + std::to_string(places.size()) + " places of " +
                         std::to_string(ranks) + " ranks; give each rank one line");
    return places;
}

std::vector<Time> offsets_read(const std::string &path, std::uint32_t ranks)
{
    return offsets_parse(file_content(path, "a file of places in the noise, one a line"), path, ranks);
}

Trace trace_periodic(Time period, Time duration)
{
    if (period <= 0 || duration < 0 || duration >= period)
        throw InputError("periodic noise: a detour of " + nanoseconds(duration) + " ns every " +
                         nanoseconds(period) +
                         " ns leaves no time to work; the period must be longer than the detour");
    Trace trace;
    if (duration > 0)
        trace.detours.push_back({0, duration});
    trace.period = period;
    return trace;
}

} // namespace sim
