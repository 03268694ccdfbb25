// SPDX-License-Identifier: BSD-2-Clause
//
// global_interrupt.hpp: a barrier over a network of its own, such as BlueGene/L's [Beckman06 §4].
//
// Each rank raises its signal, which takes its processor o; L after the last has done so all see the global
// interrupt, and leave after another o. So one operation has two steps, each of which waits for the slowest
// rank: noise costs it two detours at most, however many ranks there are. Computations come before, as in
// every pattern. No messages are sent.
#pragma once

#include "engine.hpp"
#include "pattern.hpp"

namespace sim {

// `iteration_ends` receives the latest rank's end of each iteration.
Result global_interrupt_simulate(const Pattern &pattern, const Parameters &parameters, const Noise &noise,
                                 Timeline *timeline, std::vector<Time> &iteration_ends);

} // namespace sim
