// SPDX-License-Identifier: BSD-2-Clause
//
// goal_block.hpp: parses a part of a GOAL text that consists of whole ranks.
//
// A parser belongs to one thread; several share the schedule's table of kinds.
#pragma once

#include "goal_lexer.hpp"
#include "schedule.hpp"

#include <array>
#include <string>
#include <vector>

namespace sim {

// An error whose line is not known yet: the place in the block, what is wrong, and what would be right.
struct GoalError {
    const char *where;
    std::string text;
};

// Labels of one rank: text -> operation, in an open table that is cleared in constant time. Labels as
// generators write them, "l" and a number, are in a row, indexed by the number.
class LabelTable {
public:
    LabelTable();
    void clear();

    // Returns the operation of a label, or ANY.
    std::uint32_t find(std::string_view label) const;

    // Adds a label; false if it exists already.
    bool add(std::string_view label, std::uint32_t operation);

    // Returns the operation of the label "l" and a number, or ANY.
    std::uint32_t find_number(std::uint32_t number) const
    {
        return number < row.size() && row[number].generation == generation ? row[number].operation : ANY;
    }

    bool add_number(std::uint32_t number, std::uint32_t operation)
    {
        if (number >= row.size())
            grow_row(number);
        if (row[number].generation == generation)
            return false;
        row[number] = {operation, generation};
        return true;
    }

    static constexpr std::uint32_t NUMBERS = 1'000'000; // smaller numbers are in the row

private:
    struct Entry {
        std::uint64_t hash;
        const char *text;
        std::uint32_t bytes;
        std::uint32_t operation;
        std::uint32_t generation;
    };
    struct Numbered {
        std::uint32_t operation, generation;
    };
    static std::uint32_t number_of(std::string_view label);
    static std::uint64_t hash_of(std::string_view label);
    void grow();
    void grow_row(std::uint32_t number);

    std::vector<Entry> entries;
    std::vector<Numbered> row;
    std::uint32_t generation = 1;
    std::size_t used = 0;
};

// The ranks of a block.
struct ParsedBlock {
    std::unique_ptr<Chunk> chunk;
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint32_t> firsts, counts; // operations of each
    std::vector<const char *> begins;          // place of each in the text
    unsigned cpus = 1, nics = 1;
};

class GoalBlockParser {
public:
    GoalBlockParser(KindTable &all_kinds, std::uint32_t rank_count)
        : kinds(all_kinds), ranks(rank_count), short_calc(all_kinds.number_of({OpType::calc, 0, 0, 0, 0}))
    {
    }

    // Parses "rank R { ... }" until the end of the text, after which there are zeros. Throws GoalError.
    ParsedBlock parse(const char *first, const char *last);

private:
    void parse_rank(GoalLexer &lexer, ParsedBlock &block);
    void parse_body(GoalLexer &lexer, const char *begin, ParsedBlock &block);
    void parse_usual_lines(GoalLexer &lexer);
    const char *parse_usual_operation(const char *at, std::uint32_t label);
    const char *parse_usual_message(const char *at, bool send, Operation &operation);
    std::uint32_t usual_kind(OpType type, std::uint32_t size, std::uint32_t tag);
    void parse_line(GoalLexer &lexer, ParsedBlock &block);
    void parse_operation(GoalLexer &lexer, const char *begin, std::string_view verb, ParsedBlock &block);
    void parse_edge(GoalLexer &lexer, const char *begin, std::string_view after, ParsedBlock &block);
    void add_late_edges();
    std::uint32_t kind_number(const Kind &kind);

    struct LateEdge {
        std::string_view after, before;
        bool started;
    };
    struct CachedKind {
        Kind kind;
        std::uint32_t number = ANY;
    };

    KindTable &kinds;
    std::uint32_t ranks;
    std::uint32_t guilty = ANY;       // an operation of a cycle, whose line is looked for
    std::vector<LateEdge> late_edges; // to labels that are defined further down
    LabelTable labels;
    RankBuilder builder;
    Chunk growing; // of the block
    std::array<CachedKind, 256> cache;
    const std::uint32_t short_calc; // the kind of computations of less than 2^32 ns on the first processor
};

} // namespace sim
