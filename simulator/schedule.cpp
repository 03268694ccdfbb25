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

// Sorts edges by `before`, stably.
void RankPacker::sort(std::size_t count, std::vector<Edge> &edges)
{
    heads.assign(count + 1, 0);
    for (const Edge &edge : edges)
        heads[edge.before + 1]++;
    for (std::size_t i = 0; i < count; i++)
        heads[i + 1] += heads[i];
    sorted.resize(edges.size());
    for (const Edge &edge : edges)
        sorted[heads[edge.before]++] = edge;
    sorted.swap(edges);
}

// Encodes the successors that these edges of one operation name in two bytes; SUCCESSORS_OTHER if they are
// not in a row.
static std::uint16_t successors_in_a_row(const Edge *first, const Edge *end)
{
    const auto number = static_cast<std::uint32_t>(end - first);

    if (first->after <= first->before || first->after - first->before >= SUCCESSOR_DISTANCE_LIMIT ||
        end - first >= SUCCESSOR_COUNT_LIMIT)
        return SUCCESSORS_OTHER;
    for (std::uint32_t i = 0; i < number; i++)
        if (first[i].started || first[i].after != first->after + i)
            return SUCCESSORS_OTHER;
    return static_cast<std::uint16_t>((first->after - first->before) << SUCCESSOR_COUNT_BITS | number);
}

// Finds an operation of a cycle: removes operations that wait for nothing until there are none; the rest
// contains a cycle.
std::uint32_t RankPacker::operation_of_a_cycle(std::size_t count, const std::vector<Edge> &edges)
{
    heads.assign(count + 1, 0);
    for (const Edge &edge : edges)
        heads[edge.before + 1]++;
    for (std::size_t i = 0; i < count; i++)
        heads[i + 1] += heads[i];
    order.clear();
    std::vector<std::uint32_t> waiting = counts;
    for (std::uint32_t i = 0; i < count; i++)
        if (waiting[i] == 0)
            order.push_back(i);
    for (std::size_t next = 0; next < order.size(); next++)
        for (std::uint32_t i = heads[order[next]]; i < heads[order[next] + 1]; i++)
            if (--waiting[edges[i].after] == 0)
                order.push_back(edges[i].after);
    if (order.size() == count)
        return ANY;
    // Going back along edges from any remaining operation must meet an operation twice, which is in a cycle.
    std::vector<std::uint32_t> before(count, ANY);
    for (const Edge &edge : edges)
        if (waiting[edge.before] != 0)
            before[edge.after] = edge.before;
    std::uint32_t at = 0;
    while (waiting[at] == 0)
        at++;
    for (std::size_t step = 0; step < count; step++)
        at = before[at];
    return at;
}

std::uint32_t RankPacker::pack(Chunk &chunk, const std::vector<Operation> &operations,
                               std::vector<Edge> &edges)
{
    const std::size_t count = operations.size();
    const auto first = static_cast<std::uint32_t>(chunk.operations.size());
    bool in_order = true;
    bool backwards = false;

    counts.assign(count, 0);
    for (std::size_t i = 0; i < edges.size(); i++) {
        counts[edges[i].after]++;
        backwards |= edges[i].after <= edges[i].before;
        in_order &= i == 0 || edges[i - 1].before <= edges[i].before;
    }
    if (!in_order)
        sort(count, edges);
    if (backwards) {
        const std::uint32_t guilty = operation_of_a_cycle(count, edges);
        if (guilty != ANY)
            return guilty;
    }

    chunk.operations.insert(chunk.operations.end(), operations.begin(), operations.end());
    chunk.successors.resize(first + count, 0);
    for (std::uint32_t i = 0; i < count; i++) {
        if (counts[i] >= PROGRESS_READY)
            chunk.many[first + i] = counts[i];
        chunk.progress.push_back(counts[i] >= PROGRESS_READY ? PROGRESS_MANY
                                                             : static_cast<std::uint8_t>(counts[i]));
    }
    for (std::size_t i = 0; i < edges.size();) {
        std::size_t end = i + 1;
        while (end < edges.size() && edges[end].before == edges[i].before)
            end++;
        const std::uint32_t before = first + edges[i].before;
        chunk.successors[before] = successors_in_a_row(&edges[i], &edges[i] + (end - i));
        if (chunk.successors[before] == SUCCESSORS_OTHER) {
            chunk.other_operations.push_back(before);
            for (std::size_t j = i; j < end; j++)
                chunk.others.push_back(edges[j].after * 2 + edges[j].started);
            chunk.other_ends.push_back(static_cast<std::uint32_t>(chunk.others.size()));
        }
        i = end;
    }
    return ANY;
}

std::string operation_text(const Operation &operation, const Kind &kind)
{
    if (kind.type == OpType::calc)
        return "calc " + std::to_string(kind.size);
    const bool send = kind.type == OpType::send;
    std::string text = send ? "send " : "recv ";
    text += std::to_string(kind.size) + (send ? "b to " : "b from ");
    text += operation.peer == ANY ? "any" : std::to_string(operation.peer);
    return text + " tag " + (kind.tag == ANY ? "any" : std::to_string(kind.tag));
}

} // namespace sim
