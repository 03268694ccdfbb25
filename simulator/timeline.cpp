// SPDX-License-Identifier: BSD-2-Clause
//
// timeline.cpp: see timeline.hpp.
#include "timeline.hpp"

#include <ostream>

namespace sim {

bool Timeline::room()
{
    if (pieces.size() < pieces_max)
        return true;
    left_out++;
    return false;
}

std::uint64_t Timeline::arrow_of(std::uint32_t source, std::uint32_t operation)
{
    return arrows.try_emplace({source, operation}, arrows.size() + 1).first->second;
}

void Timeline::work(std::uint32_t rank, unsigned cpu, const char *name, Time start, Time end)
{
    if (room())
        pieces.push_back({name, start, end, rank, cpu, 0, false});
}

void Timeline::message_sent(std::uint32_t rank, unsigned cpu, std::uint32_t operation, Time start, Time end)
{
    if (room())
        pieces.push_back({"send", start, end, rank, cpu, arrow_of(rank, operation), false});
}

void Timeline::message_received(std::uint32_t rank, unsigned cpu, std::uint32_t source,
                                std::uint32_t operation, Time start, Time end)
{
    if (room())
        pieces.push_back({"recv", start, end, rank, cpu, arrow_of(source, operation), true});
}

namespace {

// A time in microseconds, the unit of the format.
struct Microseconds {
    Time time;
};

std::ostream &operator<<(std::ostream &out, Microseconds value)
{
    const std::string digits = std::to_string(value.time % 1000000 + 1000000);
    return out << value.time / 1000000 << '.' << digits.substr(1);
}

} // namespace

void Timeline::write(std::ostream &out) const
{
    const char *separator = "\n";

    out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (const Piece &piece : pieces) {
        out << separator << "{\"ph\":\"X\",\"name\":\"" << piece.name << "\",\"pid\":" << piece.rank
            << ",\"tid\":" << piece.cpu << ",\"ts\":" << Microseconds{piece.start}
            << ",\"dur\":" << Microseconds{piece.end - piece.start} << '}';
        separator = ",\n";
        if (piece.arrow)
            out << ",\n{\"ph\":\"" << (piece.arrives ? "f\",\"bp\":\"e" : "s")
                << "\",\"name\":\"message\",\"cat\":\"message\",\"id\":" << piece.arrow
                << ",\"pid\":" << piece.rank << ",\"tid\":" << piece.cpu
                << ",\"ts\":" << Microseconds{piece.start} << '}';
    }
    out << "\n]}\n";
}

} // namespace sim
