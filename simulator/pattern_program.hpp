// SPDX-License-Identifier: BSD-2-Clause
//
// pattern_program.hpp: a built-in pattern being executed: a Program (engine.hpp) that stores no schedule.
//
// A rank stores its step and how much of it is open. Its sends come to the processor one after the other, in
// the order that they would have if all were waiting. One event posts its receives together; it stands for
// the first of them. Operations are numbered within a step as in the schedule that goal_write.cpp writes:
// sends, then receives.
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
        const Step shape = shape_of(rank);

        if (shape.work > 0)
            return {OpType::calc, 0, 0, 0, 0, shape.work};
        if (index >= shape.sends)
            return {OpType::recv, 0, 0, 0, 0, 0};
        const std::uint32_t distance = distances[at.step];
        if (distance != 0) {
            const std::uint64_t to = std::uint64_t{rank} + distance;
            return {OpType::send,
                    0,
                    0,
                    static_cast<std::uint32_t>(to >= pattern.ranks() ? to - pattern.ranks() : to),
                    at.first_step + at.step,
                    0};
        }
        return {OpType::send,
                0,
                0,
                pattern.receiver(rank, at.step, index),
                at.first_step + pattern.received_in(rank, at.step),
                0};
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
        const Step shape = shape_of(rank);
        at.posted = at.unmatched > 0;
        if (shape.sends > 0 || shape.work > 0)
            release(0);
    }

    template <typename Release> void started(std::uint32_t rank, std::uint32_t index, const Release &release)
    {
        if (!histories.empty() && index + 1 < shape_of(rank).sends)
            release(index + 1, &histories[rank]);
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
        if (!histories.empty())
            histories[rank] = history;
        const Step shape = shape_of(rank);
        if (shape.sends > 0 || shape.work > 0)
            release(0, time);
        if (shape.receives > 0)
            release(shape.sends, time);
    }

    std::uint32_t posted_match(std::uint32_t rank, std::uint32_t, std::uint32_t info, bool take)
    {
        Progress &at = progress[rank];

        if (!at.posted || at.first_step + at.step != info)
            return ANY;
        if (take && --at.unmatched == 0)
            at.posted = false;
        return 0;
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

    // Sorts messages into the order of the step's receives.
    void sort(std::uint32_t rank, std::vector<Unexpected> &messages) const;

    void waiting(std::uint32_t, std::uint32_t) const
    {
    }

    // Returns the latest rank's end of each iteration.
    std::vector<Time> iteration_ends() const;

private:
    struct Progress {
        Time latest = 0;              // end of an operation so far
        std::uint32_t step = 0;       // within the iteration
        std::uint32_t first_step = 0; // steps of the iterations before
        std::uint32_t iteration = 0;
        std::uint32_t open = 0;      // operations of the step that have not finished
        std::uint32_t unmatched = 0; // receives of the step without a message
        bool posted = false;         // the receives are posted
    };
    struct StepCost {
        ByteCost cost;
        bool rendezvous;
    };

    Step shape_of(std::uint32_t rank) const
    {
        const std::uint32_t step = progress[rank].step;
        return alike[step] ? shapes[step] : pattern.step(rank, step);
    }

    std::uint32_t in_iteration(std::uint32_t step) const
    {
        return single ? step : step % pattern.steps();
    }

    // Goes to the next step in which the rank does something; false at the end.
    bool enter(std::uint32_t rank);

    const Pattern &pattern;
    std::vector<Progress> progress;
    std::vector<StepCost> step_costs;
    std::vector<Step> shapes;             // per step, of rank 0
    std::vector<bool> alike;              // all ranks have this shape
    std::vector<std::uint32_t> distances; // from rank to receiver if it is the same for all; else 0
    std::vector<History> histories;       // of the sends of a step, if there are several
    std::vector<std::atomic<Time>> ends;  // per iteration
    std::uint64_t largest = 0;
    bool single; // one iteration
};

// Simulates a pattern with the general engine, which can simulate all patterns that have messages.
Result pattern_simulate_general(PatternProgram &program, const Parameters &parameters, const Noise &noise,
                                unsigned threads, Timeline *timeline);

// Simulates a pattern with the fastest engine that can; `iteration_ends` gets the latest rank's end of each
// iteration. All engines give the same result, except the numbers of events and windows.
Result pattern_simulate(const Pattern &pattern, const Parameters &parameters, const Noise &noise,
                        unsigned threads, Timeline *timeline, std::vector<Time> &iteration_ends);

} // namespace sim
