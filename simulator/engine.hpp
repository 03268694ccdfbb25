// SPDX-License-Identifier: BSD-2-Clause
//
// engine.hpp: the discrete-event simulation of LogGOPS [Hoefler10 §III-A, §IV].
//
// The rules are in docs/lab/loggops.md. The ranks execute a Program: a schedule (goal_program.hpp) or a
// built-in pattern (pattern_program.hpp). The engine simulates processors, network interfaces, messages and
// noise.
//
// A message takes at least o + L from the start of its send to its arrival. So ranks are independent within a
// window of that length. Each thread takes its part of the ranks through the window (windows.hpp), rank by
// rank, which keeps a rank's data in the cache. A tree (time_tree.hpp) finds the ranks that have events.
// Messages to other threads' ranks are handed over between windows. The order of a rank's events (event.hpp)
// depends only on their own history, so the results depend neither on windows nor on threads.
//
// A rendezvous lets the sender continue at the moment its message is received, so no window is short enough.
// Such simulations run in one thread, which processes the events of all ranks in one order.
//
// A Program offers:
//     ranks(), cpus(), nics(), operations()
//     largest_message()
//         in bytes
//     view(rank, operation)
//         the operation's OperationView
//     cost(info), is_rendezvous(info)
//         of a message
//     begin(rank, release)
//         posts first receives; calls release(operation) for other operations that are ready
//     started(rank, operation, release)
//         calls release(operation, its history or null) for operations that this makes ready
//     done(rank, operation, time, history, release)
//         calls release(operation, time) for operations that this makes ready
//     posted_match(rank, source, info, take)
//         returns the posted receive for a message, or ANY; removes it if `take`
//     accepts(rank, operation, source, info)
//         returns whether this receive takes the message
//     consume(rank, operation)
//         takes an unexpected message; returns false if the receive takes no further message
//     post(rank, operation)
//         posts the receive, or what remains of it
//     sort(rank, messages)
//         sorts several unexpected messages into the order in which they are received
//     waiting(rank, operation)
//         notes that a send whose receiver is not ready has begun
#pragma once

#include "event.hpp"
#include "noise.hpp"
#include "pages.hpp"
#include "parameters.hpp"
#include "rank_events.hpp"
#include "time_tree.hpp"
#include "timeline.hpp"
#include "waiters.hpp"
#include "windows.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace sim {

struct OperationView {
    OpType type;
    std::uint8_t cpu, nic;
    std::uint32_t peer;
    std::uint32_t info; // of a message
    Time work;          // of a calc
};

struct Result {
    LargeVector<Time> finish; // per rank: the end of its last operation, or of a message that it received
    Time maximum = 0;
    std::uint64_t operations = 0; // finished
    std::uint64_t events = 0;     // processed; an event that is put off counts again
    std::uint64_t messages = 0;
    std::uint64_t windows = 0;
    bool complete = true; // every operation has finished, every message was received
};

// A message that arrived before its receive was posted.
struct Unexpected {
    std::uint32_t rank; // that received it
    std::uint32_t source, operation, info;
    Time ready; // when its processing has ended
    std::uint32_t next;
};

template <typename Program> class Engine {
public:
    Engine(Program &what, const Parameters &given, const Noise &disturbance, unsigned threads,
           Timeline *record)
        : program(what), parameters(given), noise(disturbance), timeline(record), ranks(what.ranks()),
          stride(what.cpus() + 2 * what.nics()), alike(stride == 3 && given.handling == Handling::arrival),
          large(ranks > 4096), states(ranks), clocks(std::size_t{ranks} * stride)
    {
        const Time lookahead = parameters.overhead_send + parameters.latency;
        // The published cost of messages of no bytes can be negative. Then a cause may come after its effect.
        sequential = program.largest_message() > parameters.eager_limit || lookahead == 0 ||
                     parameters.zero_bytes == ZeroBytes::published || parameters.order == Order::published;
        window = lookahead;
        domains_deal(domains, sequential || timeline ? 1 : std::clamp<unsigned>(threads, 1, ranks), ranks);
        for (const auto &domain : domains)
            domain->outbox.resize(domains.size());
    }

    Result run()
    {
        Team team(domains.size());

        domains_each(team, domains, [this](Part &domain) { begin(domain); });
        if (sequential)
            run_sequential(*domains[0]);
        else
            windows = windows_run(
                team, domains, stop, window, [](const Part &domain) { return domain.next_times.earliest(); },
                [this](Part &domain, Time end) { process_window(domain, end); },
                [this](Part &domain) { fetch_mail(domain); });
        return collect();
    }

    // Returns the messages that were never received; call it after run().
    std::vector<Unexpected> left_over() const
    {
        std::vector<Unexpected> all;

        for (const auto &domain : domains)
            for (std::uint32_t rank = domain->first; rank < domain->last; rank++)
                for (std::uint32_t i = states[rank].unexpected; i != ANY; i = domain->unexpected[i].next)
                    all.push_back(domain->unexpected[i]);
        return all;
    }

private:
    static bool happens_after(const Event &a, const Event &b)
    {
        return happens_before(b, a);
    }

    struct RankState {
        Time finish = 0;
        NoiseCursor cursor;
        std::uint32_t unexpected = ANY, unexpected_last = ANY;
        std::uint32_t waiters = ANY; // in Part::waiters, once many events have waited at this rank
        std::uint8_t lines = 0;      // a bit for each resource for which a line waits
        RankEvents events;
    };

    // The data that only one thread touches.
    struct Part : Domain {
        EventPool pool;
        TimeTree next_times;
        Event *in_place = nullptr; // RankEvents::each_before()
        // When sequential: the events up to the present time, in the order of a heap.
        std::vector<Event> present;
        Time now = -1;
        std::vector<Unexpected> unexpected;
        std::uint32_t unexpected_free = ANY;
        std::vector<Unexpected> taken;          // by the receive being posted
        std::vector<std::vector<Event>> outbox; // per domain
        std::array<Event, 32> on_the_way;       // messages to ranks of this domain, a ring
        std::uint64_t sent = 0;                 // in this window
        std::uint64_t messages = 0, operations = 0;
        std::deque<Waiters> waiters;
        WaitingRoom waiting;
        // For the published order: operations that the event made ready, and the number of events made.
        std::vector<Event> ready;
        Time made = 0;
    };

    Time &cpu_free(std::uint32_t rank, unsigned cpu)
    {
        return clocks[std::size_t{rank} * stride + cpu];
    }

    Time &nic_send_free(std::uint32_t rank, unsigned nic)
    {
        return clocks[std::size_t{rank} * stride + program.cpus() + nic];
    }

    Time &nic_receive_free(std::uint32_t rank, unsigned nic)
    {
        return clocks[std::size_t{rank} * stride + program.cpus() + program.nics() + nic];
    }

    // ---- Driving ----

    void begin(Part &domain)
    {
        domain.next_times.reset(domain.first, domain.last);
        for (std::uint32_t rank = domain.first; rank < domain.last; rank++) {
            states.make(rank).cursor = noise.begin(rank);
            for (std::size_t clock = 0; clock < stride; clock++)
                clocks.make(rank * stride + clock) = 0;
            program.begin(rank, [&](std::uint32_t operation) { push_ready(domain, 0, {}, rank, operation); });
            push_in_published_order(domain);
        }
    }

    // Processes the events of all ranks in one order: collects those of the next time from their ranks.
    void run_sequential(Part &domain)
    {
        while ((domain.now = domain.next_times.earliest()) != NEVER) {
            domain.next_times.each_due(
                domain.now + 1, [this](std::uint32_t rank) { prefetch(rank); }, large,
                [&](std::uint32_t rank) {
                    return states[rank].events.take_until(
                        domain.now, domain.pool, [&](const Event &event) { push_present(domain, event); });
                });
            while (!domain.present.empty()) {
                std::pop_heap(domain.present.begin(), domain.present.end(), happens_after);
                Event event = domain.present.back();
                domain.present.pop_back();
                handle(domain, event);
                push_in_published_order(domain);
            }
        }
    }

    [[gnu::noinline]] void push_present(Part &domain, const Event &event)
    {
        domain.present.push_back(event);
        std::push_heap(domain.present.begin(), domain.present.end(), happens_after);
    }

    // Adds an operation that has become ready.
    [[gnu::always_inline]] inline void push_ready(Part &domain, Time time, const History &history,
                                                  std::uint32_t rank, std::uint32_t operation)
    {
        if (parameters.order == Order::published)
            domain.ready.push_back({time, history, rank, operation, ANY, 0});
        else
            deliver(domain, time, history, rank, operation, ANY, 0);
    }

    // Pushes the operations that became ready at once: rank by rank, sends, receives and computations. The
    // published simulator uses std::sort, which is not stable, so the same must be used here.
    void push_in_published_order(Part &domain)
    {
        std::vector<Event> &ready = domain.ready;
        const auto lower_rank = [](const Event &a, const Event &b) { return a.rank < b.rank; };

        if (!std::is_sorted(ready.begin(), ready.end(), lower_rank))
            std::stable_sort(ready.begin(), ready.end(), lower_rank);
        for (auto first = ready.begin(); first != ready.end();) {
            const auto last = std::find_if(first, ready.end(),
                                           [&](const Event &event) { return event.rank != first->rank; });
            if (last - first > 1)
                std::sort(first, last, [this](const Event &a, const Event &b) {
                    return program.view(a.rank, a.operation).type < program.view(b.rank, b.operation).type;
                });
            for (; first != last; ++first)
                deliver_numbered(domain, *first);
        }
        ready.clear();
    }

    // Delivers an event of the published order, which is that of the numbers among equal times.
    void deliver_numbered(Part &domain, const Event &event)
    {
        Event numbered = event;

        numbered.history = {domain.made++, 0, 0};
        deliver(domain, numbered);
    }

    void fetch_mail(Part &domain)
    {
        for (const auto &other : domains) {
            std::vector<Event> &mail = other->outbox[domain.number];
            for (const Event &event : mail)
                send_far(domain, event);
            mail.clear();
        }
        deliver_all(domain);
    }

    void prefetch(std::uint32_t rank) const
    {
        const char *const state = reinterpret_cast<const char *>(&states[rank]);

        for (std::size_t line = 0; line < sizeof(RankState); line += 64)
            __builtin_prefetch(state + line, 1);
    }

    void process_window(Part &domain, Time end)
    {
        domain.next_times.each_due(
            end, [this](std::uint32_t rank) { prefetch(rank); }, large,
            [&](std::uint32_t rank) {
                return states[rank].events.each_before(end, domain.pool, domain.in_place,
                                                       [&](Event &event) { handle(domain, event); });
            });
    }

    // Sends a message to its rank.
    [[gnu::always_inline]] inline void send_away(Part &domain, Time time, const History &history,
                                                 std::uint32_t rank, std::uint32_t operation,
                                                 std::uint32_t source, std::uint32_t info)
    {
        if (!large && parameters.order != Order::published && domain.has(rank))
            deliver(domain, time, history, rank, operation, source, info);
        else
            send_far(domain, {time, history, rank, operation, source, info});
    }

    void send_far(Part &domain, const Event &message)
    {
        if (parameters.order == Order::published) {
            deliver_numbered(domain, message);
            return;
        }
        if (!domain.has(message.rank)) {
            for (const auto &other : domains)
                if (other->has(message.rank))
                    domain.outbox[other->number].push_back(message);
            return;
        }
        if (sequential) {
            deliver(domain, message);
            return;
        }
        // It arrives after this window, so there is time to fetch the rank's data into the cache.
        prefetch(message.rank);
        domain.next_times.prefetch(message.rank);
        Event &slot = domain.on_the_way[domain.sent++ % domain.on_the_way.size()];
        const Event older = slot;
        slot = message;
        if (domain.sent > domain.on_the_way.size())
            deliver(domain, older);
    }

    // Delivers the messages of this window that are still on the way.
    void deliver_all(Part &domain)
    {
        const std::uint64_t size = domain.on_the_way.size();

        for (std::uint64_t i = domain.sent > size ? domain.sent - size : 0; i < domain.sent; i++)
            deliver(domain, domain.on_the_way[i % size]);
        domain.sent = 0;
    }

    void deliver(Part &domain, const Event &event)
    {
        deliver(domain, event.time, event.history, event.rank, event.operation, event.source, event.info);
    }

    // Gives an event to a rank of this domain.
    [[gnu::always_inline]] inline void deliver(Part &domain, Time time, const History &history,
                                               std::uint32_t rank, std::uint32_t operation,
                                               std::uint32_t source, std::uint32_t info)
    {
        if (time <= domain.now) [[unlikely]] {
            push_present(domain, {time, history, rank, operation, source, info});
            return;
        }
        states[rank].events.add(domain.pool, time, history, rank, operation, source, info);
        domain.next_times.add(rank, time);
    }

    // ---- Events ----

    void handle(Part &domain, Event &event)
    {
        domain.events++;
        if (event.time > TIME_LIMIT)
            throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
        if (event.is_message()) {
            arrive(domain, event);
            return;
        }
        const OperationView view = program.view(event.rank, event.operation);
        switch (view.type) {
        case OpType::calc:
            calc(domain, event, view);
            break;
        case OpType::send:
            send(domain, event, view);
            break;
        case OpType::recv:
            receive(domain, event);
            break;
        }
    }

    // Puts an event off; it keeps its place among events of the same time. If many events wait, all but one
    // wait aside (waiters.hpp).
    void put_off(Part &domain, Event &event, Resource resource, Time until)
    {
        RankState &state = states[event.rank];

        if (alike && (sequential || state.events.many())) {
            if (state.waiters == ANY) {
                state.waiters = static_cast<std::uint32_t>(domain.waiters.size());
                domain.waiters.emplace_back();
            }
            state.lines |= bit_of(resource);
            if (domain.waiters[state.waiters].keep(domain.waiting, resource, event))
                return;
        }
        put_at(domain, event, until);
    }

    // Notes that an event begins. If others have waited for the same resource, the next may try.
    [[gnu::always_inline]] inline void begun(Part &domain, const Event &event, Resource resource, Time free)
    {
        if (states[event.rank].lines & bit_of(resource)) [[unlikely]]
            call_next(domain, event, resource, free);
    }

    [[gnu::noinline]] void call_next(Part &domain, const Event &event, Resource resource, Time free)
    {
        RankState &state = states[event.rank];
        Event next;

        Waiters &waiters = domain.waiters[state.waiters];
        if (waiters.leave(domain.waiting, resource, event, next))
            put_at(domain, next, free);
        else if (waiters.empty(resource))
            state.lines &= static_cast<std::uint8_t>(~bit_of(resource));
    }

    static std::uint8_t bit_of(Resource resource)
    {
        return static_cast<std::uint8_t>(1u << static_cast<unsigned>(resource));
    }

    void put_at(Part &domain, Event &event, Time time)
    {
        event.time = time;
        if (&event == domain.in_place)
            domain.in_place = nullptr;
        else
            deliver(domain, event);
    }

    void calc(Part &domain, Event &event, const OperationView &view)
    {
        Time &cpu = cpu_free(event.rank, view.cpu);

        if (cpu > event.time) {
            put_off(domain, event, Resource::processor, cpu);
            return;
        }
        cpu = noise.finish(states[event.rank].cursor, event.time, view.work);
        if (timeline)
            timeline->work(event.rank, view.cpu, "calc", event.time, cpu);
        begun(domain, event, Resource::processor, cpu);
        started(domain, event, event.operation);
        done(domain, event, event.rank, event.operation, cpu);
    }

    void send(Part &domain, Event &event, const OperationView &view)
    {
        const std::uint32_t rank = event.rank;
        Time &cpu = cpu_free(rank, view.cpu);
        Time &nic = nic_send_free(rank, view.nic);
        const Time free = std::max(cpu, nic);

        if (free > event.time) {
            put_off(domain, event, Resource::sending, free);
            return;
        }
        const ByteCost &cost = program.cost(view.info);
        NoiseCursor &cursor = states[rank].cursor;
        const Time leaves = noise.finish(cursor, event.time, parameters.overhead_send);
        const Time sent = noise.spares_messages() ? event.time + parameters.overhead_send : leaves;
        cpu = cost.send > 0 && !noise.spares_messages() ? noise.finish_ahead(cursor, leaves, cost.send)
                                                        : leaves + cost.send;
        nic = sent - parameters.overhead_send + parameters.gap + cost.wire;
        states[rank].finish = std::max(states[rank].finish, cpu);
        domain.messages++;
        begun(domain, event, Resource::sending, std::max(cpu, nic));
        if (timeline)
            timeline->message_sent(rank, view.cpu, event.operation, event.time, cpu);
        started(domain, event, event.operation);
        send_away(domain, parameters.arrival(sent), event.history.next(event.time), view.peer,
                  event.operation, rank, view.info);
        if (!program.is_rendezvous(view.info))
            done(domain, event, rank, event.operation, cpu);
        else
            program.waiting(rank, event.operation);
    }

    // Has the receiver's processor take a message at `now`. Returns the end of the processing.
    Time process_message(std::uint32_t rank, const OperationView &view, std::uint32_t info, Time now,
                         NoiseCursor &cursor)
    {
        const ByteCost &cost = program.cost(info);
        const Time taken = noise.finish(cursor, now, parameters.overhead_receive);
        Time end = taken + cost.receive;

        if (cost.work > 0 && !noise.spares_messages())
            end = std::max(taken + cost.wire, noise.finish_ahead(cursor, taken, cost.work));
        cpu_free(rank, view.cpu) = end;
        nic_receive_free(rank, view.nic) =
            (noise.spares_messages() ? now : taken - parameters.overhead_receive) + parameters.gap +
            cost.wire;
        states[rank].finish = std::max(states[rank].finish, end);
        return end;
    }

    void arrive(Part &domain, Event &event)
    {
        const std::uint32_t rank = event.rank;
        std::uint32_t receive = ANY;

        // Only looks up the receive; it is taken when the processor is free.
        if (parameters.handling == Handling::posted || stride > 3)
            receive = program.posted_match(rank, event.source, event.info, false);
        if (parameters.handling == Handling::posted && receive == ANY) {
            keep(domain, event, event.time);
            return;
        }
        // A posted receive names the processor and the interface. Without one the sender's numbers are used.
        OperationView view{};
        if (stride > 3)
            view = receive == ANY ? program.view(event.source, event.operation) : program.view(rank, receive);
        const Time free = std::max(cpu_free(rank, view.cpu), nic_receive_free(rank, view.nic));
        if (free > event.time) {
            put_off(domain, event, Resource::receiving, free);
            return;
        }
        const Time end = process_message(rank, view, event.info, event.time, states[rank].cursor);
        begun(domain, event, Resource::receiving,
              std::max(cpu_free(rank, view.cpu), nic_receive_free(rank, view.nic)));
        if (timeline)
            timeline->message_received(rank, view.cpu, event.source, event.operation, event.time, end);
        receive = program.posted_match(rank, event.source, event.info, true);
        if (receive == ANY) {
            keep(domain, event, end);
            return;
        }
        if (program.is_rendezvous(event.info))
            done(domain, event, event.source, event.operation, event.time);
        done(domain, event, rank, receive, end);
    }

    void receive(Part &domain, Event &event)
    {
        const std::uint32_t rank = event.rank;
        RankState &state = states[rank];
        std::vector<Unexpected> &taken = domain.taken;
        std::uint32_t previous = ANY;
        bool open = true;

        started(domain, event, event.operation);
        taken.clear();
        for (std::uint32_t i = state.unexpected; i != ANY && open;) {
            const Unexpected message = domain.unexpected[i];
            if (!program.accepts(rank, event.operation, message.source, message.info)) {
                previous = i;
                i = message.next;
                continue;
            }
            (previous == ANY ? state.unexpected : domain.unexpected[previous].next) = message.next;
            if (state.unexpected_last == i)
                state.unexpected_last = previous;
            domain.unexpected[i].next = domain.unexpected_free;
            domain.unexpected_free = i;
            i = message.next;
            open = program.consume(rank, event.operation);
            taken.push_back(message);
        }
        if (open)
            program.post(rank, event.operation);
        if (taken.size() > 1)
            program.sort(rank, taken);
        for (const Unexpected &message : taken)
            take_unexpected(domain, event, message);
    }

    void take_unexpected(Part &domain, Event &event, const Unexpected &message)
    {
        Time now = event.time;
        Time end = std::max(now, message.ready);

        if (parameters.handling == Handling::posted) {
            // The processor is reserved for the message from now on.
            const OperationView view = program.view(event.rank, event.operation);
            NoiseCursor &moved = states[event.rank].cursor;
            NoiseCursor cursor = moved;
            now = std::max({now, cpu_free(event.rank, view.cpu), nic_receive_free(event.rank, view.nic)});
            end = process_message(event.rank, view, message.info, now, noise.by_work() ? moved : cursor);
            if (timeline)
                timeline->message_received(event.rank, view.cpu, message.source, message.operation, now, end);
        }
        if (program.is_rendezvous(message.info))
            done(domain, event, message.source, message.operation, now);
        done(domain, event, event.rank, event.operation, end);
    }

    void keep(Part &domain, const Event &event, Time ready)
    {
        RankState &state = states[event.rank];
        std::uint32_t i = domain.unexpected_free;

        if (i == ANY) {
            i = static_cast<std::uint32_t>(domain.unexpected.size());
            domain.unexpected.emplace_back();
        } else {
            domain.unexpected_free = domain.unexpected[i].next;
        }
        domain.unexpected[i] = {event.rank, event.source, event.operation, event.info, ready, ANY};
        (state.unexpected == ANY ? state.unexpected : domain.unexpected[state.unexpected_last].next) = i;
        state.unexpected_last = i;
    }

    // ---- Dependencies ----

    [[gnu::always_inline]] inline void started(Part &domain, const Event &event, std::uint32_t operation)
    {
        program.started(event.rank, operation, [&](std::uint32_t next, const History *history) {
            release(domain, event.rank, next, event.time,
                    history ? *history : event.history.next(event.time));
        });
    }

    [[gnu::always_inline]] inline void done(Part &domain, const Event &event, std::uint32_t rank,
                                            std::uint32_t operation, Time time)
    {
        const History history = event.history.next(event.time);

        states[rank].finish = std::max(states[rank].finish, time);
        domain.operations++;
        program.done(rank, operation, time, history,
                     [&](std::uint32_t next, Time ready) { release(domain, rank, next, ready, history); });
    }

    // Makes an operation ready; it comes to the processor when that is free.
    [[gnu::always_inline]] inline void release(Part &domain, std::uint32_t rank, std::uint32_t operation,
                                               Time ready, const History &history)
    {
        const unsigned cpu = stride > 3 ? program.view(rank, operation).cpu : 0;

        push_ready(domain, std::max(ready, cpu_free(rank, cpu)), history, rank, operation);
    }

    Result collect()
    {
        Result result;

        result.finish.reserve(ranks);
        for (std::uint32_t rank = 0; rank < ranks; rank++) {
            const RankState &state = states[rank];
            result.finish.push_back(state.finish);
            result.maximum = std::max(result.maximum, state.finish);
            result.complete &= state.unexpected == ANY;
        }
        for (const auto &domain : domains) {
            result.operations += domain->operations;
            result.events += domain->events;
            result.messages += domain->messages;
        }
        result.windows = windows;
        result.complete &= result.operations == program.operations();
        return result;
    }

    Program &program;
    const Parameters parameters;
    const Noise &noise;
    Timeline *const timeline;
    const std::uint32_t ranks;
    const std::size_t stride;
    // True if each rank has one processor and one interface, and takes messages whether or not their receive
    // is posted. Then all events that wait for the same resource look at the same clocks.
    const bool alike;
    const bool large; // the ranks' states do not fit into a processor's cache
    bool sequential = false;
    Time window = 0;
    std::uint64_t windows = 0;
    std::atomic<bool> stop = false;
    std::vector<std::unique_ptr<Part>> domains;
    LargeRoom<RankState> states;
    LargeRoom<Time> clocks; // per rank: processors, interfaces for sending, interfaces for receiving
};

} // namespace sim
