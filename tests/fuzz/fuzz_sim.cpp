// SPDX-License-Identifier: BSD-2-Clause
//
// fuzz_sim.cpp: gives any bytes to the readers of schedules and noise traces. An error must have one line; a
// schedule that is accepted must simulate to its end or to a deadlock. The first byte chooses the reader.
#include "../../simulator/goal.hpp"
#include "../../simulator/goal_program.hpp"
#include "fuzz.h"

using namespace sim;

namespace
{

void promise_one_line(const InputError &error)
{
    const std::string text = error.what();
    PROMISE(!text.empty() && text.find('\n') == std::string::npos);
}

void promise_simulated(Schedule &schedule)
{
    if (schedule.operations() > 10000)
        return;
    Parameters parameters;
    parameters.eager_limit = 100;
    GoalProgram program(schedule, parameters);
    const Noise noise({ trace_periodic(100000000, 10000000) }, NoiseRule::physical, 1, false);
    std::vector<Unexpected> left_over;
    const Result result = goal_simulate(program, parameters, noise, 1, nullptr, &left_over);
    PROMISE(result.complete == program.stuck(left_over, 10).empty());
}

void promise_replayed(const Trace &trace)
{
    const Noise noise({ trace }, NoiseRule::loggopsim, 1, false);
    NoiseCursor cursor = noise.begin(0);
    for (const Time now : { Time{ 0 }, trace.lap / 3, trace.lap * 2 })
        PROMISE(noise.finish(cursor, now, trace.lap / 7) >= now + trace.lap / 7);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    const std::string_view input(reinterpret_cast<const char *>(data) + 1, bytes - 1);
    try {
        std::string remark;
        if (data[0] == 'n')
            trace_parse(input, "input", NoiseRule::physical, remark);
        else if (data[0] == 'l')
            promise_replayed(trace_parse(input, "input", NoiseRule::loggopsim, remark));
        else if (data[0] == 'o')
            PROMISE(offsets_parse(input, "input", 3).size() == 3);
        else if (data[0] == 'b')
            promise_simulated(*goal_parse_binary(input, "input"));
        else
            promise_simulated(*goal_parse_text(input, "input"));
    } catch (const InputError &error) {
        promise_one_line(error);
    }
    return 0;
}
