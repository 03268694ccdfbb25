// SPDX-License-Identifier: BSD-2-Clause
//
// pattern_program.cpp: see pattern_program.hpp.
#include "pattern_program.hpp"

namespace sim {

PatternProgram::PatternProgram(const Pattern &what, const Parameters &parameters)
    : pattern(what), progress(what.ranks()), ends(what.options().iterations), single(what.options().iterations == 1)
{
    for (std::uint32_t step = 0; step < pattern.steps(); step++) {
        const std::uint64_t bytes = pattern.bytes(step);
        step_costs.push_back({byte_costs(bytes, parameters), bytes > parameters.eager_limit});
        const Step shape = pattern.step(0, step);
        if (shape.work == 0)
            largest = std::max(largest, bytes);
    }
}

bool PatternProgram::enter(std::uint32_t rank)
{
    Progress &at = progress[rank];

    for (;;) {
        while (at.step < pattern.steps()) {
            at.shape = pattern.step(rank, at.step);
            if (!at.shape.empty()) {
                at.open = at.shape.sends + at.shape.receives + (at.shape.work > 0);
                at.unmatched = at.shape.receives;
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

std::vector<Time> PatternProgram::iteration_ends() const
{
    return {ends.begin(), ends.end()};
}

} // namespace sim
