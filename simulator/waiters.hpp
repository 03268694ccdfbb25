// SPDX-License-Identifier: BSD-2-Clause
//
// waiters.hpp: events that wait for a rank's processor or interface. Only the first of many tries again when
// the resource may be free.
//
// Events that wait for the same resource keep their order whatever happens meanwhile (engine.hpp's events, by
// their histories). So one of them, the head, is in the rank's queue of events, at the time at which the
// resource is free. Events that are younger than the head wait here. When the head has begun, the oldest of
// them becomes the head. An event that is older than the head goes into the queue of events, too.
#pragma once

#include "event.hpp"

#include <array>

namespace sim {

enum class Resource { processor, sending, receiving }; // the interfaces: with the processor
constexpr std::size_t RESOURCES = 3;

class Waiters {
public:
    // Takes an event whose resource is busy. Returns true if it waits in the line. False: it is the head of
    // the line, or earlier; the caller puts it into the queue of events.
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

    // Notes that an event begins. Returns whether it was the head and others wait; `next` is the new head.
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

    // Returns whether no event waits for a resource.
    bool empty(Resource resource) const
    {
        return !lines[static_cast<std::size_t>(resource)].has_head;
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
