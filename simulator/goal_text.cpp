// SPDX-License-Identifier: BSD-2-Clause
//
// goal_text.cpp: reads GOAL text in blocks that end between two ranks, and has threads parse them.
//
// Only the blocks being parsed are in memory, not the text. Each thread takes the next block under the lock
// and parses it outside; the blocks' ranks are put together in the order of the text.
#include "goal.hpp"
#include "goal_block.hpp"

#include <algorithm>
#include <exception>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sim {

namespace {

constexpr std::size_t BLOCK_BYTES = std::size_t{1} << 20;

// Where bytes come from: a file, or memory.
class Source {
public:
    explicit Source(std::string_view text) : memory(text)
    {
    }

    Source(int file, std::string path) : descriptor(file), name(std::move(path))
    {
    }

    // Up to `bytes` more; 0 at the end.
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

struct Block {
    std::vector<char> text; // and one zero byte
    std::uint64_t first_line = 1;
    std::uint64_t lines = 0; // ends of lines
    std::size_t number = 0;

    const char *begin() const
    {
        return text.data();
    }

    const char *end() const
    {
        return text.data() + text.size() - 1;
    }
};

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

// The last place where "rank R" begins outside comments; 0 when there is none.
std::size_t last_rank(std::string_view text)
{
    if (text.find("/*") == std::string_view::npos) {
        for (std::size_t at = text.rfind("rank"); at != std::string_view::npos && at > 0;
             at = text.rfind("rank", at - 1)) {
            const std::size_t line = text.rfind('\n', at) + 1;
            if (begins_rank(text, at) && text.substr(line, at - line).find("//") == std::string_view::npos)
                return at;
        }
        return 0;
    }
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

// Cuts the source into blocks. Not for several threads at once.
class BlockReader {
public:
    explicit BlockReader(Source &bytes) : source(bytes)
    {
    }

    // False at the end.
    bool next(Block &block)
    {
        std::size_t bytes_needed = BLOCK_BYTES;

        block.text.swap(rest);
        rest.clear();
        for (;;) {
            fill(block.text, bytes_needed);
            if (ended) {
                if (block.text.empty())
                    return false;
                break;
            }
            const std::size_t cut = last_rank({block.text.data(), block.text.size()});
            if (cut != 0) {
                rest.assign(block.text.begin() + static_cast<std::ptrdiff_t>(cut), block.text.end());
                block.text.resize(cut);
                break;
            }
            bytes_needed *= 2;
        }
        block.first_line = line;
        block.number = count++;
        block.lines = static_cast<std::uint64_t>(std::count(block.text.begin(), block.text.end(), '\n'));
        line += block.lines;
        block.text.push_back('\0');
        return true;
    }

private:
    void fill(std::vector<char> &text, std::size_t bytes_needed)
    {
        std::size_t have = text.size();

        text.resize(std::max(bytes_needed, have));
        while (!ended && have < bytes_needed) {
            const std::size_t got = source.read_some(text.data() + have, bytes_needed - have);
            ended = got == 0;
            have += got;
        }
        text.resize(have);
    }

    Source &source;
    std::vector<char> rest;
    std::uint64_t line = 1;
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
            throw InputError(name + ":" + std::to_string(last_line) + ": rank " +
                             std::to_string(schedule->ranks()) + " is missing; num_ranks " +
                             std::to_string(ranks) + " needs ranks 0 to " + std::to_string(ranks - 1));
        return std::move(schedule);
    }

private:
    [[noreturn]] void fail(const Block &block, const GoalError &error) const
    {
        const char *const where = std::min(error.where, block.end());
        const auto line =
            block.first_line + static_cast<std::uint64_t>(std::count(block.begin(), where, '\n'));

        throw InputError(name + ":" + std::to_string(line) + ": " + error.text);
    }

    const char *header(const Block &block)
    {
        GoalLexer lexer(block.begin(), block.end());
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
            parse(parser, block, block.begin());
        }
    }

    void parse(GoalBlockParser &parser, const Block &block, const char *from)
    {
        try {
            ParsedBlock parsed;
            try {
                parsed = parser.parse(from, block.end());
            } catch (const GoalError &error) {
                fail(block, error);
            }
            put_in_turn(block, parsed);
        } catch (...) {
            const std::lock_guard lock(guard);
            if (!failure || block.number < failed_block) {
                failure = std::current_exception();
                failed_block = block.number;
            }
        }
    }

    // Blocks that come out of turn lie in `early`.
    void put_in_turn(const Block &block, ParsedBlock &parsed)
    {
        const std::lock_guard lock(guard);
        Early one;

        one.number = block.number;
        one.line_of_first =
            block.first_line +
            (parsed.begins.empty()
                 ? 0
                 : static_cast<std::uint64_t>(std::count(block.begin(), parsed.begins.front(), '\n')));
        one.last_line = block.first_line + block.lines;
        // A rank left out within the block: the first that is not the one after its neighbour.
        for (std::size_t i = 1; i < parsed.ranks.size(); i++) {
            if (parsed.ranks[i] != parsed.ranks[i - 1] + 1) {
                fail(block, {parsed.begins[i],
                             "rank " + std::to_string(parsed.ranks[i - 1] + 1) + " is missing before rank " +
                                 std::to_string(parsed.ranks[i]) + "; give every rank, be it empty"});
            }
        }
        one.parsed = std::move(parsed);
        early.push_back(std::move(one));
        for (bool found = true; found;) {
            found = false;
            for (std::size_t i = 0; i < early.size() && !found; i++) {
                if (early[i].number == turn) {
                    Early ready = std::move(early[i]);
                    early.erase(early.begin() + static_cast<std::ptrdiff_t>(i));
                    append(ready);
                    turn++;
                    found = true;
                }
            }
        }
    }

    struct Early {
        ParsedBlock parsed;
        std::size_t number = 0;
        std::uint64_t line_of_first = 0, last_line = 0;
    };

    void append(Early &block)
    {
        ParsedBlock &parsed = block.parsed;

        if (!parsed.ranks.empty() && parsed.ranks.front() != schedule->ranks()) {
            const std::string where = name + ":" + std::to_string(block.line_of_first) + ": rank ";
            if (parsed.ranks.front() < schedule->ranks())
                throw InputError(where + std::to_string(parsed.ranks.front()) + " comes after rank " +
                                 std::to_string(schedule->ranks() - 1) +
                                 "; each rank comes once, in ascending order");
            throw InputError(where + std::to_string(schedule->ranks()) + " is missing before rank " +
                             std::to_string(parsed.ranks.front()) + "; give every rank, be it empty");
        }
        for (std::size_t i = 0; i < parsed.ranks.size(); i++)
            schedule->places.push_back({parsed.chunk.get(), parsed.firsts[i], parsed.counts[i]});
        schedule->cpus = std::max(schedule->cpus, parsed.cpus);
        schedule->nics = std::max(schedule->nics, parsed.nics);
        last_line = block.last_line;
        schedule->chunks.push_back(std::move(parsed.chunk));
    }

    BlockReader reader;
    std::string name;
    std::unique_ptr<Schedule> schedule = std::make_unique<Schedule>();
    std::uint32_t ranks = 0;
    std::mutex guard; // of the reader and everything below
    std::vector<Early> early;
    std::size_t turn = 0;
    std::uint64_t last_line = 1;
    std::exception_ptr failure;
    std::size_t failed_block = 0;
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

// A whole file in memory as it lies in the system's cache; empty for what is no file.
class Mapping {
public:
    explicit Mapping(int descriptor)
    {
        struct stat about;

        if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
            return;
        const auto size = static_cast<std::size_t>(about.st_size);
        void *const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
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
                return goal_parse_binary(mapping.bytes, name, threads);
            // A pipe, or what else cannot be mapped.
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
