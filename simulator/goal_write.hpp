// SPDX-License-Identifier: BSD-2-Clause
//
// goal_write.hpp: writes a built-in pattern as GOAL text, for this simulator and for others.
#pragma once

#include "pattern.hpp"

#include <iosfwd>

namespace sim {

// Every operation of a step requires every operation of the rank's step before. Computations are rounded to
// whole ns, which is the format's unit. InputError when `out` fails.
void goal_write(const Pattern &pattern, std::ostream &out);

} // namespace sim
