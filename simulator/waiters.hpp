// SPDX-License-Identifier: BSD-2-Clause
//
// waiters.hpp: what waits for a rank's processor or interface, so that only the first of many looks again
// when that may be free.
//
// Things that wait for the same keep their order whatever happens meanwhile (engine.hpp's events, by their
// histories). So one of them, the head, stands in the rank's queue of events, at the time at which what it
// waits for is free; what is younger than the head lies here, and the oldest of that is the next head when
// the head has begun. What is older than the head goes into the queue of events beside it.
#pragma once

#include "event.hpp"

#include <array>

namespace sim {

enum class Resource { processor, sending, receiving }; // the interfaces: with the processor
constexpr std::size_t RESOURCES = 3;

class Waiters {
public:
    // Something cannot begin. True: it stays here; false: it goes into the queue of events.
    bool keep(EventPool &pool, Resource resource, Event event)
    {
        Line &line = lines[static_cast<std::size_t>(resource)];

        event.time = 0;
        if (line.is_head(event))
            return false;
        if (!line.has_head) {
            line.head = event;
            line.has_head = true;
            return false;
        }
        if (happens_before(event, line.head))
            return false;
        pool.push(line.others, event);
        return true;
    }

    // Something begins. True: it was the head, and `next` is the new one.
    bool leave(EventPool &pool, Resource resource, const Event &event, Event &next)
    {
        Line &line = lines[static_cast<std::size_t>(resource)];

        if (!line.is_head(event))
            return false;
        line.has_head = line.others != ANY;
        if (line.has_head)
            next = line.head = pool.pop(line.others);
        return line.has_head;
    }

private:
    struct Line {
        Event head;
        HeapRoot others = ANY;
        bool has_head = false;

        bool is_head(const Event &event) const
        {
            return has_head && head.operation == event.operation && head.source == event.source;
        }
    };

    std::array<Line, RESOURCES> lines;
};

} // namespace sim
