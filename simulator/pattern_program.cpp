// SPDX-License-Identifier: BSD-2-Clause
//
// pattern_program.cpp: see pattern_program.hpp.
#include "pattern_program.hpp"

#include "global_interrupt.hpp"
#include "ring_engine.hpp"

namespace sim {

PatternProgram::PatternProgram(const Pattern &what, const Parameters &parameters)
    : pattern(what), progress(what.ranks()), ends(what.options().iterations),
      single(what.options().iterations == 1)
{
    bool several = false;

    for (std::uint32_t step = 0; step < pattern.steps(); step++) {
        const std::uint64_t bytes = pattern.bytes(step);
        step_costs.push_back({byte_costs(bytes, parameters), bytes > parameters.eager_limit});
        const Step shape = pattern.step(0, step);
        shapes.push_back(shape);
        alike.push_back(pattern.alike(step));
        distances.push_back(pattern.distance(step));
        several |= !pattern.alike(step) || shape.sends > 1;
        if (shape.work == 0)
            largest = std::max(largest, bytes);
    }
    if (several)
        histories.resize(pattern.ranks());
}

bool PatternProgram::enter(std::uint32_t rank)
{
    Progress &at = progress[rank];

    for (;;) {
        while (at.step < pattern.steps()) {
            const Step shape = shape_of(rank);
            if (!shape.empty()) {
                at.open = shape.sends + shape.receives + (shape.work > 0);
                at.unmatched = shape.receives;
                at.posted = false;
                return true;
            }
            at.step++;
        }
        std::atomic<Time> &end = ends[at.iteration];
        Time seen = end.load(std::memory_order_relaxed);
        while (seen < at.latest && !end.compare_exchange_weak(seen, at.latest, std::memory_order_relaxed))
            ;
        if (++at.iteration == pattern.options().iterations)
            return false;
        at.first_step += pattern.steps();
        at.step = 0;
    }
}

void PatternProgram::sort(std::uint32_t rank, std::vector<Unexpected> &messages) const
{
    const Progress &at = progress[rank];
    const std::uint32_t receives = shape_of(rank).receives;
    std::vector<Unexpected> sorted;

    std::stable_sort(messages.begin(), messages.end(),
                     [](const Unexpected &a, const Unexpected &b) { return a.source < b.source; });
    std::vector<bool> used(messages.size());
    for (std::uint32_t i = 0; i < receives && sorted.size() < messages.size(); i++) {
        const std::uint32_t source = pattern.sender(rank, at.step, i);
        auto found = std::partition_point(messages.begin(), messages.end(),
                                          [&](const Unexpected &one) { return one.source < source; });
        while (found != messages.end() && found->source == source &&
               used[static_cast<std::size_t>(found - messages.begin())])
            ++found;
        if (found == messages.end() || found->source != source)
            continue;
        used[static_cast<std::size_t>(found - messages.begin())] = true;
        sorted.push_back(*found);
    }
    messages.swap(sorted);
}

std::vector<Time> PatternProgram::iteration_ends() const
{
    return {ends.begin(), ends.end()};
}

Result pattern_simulate_general(PatternProgram &program, const Parameters &parameters, const Noise &noise,
                                unsigned threads, Timeline *timeline)
{
    Engine<PatternProgram> engine(program, parameters, noise, threads, timeline);

    return engine.run();
}

Result pattern_simulate(const Pattern &pattern, const Parameters &parameters, const Noise &noise,
                        unsigned threads, Timeline *timeline, std::vector<Time> &iteration_ends)
{
    if (pattern.options().name == PatternName::global_interrupt)
        return global_interrupt_simulate(pattern, parameters, noise, timeline, iteration_ends);
    if (!timeline && RingEngine::suits(pattern, parameters)) {
        RingEngine engine(pattern, parameters, noise, threads);
        if (std::optional<Result> result = engine.run()) {
            iteration_ends = engine.iteration_ends();
            return std::move(*result);
        }
    }
    PatternProgram program(pattern, parameters);
    Result result = pattern_simulate_general(program, parameters, noise, threads, timeline);
    iteration_ends = program.iteration_ends();
    return result;
}

} // namespace sim
