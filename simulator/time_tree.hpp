// SPDX-License-Identifier: BSD-2-Clause
//
// time_tree.hpp: when each of many ranks has its next event, and which are due: a tournament tree.
//
// A node is a cache line of eight times: those of eight ranks, or the earliest of each of eight nodes. So the
// first of a million times is known at once. Due ranks are found by descending to them only, in ascending
// order: few cost seven steps each, many hardly more than looking at their times.
//
// A tree belongs to one thread.
#pragma once

#include "pages.hpp"
#include "time.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace sim {

class TimeTree {
public:
    // Makes room for ranks `first` to `last` - 1, which have no events yet.
    void reset(std::uint32_t first, std::uint32_t last)
    {
        std::size_t nodes = last - first;

        base = first;
        levels.clear();
        do {
            nodes = (nodes + FAN - 1) / FAN;
            levels.emplace_back(nodes + 1, NO_EVENTS); // one more, for looking ahead
        } while (nodes > 1);
    }

    Time operator[](std::uint32_t rank) const
    {
        return at(0, rank - base);
    }

    // Returns the earliest time of all; NEVER if there are no events.
    Time earliest() const
    {
        return earliest_of(levels.back()[0]);
    }

    void prefetch(std::uint32_t rank) const
    {
        __builtin_prefetch(&at(0, rank - base), 1);
    }

    // Notes an event of a rank. Does nothing if the rank has an earlier one.
    void add(std::uint32_t rank, Time time)
    {
        std::size_t place = rank - base;

        for (LargeVector<Node> &level : levels) {
            Time &known = level[place / FAN][place % FAN];
            if (known <= time)
                return;
            known = time;
            place /= FAN;
        }
    }

    // Calls process(rank) for each rank that has an event before `end`. It returns the time of the rank's
    // next event, from `end` on. Meanwhile only events from `end` on may be added. If `look_ahead`, calls
    // soon(rank) for ranks that come a little later, so that their data can be fetched.
    template <typename Soon, typename Process>
    void each_due(Time end, const Soon &soon, bool look_ahead, const Process &process)
    {
        visit(levels.size() - 1, 0, end, soon, look_ahead, process);
    }

private:
    static constexpr std::size_t FAN = 8;

    struct alignas(64) Node : std::array<Time, FAN> {};

    static constexpr Node NO_EVENTS = {{NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER}};

    const Time &at(std::size_t level, std::size_t place) const
    {
        return levels[level][place / FAN][place % FAN];
    }

    // Returns the earliest of a node's times.
    static Time earliest_of(const Node &node)
    {
        const auto lower = [](Time a, Time b) { return a < b ? a : b; };

        return lower(lower(lower(node[0], node[1]), lower(node[2], node[3])),
                     lower(lower(node[4], node[5]), lower(node[6], node[7])));
    }

    // Returns a bit for each of a node's times that is before `end`.
    static std::uint32_t due_in(const Node &node, Time end)
    {
        std::uint32_t due = 0;

        for (std::size_t i = 0; i < FAN; i++)
            due |= std::uint32_t{node[i] < end} << i;
        return due;
    }

    // Processes what is due below a node. Returns the node's earliest time.
    template <typename Soon, typename Process>
    Time visit(std::size_t level, std::size_t number, Time end, const Soon &soon, bool look_ahead,
               const Process &process)
    {
        Node &node = levels[level][number];
        const std::size_t place = number * FAN;

        if (level == 0 && look_ahead)
            for (std::uint32_t due = due_in(levels[0][number + 1], end); due; due &= due - 1)
                soon(rank_at(place + FAN + static_cast<unsigned>(std::countr_zero(due))));
        for (std::uint32_t due = due_in(node, end); due; due &= due - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(due));
            node[i] = level > 0 ? visit(level - 1, place + i, end, soon, look_ahead, process)
                                : process(rank_at(place + i));
        }
        return earliest_of(node);
    }

    std::uint32_t rank_at(std::size_t place) const
    {
        return base + static_cast<std::uint32_t>(place);
    }

    std::uint32_t base = 0;
    std::vector<LargeVector<Node>> levels; // the lowest first
};

} // namespace sim
