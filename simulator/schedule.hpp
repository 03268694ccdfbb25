// SPDX-License-Identifier: BSD-2-Clause
//
// schedule.hpp: a GOAL schedule in memory, about a dozen bytes per operation.
//
// An operation takes eight bytes: its kind and its peer. A kind is everything except the peer; operations
// that are alike share it, so a schedule of millions of operations usually has a handful of kinds. Each
// operation also has a byte of progress, and two bytes for the usual successors, a few operations in a row.
// Other successors are in an overflow list. Ranks are in chunks as their readers produced them, each chunk in
// the order of its ranks.
#pragma once

#include "time.hpp"

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
    std::uint64_t size = 0; // bytes, or ns of a calc

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
    std::uint32_t peer; // the other rank; ANY for a receive from any; 0 for a calc
};

// `after` waits until `before` has finished (requires) or has started (irequires); indices within one rank.
struct Edge {
    std::uint32_t before;
    std::uint32_t after;
    bool started;
};

// The byte of progress: the number of operations for which it still waits, or one of these.
constexpr std::uint8_t PROGRESS_READY = 251; // all that it waited for has happened
constexpr std::uint8_t PROGRESS_WAITING =
    252; // begun: a send whose receiver is not ready, or a receive that was posted later
constexpr std::uint8_t PROGRESS_POSTED = 253; // a receive that was posted at the beginning and is not matched
constexpr std::uint8_t PROGRESS_FINISHED = 254;
constexpr std::uint8_t PROGRESS_MANY = 255; // the count is in Chunk::many
// The two bytes of successors: 0 if none; else the distance to the first, and how many in a row wait for the
// operation's end.
constexpr unsigned SUCCESSOR_COUNT_BITS = 4;
constexpr std::uint32_t SUCCESSOR_COUNT_LIMIT = 1u << SUCCESSOR_COUNT_BITS;                 // fewer
constexpr std::uint32_t SUCCESSOR_DISTANCE_LIMIT = (1u << (16 - SUCCESSOR_COUNT_BITS)) - 1; // less
constexpr std::uint16_t SUCCESSORS_OTHER = UINT16_MAX; // in the overflow list

struct Chunk {
    std::vector<Operation> operations;
    std::vector<std::uint8_t> progress;
    std::vector<std::uint16_t> successors;
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

// Adds one rank's operations and edges at the end of a chunk. Edges name operations of this rank; an edge may
// appear more than once. If the edges form a cycle, adds nothing and returns an operation of the cycle; else
// returns ANY.
class RankPacker {
public:
    std::uint32_t pack(Chunk &chunk, const std::vector<Operation> &operations, std::vector<Edge> &edges);

private:
    std::uint32_t operation_of_a_cycle(std::size_t count, const std::vector<Edge> &edges);
    void sort(std::size_t count, std::vector<Edge> &edges);

    std::vector<std::uint32_t> counts, heads, order;
    std::vector<Edge> sorted;
};

// Returns a text such as "recv 8b from 3 tag 0", for messages.
std::string operation_text(const Operation &operation, const Kind &kind);

} // namespace sim
