// SPDX-License-Identifier: BSD-2-Clause
//
// ring_engine.hpp: dissemination at a million ranks: the engine's rules (engine.hpp, docs/lab/loggops.md) for
// a pattern in which every rank, in every step, sends one message over a fixed distance and receives one.
//
// A rank takes 40 bytes: its clock, its step, and what it waits for. Messages wait in a list per group of
// ranks. So a rank is touched only if it has an event, and senders write to consecutive memory. Histories
// (event.hpp) are three distances of 32 bits, up to 4 ms. If a tie needs longer ones, run() gives up, and the
// general engine must be used.
//
// A step's send and receive become ready together. The receive is posted at that time; the send may have to
// wait longer. The step is over when the send has begun and the message was processed. The later of the two
// is the cause of the next step.
#pragma once

#include "engine.hpp"
#include "pattern.hpp"

#include <optional>

namespace sim {

class RingEngine {
public:
    // Returns whether this engine can simulate the pattern: eager dissemination without computations, handled
    // on arrival.
    static bool suits(const Pattern &pattern, const Parameters &parameters);

    RingEngine(const Pattern &pattern, const Parameters &parameters, const Noise &noise, unsigned threads);

    // Runs the simulation. Returns nothing if it gave up; else the result, the same as the general engine's
    // except the number of events.
    std::optional<Result> run();

    // Returns the latest rank's end of each iteration.
    std::vector<Time> iteration_ends() const;

private:
    static constexpr std::uint32_t POST_WAITS = 1; // the step's receive is not posted
    static constexpr std::uint32_t RECEIVED = 2;   // its message has been processed and its receive posted
    static constexpr std::uint32_t HANDLED =
        4; // << i: the message of step + i was processed, its receive not posted
    static constexpr unsigned HANDLED_BITS = 30;
    static constexpr std::uint32_t RANKS_AHEAD = 128;
    static constexpr std::uint32_t WORD = 64;   // ranks that are looked at together
    static constexpr std::uint32_t GROUP = 256; // ranks whose messages are in one list

    // The history of an event as distances in time: from the event back to when it was caused, from there
    // back to when its cause was caused, and once more. UINT32_MAX means that much or more.
    struct Past {
        std::uint32_t caused, before, earlier;

        // Returns the past of an event that an event with this past causes, `later` after it.
        Past next(Time later) const
        {
            return {limited(later), caused, before};
        }

        void put_off(Time more)
        {
            caused = limited(caused + more);
        }

        static std::uint32_t limited(Time time)
        {
            return static_cast<std::uint32_t>(std::min<Time>(time, UINT32_MAX));
        }
    };

    struct Message {
        Time time; // when it comes to the processor (again)
        Past past;
        std::uint32_t rank, step;
    };

    struct Rank {
        Time cpu = 0; // when the processor is free
        Time noise_start = NEVER;
        Past past = {1, 0, 0}; // of the step's send and receive, until the send has begun
        std::uint32_t noise_index = 0;
        std::uint32_t step = 0; // over all iterations
        std::uint32_t flags = 0;
    };
    static_assert(sizeof(Rank) == 40);

    // When the interfaces are free.
    struct Interfaces {
        Time send = 0, receive = 0;
    };

    // Messages to a group of ranks are in a chain of chunks. Free chunks are used again, the last one first,
    // as it is in the cache.
    struct Chunk {
        Chunk *next;
        std::array<Message, 31> messages;

        Chunk() : next(nullptr) // does not touch the messages
        {
        }
    };

    // A message of the group that is being processed, in its rank's list.
    struct Due {
        Message *message;
        std::uint32_t next; // in Part::due; 0: none
    };

    struct Mailbox {
        Chunk *first = nullptr;  // the only one that may not be full
        std::uint32_t count = 0; // of messages in the first
        Time earliest = NEVER;   // of messages that come in later windows
    };

    struct Part : Domain {
        std::vector<Time> group_times; // per group: none of its ranks has an event before
        LargeVector<Rank> states;
        LargeVector<Interfaces> interfaces; // per rank; empty if never busy for longer than the processor
        // Per rank: when its send comes to the processor (again); NEVER: it has begun. Whole words.
        LargeVector<Time> next_times;
        std::vector<Mailbox> outbox;           // per domain
        std::vector<Mailbox> mail;             // per group: sent before this window
        std::vector<Mailbox> later;            // per group: sent in this window, or kept for the next
        std::vector<LargeVector<Chunk>> slabs; // each has its full capacity from the beginning
        Chunk *free = nullptr;
        // For the group that is being processed:
        std::vector<Due> due; // messages that come before the window's end, after an unused entry
        std::array<std::uint32_t, GROUP>
            heads; // per rank: the first of its messages in `due`, in their order; 0: none
        std::array<std::uint64_t, GROUP / 64> busy; // a bit per rank: it has such messages
        std::vector<Time> iteration_ends;
        std::uint64_t messages = 0;
        Time maximum = 0;
        bool complete = true;
    };

    void begin(Part &part);
    void collect(Part &part, LargeVector<Time> &finish) const;
    void process_window(Part &part, Time end);
    void process_group(Part &part, std::size_t group, Time end);
    Chunk *fetch_due(Part &part, std::size_t group, Time end);
    std::uint32_t insert(Part &part, std::uint32_t head, std::uint32_t added);
    void process_messages(Part &part, std::uint32_t place, Time end);
    void own_event(Part &part, std::uint32_t number, Rank &rank, Time &next);
    void message_event(Part &part, Rank &rank, Time &next, const Message &message);
    void begin_send(Part &part, std::uint32_t number, Rank &rank, Time now);
    void complete(Part &part, Rank &rank, Time &next, const Past &past, Time now);
    int compare(const Past &a, const Past &b);
    bool happens_before(const Message &a, const Message &b);
    std::uint32_t source(std::uint32_t number, std::uint32_t step) const;
    static Message &slot(Part &part, Mailbox &mailbox);
    Message &slot(Part &part, std::uint32_t number, Time time);
    Mailbox &outbox(Part &part, std::uint32_t number);
    static void recycle(Part &part, Chunk *chunk);
    static void prefetch(const Chunk *chunk);
    static void prefetch_rank(const Part &part, std::uint32_t place);
    static Chunk *new_chunk(Part &part);
    static void deliver(Part &part, std::size_t group);
    void exchange(Part &part);
    Time finish(std::uint32_t number, Rank &rank, Time now, Time work) const;
    Time finish_ahead(std::uint32_t number, Rank &rank, Time now, Time work) const;
    Time delayed(std::uint32_t number, Rank &rank, Time now, Time work) const;

    const Parameters parameters;
    const Noise &noise;
    const ByteCost cost;
    // Without noise all ranks are alike, and a message from another rank could as well come from the rank
    // itself. Then one rank is simulated and stands for all.
    const std::uint32_t stands_for;
    const std::uint32_t ranks;
    const std::uint32_t rounds; // steps of an iteration
    const std::uint32_t iterations;
    const bool apart;       // noise that delays o delays neither the message nor g; O is not delayed
    const Time gap;         // of a message, its bytes included
    const bool gap_matters; // an interface may be busy when the processor is free again
    std::vector<std::uint32_t> distances;
    std::vector<std::unique_ptr<Part>> parts;
    std::atomic<bool> given_up = false;
};

} // namespace sim
