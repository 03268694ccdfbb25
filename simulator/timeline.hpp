// SPDX-License-Identifier: BSD-2-Clause
//
// timeline.hpp: records what processors do, for chrome://tracing and Perfetto (JSON "trace event format":
// complete events in microseconds, one process per rank, one thread per processor, arrows for messages).
//
// Not thread-safe: the engine uses one thread when it records.
#pragma once

#include "schedule.hpp"
#include "time.hpp"

#include <iosfwd>
#include <map>

namespace sim {

class Timeline {
public:
    // Keeps at most `limit` pieces of work; further ones are only counted.
    explicit Timeline(std::size_t limit) : pieces_max(limit)
    {
    }

    void work(std::uint32_t rank, unsigned cpu, const char *name, Time start, Time end);
    void message_sent(std::uint32_t rank, unsigned cpu, std::uint32_t operation, Time start, Time end);
    void message_received(std::uint32_t rank, unsigned cpu, std::uint32_t source, std::uint32_t operation,
                          Time start, Time end);

    void write(std::ostream &out) const;

    std::size_t dropped() const
    {
        return left_out;
    }

private:
    struct Piece {
        const char *name;
        Time start, end;
        std::uint32_t rank;
        unsigned cpu;
        std::uint64_t arrow; // 0: none; sender and receiver of a message have the same number
        bool arrives;
    };
    bool room();
    std::uint64_t arrow_of(std::uint32_t source, std::uint32_t operation);

    std::size_t pieces_max;
    std::size_t left_out = 0;
    std::vector<Piece> pieces;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> arrows;
};

} // namespace sim
