// SPDX-License-Identifier: BSD-2-Clause
//
// goal_write.hpp: writes a built-in pattern as GOAL text, for this simulator and for others.
#pragma once

#include "pattern.hpp"

#include <iosfwd>

namespace sim {

// Writes the pattern: every operation of a step requires every operation of the rank's step before. Rounds
// computations to whole ns, which is the format's unit. Throws InputError if `out` fails.
void goal_write(const Pattern &pattern, std::ostream &out);

} // namespace sim
