// SPDX-License-Identifier: BSD-2-Clause
//
// pages.hpp: memory for large arrays that are visited in a wide stride. It asks the system for large pages;
// without them it is ordinary memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <vector>

namespace sim {

template <typename Value> struct LargePages {
    using value_type = Value;
    static constexpr std::size_t PAGE_BYTES = std::size_t{2} << 20;

    LargePages() = default;

    template <typename Other> LargePages(const LargePages<Other> &)
    {
    }

    Value *allocate(std::size_t count)
    {
        const std::size_t bytes = count * sizeof(Value);
        const bool large = bytes >= PAGE_BYTES;
        const std::size_t alignment =
            large ? PAGE_BYTES : std::max(alignof(Value), alignof(std::max_align_t));
        void *const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);

        if (!memory)
            throw std::bad_alloc();
        // Only a hint, so errors are ignored.
        if (large)
            madvise(memory, bytes, MADV_HUGEPAGE);
        return static_cast<Value *>(memory);
    }

    void deallocate(Value *memory, std::size_t)
    {
        std::free(memory);
    }

    bool operator==(const LargePages &) const = default;
};

template <typename Value> using LargeVector = std::vector<Value, LargePages<Value>>;

// Room for values that the threads construct with make(), each its own part. So threads share the cost of new
// pages, which is higher than that of simulating most ranks.
template <typename Value> class LargeRoom {
    static_assert(std::is_trivially_destructible_v<Value>);

public:
    explicit LargeRoom(std::size_t values) : count(values), room(LargePages<Value>().allocate(values))
    {
    }

    ~LargeRoom()
    {
        LargePages<Value>().deallocate(room, count);
    }

    LargeRoom(const LargeRoom &) = delete;
    LargeRoom &operator=(const LargeRoom &) = delete;

    Value &make(std::size_t at)
    {
        return *std::construct_at(room + at);
    }

    Value &operator[](std::size_t at)
    {
        return room[at];
    }

    const Value &operator[](std::size_t at) const
    {
        return room[at];
    }

    std::size_t size() const
    {
        return count;
    }

private:
    const std::size_t count;
    Value *const room;
};

} // namespace sim
