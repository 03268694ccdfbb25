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

#include <algorithm>
#include <array>
#include <cstdint>

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
        const Node &root = levels.back()[0];
        return *std::min_element(root.begin(), root.end());
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

    // Calls process(rank) for each rank that has an event before `end`. It returns the time of the rank's next
    // event, from `end` on. Meanwhile only events from `end` on may be added. Calls soon(rank) for ranks that
    // come a little later, so that their data can be fetched.
    template <typename Soon, typename Process>
    void each_due(Time end, const Soon &soon, const Process &process)
    {
        visit(levels.size() - 1, 0, end, soon, process);
    }

private:
    static constexpr std::size_t FAN = 8;

    struct alignas(64) Node : std::array<Time, FAN> {};

    static constexpr Node NO_EVENTS = {{NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER}};

    const Time &at(std::size_t level, std::size_t place) const
    {
        return levels[level][place / FAN][place % FAN];
    }

    // Processes what is due below a node. Returns the node's earliest time.
    template <typename Soon, typename Process>
    Time visit(std::size_t level, std::size_t number, Time end, const Soon &soon, const Process &process)
    {
        Node &node = levels[level][number];

        if (level > 0) {
            for (std::size_t i = 0; i < FAN; i++)
                if (node[i] < end)
                    node[i] = visit(level - 1, number * FAN + i, end, soon, process);
        } else {
            const Node &ahead = levels[0][number + 1];
            const auto rank = static_cast<std::uint32_t>(base + number * FAN);
            for (std::uint32_t i = 0; i < FAN; i++) {
                if (ahead[i] < end)
                    soon(rank + static_cast<std::uint32_t>(FAN) + i);
                if (node[i] < end)
                    node[i] = process(rank + i);
            }
        }
        return *std::min_element(node.begin(), node.end());
    }

    std::uint32_t base = 0;
    std::vector<LargeVector<Node>> levels; // the lowest first
};

} // namespace sim
