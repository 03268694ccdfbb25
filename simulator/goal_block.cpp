// SPDX-License-Identifier: BSD-2-Clause
//
// goal_block.cpp: see goal_block.hpp; the grammar is in goal.hpp.
#include "goal_block.hpp"

#include <algorithm>

namespace sim {

namespace {

constexpr std::uint64_t OPERATIONS_LIMIT = (1u << 31) - 1;

// Throws an error if a word is an operation of LogGOPSim2's schedules that the model does not have.
void refuse_one_sided(std::string_view word, const GoalLexer &at)
{
    for (const char *const verb : {"put", "get", "append", "tput", "tget", "tappend", "test"})
        if (word == verb)
            throw GoalError{at.position(),
                            '"' + std::string(word) +
                                "\" is a one-sided operation (RMA, as in LogGOPSim2), which is not "
                                "simulated; express it with send, recv and calc"};
    if (word == "calcgem5")
        throw GoalError{at.position(),
                        "\"calcgem5\" needs the simulator gem5 (as in LogGOPSim2), which is not "
                        "used here; give the time as \"calc NS\""};
}

void expect(bool held, const GoalLexer &lexer, const char *right)
{
    if (!held)
        throw GoalError{lexer.position(), "found " + lexer.seen() + "; expected " + std::string(right)};
}

inline void space(GoalLexer &lexer)
{
    if (!lexer.skip_space()) [[unlikely]]
        throw GoalError{lexer.position(), "a comment does not end; close it with \"*/\""};
}

std::uint64_t number(GoalLexer &lexer, std::uint64_t limit, const char *right)
{
    std::uint64_t value = 0;

    space(lexer);
    const GoalLexer at = lexer;
    if (!lexer.number(limit, value))
        throw GoalError{at.position(), "found " + at.seen() + "; expected " + std::string(right)};
    return value;
}

} // namespace

LabelTable::LabelTable() : entries(64)
{
}

void LabelTable::clear()
{
    used = 0;
    if (++generation == 0) {
        std::fill(entries.begin(), entries.end(), Entry{});
        std::fill(row.begin(), row.end(), Numbered{});
        generation = 1;
    }
}

std::uint64_t LabelTable::hash_of(std::string_view label)
{
    std::uint64_t hash = label.size();

    for (const char c : label)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

// Returns the number of a label that is in the row; NUMBERS for other labels.
std::uint32_t LabelTable::number_of(std::string_view label)
{
    std::uint32_t number = 0;

    if (label.size() < 2 || label.size() > 7 || label[0] != 'l' || (label[1] == '0' && label.size() > 2))
        return NUMBERS;
    for (const char c : label.substr(1)) {
        if (!GoalLexer::is_digit(c))
            return NUMBERS;
        number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return number;
}

void LabelTable::grow_row(std::uint32_t number)
{
    row.resize(std::max<std::size_t>(number + 1, row.size() * 2), Numbered{ANY, 0});
}

std::uint32_t LabelTable::find(std::string_view label) const
{
    const std::uint32_t number = number_of(label);
    if (number != NUMBERS)
        return find_number(number);
    const std::uint64_t hash = hash_of(label);

    for (std::size_t i = hash & (entries.size() - 1);; i = (i + 1) & (entries.size() - 1)) {
        const Entry &entry = entries[i];
        if (entry.generation != generation)
            return ANY;
        if (entry.hash == hash && std::string_view(entry.text, entry.bytes) == label)
            return entry.operation;
    }
}

void LabelTable::grow()
{
    std::vector<Entry> old(entries.size() * 2);

    old.swap(entries);
    for (const Entry &entry : old) {
        if (entry.generation != generation)
            continue;
        std::size_t i = entry.hash & (entries.size() - 1);
        while (entries[i].generation == generation)
            i = (i + 1) & (entries.size() - 1);
        entries[i] = entry;
    }
}

bool LabelTable::add(std::string_view label, std::uint32_t operation)
{
    const std::uint32_t number = number_of(label);
    if (number != NUMBERS)
        return add_number(number, operation);
    if (used * 2 >= entries.size())
        grow();
    const std::uint64_t hash = hash_of(label);
    std::size_t i = hash & (entries.size() - 1);
    for (; entries[i].generation == generation; i = (i + 1) & (entries.size() - 1))
        if (entries[i].hash == hash && std::string_view(entries[i].text, entries[i].bytes) == label)
            return false;
    entries[i] = {hash, label.data(), static_cast<std::uint32_t>(label.size()), operation, generation};
    used++;
    return true;
}

std::uint32_t GoalBlockParser::kind_number(const Kind &kind)
{
    CachedKind &cached =
        cache[(kind.size * 31 + kind.tag * 7 + static_cast<unsigned>(kind.type)) % cache.size()];

    if (cached.number == ANY || !(cached.kind == kind))
        cached = {kind, kinds.number_of(kind)};
    return cached.number;
}

void GoalBlockParser::parse_operation(GoalLexer &lexer, const char *begin, std::string_view verb,
                                      ParsedBlock &block)
{
    Operation operation = {0, 0};
    Kind kind;

    if (builder.count() == guilty)
        throw GoalError{begin,
                        "this operation waits for itself through requires or irequires; remove the cycle"};
    if (verb == "calc") {
        kind.type = OpType::calc;
        kind.size = number(lexer, STEP_LIMIT_NS, "a computation's whole ns, up to a week");
        operation.peer = calc_split(kind);
    } else {
        const bool send = verb == "send";
        kind.type = send ? OpType::send : OpType::recv;
        kind.size = number(lexer, INT64_MAX, "a number of bytes such as \"8b\"");
        expect(lexer.take('b'), lexer, "\"b\" after the number of bytes");
        space(lexer);
        const GoalLexer direction = lexer;
        expect(lexer.word() == (send ? "to" : "from"), direction, send ? "\"to RANK\"" : "\"from RANK\"");
        space(lexer);
        const GoalLexer peer = lexer;
        if (!send && lexer.take('-')) {
            expect(lexer.take('1') && !GoalLexer::is_digit(lexer.next()), peer, "a rank, or -1 for any");
            operation.peer = ANY;
        } else {
            const std::uint64_t rank = number(lexer, UINT64_MAX, send ? "a rank" : "a rank, or -1 for any");
            if (rank >= ranks)
                throw GoalError{peer.position(), "rank " + std::to_string(rank) +
                                                     " is out of range; ranks are 0 to " +
                                                     std::to_string(ranks - 1)};
            operation.peer = static_cast<std::uint32_t>(rank);
        }
    }
    // Attributes in any order; a word that is no attribute begins the next line.
    for (;;) {
        space(lexer);
        const GoalLexer before = lexer;
        const std::string_view name = lexer.word();
        if (name == "cpu" && lexer.next() != ':') {
            kind.cpu = static_cast<std::uint8_t>(number(lexer, 255, "a processor's number from 0 to 255"));
        } else if (name == "nic" && lexer.next() != ':' && kind.type != OpType::calc) {
            kind.nic =
                static_cast<std::uint8_t>(number(lexer, 255, "a network interface's number from 0 to 255"));
        } else if (name == "tag" && lexer.next() != ':' && kind.type != OpType::calc) {
            space(lexer);
            const GoalLexer tag = lexer;
            if (kind.type == OpType::recv && lexer.take('-')) {
                expect(lexer.take('1') && !GoalLexer::is_digit(lexer.next()), tag, "a tag, or -1 for any");
                kind.tag = ANY;
            } else {
                kind.tag = static_cast<std::uint32_t>(number(lexer, TAG_LIMIT, "a tag from 0 to 4294967294"));
            }
        } else {
            lexer = before;
            break;
        }
    }
    block.cpus = std::max(block.cpus, kind.cpu + 1u);
    block.nics = std::max(block.nics, kind.nic + 1u);
    operation.kind = kind_number(kind);
    builder.add(operation);
}

void GoalBlockParser::parse_edge(GoalLexer &lexer, const char *begin, std::string_view after, ParsedBlock &)
{
    space(lexer);
    const GoalLexer at = lexer;
    const std::string_view relation = lexer.word();
    const bool started = relation == "irequires";

    expect(started || relation == "requires", at,
           "\":\" after a label, or \"requires\" or \"irequires\" (operations are send, recv and calc)");
    space(lexer);
    const GoalLexer label = lexer;
    const std::string_view before = lexer.word();
    expect(!before.empty(), label, "the label of an operation of this rank");
    const std::uint32_t from = labels.find(before);
    const std::uint32_t to = labels.find(after);
    if (from == ANY || to == ANY)
        late_edges.push_back({{begin, after.size()}, before, started});
    else
        builder.require(from, to, started);
}

void GoalBlockParser::add_late_edges()
{
    for (const LateEdge &edge : late_edges) {
        for (const std::string_view label : {edge.after, edge.before})
            if (labels.find(label) == ANY)
                throw GoalError{label.data(), "no operation of this rank is labelled \"" +
                                                  std::string(label.substr(0, 40)) +
                                                  "\"; labels are defined as \"" +
                                                  std::string(label.substr(0, 40)) + ": send ...\""};
        builder.require(labels.find(edge.before), labels.find(edge.after), edge.started);
    }
}

inline std::uint32_t GoalBlockParser::usual_kind(OpType type, std::uint32_t size, std::uint32_t tag)
{
    const CachedKind &cached = cache[(size * 31 + tag * 7 + static_cast<unsigned>(type)) % cache.size()];
    const Kind &kind = cached.kind;

    if (kind.size == size && kind.tag == tag && kind.type == type && kind.cpu == 0 && kind.nic == 0 &&
        cached.number != ANY)
        return cached.number;
    return kind_number({type, 0, 0, tag, size});
}

// Parses "8b to 1 tag 0" of a send or "8b from 1 tag 0" of a receive.
inline const char *GoalBlockParser::parse_usual_message(const char *at, bool send, Operation &operation)
{
    std::uint32_t size = 0, tag = 0;

    at = GoalLexer::short_number(at, size);
    if (!at || !(send ? GoalLexer::stands(at, "b to ") : GoalLexer::stands(at, "b from ")))
        return nullptr;
    at = GoalLexer::short_number(at + (send ? 5 : 7), operation.peer);
    if (!at || operation.peer >= ranks || !GoalLexer::stands(at, " tag "))
        return nullptr;
    at = GoalLexer::short_number(at + 5, tag);
    if (at)
        operation.kind = usual_kind(send ? OpType::send : OpType::recv, size, tag);
    return at;
}

// Parses the rest of "l1: calc 5", "l1: send 8b to 1 tag 0" or "l1: recv 8b from 1 tag 0" from the blank
// after the colon to the line's end. Returns that place. For another line returns null and changes nothing.
inline const char *GoalBlockParser::parse_usual_operation(const char *at, std::uint32_t label)
{
    Operation operation = {short_calc, 0};

    if (GoalLexer::stands(at, " calc "))
        at = GoalLexer::short_number(at + 6, operation.peer);
    else if (GoalLexer::stands(at, " send "))
        at = parse_usual_message(at + 6, true, operation);
    else if (GoalLexer::stands(at, " recv "))
        at = parse_usual_message(at + 6, false, operation);
    else
        return nullptr;
    // The next line must begin with "l" or "}": anything else may be an attribute of this operation.
    if (!at || at[0] != '\n' || (at[1] != 'l' && at[1] != '}') || builder.count() == OPERATIONS_LIMIT ||
        !labels.add_number(label, builder.count()))
        return nullptr;
    builder.add(operation);
    return at;
}

// Parses lines as generators write them, which most lines are. Stops before another line; parse_line() parses
// it and reports errors.
void GoalBlockParser::parse_usual_lines(GoalLexer &lexer)
{
    const char *at = lexer.position();

    for (;; at++) { // over the line's end
        std::uint32_t label = 0, before = 0;
        const char *const begin = at;

        lexer.go_to(begin);
        if (*at != 'l' || !(at = GoalLexer::short_number(at + 1, label)) || label >= LabelTable::NUMBERS)
            return;
        if (*at == ':') {
            if (!(at = parse_usual_operation(at + 1, label)))
                return;
            continue;
        }
        if (!GoalLexer::stands(at, " requires l") || !(at = GoalLexer::short_number(at + 11, before)) ||
            at[0] != '\n' || before >= LabelTable::NUMBERS)
            return;
        const std::uint32_t from = labels.find_number(before), to = labels.find_number(label);
        if (from == ANY || to == ANY)
            return;
        builder.require(from, to, false);
    }
}

void GoalBlockParser::parse_line(GoalLexer &lexer, ParsedBlock &block)
{
    const GoalLexer at = lexer;
    const char *const begin = at.position();
    std::string_view word = lexer.word();

    if (word.empty())
        expect(false, lexer, "an operation (send, recv, calc), a dependency (a requires b), or \"}\"");
    if (builder.count() == OPERATIONS_LIMIT)
        throw GoalError{begin, "more than 2^31 operations of one rank; make the schedule shorter"};
    if (lexer.next() == ' ' || lexer.next() == '\t') {
        // "send 8b" is an operation, "send requires x" a dependency of the operation labelled "send".
        if (word == "send" || word == "recv" || word == "calc") {
            GoalLexer ahead = lexer;
            space(ahead);
            if (!GoalLexer::is_letter(ahead.next()) && ahead.next() != ':') {
                parse_operation(lexer, begin, word, block);
                return;
            }
        }
        space(lexer);
        if (GoalLexer::is_digit(lexer.next()))
            refuse_one_sided(word, at);
    }
    if (lexer.take(':')) {
        if (!labels.add(word, builder.count()))
            throw GoalError{begin, "the label \"" + std::string(word.substr(0, 40)) +
                                       "\" is used twice in this rank; give each operation its own"};
        space(lexer);
        const GoalLexer verb = lexer;
        word = lexer.word();
        refuse_one_sided(word, verb);
        expect(word == "send" || word == "recv" || word == "calc", verb, "\"send\", \"recv\" or \"calc\"");
        parse_operation(lexer, begin, word, block);
        return;
    }
    parse_edge(lexer, begin, word, block);
}

void GoalBlockParser::parse_rank(GoalLexer &lexer, ParsedBlock &block)
{
    const GoalLexer at = lexer;

    expect(lexer.word() == "rank", at, "\"rank R {\"");
    space(lexer);
    const GoalLexer number_at = lexer;
    const std::uint64_t rank = number(lexer, UINT64_MAX, "the rank's number");
    if (rank >= ranks)
        throw GoalError{number_at.position(), "rank " + std::to_string(rank) +
                                                  " is out of range; num_ranks allows 0 to " +
                                                  std::to_string(ranks - 1)};
    if (!block.ranks.empty() && rank <= block.ranks.back())
        throw GoalError{number_at.position(), "rank " + std::to_string(rank) + " comes after rank " +
                                                  std::to_string(block.ranks.back()) +
                                                  "; each rank comes once, in ascending order"};
    space(lexer);
    expect(lexer.take('{'), lexer, "\"{\"");
    GoalLexer body = lexer;
    block.begins.push_back(at.position());
    block.ranks.push_back(static_cast<std::uint32_t>(rank));
    block.firsts.push_back(static_cast<std::uint32_t>(growing.operations.size()));
    parse_body(lexer, at.position(), block);
    block.counts.push_back(builder.count());
    if (growing.operations.size() > UINT32_MAX)
        throw GoalError{at.position(), "more than 2^32 operations in a block; make the schedule shorter"};
    guilty = builder.end();
    if (guilty != ANY)
        parse_body(body, at.position(), block); // finds its line
}

// Parses what is between a rank's braces, and the second of them.
void GoalBlockParser::parse_body(GoalLexer &lexer, const char *begin, ParsedBlock &block)
{
    builder.begin(growing);
    late_edges.clear();
    labels.clear();
    for (space(lexer); !lexer.take('}'); space(lexer)) {
        if (guilty == ANY)
            parse_usual_lines(lexer);
        space(lexer);
        if (lexer.done())
            throw GoalError{begin, "the file ends inside rank " + std::to_string(block.ranks.back()) +
                                       "; close it with \"}\""};
        if (lexer.next() != '}')
            parse_line(lexer, block);
    }
    add_late_edges();
}

ParsedBlock GoalBlockParser::parse(const char *first, const char *last)
{
    GoalLexer lexer(first, last);
    ParsedBlock block;

    growing.operations.clear();
    growing.other_operations.clear();
    growing.other_ends.clear();
    growing.others.clear();
    growing.many.clear();
    for (space(lexer); !lexer.done(); space(lexer))
        parse_rank(lexer, block);
    // The copy has no spare room; the memory that has grown stays for the next block.
    block.chunk = std::make_unique<Chunk>(growing);
    return block;
}

} // namespace sim
