// SPDX-License-Identifier: BSD-2-Clause
//
// rank_events.hpp: the events of one rank that are still to come.
//
// The first ones that came have their own places, unordered; further ones are in a heap. An event stays in
// its place while it is processed, and is written once, field by field: a copy of what was just written would
// have to wait for it.
#pragma once

#include "event.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace sim {

class RankEvents {
public:
    // Returns whether events are in the heap.
    bool many() const
    {
        return heap != ANY;
    }

    [[gnu::always_inline]] inline void add(EventPool &pool, Time time, const History &history,
                                           std::uint32_t rank, std::uint32_t operation, std::uint32_t source,
                                           std::uint32_t info)
    {
        if (used == FULL) [[unlikely]] {
            add_to_heap(pool, {time, history, rank, operation, source, info});
            return;
        }
        const auto free = static_cast<unsigned>(std::countr_one(used));
        Event &event = here[free];
        used |= static_cast<std::uint8_t>(1u << free);
        event.time = time;
        event.history.caused = history.caused;
        event.history.before = history.before;
        event.history.earlier = history.earlier;
        event.rank = rank;
        event.operation = operation;
        event.source = source;
        event.info = info;
    }

    // Calls handle(event) for the events before `end`, in their order; it may add events. Returns the time of
    // the next one. While an event in its place is handled, `in_place` points to it. If it is null
    // afterwards, the event stays, with a later time.
    template <typename Handle>
    Time each_before(Time end, EventPool &pool, Event *&in_place, const Handle &handle)
    {
        for (;;) {
            Event *const first = first_here();
            if (heap != ANY && (!first || happens_before(pool.top(heap), *first))) [[unlikely]] {
                const Time time = pool.top(heap).time;
                if (time >= end)
                    return time;
                Event event = pool.pop(heap);
                handle(event);
                continue;
            }
            if (!first)
                return NEVER;
            if (first->time >= end)
                return first->time;
            in_place = first;
            handle(*first);
            if (in_place)
                used ^= static_cast<std::uint8_t>(1u << (first - here.data()));
            in_place = nullptr;
        }
    }

    // Takes the events up to `last` out, in any order; calls take(event) for each. Returns the time of the
    // next one.
    template <typename Take> Time take_until(Time last, EventPool &pool, const Take &take)
    {
        Time next = NEVER;

        for (unsigned left = used; left; left &= left - 1) {
            const Event &event = here[static_cast<unsigned>(std::countr_zero(left))];
            if (event.time > last) {
                next = std::min(next, event.time);
                continue;
            }
            take(event);
            used ^= static_cast<std::uint8_t>(left & -left);
        }
        while (heap != ANY && pool.top(heap).time <= last)
            take(pool.pop(heap));
        return heap == ANY ? next : std::min(next, pool.top(heap).time);
    }

private:
    static constexpr std::uint8_t FULL = 3;

    // Returns the first of the events in their places, or null.
    Event *first_here()
    {
        if (used == FULL)
            return happens_before(here[1], here[0]) ? &here[1] : &here[0];
        return used ? &here[used - 1u] : nullptr;
    }

    [[gnu::noinline]] void add_to_heap(EventPool &pool, const Event &event)
    {
        pool.push(heap, event);
    }

    HeapRoot heap = ANY;
    std::uint8_t used = 0; // a bit for each event in `here`
    std::array<Event, 2> here;
};

} // namespace sim
