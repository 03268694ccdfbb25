// SPDX-License-Identifier: BSD-2-Clause
//
// ring_engine.hpp: dissemination at a million ranks: the engine's rules (engine.hpp, docs/lab/loggops.md) for a pattern in whose
// every step each rank sends one message to a fixed distance and receives one.
//
// A rank is two cache lines: its clocks, its step, and the messages on their way to it. Histories (event.hpp) are one time and two
// distances of 32 bits, 4 ms; when a tie would need longer ones, run() gives up and the general engine has to do it.
//
// Of a step's two operations, receive and send become ready together, at `ready`; the receive is posted at that time, the send may
// have to wait longer. The step is over when the send has begun and the message was processed; whichever happens last is the
// cause of the next step.
#pragma once

#include "engine.hpp"
#include "pattern.hpp"

#include <optional>

namespace sim {

class RingEngine {
public:
    // True when this engine knows the pattern: eager dissemination without computations, handled on arrival.
    static bool suits(const Pattern &pattern, const Parameters &parameters);

    RingEngine(const Pattern &pattern, const Parameters &parameters, const Noise &noise, unsigned threads);

    // Nothing when it gave up; else the result, the same as the general engine's but for the number of events.
    std::optional<Result> run();

    // The end of each iteration: the latest rank's.
    std::vector<Time> iteration_ends() const;

private:
    static constexpr std::uint8_t SEND_WAITS = 1; // the step's send has not begun
    static constexpr std::uint8_t POST_WAITS = 2; // its receive is not posted
    static constexpr std::uint8_t RECEIVED = 4;   // its message has been processed and its receive posted
    static constexpr unsigned SLOTS = 2;
    static constexpr unsigned HANDLED_BITS = 32;

    // History::caused, and how much earlier its cause was caused, and that one's; UINT32_MAX: that much or more.
    struct Past {
        Time caused = -1;
        std::uint32_t before = 0, earlier = 0;

        // The past of what an event at `now` with this past causes.
        Past next(Time now) const
        {
            return {now, static_cast<std::uint32_t>(std::min<Time>(now - caused, UINT32_MAX)), before};
        }
    };

    struct Message {
        Time time;
        Past past;
        std::uint32_t rank, step;
    };

    struct alignas(64) Rank {
        Time cpu = 0;              // when it is free
        Time ready = 0;            // of the send: when it comes to the processor (again)
        Time noise_start = NEVER;
        Past past;                 // of the step's send and receive
        std::uint32_t noise_index = 0;
        std::uint32_t nic_send = 0, nic_receive = 0; // how much later than the processor they are free
        std::uint32_t step = 0;    // over all iterations
        std::uint32_t handled = 0; // bit i: the message of step + i was processed, its receive not posted
        std::uint8_t flags = 0;
        std::uint8_t count = 0;    // messages in the slots
        // Messages that come, or wait for the processor.
        std::array<std::uint32_t, SLOTS> steps;
        std::array<Time, SLOTS> times;
        std::array<Past, SLOTS> pasts;
        std::uint32_t more = ANY;  // further ones, in the domain's list
    };
    static_assert(sizeof(Rank) == 128);

    struct Overflow {
        Message message;
        std::uint32_t next;
    };

    struct Part : Domain {
        std::vector<std::vector<Message>> outbox; // per domain
        std::array<Message, 32> on_the_way;       // to ranks of this domain, the oldest overwritten
        std::uint64_t sent = 0;                   // in this window
        std::vector<Overflow> overflow;
        std::uint32_t overflow_free = ANY;
        std::vector<Time> iteration_ends;
        std::uint64_t events = 0, messages = 0;
    };

    void begin(Part &part);
    void process_window(Part &part, Time end);
    void process_rank(Part &part, std::uint32_t number, Time end);
    void own_event(Part &part, std::uint32_t number, Rank &rank);
    bool message_event(Part &part, std::uint32_t number, Rank &rank, Time &time, const Past &past, std::uint32_t step);
    void begin_send(Part &part, std::uint32_t number, Rank &rank, Time now);
    void complete(Part &part, Rank &rank, const Past &past, Time now);
    static void take(Rank &rank, Time end);
    static std::uint32_t after(const Rank &rank, Time time);
    int compare(const Past &a, const Past &b);
    std::uint32_t source(std::uint32_t number, std::uint32_t step) const;
    void transmit(Part &part, const Message &message);
    void deliver(Part &part, const Message &message);
    void exchange(Part &part);
    void drop_slot(Part &part, Rank &rank, unsigned slot);
    Time finish(std::uint32_t number, Rank &rank, Time now, Time work) const;
    Time finish_ahead(std::uint32_t number, const Rank &rank, Time now, Time work) const;

    const Parameters parameters;
    const Noise &noise;
    const ByteCost cost;
    const std::uint32_t ranks;
    const std::uint32_t rounds; // steps of an iteration
    const std::uint32_t iterations;
    const bool gap_from_start;  // g counts from the start of o, also when noise delays o
    std::vector<std::uint32_t> distances;
    std::vector<std::unique_ptr<Part>> parts;
    LargeVector<Rank> states;
    LargeVector<Time> next_times;
    std::atomic<bool> given_up = false;
};

} // namespace sim
