// SPDX-License-Identifier: BSD-2-Clause
//
// schedule.hpp: a GOAL schedule in memory, twelve bytes per operation.
//
// An operation takes four bytes for its kind and four for its peer. A kind is everything except the peer;
// operations that are alike share it, so a schedule of millions of operations usually has a handful of kinds.
// Two bytes are for the usual successors, a few operations in a row, and one for the operation's progress.
// Other successors are in an overflow list. Ranks are in chunks as their readers produced them, each chunk in
// the order of its ranks.
#pragma once

#include "time.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace sim {

constexpr std::uint32_t ANY = UINT32_MAX; // any source, any tag; also: no operation, no rank
constexpr std::uint32_t RANKS_LIMIT = 1u << 28;
constexpr std::uint32_t TAG_LIMIT = UINT32_MAX - 1;

enum class OpType : std::uint8_t { send, recv, calc };

// The properties that similar operations share.
struct Kind {
    OpType type = OpType::calc;
    std::uint8_t cpu = 0;
    std::uint8_t nic = 0;
    std::uint32_t tag = 0;  // ANY for a receive of any tag
    std::uint64_t size = 0; // bytes; of a calc: its ns without the 32 lowest bits, which are in its peer

    bool operator==(const Kind &) const = default;
};

struct KindHash {
    std::size_t operator()(const Kind &kind) const;
};

// Gives each different kind a number. Threads may share a table.
class KindTable {
public:
    std::uint32_t number_of(const Kind &kind);

    const std::deque<Kind> &all() const
    {
        return kinds;
    }

private:
    std::mutex guard;
    std::deque<Kind> kinds;
    std::unordered_map<Kind, std::uint32_t, KindHash> numbers;
};

struct Operation {
    std::uint32_t kind;
    std::uint32_t peer; // the other rank; ANY for a receive from any; of a calc: see calc_ns()
    std::uint16_t successors = 0;
    std::uint8_t progress = 0;
};

// Returns a calc's ns. Computations differ in length more than anything else, so a kind for each length would
// be one for almost each operation.
inline std::uint64_t calc_ns(const Kind &kind, const Operation &operation)
{
    return kind.size | operation.peer;
}

// Moves the lowest bits of a calc's ns from `kind` to the peer, which is returned.
inline std::uint32_t calc_split(Kind &kind)
{
    const auto low = static_cast<std::uint32_t>(kind.size);

    kind.size -= low;
    return low;
}

// The byte of progress: the number of operations for which it still waits, or one of these.
constexpr std::uint8_t PROGRESS_READY = 251; // all that it waited for has happened
constexpr std::uint8_t PROGRESS_WAITING =
    252; // begun: a send whose receiver is not ready, or a receive that was posted later
constexpr std::uint8_t PROGRESS_POSTED = 253; // a receive that was posted at the beginning and is not matched
constexpr std::uint8_t PROGRESS_FINISHED = 254;
constexpr std::uint8_t PROGRESS_MANY = 255; // the count is in Chunk::many
// The two bytes of successors: how many in a row wait for the operation's end (0: none), and the distance to
// the first, plus SUCCESSOR_DISTANCE_ZERO.
constexpr unsigned SUCCESSOR_COUNT_BITS = 4;
constexpr std::uint32_t SUCCESSOR_COUNT_LIMIT = 1u << SUCCESSOR_COUNT_BITS; // fewer
constexpr std::uint32_t SUCCESSOR_DISTANCE_ZERO = 1u << (15 - SUCCESSOR_COUNT_BITS);
constexpr std::uint32_t SUCCESSOR_DISTANCE_LIMIT = 2 * SUCCESSOR_DISTANCE_ZERO - 1; // less, plus zero
constexpr std::uint16_t SUCCESSORS_OTHER = UINT16_MAX;                              // in the overflow list

struct Chunk {
    std::vector<Operation> operations;
    std::vector<std::uint32_t> other_operations; // ascending, places in `operations`
    std::vector<std::uint32_t> other_ends;       // end of each operation's successors in `others`
    std::vector<std::uint32_t> others;           // index in the rank * 2 + (1: waits for the start only)
    std::unordered_map<std::uint32_t, std::uint32_t> many;
};

struct RankPlace {
    Chunk *chunk = nullptr;
    std::uint32_t first = 0; // in the chunk
    std::uint32_t count = 0;
};

class Schedule {
public:
    std::uint32_t ranks() const
    {
        return static_cast<std::uint32_t>(places.size());
    }

    // Returns the number of operations of all ranks.
    std::uint64_t operations() const;

    std::vector<RankPlace> places;
    std::vector<std::unique_ptr<Chunk>> chunks;
    KindTable kinds;
    unsigned cpus = 1; // of every rank: the highest number used, plus one
    unsigned nics = 1;
};

// Visits what waits for an operation of a rank: visit(successor, whether it waits for the start only).
template <typename Visit>
void each_successor(const Chunk &chunk, std::uint32_t first, std::uint32_t index, const Visit &visit)
{
    const std::uint32_t successors = chunk.operations[first + index].successors;

    if (successors != SUCCESSORS_OTHER) {
        std::uint32_t next = index + (successors >> SUCCESSOR_COUNT_BITS) - SUCCESSOR_DISTANCE_ZERO;
        for (std::uint32_t left = successors % SUCCESSOR_COUNT_LIMIT; left != 0; left--)
            visit(next++, false);
        return;
    }
    const auto found =
        std::lower_bound(chunk.other_operations.begin(), chunk.other_operations.end(), first + index);
    const auto list = static_cast<std::size_t>(found - chunk.other_operations.begin());
    for (std::uint32_t i = list ? chunk.other_ends[list - 1] : 0; i < chunk.other_ends[list]; i++)
        visit(chunk.others[i] / 2, chunk.others[i] % 2 != 0);
}

// Adds ranks at the end of a chunk, operation by operation.
class RankBuilder {
public:
    // Begins a rank. Its operations are counted from 0.
    void begin(Chunk &whole);

    // Returns the number of operations of the rank so far.
    std::uint32_t count() const
    {
        return static_cast<std::uint32_t>(chunk->operations.size()) - first;
    }

    void add(const Operation &operation)
    {
        chunk->operations.push_back(operation);
    }

    // Lets `after` wait until `before` has finished or, if `started`, has started. Both exist; twice is the
    // same as once.
    void require(std::uint32_t before, std::uint32_t after, bool started)
    {
        std::uint16_t &successors = chunk->operations[first + before].successors;
        std::uint8_t &progress = chunk->operations[first + after].progress;
        const std::uint32_t distance = after - before + SUCCESSOR_DISTANCE_ZERO;
        const std::uint32_t number = successors % SUCCESSOR_COUNT_LIMIT;

        backwards |= after <= before;
        if (++progress >= PROGRESS_READY)
            count_many(after);
        if (started || distance >= SUCCESSOR_DISTANCE_LIMIT || number == SUCCESSOR_COUNT_LIMIT - 1)
            require_other(before, after, started);
        else if (number == 0)
            successors = static_cast<std::uint16_t>(distance << SUCCESSOR_COUNT_BITS | 1);
        else if (distance == (successors >> SUCCESSOR_COUNT_BITS) + number)
            successors++;
        else
            require_other(before, after, false);
    }

    // Ends the rank. If what it requires forms a cycle, returns an operation of it; else returns ANY.
    std::uint32_t end();

private:
    struct Edge {
        std::uint32_t before, after;
        bool started;
    };

    void require_other(std::uint32_t before, std::uint32_t after, bool started);
    void count_many(std::uint32_t after);
    void put_others();
    std::uint32_t operation_of_a_cycle();

    Chunk *chunk = nullptr;
    std::uint32_t first = 0; // in the chunk
    bool backwards = false;  // an operation waits for a later one
    std::vector<Edge> others, sorted;
    std::vector<std::uint32_t> heads, waits, order;
};

// Returns a text such as "recv 8b from 3 tag 0", for messages.
std::string operation_text(const Operation &operation, const Kind &kind);

} // namespace sim
