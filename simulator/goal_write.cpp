// SPDX-License-Identifier: BSD-2-Clause
//
// goal_write.cpp: see goal_write.hpp.
#include "goal_write.hpp"

#include <ostream>

namespace sim {

namespace {

class RankWriter {
public:
    RankWriter(const Pattern &what, std::uint32_t number) : pattern(what), rank(number)
    {
    }

    const std::string &write()
    {
        text = "\nrank " + std::to_string(rank) + " {\n";
        for (std::uint32_t iteration = 0; iteration < pattern.options().iterations; iteration++)
            for (std::uint32_t step = 0; step < pattern.steps(); step++)
                write_step(iteration * pattern.steps(), step);
        text += "}\n";
        return text;
    }

private:
    void begin(const char *verb)
    {
        text += 'l' + std::to_string(++label) + ": " + verb;
    }

    void write_step(std::uint32_t first_step, std::uint32_t step)
    {
        const Step shape = pattern.step(rank, step);
        if (shape.empty())
            return;
        const std::uint32_t first = label + 1;

        if (shape.work > 0) {
            begin("calc ");
            text += std::to_string((shape.work + PS_PER_NS / 2) / PS_PER_NS) + '\n';
        }
        for (std::uint32_t i = 0; i < shape.sends; i++) {
            const std::uint32_t there = pattern.received_in(rank, step);
            begin("send ");
            text += std::to_string(pattern.bytes(there)) + "b to " +
                    std::to_string(pattern.receiver(rank, step, i)) + " tag " +
                    std::to_string(first_step + there) + '\n';
        }
        for (std::uint32_t i = 0; i < shape.receives; i++) {
            begin("recv ");
            text += std::to_string(pattern.bytes(step)) + "b from " +
                    std::to_string(pattern.sender(rank, step, i)) + " tag " +
                    std::to_string(first_step + step) + '\n';
        }
        for (std::uint32_t after = first; after <= label; after++)
            for (std::uint32_t before = previous_first; before < first; before++)
                text += 'l' + std::to_string(after) + " requires l" + std::to_string(before) + '\n';
        previous_first = first;
    }

    const Pattern &pattern;
    const std::uint32_t rank;
    std::string text;
    std::uint32_t label = 0;          // of the last operation; labels begin with 1
    std::uint32_t previous_first = 1; // label of the first operation of the step before
};

} // namespace

void goal_write(const Pattern &pattern, std::ostream &out)
{
    if (pattern.options().name == PatternName::global_interrupt)
        throw InputError("global-interrupt uses a separate network, which a schedule of messages cannot "
                         "express; use sim pattern");
    out << "num_ranks " << pattern.ranks() << '\n';
    for (std::uint32_t rank = 0; rank < pattern.ranks() && out; rank++)
        out << RankWriter(pattern, rank).write();
    out.flush();
    if (!out)
        throw InputError("the schedule cannot be written; give a file on a disk with room");
}

} // namespace sim
