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
#include "packed_events.hpp"

#include <array>
#include <memory>

namespace sim {

enum class Resource { processor, sending, receiving }; // the interfaces: with the processor
constexpr std::size_t RESOURCES = 3;

// Where the events of all lines of a thread are.
struct WaitingRoom {
    EventPool pool;
    ChunkPool chunks;
};

class Waiters {
public:
    // Takes an event whose resource is busy. Returns true if it waits in the line. False: it is the head of
    // the line, or earlier; the caller puts it into the queue of events.
    bool keep(WaitingRoom &room, Resource resource, Event event)
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
        line.add(room, event);
        return true;
    }

    // Notes that an event begins. Returns whether it was the head and others wait; `next` is the new head.
    bool leave(WaitingRoom &room, Resource resource, const Event &event, Event &next)
    {
        Line &line = lines[static_cast<std::size_t>(resource)];

        if (!line.is_head(event))
            return false;
        line.has_head = line.next(room, line.head);
        if (line.has_head)
            next = line.head;
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
        std::unique_ptr<PackedEvents> in_order; // of the others; null: none
        HeapRoot out_of_order = ANY;            // the rest of them
        bool has_head = false;

        void add(WaitingRoom &room, const Event &event)
        {
            if (!in_order)
                in_order = std::make_unique<PackedEvents>();
            if (in_order->empty() || happens_before(in_order->back(), event))
                in_order->push(room.chunks, event);
            else
                room.pool.push(out_of_order, event);
        }

        // Takes the first of the others; false if there is none.
        bool next(WaitingRoom &room, Event &first)
        {
            const bool any = in_order && !in_order->empty();
            if (out_of_order != ANY &&
                (!any || happens_before(room.pool.top(out_of_order), in_order->front()))) {
                first = room.pool.pop(out_of_order);
                return true;
            }
            if (any) {
                first = in_order->front();
                in_order->pop(room.chunks);
            }
            return any;
        }

        bool is_head(const Event &event) const
        {
            return has_head && head.operation == event.operation && head.source == event.source;
        }
    };

    std::array<Line, RESOURCES> lines;
};

} // namespace sim
