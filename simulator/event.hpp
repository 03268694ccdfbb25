// SPDX-License-Identifier: BSD-2-Clause
//
// event.hpp: the pending events of a rank, and their order.
//
// Events of one rank happen in the order of their times. Events of the same time are ordered by:
//
//   1. the time at which the event was caused, then that of its cause, then that of the cause's cause
//   2. operations before messages
//   3. the rank (of messages: the sender) and the operation's index
//
// This order depends only on an event's own history, and not on how ranks are spread over threads. It
// reproduces the order of the published simulator, which has one queue (first in, first out among equal
// times), on all schedules of the reference set.
//
// Heaps are pairing heaps [Fredman, Sedgewick, Sleator, Tarjan 1986] of nodes in a pool. A heap is the number
// of its root, so millions of small heaps cost four bytes each. A pool belongs to one thread.
#pragma once

#include "schedule.hpp"
#include "time.hpp"

#include <memory>
#include <vector>

namespace sim {

// Times at which an event, its cause, and the cause's cause were caused; -1 is the beginning of the
// simulation.
struct History {
    Time caused = -1;
    Time before = -1;
    Time earlier = -1;

    // Returns the history of an event that is caused by an event at `now` with this history.
    History next(Time now) const
    {
        return {now, caused, before};
    }
};

struct Event {
    Time time = 0;
    History history;
    std::uint32_t rank = 0;      // where it happens
    std::uint32_t operation = 0; // of `rank`, or of `source` for a message
    std::uint32_t source = ANY;  // the sending rank of a message; ANY: an operation becomes ready
    std::uint32_t info = 0;      // of a message: by which the program identifies it

    bool is_message() const
    {
        return source != ANY;
    }
};

inline bool happens_before(const Event &a, const Event &b)
{
    if (a.time != b.time)
        return a.time < b.time;
    if (a.history.caused != b.history.caused)
        return a.history.caused < b.history.caused;
    if (a.history.before != b.history.before)
        return a.history.before < b.history.before;
    if (a.history.earlier != b.history.earlier)
        return a.history.earlier < b.history.earlier;
    if (a.is_message() != b.is_message())
        return b.is_message();
    if (a.rank != b.rank)
        return a.rank < b.rank;
    if (a.source != b.source)
        return a.source < b.source;
    return a.operation < b.operation;
}

using HeapRoot = std::uint32_t; // ANY: an empty heap

class EventPool {
public:
    const Event &top(HeapRoot root) const
    {
        return node(root).event;
    }

    void push(HeapRoot &root, const Event &event)
    {
        const std::uint32_t added = allocate();

        node(added) = {event, ANY, ANY};
        root = root == ANY ? added : meld(root, added);
    }

    Event pop(HeapRoot &root)
    {
        const std::uint32_t top = root;
        const Event event = node(top).event;

        root = merge_children(node(top).child);
        node(top).sibling = free;
        free = top;
        return event;
    }

private:
    struct Node {
        Event event;
        std::uint32_t child, sibling;
    };
    static constexpr unsigned SLAB_BITS = 12;

    Node &node(std::uint32_t number)
    {
        return slabs[number >> SLAB_BITS][number & ((1u << SLAB_BITS) - 1)];
    }

    const Node &node(std::uint32_t number) const
    {
        return slabs[number >> SLAB_BITS][number & ((1u << SLAB_BITS) - 1)];
    }

    std::uint32_t allocate()
    {
        if (free == ANY) {
            if (count >> SLAB_BITS == slabs.size())
                slabs.push_back(std::make_unique_for_overwrite<Node[]>(1u << SLAB_BITS));
            return count++;
        }
        const std::uint32_t number = free;
        free = node(number).sibling;
        return number;
    }

    std::uint32_t meld(std::uint32_t a, std::uint32_t b)
    {
        if (happens_before(node(b).event, node(a).event))
            std::swap(a, b);
        node(b).sibling = node(a).child;
        node(a).child = b;
        return a;
    }

    // Merges neighbours in pairs from left to right, then all pairs from right to left.
    std::uint32_t merge_children(std::uint32_t child)
    {
        std::uint32_t pairs = ANY;

        while (child != ANY) {
            const std::uint32_t second = node(child).sibling;
            if (second == ANY) {
                node(child).sibling = pairs;
                pairs = child;
                break;
            }
            const std::uint32_t next = node(second).sibling;
            const std::uint32_t merged = meld(child, second);
            node(merged).sibling = pairs;
            pairs = merged;
            child = next;
        }
        if (pairs == ANY)
            return ANY;
        std::uint32_t root = pairs;
        for (std::uint32_t rest = node(pairs).sibling; rest != ANY;) {
            const std::uint32_t next = node(rest).sibling;
            root = meld(root, rest);
            rest = next;
        }
        return root;
    }

    std::vector<std::unique_ptr<Node[]>> slabs;
    std::uint32_t count = 0;
    std::uint32_t free = ANY;
};

} // namespace sim
