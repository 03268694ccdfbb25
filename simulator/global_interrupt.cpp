// SPDX-License-Identifier: BSD-2-Clause
//
// global_interrupt.cpp: see global_interrupt.hpp.
#include "global_interrupt.hpp"

namespace sim {

namespace {

// Lets all ranks do one kind of work. Returns when the last has done it.
class Ranks {
public:
    Ranks(std::uint32_t count, const Noise &disturbance, Timeline *record)
        : noise(disturbance), timeline(record), times(count, 0)
    {
        for (std::uint32_t rank = 0; rank < count; rank++)
            cursors.push_back(noise.begin(rank));
    }

    Time work(const char *what, Time length)
    {
        Time last = 0;

        for (std::uint32_t rank = 0; rank < times.size(); rank++) {
            const Time begin = times[rank];
            times[rank] = noise.finish(cursors[rank], begin, length);
            if (timeline)
                timeline->work(rank, 0, what, begin, times[rank]);
            last = std::max(last, times[rank]);
        }
        if (last > TIME_LIMIT)
            throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
        return last;
    }

    void all_at(Time time)
    {
        std::fill(times.begin(), times.end(), time);
    }

    const LargeVector<Time> &ends() const
    {
        return times;
    }

private:
    const Noise &noise;
    Timeline *const timeline;
    LargeVector<Time> times;
    std::vector<NoiseCursor> cursors;
};

} // namespace

Result global_interrupt_simulate(const Pattern &pattern, const Parameters &parameters, const Noise &noise,
                                 Timeline *timeline, std::vector<Time> &iteration_ends)
{
    const PatternOptions &options = pattern.options();
    Ranks ranks(options.ranks, noise, timeline);
    Result result;

    iteration_ends.clear();
    for (std::uint32_t i = 0; i < options.iterations; i++) {
        if (options.compute > 0)
            ranks.work("calc", options.compute);
        ranks.all_at(ranks.work("signal", parameters.overhead_send) + parameters.latency);
        result.maximum = ranks.work("interrupt", parameters.overhead_receive);
        iteration_ends.push_back(result.maximum);
    }
    result.finish = ranks.ends();
    result.operations = result.events =
        std::uint64_t{options.ranks} * options.iterations * (options.compute > 0 ? 3 : 2);
    return result;
}

} // namespace sim
