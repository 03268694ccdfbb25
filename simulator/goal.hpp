// SPDX-License-Identifier: BSD-2-Clause
//
// goal.hpp: readers of GOAL schedules, text and binary.
//
// Text (the public tool chain's grammar; `//` and `/* */` are comments):
//
//     num_ranks N
//     rank R {                                     every rank once, in ascending order
//     [label:] send <n>b to <r> [tag t] [cpu c] [nic i]
//     [label:] recv <n>b from <r|-1> [tag t|-1] [cpu c] [nic i]
//     [label:] calc <ns> [cpu c]
//     a requires b                                 a starts after b has finished
//     a irequires b                                a starts after b has started
//     }
//
// Binary files are described in goal_binary.cpp. All readers throw InputError with one line "file:line: what;
// what would be right" (binary: "file: byte N: ...").
#pragma once

#include "schedule.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace sim {

// Reads a schedule from a file; "-" is the standard input. Its first bytes tell text from binary. Up to
// `threads` threads parse blocks of the text; the result does not depend on their number.
std::unique_ptr<Schedule> goal_read(const std::string &path, unsigned threads);

// Reads a schedule from memory; `name` is for messages. `been_read`, called by any thread, is told parts that
// are hardly needed again.
using BeenRead = std::function<void(std::string_view)>;
std::unique_ptr<Schedule> goal_parse_text(std::string_view text, const std::string &name);
std::unique_ptr<Schedule> goal_parse_binary(std::string_view bytes, const std::string &name,
                                            unsigned threads = 1, const BeenRead &been_read = {});

// Returns whether these are the first bytes of a binary schedule.
bool goal_is_binary(std::string_view bytes);

// Throws InputError if these are the first bytes, up to eight, of a file that is neither text nor a binary
// schedule: says what it is, and what to do.
void goal_refuse_foreign(std::string_view bytes, const std::string &name);

} // namespace sim
