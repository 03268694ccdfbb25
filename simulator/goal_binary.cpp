// SPDX-License-Identifier: BSD-2-Clause
//
// goal_binary.cpp: reads binary GOAL schedules: packed and little endian.
//
//     byte 0   u64 4223                     magic number of the format
//     byte 8   u32 ranks, u8 highest processor, u8 highest network interface
//     byte 14  per rank u64 start, u64 end  of its part, counted from byte 8
//     a part:  u32 nodes, u32 roots, u32 root[roots], nodes of 39 bytes, u32 successor[]
//     a node:  u32 waits for, u8 type (1 send, 2 recv, 3 calc), u32 peer, u64 size, u32 tag, u8 processor,
//              u8 interface, u32 number and u32 place of the successors that wait for its end, and the same
//              for its start
//
// If a file states something twice, both must agree; its counts are computed again and compared.
#include "goal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <thread>

namespace sim {

namespace {

constexpr std::uint64_t MARK = 4223;
constexpr std::uint64_t MARK_USED_UP = 2342;
constexpr std::size_t NODE_BYTES = 39;
// LogGOPSim2's files have the same mark and larger nodes, with handlers and counters, and types up to 11.
constexpr std::size_t NODE_BYTES_LOGGOPSIM2 = 104;
constexpr std::uint8_t TYPE_MAX_LOGGOPSIM2 = 11;
constexpr std::size_t CHUNK_OPERATIONS = 1 << 20;
constexpr std::uint64_t READ_BYTES = 1 << 22; // been_read() is told parts of this size

// Reads the table of all ranks, or the ranks `first` to `last` - 1 into its own chunks.
class BinaryReader {
public:
    BinaryReader(std::string_view content, std::string path, KindTable &all_kinds,
                 const BeenRead &callback = {})
        : bytes(content), name(std::move(path)), kinds(all_kinds), been_read(callback)
    {
    }

    std::uint32_t read_table()
    {
        ranks = number<std::uint32_t>(8, "the number of ranks");
        if (ranks == 0 || ranks > RANKS_LIMIT)
            fail(8, std::to_string(ranks) + " ranks; expected 1 to " + std::to_string(RANKS_LIMIT));
        if (bytes.size() < 14 + std::uint64_t{ranks} * 16)
            fail(bytes.size(),
                 "the file ends inside the table of " + std::to_string(ranks) + " ranks; it is truncated");
        for (std::uint32_t rank = 0; rank < ranks; rank++)
            check_place(rank);
        return ranks;
    }

    void read(std::uint32_t first, std::uint32_t last)
    {
        try {
            ranks = number<std::uint32_t>(8, "the number of ranks");
            for (std::uint32_t rank = first; rank < last; rank++) {
                try {
                    read_rank(rank);
                } catch (const InputError &) {
                    refuse_other_layout(rank);
                    throw;
                }
                report_been_read();
            }
        } catch (...) {
            failure = std::current_exception();
        }
    }

    // Moves the ranks that read() has read to the end of a schedule. If read() failed, throws its error.
    void move_to(Schedule &schedule)
    {
        if (failure)
            std::rethrow_exception(failure);
        schedule.places.insert(schedule.places.end(), places.begin(), places.end());
        for (auto &chunk : chunks)
            schedule.chunks.push_back(std::move(chunk));
        schedule.cpus = std::max(schedule.cpus, cpus);
        schedule.nics = std::max(schedule.nics, nics);
    }

private:
    [[noreturn]] void fail(std::uint64_t at, const std::string &text) const
    {
        throw InputError(name + ": byte " + std::to_string(at) + ": " + text);
    }

    template <typename Number> Number number(std::uint64_t at, const char *what) const
    {
        Number value;

        if (at > bytes.size() || bytes.size() - at < sizeof value)
            fail(bytes.size(), std::string("the file ends before ") + what + "; it is truncated");
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    }

    void check_place(std::uint32_t rank)
    {
        const std::uint64_t entry = 14 + std::uint64_t{rank} * 16;
        const auto start = number<std::uint64_t>(entry, "a rank's start");
        const auto end = number<std::uint64_t>(entry + 8, "a rank's end");
        const std::uint64_t size = bytes.size() - 8;

        if (start > end || end > size)
            fail(entry, "rank " + std::to_string(rank) + " would be at " + std::to_string(start) + " to " +
                            std::to_string(end) + " of " + std::to_string(size) +
                            " bytes; the file is truncated or damaged");
        total += end - start;
        if (total > size)
            fail(entry, "the parts of ranks 0 to " + std::to_string(rank) + " overlap; the file is damaged");
    }

    void read_rank(std::uint32_t rank)
    {
        const std::uint64_t entry = 14 + std::uint64_t{rank} * 16;
        const auto start = number<std::uint64_t>(entry, "a rank's start");
        const auto end = number<std::uint64_t>(entry + 8, "a rank's end");

        part_begin = 8 + start;
        part_end = 8 + end;
        const std::uint64_t roots_at = part_begin + 8;
        if (end - start < 8)
            fail(part_begin,
                 "the part of rank " + std::to_string(rank) + " is too small for its head of 8 bytes");
        nodes = number<std::uint32_t>(part_begin, "the number of nodes");
        roots = number<std::uint32_t>(part_begin + 4, "the number of roots");
        if (roots > nodes || (end - start - 8) / 4 < roots ||
            (end - start - 8 - roots * std::uint64_t{4}) / NODE_BYTES < nodes)
            fail(part_begin, std::to_string(nodes) + " nodes and " + std::to_string(roots) +
                                 " roots do not fit into the " + std::to_string(end - start) +
                                 " bytes of rank " + std::to_string(rank));
        nodes_at = roots_at + roots * std::uint64_t{4};
        successors_at = nodes_at + nodes * NODE_BYTES;

        if (chunks.empty() || chunks.back()->operations.size() > CHUNK_OPERATIONS) {
            chunks.push_back(std::make_unique<Chunk>());
            // Without copies, which would double the memory; what is not used takes none.
            chunks.back()->operations.reserve(std::min(CHUNK_OPERATIONS + nodes, bytes.size() / NODE_BYTES));
        }
        Chunk &chunk = *chunks.back();
        places.push_back({&chunk, static_cast<std::uint32_t>(chunk.operations.size()), nodes});
        builder.begin(chunk);
        for (std::uint32_t i = 0; i < nodes; i++)
            read_node(i);
        successors = 0;
        waits.assign(nodes, {0, 0});
        for (std::uint32_t i = 0; i < nodes; i++) {
            read_successors(i, nodes_at + i * NODE_BYTES + 23, false);
            read_successors(i, nodes_at + i * NODE_BYTES + 31, true);
        }
        check_counts(roots_at);
        check_cycle(rank);
    }

    // Throws an error that says so if a part that cannot be read has LogGOPSim2's nodes.
    void refuse_other_layout(std::uint32_t rank) const
    {
        const std::uint64_t nodes_begin = part_begin + 8 + roots * std::uint64_t{4};

        if (nodes == 0 || roots > nodes || part_end < nodes_begin ||
            (part_end - nodes_begin) / NODE_BYTES_LOGGOPSIM2 < nodes)
            return;
        for (std::uint32_t i = 0; i < nodes; i++) {
            const auto type = static_cast<std::uint8_t>(bytes[nodes_begin + i * NODE_BYTES_LOGGOPSIM2 + 4]);
            if (type < 1 || type > TYPE_MAX_LOGGOPSIM2)
                return;
        }
        fail(nodes_begin, "rank " + std::to_string(rank) + " has nodes of " +
                              std::to_string(NODE_BYTES_LOGGOPSIM2) +
                              " bytes, which LogGOPSim2 writes for one-sided operations; give the text, or "
                              "convert it with LogGOPSim's txt2bin, whose nodes have " +
                              std::to_string(NODE_BYTES));
    }

    // Tells been_read() the parts that have been read; ranks are usually stored in order.
    void report_been_read()
    {
        if (part_begin < read_begin || part_begin > read_end)
            read_begin = read_end = part_begin;
        read_end = std::max(read_end, part_end);
        if (!been_read || read_end - read_begin < READ_BYTES)
            return;
        been_read(bytes.substr(read_begin, read_end - read_begin));
        read_begin = read_end;
    }

    void read_node(std::uint32_t index)
    {
        const std::uint64_t at = nodes_at + index * NODE_BYTES;
        const auto type = number<std::uint8_t>(at + 4, "a node");
        auto peer = number<std::uint32_t>(at + 5, "a node");
        auto tag = number<std::uint32_t>(at + 17, "a node");
        Kind kind;

        if (type < 1 || type > 3)
            fail(at + 4,
                 "a node of type " + std::to_string(type) + "; expected 1 (send), 2 (recv) or 3 (calc)");
        kind.type = type == 1 ? OpType::send : type == 2 ? OpType::recv : OpType::calc;
        kind.size = number<std::uint64_t>(at + 9, "a node");
        kind.cpu = number<std::uint8_t>(at + 21, "a node");
        kind.nic = number<std::uint8_t>(at + 22, "a node");
        if (kind.type == OpType::calc) {
            tag = kind.nic = 0;
            if (kind.size > static_cast<std::uint64_t>(STEP_LIMIT_NS))
                fail(at + 9, "a computation of " + std::to_string(kind.size) + " ns; expected up to " +
                                 std::to_string(STEP_LIMIT_NS));
            peer = calc_split(kind);
        } else {
            const bool any_peer = kind.type == OpType::recv && peer == ANY;
            if (!any_peer && peer >= ranks)
                fail(at + 5, "rank " + std::to_string(peer) + " is out of range; ranks are 0 to " +
                                 std::to_string(ranks - 1));
            if (kind.type == OpType::send && tag == ANY)
                fail(at + 17, "a send with any tag; only receives may have it");
            if (kind.size > INT64_MAX)
                fail(at + 9, "a message of " + std::to_string(kind.size) + " bytes; expected less than 2^63");
        }
        kind.tag = tag;
        cpus = std::max(cpus, kind.cpu + 1u);
        nics = std::max(nics, kind.nic + 1u);
        builder.add({kind_number(kind), peer});
    }

    std::uint32_t kind_number(const Kind &kind)
    {
        CachedKind &cached = cache[KindHash()(kind) % cache.size()];

        if (cached.number == ANY || !(cached.kind == kind))
            cached = {kind, kinds.number_of(kind)};
        return cached.number;
    }

    void read_successors(std::uint32_t index, std::uint64_t at, bool started)
    {
        const auto count = number<std::uint32_t>(at, "a node");
        const auto place = number<std::uint32_t>(at + 4, "a node");

        if (count == 0)
            return;
        if ((part_end - successors_at) / 4 < std::uint64_t{place} + count)
            fail(at, std::to_string(count) + " successors from place " + std::to_string(place) +
                         " are beyond the rank's " + std::to_string((part_end - successors_at) / 4));
        // Each node has its own list: so nodes that share a list cannot make the schedule larger in memory
        // than its file.
        successors += count;
        if (successors > (part_end - successors_at) / 4)
            fail(at, "the nodes have more successors than the rank has room for; each needs its own list");
        for (std::uint32_t i = 0; i < count; i++) {
            const std::uint64_t successor_at = successors_at + (std::uint64_t{place} + i) * 4;
            const auto after = number<std::uint32_t>(successor_at, "a successor");
            if (after >= nodes)
                fail(successor_at, "successor " + std::to_string(after) + " of " + std::to_string(nodes) +
                                       " nodes; expected a smaller one");
            (started ? waits[after].starts : waits[after].ends)++;
            builder.require(index, after, started);
        }
    }

    // Checks that the stated counts of waiting match the lists of successors, and that roots wait for
    // nothing.
    void check_counts(std::uint64_t roots_at) const
    {
        for (std::uint32_t i = 0; i < nodes; i++) {
            const std::uint64_t at = nodes_at + i * NODE_BYTES;
            const auto stated = number<std::uint32_t>(at, "a node");
            if (stated != waits[i].ends && stated != waits[i].ends + waits[i].starts)
                fail(at, "node " + std::to_string(i) + " waits for " + std::to_string(stated) +
                             " nodes, but is the successor of " +
                             std::to_string(waits[i].ends + waits[i].starts));
        }
        for (std::uint32_t i = 0; i < roots; i++) {
            const auto root = number<std::uint32_t>(roots_at + i * std::uint64_t{4}, "a root");
            if (root >= nodes || waits[root].ends + waits[root].starts != 0)
                fail(roots_at + i * std::uint64_t{4},
                     "root " + std::to_string(root) + " is not a node that waits for nothing");
        }
    }

    void check_cycle(std::uint32_t rank)
    {
        const std::uint32_t guilty = builder.end();
        if (guilty != ANY)
            fail(nodes_at + guilty * NODE_BYTES, "node " + std::to_string(guilty) + " of rank " +
                                                     std::to_string(rank) +
                                                     " waits for itself; remove the cycle");
    }

    struct CachedKind {
        Kind kind;
        std::uint32_t number = ANY;
    };
    struct Waits {
        std::uint32_t ends, starts;
    };

    std::string_view bytes;
    std::string name;
    KindTable &kinds; // of all readers
    const BeenRead been_read;
    std::uint64_t read_begin = 0, read_end = 0; // next part to tell been_read()
    std::vector<RankPlace> places;
    std::vector<std::unique_ptr<Chunk>> chunks;
    unsigned cpus = 1, nics = 1;
    std::exception_ptr failure;
    std::array<CachedKind, 256> cache;
    std::uint32_t ranks = 0;
    std::uint64_t total = 0; // bytes of all parts so far
    // The rank being read.
    std::uint64_t part_begin = 0, part_end = 0, nodes_at = 0, successors_at = 0;
    std::uint32_t nodes = 0, roots = 0;
    std::uint64_t successors = 0; // so far
    std::vector<Waits> waits;
    RankBuilder builder;
};

} // namespace

bool goal_is_binary(std::string_view bytes)
{
    std::uint64_t mark = 0;

    if (bytes.size() < sizeof mark)
        return false;
    std::memcpy(&mark, bytes.data(), sizeof mark);
    return mark == MARK;
}

void goal_refuse_foreign(std::string_view bytes, const std::string &name)
{
    struct Foreign {
        std::string_view begin;
        const char *what;
    };
    using namespace std::string_view_literals;
    static constexpr Foreign KNOWN[] = {
        {"\xfd"
         "7zXZ"sv,
         "it is compressed; give what \"xz -dc\" makes of it"},
        {"\x1f\x8b"sv, "it is compressed; give what \"gzip -dc\" makes of it"},
        {"\x28\xb5\x2f\xfd"sv, "it is compressed; give what \"zstd -dc\" makes of it"},
        {"BZh"sv, "it is compressed; give what \"bzip2 -dc\" makes of it"},
        {"PK\x03\x04"sv, "it is a zip archive; give the schedule that it holds"},
        {"\x7f"
         "ELF"sv,
         "it is a program; give the path of a GOAL schedule"},
        {"\xff\xfe"sv, "it is text in UTF-16; convert it to ASCII"},
        {"\xfe\xff"sv, "it is text in UTF-16; convert it to ASCII"},
        {"\xef\xbb\xbf"sv, "it begins with a byte order mark; save it as ASCII, without one"},
        {"\0\0\0\0\0\0\x10\x7f"sv,
         "it is a binary schedule in big endian; convert its text on a little-endian machine"},
    };
    const auto refuse = [&name](const std::string &what) { throw InputError(name + ": byte 0: " + what); };
    std::uint64_t mark = 0;

    for (const Foreign &one : KNOWN)
        if (bytes.substr(0, one.begin.size()) == one.begin)
            refuse(one.what);
    if (bytes.size() < sizeof mark)
        return;
    std::memcpy(&mark, bytes.data(), sizeof mark);
    if (mark == MARK_USED_UP)
        refuse("LogGOPSim has used this schedule up (--save-mem); convert its text again");
    if (mark != MARK && bytes.substr(0, sizeof mark).find('\0') != std::string_view::npos)
        refuse("it is binary in an unknown layout, which begins with " + std::to_string(mark) +
               "; expected text, or a binary schedule, which begins with " + std::to_string(MARK));
}

std::unique_ptr<Schedule> goal_parse_binary(std::string_view bytes, const std::string &name, unsigned threads,
                                            const BeenRead &been_read)
{
    auto schedule = std::make_unique<Schedule>();

    if (!goal_is_binary(bytes))
        throw InputError(name + ": byte 0: not a binary GOAL schedule, which begins with the number 4223");
    const std::uint32_t ranks = BinaryReader(bytes, name, schedule->kinds).read_table();
    const unsigned parts = std::clamp<unsigned>(threads, 1, ranks);
    std::vector<std::unique_ptr<BinaryReader>> readers;
    std::vector<std::thread> helpers;
    const auto read = [&](unsigned part) {
        readers[part]->read(static_cast<std::uint32_t>(std::uint64_t{ranks} * part / parts),
                            static_cast<std::uint32_t>(std::uint64_t{ranks} * (part + 1) / parts));
    };

    for (unsigned part = 0; part < parts; part++)
        readers.push_back(std::make_unique<BinaryReader>(bytes, name, schedule->kinds, been_read));
    for (unsigned part = 1; part < parts; part++)
        helpers.emplace_back(read, part);
    read(0);
    for (std::thread &helper : helpers)
        helper.join();
    // In the order of the ranks, so that the first of several errors is reported.
    for (const auto &reader : readers)
        reader->move_to(*schedule);
    return schedule;
}

} // namespace sim
