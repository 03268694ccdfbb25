// SPDX-License-Identifier: BSD-2-Clause
//
// goal_text.cpp: reads GOAL text in blocks that end between two ranks; threads parse the blocks.
//
// Only the blocks that are being parsed are in memory, not the whole text. A block is small enough for a
// processor's cache. Each thread takes the next block under the lock and parses it outside the lock. The
// blocks' ranks are put together in the order of the text. Lines are counted block by block, so the number of
// a line is known when its block is put in turn.
#include "goal.hpp"
#include "goal_block.hpp"

#include <algorithm>
#include <exception>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sim {

namespace {

constexpr std::size_t BLOCK_BYTES = std::size_t{1} << 18;

// A source of bytes: a file, or memory.
class Source {
public:
    explicit Source(std::string_view text) : memory(text)
    {
    }

    Source(int file, std::string path) : descriptor(file), name(std::move(path))
    {
    }

    // Reads up to `bytes` more; returns 0 at the end.
    std::size_t read_some(char *to, std::size_t bytes)
    {
        if (descriptor < 0) {
            bytes = std::min(bytes, memory.size());
            memory.copy(to, bytes);
            memory.remove_prefix(bytes);
            return bytes;
        }
        const ssize_t got = read(descriptor, to, bytes);
        if (got < 0)
            throw InputError(name + ": cannot be read; give the path of a GOAL schedule");
        return static_cast<std::size_t>(got);
    }

private:
    std::string_view memory;
    int descriptor = -1;
    std::string name;
};

// An array of characters that is not initialised.
class Characters {
public:
    // Makes room for `bytes` characters and the lexer's zeros after them.
    void make_room(std::size_t bytes)
    {
        if (bytes <= room)
            return;
        auto larger = std::make_unique_for_overwrite<char[]>(bytes + GoalLexer::ZEROS);
        std::copy_n(memory.get(), size, larger.get());
        memory = std::move(larger);
        room = bytes;
    }

    void assign(std::string_view text)
    {
        size = 0;
        make_room(text.size());
        text.copy(memory.get(), text.size());
        size = text.size();
    }

    char *begin() const
    {
        return memory.get();
    }

    char *end() const
    {
        return memory.get() + size;
    }

    std::string_view text() const
    {
        return {memory.get(), size};
    }

    std::size_t size = 0;

private:
    std::size_t room = 0;
    std::unique_ptr<char[]> memory;
};

struct Block {
    Characters text; // and GoalLexer::ZEROS zero bytes
    std::size_t number = 0;
};

// Counts line ends. It sums bytes, because compilers vectorise that.
std::uint64_t lines_in(const char *from, const char *to)
{
    constexpr std::ptrdiff_t SUM_MAX = UINT8_MAX;
    std::uint64_t lines = 0;

    while (from < to) {
        const char *const stop = from + std::min(to - from, SUM_MAX);
        std::uint8_t sum = 0;
        for (; from < stop; from++)
            sum = static_cast<std::uint8_t>(sum + (*from == '\n'));
        lines += sum;
    }
    return lines;
}

bool begins_rank(std::string_view text, std::size_t at)
{
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };

    if (at == 0 || !(blank(text[at - 1]) || text[at - 1] == '}') || text.substr(at, 4) != "rank")
        return false;
    std::size_t next = at + 4;
    while (next < text.size() && blank(text[next]))
        next++;
    return next > at + 4 && next < text.size() && GoalLexer::is_digit(text[next]);
}

// Returns the last place from `from` on at which "rank R" begins in a text without "/*", outside comments; 0
// if there is none. Looks for the letter that other words of a schedule do not have.
std::size_t last_rank_without_comments(std::string_view text, std::size_t from)
{
    for (std::size_t end = text.size(); end > from;) {
        const void *const found = memrchr(text.data() + from, 'k', end - from);
        if (!found)
            return 0;
        end = static_cast<std::size_t>(static_cast<const char *>(found) - text.data());
        const std::size_t at = end - std::min<std::size_t>(end, 3);
        const std::size_t line = text.rfind('\n', at) + 1;
        if (begins_rank(text, at) && text.substr(line, at - line).find("//") == std::string_view::npos)
            return at;
    }
    return 0;
}

// Returns the last place at which "rank R" begins outside comments; 0 if there is none. There is none before
// `from`.
std::size_t last_rank(std::string_view text, std::size_t from)
{
    if (text.find("/*") == std::string_view::npos)
        return last_rank_without_comments(text, from);
    std::size_t found = 0;
    for (std::size_t at = 0; at < text.size(); at++) {
        if (text.substr(at, 2) == "//") {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.substr(at, 2) == "/*") {
            const std::size_t close = text.find("*/", at + 2);
            if (close == std::string_view::npos)
                break;
            at = close + 1;
        } else if (text[at] == 'r' && begins_rank(text, at)) {
            found = at;
        }
    }
    return found;
}

// Cuts the source into blocks. Not thread-safe.
class BlockReader {
public:
    explicit BlockReader(Source &bytes) : source(bytes)
    {
    }

    // Reads the next block; false at the end.
    bool next(Block &block)
    {
        std::size_t bytes_needed = BLOCK_BYTES, looked = 0;

        std::swap(block.text, rest);
        rest.size = 0;
        for (;;) {
            fill(block.text, bytes_needed);
            if (ended) {
                if (block.text.size == 0)
                    return false;
                break;
            }
            const std::size_t cut = last_rank(block.text.text(), looked);
            if (cut != 0) {
                rest.assign(block.text.text().substr(cut));
                block.text.size = cut;
                break;
            }
            // A "rank" at the end, whose number has not been read yet, is looked at again.
            looked = block.text.text().find_last_not_of(" \t\r\n");
            looked -= std::min<std::size_t>(looked, sizeof "rank");
            bytes_needed *= 2;
        }
        block.number = count++;
        std::fill_n(block.text.end(), GoalLexer::ZEROS, '\0');
        return true;
    }

private:
    void fill(Characters &text, std::size_t bytes_needed)
    {
        text.make_room(bytes_needed);
        while (!ended && text.size < bytes_needed) {
            const std::size_t got = source.read_some(text.end(), bytes_needed - text.size);
            ended = got == 0;
            text.size += got;
        }
    }

    Source &source;
    Characters rest;
    std::size_t count = 0;
    bool ended = false;
};

class TextReader {
public:
    TextReader(Source &bytes, std::string path) : reader(bytes), name(std::move(path))
    {
    }

    std::unique_ptr<Schedule> read_all(unsigned threads)
    {
        Block first;

        if (!reader.next(first))
            throw InputError(name + ":1: the file is empty; a schedule begins with \"num_ranks N\"");
        goal_refuse_foreign(first.text.text().substr(0, 8), name);
        const char *const body = header(first);
        std::vector<std::thread> helpers;
        for (unsigned i = 1; i < threads; i++)
            helpers.emplace_back([this] { work(); });
        {
            GoalBlockParser parser(schedule->kinds, ranks);
            parse(parser, first, body);
        }
        work();
        for (std::thread &helper : helpers)
            helper.join();
        if (failure)
            std::rethrow_exception(failure);
        if (schedule->ranks() < ranks)
            fail(line, "rank " + std::to_string(schedule->ranks()) + " is missing; num_ranks " +
                           std::to_string(ranks) + " needs ranks 0 to " + std::to_string(ranks - 1));
        return std::move(schedule);
    }

private:
    [[noreturn]] void fail(std::uint64_t at_line, const std::string &text) const
    {
        throw InputError(name + ":" + std::to_string(at_line) + ": " + text);
    }

    // Reports an error in the first block.
    [[noreturn]] void fail(const Block &block, const GoalError &error) const
    {
        fail(1 + lines_in(block.text.begin(), std::min<const char *>(error.where, block.text.end())),
             error.text);
    }

    const char *header(const Block &block)
    {
        GoalLexer lexer(block.text.begin(), block.text.end());
        std::uint64_t count = 0;

        if (!lexer.skip_space())
            fail(block, {lexer.position(), "a comment does not end; close it with \"*/\""});
        const GoalLexer at = lexer;
        if (lexer.word() != "num_ranks")
            fail(block, {at.position(), "found " + at.seen() + "; a schedule begins with \"num_ranks N\""});
        lexer.skip_space();
        const GoalLexer number = lexer;
        if (!lexer.number(RANKS_LIMIT, count) || count == 0)
            fail(block,
                 {number.position(), "found " + number.seen() + "; expected a number of ranks from 1 to " +
                                         std::to_string(RANKS_LIMIT)});
        ranks = static_cast<std::uint32_t>(count);
        return lexer.position();
    }

    void work()
    {
        GoalBlockParser parser(schedule->kinds, ranks);
        Block block;

        for (;;) {
            {
                const std::lock_guard lock(guard);
                try {
                    if (failure || !reader.next(block))
                        return;
                } catch (...) {
                    failure = std::current_exception();
                    return;
                }
            }
            parse(parser, block, block.text.begin());
        }
    }

    // A parsed block, or its error. Lines count from the block's first, which is 0.
    struct Parsed {
        ParsedBlock ranks;
        std::size_t number = 0;
        std::uint64_t lines = 0, line_of_first_rank = 0;
        std::string error; // empty: none
        std::uint64_t line_of_error = 0;
    };

    void parse(GoalBlockParser &parser, const Block &block, const char *from)
    {
        const char *const begin = block.text.begin(), *const end = block.text.end();
        Parsed parsed;

        try {
            parsed.number = block.number;
            parsed.lines = lines_in(begin, end);
            try {
                parsed.ranks = parser.parse(from, end);
                if (!parsed.ranks.begins.empty())
                    parsed.line_of_first_rank = lines_in(begin, parsed.ranks.begins.front());
                check_neighbours(parsed.ranks);
            } catch (const GoalError &error) {
                parsed.error = error.text;
                parsed.line_of_error = lines_in(begin, std::min(error.where, end));
            }
            const std::lock_guard lock(guard);
            put_in_turn(std::move(parsed));
        } catch (...) {
            const std::lock_guard lock(guard);
            if (!failure)
                failure = std::current_exception();
        }
    }

    // Throws an error if ranks within the block are not consecutive.
    static void check_neighbours(const ParsedBlock &block)
    {
        for (std::size_t i = 1; i < block.ranks.size(); i++)
            if (block.ranks[i] != block.ranks[i - 1] + 1)
                throw GoalError{block.begins[i], "rank " + std::to_string(block.ranks[i - 1] + 1) +
                                                     " is missing before rank " +
                                                     std::to_string(block.ranks[i]) +
                                                     "; give every rank, be it empty"};
    }

    // Adds the block when its turn comes; until then it waits in `early`.
    void put_in_turn(Parsed &&parsed)
    {
        early.emplace(parsed.number, std::move(parsed));
        for (auto next = early.find(turn); next != early.end(); next = early.find(++turn)) {
            append(next->second);
            early.erase(next);
        }
    }

    void append(Parsed &block)
    {
        ParsedBlock &parsed = block.ranks;
        const std::uint32_t expected = schedule->ranks();

        if (!block.error.empty())
            fail(line + block.line_of_error, block.error);
        if (!parsed.ranks.empty() && parsed.ranks.front() != expected) {
            const std::string first = std::to_string(parsed.ranks.front());
            fail(line + block.line_of_first_rank,
                 parsed.ranks.front() < expected
                     ? "rank " + first + " comes after rank " + std::to_string(expected - 1) +
                           "; each rank comes once, in ascending order"
                     : "rank " + std::to_string(expected) + " is missing before rank " + first +
                           "; give every rank, be it empty");
        }
        for (std::size_t i = 0; i < parsed.ranks.size(); i++)
            schedule->places.push_back({parsed.chunk.get(), parsed.firsts[i], parsed.counts[i]});
        schedule->cpus = std::max(schedule->cpus, parsed.cpus);
        schedule->nics = std::max(schedule->nics, parsed.nics);
        schedule->chunks.push_back(std::move(parsed.chunk));
        line += block.lines;
    }

    BlockReader reader;
    std::string name;
    std::unique_ptr<Schedule> schedule = std::make_unique<Schedule>();
    std::uint32_t ranks = 0;
    std::mutex guard; // of the reader and everything below
    std::map<std::size_t, Parsed> early;
    std::size_t turn = 0;
    std::uint64_t line = 1; // at which the block `turn` begins
    std::exception_ptr failure;
};

class File {
public:
    explicit File(const std::string &path)
        : descriptor(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC))
    {
        if (descriptor < 0)
            throw InputError(
                path + ": cannot be opened; give the path of a GOAL schedule, or - for the standard input");
    }

    ~File()
    {
        if (descriptor != STDIN_FILENO)
            close(descriptor);
    }

    File(const File &) = delete;
    File &operator=(const File &) = delete;

    const int descriptor;
};

// A whole file, mapped from the system's page cache; empty if it is not a regular file.
class Mapping {
public:
    explicit Mapping(int descriptor)
    {
        struct stat about;

        if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
            return;
        const auto size = static_cast<std::size_t>(about.st_size);
        void *const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (memory != MAP_FAILED)
            bytes = {static_cast<const char *>(memory), size};
    }

    ~Mapping()
    {
        if (!bytes.empty())
            munmap(const_cast<char *>(bytes.data()), bytes.size());
    }

    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    // Tells the system that a part need not stay in memory; it is read again if it is used. Only a hint, so
    // errors of madvise() are ignored.
    static void let_go(std::string_view part)
    {
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
        const auto end = reinterpret_cast<std::uintptr_t>(part.data()) + part.size();

        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
    }

    std::string_view bytes;
};

} // namespace

std::unique_ptr<Schedule> goal_parse_text(std::string_view text, const std::string &name)
{
    Source source(text);
    TextReader reader(source, name);

    return reader.read_all(1);
}

std::unique_ptr<Schedule> goal_read(const std::string &path, unsigned threads)
{
    const std::string name = path == "-" ? "standard input" : path;
    const File file(path);
    Source source(file.descriptor, name);
    char head[8];
    std::size_t have = 0;

    if (path != "-") {
        for (std::size_t got = 1; got != 0 && have < sizeof head; have += got)
            got = source.read_some(head + have, sizeof head - have);
        if (goal_is_binary({head, have})) {
            const Mapping mapping(file.descriptor);
            if (!mapping.bytes.empty())
                return goal_parse_binary(mapping.bytes, name, threads, Mapping::let_go);
            // A pipe, or another file that cannot be mapped.
            std::vector<char> bytes(head, head + have);
            for (std::size_t got = 1; got != 0;) {
                const std::size_t before = bytes.size();
                bytes.resize(before + std::max(before, BLOCK_BYTES));
                got = source.read_some(bytes.data() + before, bytes.size() - before);
                bytes.resize(before + got);
            }
            return goal_parse_binary({bytes.data(), bytes.size()}, name, threads);
        }
        if (lseek(file.descriptor, 0, SEEK_SET) < 0)
            throw InputError(name + ": cannot be read twice; for a pipe give - and use the standard input");
    }
    TextReader reader(source, name);
    return reader.read_all(threads);
}

} // namespace sim
