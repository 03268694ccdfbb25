// SPDX-License-Identifier: BSD-2-Clause
//
// packed_events.hpp: events of one rank that wait in line, first in, first out, a few bytes each.
//
// An event is stored as its differences from the one before: a byte with a bit for each field that differs,
// then these differences, seven bits to a byte [Protocol Buffers' zigzag varints]. In an alltoall of 4,096
// ranks almost all of the 16.8 million messages wait at once, and one takes six bytes instead of 56.
//
// Bytes are in chains of chunks from a pool, which belongs to one thread.
#pragma once

#include "event.hpp"

#include <array>

namespace sim {

class ChunkPool {
public:
    struct Chunk {
        std::uint32_t next;
        std::array<std::uint8_t, 60> bytes;
    };

    Chunk &operator[](std::uint32_t number)
    {
        return slabs[number >> SLAB_BITS][number & ((1u << SLAB_BITS) - 1)];
    }

    std::uint32_t allocate()
    {
        const std::uint32_t number = free;

        if (number != ANY) {
            free = (*this)[number].next;
            return number;
        }
        if (count >> SLAB_BITS == slabs.size())
            slabs.push_back(std::make_unique_for_overwrite<Chunk[]>(1u << SLAB_BITS));
        return count++;
    }

    void recycle(std::uint32_t number)
    {
        (*this)[number].next = free;
        free = number;
    }

private:
    static constexpr unsigned SLAB_BITS = 10;

    std::vector<std::unique_ptr<Chunk[]>> slabs;
    std::uint32_t count = 0;
    std::uint32_t free = ANY;
};

class PackedEvents {
public:
    bool empty() const
    {
        return count == 0;
    }

    // Adds an event of the same rank and time as all others.
    void push(ChunkPool &pool, const Event &event)
    {
        if (count++ == 0) {
            first = last = event;
            return;
        }
        const Fields fields = differences(event, last);
        std::uint8_t differing = 0;
        for (std::size_t i = 0; i < fields.size(); i++)
            differing |= static_cast<std::uint8_t>((fields[i] != 0) << i);
        put(pool, differing);
        for (const std::uint64_t field : fields)
            if (field != 0)
                put_number(pool, field);
        last = event;
    }

    // Returns the last event that was added. There must be one.
    const Event &back() const
    {
        return last;
    }

    // Returns the event that was added first. There must be one.
    const Event &front() const
    {
        return first;
    }

    void pop(ChunkPool &pool)
    {
        if (--count == 0)
            return;
        const std::uint8_t differing = get(pool);
        Fields fields{};
        for (std::size_t i = 0; i < fields.size(); i++)
            if (differing >> i & 1)
                fields[i] = get_number(pool);
        first = {first.time,
                 {first.history.caused + signed_of(fields[0]), first.history.before + signed_of(fields[1]),
                  first.history.earlier + signed_of(fields[2])},
                 first.rank,
                 first.operation + static_cast<std::uint32_t>(signed_of(fields[3])),
                 first.source + static_cast<std::uint32_t>(signed_of(fields[4])),
                 first.info + static_cast<std::uint32_t>(signed_of(fields[5]))};
    }

private:
    using Fields = std::array<std::uint64_t, 6>;

    // Maps small negative numbers to small numbers.
    static std::uint64_t unsigned_of(std::int64_t number)
    {
        return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
    }

    static std::int64_t signed_of(std::uint64_t number)
    {
        return static_cast<std::int64_t>(number >> 1 ^ (0 - (number & 1)));
    }

    static Fields differences(const Event &event, const Event &from)
    {
        const auto less = [](std::uint32_t a, std::uint32_t b) {
            return unsigned_of(static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b));
        };

        return {unsigned_of(event.history.caused - from.history.caused),
                unsigned_of(event.history.before - from.history.before),
                unsigned_of(event.history.earlier - from.history.earlier),
                less(event.operation, from.operation),
                less(event.source, from.source),
                less(event.info, from.info)};
    }

    void put_number(ChunkPool &pool, std::uint64_t number)
    {
        for (; number >= 128; number >>= 7)
            put(pool, static_cast<std::uint8_t>(number | 128));
        put(pool, static_cast<std::uint8_t>(number));
    }

    std::uint64_t get_number(ChunkPool &pool)
    {
        std::uint64_t number = 0;

        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t byte = get(pool);
            number |= std::uint64_t{byte & 127u} << shift;
            if (byte < 128)
                return number;
        }
    }

    void put(ChunkPool &pool, std::uint8_t byte)
    {
        if (tail == ANY || written == pool[tail].bytes.size()) {
            const std::uint32_t added = pool.allocate();
            (tail == ANY ? head : pool[tail].next) = added;
            tail = added;
            written = 0;
        }
        pool[tail].bytes[written++] = byte;
    }

    std::uint8_t get(ChunkPool &pool)
    {
        if (read == pool[head].bytes.size()) {
            const std::uint32_t old = head;
            head = pool[head].next;
            pool.recycle(old);
            read = 0;
        }
        return pool[head].bytes[read++];
    }

    Event first, last;
    std::uint32_t count = 0;
    std::uint32_t head = ANY, tail = ANY; // chunks
    std::uint32_t read = 0, written = 0;  // bytes of these
};

} // namespace sim
