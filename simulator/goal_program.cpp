// SPDX-License-Identifier: BSD-2-Clause
//
// goal_program.cpp: matches messages and receives, and explains why a schedule does not end; see
// goal_program.hpp.
#include "goal_program.hpp"

namespace sim {

GoalProgram::GoalProgram(Schedule &what, const Parameters &parameters)
    : schedule(what), posted(what.ranks()), total(what.operations()),
      posts_first(parameters.order == Order::causes),
      one_at_a_time(posts_first && what.cpus == 1 && what.nics == 1)
{
    for (const RankPlace &place : schedule.places)
        operations_of.push_back(place.chunk->operations.data() + place.first);
    for (const Kind &kind : schedule.kinds.all()) {
        const bool message = kind.type != OpType::calc;
        kinds.push_back({kind, message ? byte_costs(kind.size, parameters) : ByteCost{},
                         message ? 0 : static_cast<Time>(kind.size) * PS_PER_NS,
                         message && kind.size > parameters.eager_limit});
        if (kind.type == OpType::send)
            largest = std::max(largest, kind.size);
    }
    if (schedule.cpus > 1) {
        std::size_t first = 0;
        for (const RankPlace &place : schedule.places) {
            first_operation.push_back(first);
            first += place.count;
        }
        latest.assign(first, 0);
    }
}

std::uint32_t GoalProgram::posted_match(std::uint32_t rank, std::uint32_t source, std::uint32_t kind,
                                        bool take)
{
    Posted &receives = posted[rank];
    std::uint32_t seen = 0;

    // Receives that were posted at the beginning come before all others.
    for (std::uint32_t i = receives.first_open; seen < receives.open; i++) {
        std::uint8_t &state = at(rank, i).progress;
        if (state != PROGRESS_POSTED)
            continue;
        if (seen++ == 0)
            receives.first_open = i;
        if (!accepts(rank, i, source, kind))
            continue;
        if (take) {
            state = PROGRESS_WAITING;
            receives.open--;
        }
        return i;
    }
    for (auto receive = receives.later.begin(); receive != receives.later.end(); ++receive) {
        if (!accepts(rank, *receive, source, kind))
            continue;
        const std::uint32_t found = *receive;
        if (take)
            receives.later.erase(receive);
        return found;
    }
    return ANY;
}

std::vector<std::string> GoalProgram::stuck(const std::vector<Unexpected> &left_over,
                                            std::size_t lines_max) const
{
    std::vector<std::string> lines;
    const auto describe = [&](std::uint32_t rank, std::uint32_t index) {
        const Operation &operation = at(rank, index);
        return "rank " + std::to_string(rank) + ", operation " + std::to_string(index + 1) + " (" +
               operation_text(operation, kinds[operation.kind].kind) + ")";
    };

    for (std::uint32_t rank = 0; rank < schedule.ranks() && lines.size() < lines_max; rank++) {
        for (std::uint32_t i = 0; i < schedule.places[rank].count && lines.size() < lines_max; i++) {
            const std::uint8_t state = at(rank, i).progress;
            if (state != PROGRESS_POSTED && state != PROGRESS_WAITING)
                continue;
            const bool send = kinds[at(rank, i).kind].kind.type == OpType::send;
            lines.push_back(describe(rank, i) + (send ? " waits for a receive" : " waits for a message"));
            const std::uint32_t peer = at(rank, i).peer;
            if (peer != ANY && schedule.places[peer].count == 0)
                lines.back() += "; rank " + std::to_string(peer) + " has no operations";
        }
    }
    for (const Unexpected &message : left_over) {
        if (lines.size() >= lines_max)
            break;
        if (at(message.source, message.operation).progress == PROGRESS_FINISHED)
            lines.push_back("rank " + std::to_string(message.rank) + " never receives the message of " +
                            describe(message.source, message.operation));
    }
    return lines;
}

Result goal_simulate(GoalProgram &program, const Parameters &parameters, const Noise &noise, unsigned threads,
                     Timeline *timeline, std::vector<Unexpected> *left_over)
{
    Engine<GoalProgram> engine(program, parameters, noise, threads, timeline);
    Result result = engine.run();

    if (left_over)
        *left_over = engine.left_over();
    return result;
}

} // namespace sim
