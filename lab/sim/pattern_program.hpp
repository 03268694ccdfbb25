// SPDX-License-Identifier: BSD-2-Clause
//
// pattern_program.hpp: a built-in pattern being executed: the Program (engine.hpp) that never stores a schedule.
//
// A rank remembers its step and how much of it is open. Its sends come to the processor one after the other, with the order
// that they would have if all were waiting; its receives are posted together by one event, which stands for the first of
// them. Operations are numbered within a step as in the schedule that goal_write.cpp writes: sends, then receives.
#pragma once

#include "engine.hpp"
#include "pattern.hpp"

namespace sim {

class PatternProgram {
public:
    PatternProgram(const Pattern &pattern, const Parameters &parameters);

    std::uint32_t ranks() const
    {
        return pattern.ranks();
    }

    unsigned cpus() const
    {
        return 1;
    }

    unsigned nics() const
    {
        return 1;
    }

    std::uint64_t operations() const
    {
        return pattern.operations() * pattern.options().iterations;
    }

    std::uint64_t largest_message() const
    {
        return largest;
    }

    OperationView view(std::uint32_t rank, std::uint32_t index) const
    {
        const Progress &at = progress[rank];
        const std::uint32_t step = at.step;

        if (at.shape.work > 0)
            return {OpType::calc, 0, 0, 0, 0, at.shape.work};
        if (index >= at.shape.sends)
            return {OpType::recv, 0, 0, 0, 0, 0};
        return {OpType::send, 0, 0, pattern.receiver(rank, step, index), at.first_step + pattern.received_in(rank, step), 0};
    }

    const ByteCost &cost(std::uint32_t info) const
    {
        return step_costs[in_iteration(info)].cost;
    }

    bool is_rendezvous(std::uint32_t info) const
    {
        return step_costs[in_iteration(info)].rendezvous;
    }

    template <typename Release> void begin(std::uint32_t rank, const Release &release)
    {
        if (!enter(rank))
            return;
        Progress &at = progress[rank];
        at.posted = at.unmatched > 0;
        if (at.shape.sends > 0 || at.shape.work > 0)
            release(0);
    }

    template <typename Release> void started(std::uint32_t rank, std::uint32_t index, const Release &release)
    {
        const Progress &at = progress[rank];

        if (index + 1 < at.shape.sends)
            release(index + 1, &at.history);
    }

    template <typename Release>
    void done(std::uint32_t rank, std::uint32_t, Time time, const History &history, const Release &release)
    {
        Progress &at = progress[rank];

        at.latest = std::max(at.latest, time);
        if (--at.open > 0)
            return;
        at.step++;
        if (!enter(rank))
            return;
        at.history = history;
        if (at.shape.sends > 0 || at.shape.work > 0)
            release(0, time);
        if (at.shape.receives > 0)
            release(at.shape.sends, time);
    }

    std::uint32_t posted_match(std::uint32_t rank, std::uint32_t, std::uint32_t info, bool take)
    {
        Progress &at = progress[rank];

        if (!at.posted || at.first_step + at.step != info)
            return ANY;
        if (take && --at.unmatched == 0)
            at.posted = false;
        return at.shape.sends;
    }

    bool accepts(std::uint32_t rank, std::uint32_t, std::uint32_t, std::uint32_t info) const
    {
        const Progress &at = progress[rank];
        return at.first_step + at.step == info;
    }

    bool consume(std::uint32_t rank, std::uint32_t)
    {
        return --progress[rank].unmatched > 0;
    }

    void post(std::uint32_t rank, std::uint32_t)
    {
        progress[rank].posted = true;
    }

    // In the order of the step's receives.
    void sort(std::uint32_t rank, std::vector<Unexpected> &messages) const;

    void waiting(std::uint32_t, std::uint32_t) const
    {
    }

    // The end of each iteration: the latest rank's.
    std::vector<Time> iteration_ends() const;

private:
    struct Progress {
        Step shape;              // of the step
        std::uint32_t step = 0;  // within the iteration
        std::uint32_t first_step = 0; // steps of the iterations before
        std::uint32_t iteration = 0;
        std::uint32_t open = 0;  // operations of the step that have not finished
        std::uint32_t unmatched = 0; // receives of the step without a message
        bool posted = false;     // the receives are
        Time latest = 0;         // end of an operation so far
        History history;         // of the sends of the step
    };
    struct StepCost {
        ByteCost cost;
        bool rendezvous;
    };

    std::uint32_t in_iteration(std::uint32_t step) const
    {
        return single ? step : step % pattern.steps();
    }

    // Goes to the next step in which the rank does something; false at the end.
    bool enter(std::uint32_t rank);

    const Pattern &pattern;
    std::vector<Progress> progress;
    std::vector<StepCost> step_costs;
    std::vector<std::atomic<Time>> ends; // per iteration
    std::uint64_t largest = 0;
    bool single; // one iteration
};

} // namespace sim
