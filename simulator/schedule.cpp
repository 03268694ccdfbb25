// SPDX-License-Identifier: BSD-2-Clause
//
// schedule.cpp: packs operations; see schedule.hpp.
#include "schedule.hpp"

#include <algorithm>

namespace sim {

std::size_t KindHash::operator()(const Kind &kind) const
{
    std::uint64_t mixed = kind.size * 0x9e3779b97f4a7c15u;

    mixed ^= (std::uint64_t{kind.tag} << 32 | static_cast<std::uint64_t>(kind.type) << 16 |
              std::uint64_t{kind.cpu} << 8 | kind.nic) *
             0xd6e8feb86659fd93u;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

std::uint32_t KindTable::number_of(const Kind &kind)
{
    const std::lock_guard lock(guard);
    const auto [place, added] = numbers.try_emplace(kind, static_cast<std::uint32_t>(kinds.size()));

    if (added)
        kinds.push_back(kind);
    return place->second;
}

std::uint64_t Schedule::operations() const
{
    std::uint64_t sum = 0;

    for (const RankPlace &place : places)
        sum += place.count;
    return sum;
}

void RankBuilder::begin(Chunk &whole)
{
    chunk = &whole;
    first = static_cast<std::uint32_t>(chunk->operations.size());
    backwards = false;
    others.clear();
}

// Counts in the map what an operation's byte cannot.
void RankBuilder::count_many(std::uint32_t after)
{
    std::uint32_t &many = chunk->many[first + after];

    many = many ? many + 1 : PROGRESS_READY;
    chunk->operations[first + after].progress = PROGRESS_MANY;
}

// Notes a successor that does not follow the others in their row; these are noted with it.
void RankBuilder::require_other(std::uint32_t before, std::uint32_t after, bool started)
{
    std::uint16_t &successors = chunk->operations[first + before].successors;

    if (successors != SUCCESSORS_OTHER)
        each_successor(*chunk, first, before, [&](std::uint32_t next, bool) {
            others.push_back({before, next, false});
        });
    successors = SUCCESSORS_OTHER;
    others.push_back({before, after, started});
}

// Puts the noted successors into the overflow list, operation by operation.
void RankBuilder::put_others()
{
    heads.assign(count() + 1, 0);
    for (const Edge &edge : others)
        heads[edge.before + 1]++;
    for (std::size_t i = 1; i < heads.size(); i++)
        heads[i] += heads[i - 1];
    sorted.resize(others.size());
    for (const Edge &edge : others)
        sorted[heads[edge.before]++] = edge;
    for (std::size_t i = 0; i < sorted.size(); i++) {
        chunk->others.push_back(sorted[i].after * 2 + sorted[i].started);
        if (i + 1 < sorted.size() && sorted[i + 1].before == sorted[i].before)
            continue;
        chunk->other_operations.push_back(first + sorted[i].before);
        chunk->other_ends.push_back(static_cast<std::uint32_t>(chunk->others.size()));
    }
}

// Finds an operation of a cycle: removes operations that wait for nothing until there are none; the rest
// contains a cycle.
std::uint32_t RankBuilder::operation_of_a_cycle()
{
    const std::uint32_t operations = count();

    waits.resize(operations);
    order.clear();
    for (std::uint32_t i = 0; i < operations; i++) {
        const std::uint8_t progress = chunk->operations[first + i].progress;
        waits[i] = progress == PROGRESS_MANY ? chunk->many[first + i] : progress;
        if (progress == 0)
            order.push_back(i);
    }
    for (std::size_t next = 0; next < order.size(); next++)
        each_successor(*chunk, first, order[next], [&](std::uint32_t after, bool) {
            if (--waits[after] == 0)
                order.push_back(after);
        });
    if (order.size() == operations)
        return ANY;
    // Going back from any remaining operation must meet an operation twice, which is in a cycle.
    std::vector<std::uint32_t> before(operations, ANY);
    for (std::uint32_t i = 0; i < operations; i++)
        if (waits[i] != 0)
            each_successor(*chunk, first, i, [&](std::uint32_t after, bool) { before[after] = i; });
    std::uint32_t at = 0;
    while (waits[at] == 0)
        at++;
    for (std::uint32_t step = 0; step < operations; step++)
        at = before[at];
    return at;
}

std::uint32_t RankBuilder::end()
{
    if (!others.empty())
        put_others();
    return backwards ? operation_of_a_cycle() : ANY;
}

std::string operation_text(const Operation &operation, const Kind &kind)
{
    if (kind.type == OpType::calc)
        return "calc " + std::to_string(calc_ns(kind, operation));
    const bool send = kind.type == OpType::send;
    std::string text = send ? "send " : "recv ";
    text += std::to_string(kind.size) + (send ? "b to " : "b from ");
    text += operation.peer == ANY ? "any" : std::to_string(operation.peer);
    return text + " tag " + (kind.tag == ANY ? "any" : std::to_string(kind.tag));
}

} // namespace sim
