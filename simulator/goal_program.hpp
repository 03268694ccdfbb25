// SPDX-License-Identifier: BSD-2-Clause
//
// goal_program.hpp: a schedule being executed: the Program (engine.hpp) of GOAL files.
//
// Receives that wait for nothing are posted at the beginning. They take no extra memory: they are found in
// the schedule, in its order. Receives that are posted later are in a list per rank. An operation that waits
// for others on several processors is ready at the latest of their ends. With one processor per rank the
// processor's clock gives the same.
#pragma once

#include "engine.hpp"
#include "schedule.hpp"

namespace sim {

class GoalProgram {
public:
    // Uses up `schedule`: keeps the progress in it.
    GoalProgram(Schedule &schedule, const Parameters &parameters);

    std::uint32_t ranks() const
    {
        return schedule.ranks();
    }

    unsigned cpus() const
    {
        return schedule.cpus;
    }

    unsigned nics() const
    {
        return schedule.nics;
    }

    std::uint64_t operations() const
    {
        return total;
    }

    std::uint64_t largest_message() const
    {
        return largest;
    }

    OperationView view(std::uint32_t rank, std::uint32_t index) const
    {
        const Operation &operation = at(rank, index);
        const KindCost &kind = kinds[operation.kind];
        return {kind.kind.type, kind.kind.cpu,  kind.kind.nic,
                operation.peer, operation.kind, kind.work + operation.peer * PS_PER_NS}; // only a calc has it
    }

    const ByteCost &cost(std::uint32_t kind) const
    {
        return kinds[kind].cost;
    }

    bool is_rendezvous(std::uint32_t kind) const
    {
        return kinds[kind].rendezvous;
    }

    template <typename Release> void begin(std::uint32_t rank, const Release &release)
    {
        Posted &receives = posted[rank];
        const RankPlace &place = schedule.places[rank];

        receives.first_open = place.count;
        for (std::uint32_t i = 0; i < place.count; i++) {
            Operation &operation = at(rank, i);
            if (operation.progress != 0)
                continue;
            if (!posts_first || kinds[operation.kind].kind.type != OpType::recv) {
                receives.unreleased++;
                continue;
            }
            operation.progress = PROGRESS_POSTED;
            receives.open++;
            receives.first_open = std::min(receives.first_open, i);
        }
        for (std::uint32_t i = 0; receives.unreleased > 0; i++) {
            if (at(rank, i).progress == 0) {
                receives.unreleased--;
                release(i);
                if (one_at_a_time)
                    break;
            }
        }
    }

    template <typename Release>
    [[gnu::always_inline]] inline void started(std::uint32_t rank, std::uint32_t index,
                                               const Release &release)
    {
        const Operation &operation = at(rank, index);

        if (operation.successors == SUCCESSORS_OTHER) [[unlikely]]
            each_successor_of(rank, index, [&](std::uint32_t next, bool start) {
                if (start && no_longer_waits(rank, next))
                    release(next, nullptr);
            });
        // Operations that are ready from the beginning are released one by one, each when the last has begun.
        if (operation.progress == 0 && posted[rank].unreleased > 0 && one_at_a_time) [[unlikely]] {
            static const History beginning;
            std::uint32_t next = index + 1;
            while (at(rank, next).progress != 0)
                next++;
            posted[rank].unreleased--;
            release(next, &beginning);
        }
    }

    template <typename Release>
    void done(std::uint32_t rank, std::uint32_t index, Time time, const History &, const Release &release)
    {
        Operation &operation = at(rank, index);

        operation.progress = PROGRESS_FINISHED;
        // By the time that the rank gets there, others will have had their turns.
        __builtin_prefetch(&operation + PREFETCH_AHEAD, 1);
        each_successor_of(rank, index, [&](std::uint32_t next, bool start) {
            Time ready = time;
            if (start)
                return;
            if (!latest.empty())
                ready = latest[latest_at(rank, next)] = std::max(latest[latest_at(rank, next)], time);
            if (no_longer_waits(rank, next))
                release(next, ready);
        });
    }

    std::uint32_t posted_match(std::uint32_t rank, std::uint32_t source, std::uint32_t kind, bool take);

    bool accepts(std::uint32_t rank, std::uint32_t index, std::uint32_t source, std::uint32_t kind) const
    {
        const Operation &receive = at(rank, index);
        const std::uint32_t tag = kinds[receive.kind].kind.tag;

        return (receive.peer == source || receive.peer == ANY) && (tag == kinds[kind].kind.tag || tag == ANY);
    }

    bool consume(std::uint32_t, std::uint32_t) const
    {
        return false;
    }

    void post(std::uint32_t rank, std::uint32_t index)
    {
        at(rank, index).progress = PROGRESS_WAITING;
        posted[rank].later.push_back(index);
    }

    void sort(std::uint32_t, std::vector<Unexpected> &) const
    {
    }

    void waiting(std::uint32_t rank, std::uint32_t index)
    {
        at(rank, index).progress = PROGRESS_WAITING;
    }

    // Returns up to `lines_max` lines on which operation waits for what, most useful first, for a run that is
    // not complete.
    std::vector<std::string> stuck(const std::vector<Unexpected> &left_over, std::size_t lines_max) const;

private:
    static constexpr std::size_t PREFETCH_AHEAD = 16; // operations

    struct KindCost {
        Kind kind;
        ByteCost cost;
        Time work;
        bool rendezvous;
    };
    // Receives that are posted and not matched.
    struct Posted {
        std::uint32_t first_open = 0;     // the first open receive that was posted at the beginning, or less
        std::uint32_t open = 0;           // receives that were posted at the beginning
        std::uint32_t unreleased = 0;     // other operations that are ready from the beginning
        std::vector<std::uint32_t> later; // posted later, in order
    };

    Operation &at(std::uint32_t rank, std::uint32_t index) const
    {
        return operations_of[rank][index];
    }

    template <typename Visit>
    void each_successor_of(std::uint32_t rank, std::uint32_t index, const Visit &visit) const
    {
        const RankPlace &place = schedule.places[rank];

        each_successor(*place.chunk, place.first, index, visit);
    }

    // Notes that something for which `index` waited has happened; returns whether it was the last.
    bool no_longer_waits(std::uint32_t rank, std::uint32_t index)
    {
        std::uint8_t &state = at(rank, index).progress;

        if (state == PROGRESS_MANY) {
            // Safe: only this rank's thread changes this count, and the map's shape does not change.
            const RankPlace &place = schedule.places[rank];
            std::uint32_t &count = place.chunk->many.find(place.first + index)->second;
            if (--count == 0)
                state = PROGRESS_READY;
        } else if (--state == 0) {
            state = PROGRESS_READY;
        }
        return state == PROGRESS_READY;
    }

    std::size_t latest_at(std::uint32_t rank, std::uint32_t index) const
    {
        return first_operation[rank] + index;
    }

    Schedule &schedule;
    std::vector<Operation *> operations_of; // each rank's
    std::vector<KindCost> kinds;
    std::vector<Posted> posted;
    std::vector<std::size_t> first_operation; // of each rank among all, if there are several processors
    std::vector<Time> latest;                 // per operation, if there are several processors
    std::uint64_t total;
    std::uint64_t largest = 0;
    // Receives that wait for nothing are posted without an event.
    bool posts_first;
    // One processor and one interface: operations that wait for nothing begin in their order.
    bool one_at_a_time;
};

// Simulates a schedule. `left_over`, unless null, gets the messages that were never received. Only
// goal_program.cpp compiles the engine for schedules.
Result goal_simulate(GoalProgram &program, const Parameters &parameters, const Noise &noise, unsigned threads,
                     Timeline *timeline, std::vector<Unexpected> *left_over = nullptr);

} // namespace sim
