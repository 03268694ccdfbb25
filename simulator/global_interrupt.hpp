// SPDX-License-Identifier: BSD-2-Clause
//
// global_interrupt.hpp: a barrier over a separate network, such as BlueGene/L's [Beckman06 §4].
//
// Each rank raises its signal, which takes its processor o. L after the last signal all ranks see the global
// interrupt, and leave after another o. So an operation has two steps, each of which waits for the slowest
// rank. Noise costs it at most two detours, for any number of ranks. Computations come before, as in every
// pattern. No messages are sent.
#pragma once

#include "engine.hpp"
#include "pattern.hpp"

namespace sim {

// Simulates the barrier. `iteration_ends` receives the latest rank's end of each iteration.
Result global_interrupt_simulate(const Pattern &pattern, const Parameters &parameters, const Noise &noise,
                                 Timeline *timeline, std::vector<Time> &iteration_ends);

} // namespace sim
