// SPDX-License-Identifier: BSD-2-Clause
//
// pattern.cpp: the senders and receivers of each step; see pattern.hpp.
#include "pattern.hpp"

#include "schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sim {

namespace {

// Returns a + b (plus) or a - b (minus) modulo n.
std::uint32_t plus(std::uint32_t a, std::uint32_t b, std::uint32_t n)
{
    const std::uint64_t sum = std::uint64_t{a} + b;
    return static_cast<std::uint32_t>(sum >= n ? sum - n : sum);
}

std::uint32_t minus(std::uint32_t a, std::uint32_t b, std::uint32_t n)
{
    return a >= b ? a - b : a + (n - b);
}

unsigned floor_log(std::uint32_t n)
{
    return static_cast<unsigned>(std::bit_width(n)) - 1;
}

// Returns the most even box of n cells in `dimensions` dimensions.
std::array<std::uint32_t, 3> box(std::uint32_t n, unsigned dimensions)
{
    std::array<std::uint32_t, 3> best = {n, 1, 1};
    std::uint64_t best_surface = UINT64_MAX;

    for (std::uint32_t a = 1; std::uint64_t{a} * a <= n; a++) {
        if (n % a)
            continue;
        for (std::uint32_t b = dimensions == 2 ? 1 : a; std::uint64_t{b} * b <= n / a; b++) {
            if (n / a % b || (dimensions == 2 && b != 1))
                continue;
            const std::uint32_t c = n / a / b;
            const std::uint64_t surface =
                dimensions == 2 ? std::uint64_t{a} + c
                                : std::uint64_t{a} * b + std::uint64_t{b} * c + std::uint64_t{a} * c;
            if (surface < best_surface) {
                best_surface = surface;
                best = dimensions == 2 ? std::array<std::uint32_t, 3>{a, c, 1}
                                       : std::array<std::uint32_t, 3>{a, b, c};
            }
        }
    }
    return best;
}

} // namespace

const std::vector<std::string> &pattern_names()
{
    static const std::vector<std::string> names = {
        "dissemination", "bcast",  "reduce", "recursive-doubling", "ring", "alltoall",
        "nway",          "halo2d", "halo3d", "global-interrupt"};
    return names;
}

std::optional<PatternName> pattern_named(std::string_view name)
{
    const auto &names = pattern_names();
    const auto found = std::find(names.begin(), names.end(), name);

    if (found == names.end())
        return std::nullopt;
    return static_cast<PatternName>(found - names.begin());
}

Pattern::Pattern(const PatternOptions &chosen) : given(chosen)
{
    const std::uint32_t n = given.ranks;

    if (n == 0 || n > RANKS_LIMIT)
        throw InputError("ranks: " + std::to_string(n) + "; expected 1 to " + std::to_string(RANKS_LIMIT));
    if (given.iterations == 0)
        throw InputError("iterations: 0; expected at least 1");
    log = floor_log(n);
    power = 1u << log;
    rounds = n > power ? log + 1 : log;
    switch (given.name) {
    case PatternName::dissemination:
        inner_steps = rounds;
        reduces = true;
        break;
    case PatternName::bcast:
        inner_steps = 2;
        break;
    case PatternName::reduce:
        inner_steps = 2;
        reduces = true;
        break;
    case PatternName::recursive_doubling:
        inner_steps = log + 2;
        reduces = true;
        break;
    case PatternName::ring: {
        if (given.segment_bytes == 0)
            throw InputError("segment size: 0; expected at least 1 byte");
        const std::uint64_t segments =
            std::max<std::uint64_t>(1, (given.bytes + given.segment_bytes - 1) / given.segment_bytes);
        if (segments > 1u << 30)
            throw InputError("segment size: " + std::to_string(segments) +
                             " segments; expected at most 2^30, so make it larger");
        inner_steps = n > 1 ? static_cast<std::uint32_t>(segments) + 1 : 0;
        last_segment = given.bytes - (segments - 1) * given.segment_bytes;
        break;
    }
    case PatternName::alltoall:
        inner_steps = n > 1;
        break;
    case PatternName::nway:
        if (given.ways == 0 || given.ways > 1u << 16)
            throw InputError("ways: " + std::to_string(given.ways) + "; expected 1 to 65536");
        for (std::uint64_t distance = 1; distance < n; distance *= given.ways + 1)
            way_distance.push_back(static_cast<std::uint32_t>(distance));
        inner_steps = static_cast<std::uint32_t>(way_distance.size());
        reduces = true;
        break;
    case PatternName::halo2d:
    case PatternName::halo3d:
        extent = box(n, given.name == PatternName::halo2d ? 2 : 3);
        inner_steps = n > 1;
        reduce_steps = rounds;
        break;
    case PatternName::global_interrupt:
        break;
    }
    const std::uint64_t all = (given.compute > 0) +
                              std::uint64_t{inner_steps} * (reduces && given.reduction > 0 ? 2 : 1) +
                              std::uint64_t{reduce_steps} * (given.reduction > 0 ? 2 : 1);
    if (all * given.iterations > TAG_LIMIT)
        throw InputError("iterations: more than 2^32 steps; make them fewer");
    step_count = static_cast<std::uint32_t>(all);
}

Pattern::Place Pattern::place(std::uint32_t step) const
{
    if (given.compute > 0) {
        if (step == 0)
            return {Part::compute, 0};
        step--;
    }
    const bool doubled = given.reduction > 0;
    const std::uint32_t inner = inner_steps * (doubled && reduces ? 2 : 1);
    if (step < inner) {
        if (!(doubled && reduces))
            return {Part::pattern, step};
        return {step % 2 ? Part::reduction : Part::pattern, step / 2};
    }
    step -= inner;
    if (!doubled)
        return {Part::allreduce, step};
    // A reduction in the allreduce of a halo pattern: each rank receives one message.
    return {step % 2 ? Part::reduction : Part::allreduce, step / 2 + inner_steps};
}

Step Pattern::step(std::uint32_t rank, std::uint32_t step) const
{
    const Place where = place(step);

    switch (where.part) {
    case Part::compute:
        return {0, 0, given.compute};
    case Part::reduction: {
        const std::uint32_t messages =
            where.index >= inner_steps ? 1 : pattern_step(rank, where.index).receives;
        if (messages > 0 && given.reduction > STEP_LIMIT / messages)
            throw InputError("reduction: too long for " + std::to_string(messages) + " messages");
        return {0, 0, given.reduction * messages};
    }
    case Part::allreduce:
        return {1, 1, 0};
    case Part::pattern:
        break;
    }
    return pattern_step(rank, where.index);
}

std::uint32_t Pattern::received_in(std::uint32_t rank, std::uint32_t step) const
{
    switch (given.name) {
    case PatternName::bcast:
    case PatternName::reduce:
        // The first step of the pattern receives, the second sends.
        return given.compute > 0;
    case PatternName::ring:
        return rank == 0 ? step : step - 1;
    default:
        return step;
    }
}

std::uint64_t Pattern::bytes(std::uint32_t step) const
{
    const Place where = place(step);

    if (where.part == Part::allreduce)
        return 8;
    if (given.name == PatternName::ring)
        return where.index + 2 == inner_steps ? last_segment : given.segment_bytes;
    return given.bytes;
}

// Returns the number of a rank's children in the binomial tree: rank + 2^k for all 2^k above the rank.
std::uint32_t Pattern::children(std::uint32_t rank) const
{
    const unsigned first = rank ? floor_log(rank) + 1 : 0;
    const std::uint32_t room = given.ranks - 1 - rank; // the largest 2^k

    return room == 0 || floor_log(room) < first ? 0 : floor_log(room) - first + 1;
}

Step Pattern::exchange_step(std::uint32_t rank, std::uint32_t index) const
{
    const std::uint32_t extra = given.ranks - power;
    const Step send = {1, 0, 0};
    const Step receive = {0, 1, 0};

    if (index == 0 || index == log + 1) {
        const bool first = index == 0;
        if (rank >= power)
            return first ? send : receive;
        if (rank < extra)
            return first ? receive : send;
        return {};
    }
    return rank < power ? Step{1, 1, 0} : Step{};
}

Step Pattern::pattern_step(std::uint32_t rank, std::uint32_t index) const
{
    const std::uint32_t n = given.ranks;

    switch (given.name) {
    case PatternName::dissemination:
        return {1, 1, 0};
    case PatternName::bcast:
        return index == 0 ? Step{0, rank != 0, 0} : Step{children(rank), 0, 0};
    case PatternName::reduce:
        return index == 0 ? Step{0, children(rank), 0} : Step{rank != 0, 0, 0};
    case PatternName::recursive_doubling:
        return exchange_step(rank, index);
    case PatternName::ring: {
        // A rank sends a segment one step after it received it, except rank 0, which has all segments.
        const bool receives = rank != 0 && index + 1 < inner_steps;
        const bool sends = rank + 1 < n && (rank == 0 ? index + 1 < inner_steps : index > 0);
        return {sends, receives, 0};
    }
    case PatternName::alltoall:
        return {n - 1, n - 1, 0};
    case PatternName::nway: {
        const std::uint32_t distance = way_distance[index];
        const std::uint32_t partners = std::min(given.ways, (n - 1) / distance);
        return {partners, partners, 0};
    }
    case PatternName::halo2d:
    case PatternName::halo3d: {
        const auto directions = static_cast<std::uint32_t>(
            2 * std::count_if(extent.begin(), extent.end(), [](std::uint32_t e) { return e > 1; }));
        return {directions, directions, 0};
    }
    case PatternName::global_interrupt:
        break;
    }
    return {};
}

std::uint32_t Pattern::tree_partner(std::uint32_t rank, std::uint32_t index, bool down) const
{
    if (!down)
        return rank - (1u << floor_log(rank));
    return rank + (1u << ((rank ? floor_log(rank) + 1 : 0) + index));
}

std::uint32_t Pattern::exchange_partner(std::uint32_t rank, std::uint32_t index) const
{
    if (index == 0 || index == log + 1)
        return rank >= power ? rank - power : rank + power;
    return rank ^ (1u << (index - 1));
}

// Returns the neighbour on the torus in direction 2d (up) or 2d + 1 (down) of the d-th dimension that is
// longer than one.
std::uint32_t Pattern::neighbour(std::uint32_t rank, std::uint32_t direction) const
{
    std::uint32_t below = 1;
    std::uint32_t skip = direction / 2;

    for (const std::uint32_t length : extent) {
        if (length > 1 && skip-- == 0) {
            const std::uint32_t at = rank / below % length;
            const std::uint32_t to = direction % 2 ? minus(at, 1, length) : plus(at, 1, length);
            return rank - at * below + to * below;
        }
        below *= length;
    }
    return rank;
}

std::uint32_t Pattern::partner(std::uint32_t rank, std::uint32_t step, std::uint32_t index, bool send) const
{
    const Place where = place(step);
    const std::uint32_t n = given.ranks;
    const auto away = [&](std::uint32_t distance) {
        return send ? plus(rank, distance, n) : minus(rank, distance, n);
    };

    if (where.part == Part::allreduce)
        return away(1u << (where.index >= inner_steps && given.reduction > 0 ? where.index - inner_steps
                                                                             : where.index));
    switch (given.name) {
    case PatternName::dissemination:
        return away(1u << where.index);
    case PatternName::bcast:
        return tree_partner(rank, index, where.index == 1);
    case PatternName::reduce:
        return tree_partner(rank, index, where.index == 0);
    case PatternName::recursive_doubling:
        return exchange_partner(rank, where.index);
    case PatternName::ring:
        return away(1);
    case PatternName::alltoall:
        return away(index + 1);
    case PatternName::nway:
        return away(way_distance[where.index] * (index + 1));
    case PatternName::halo2d:
    case PatternName::halo3d:
        // A message that goes up comes from the neighbour below.
        return neighbour(rank, send ? index : index ^ 1);
    case PatternName::global_interrupt:
        break;
    }
    return rank;
}

std::uint32_t Pattern::receiver(std::uint32_t rank, std::uint32_t step, std::uint32_t index) const
{
    return partner(rank, step, index, true);
}

std::uint32_t Pattern::sender(std::uint32_t rank, std::uint32_t step, std::uint32_t index) const
{
    return partner(rank, step, index, false);
}

bool Pattern::alike(std::uint32_t step) const
{
    const Part part = place(step).part;

    if (part == Part::compute || part == Part::allreduce)
        return true;
    switch (given.name) {
    case PatternName::dissemination:
    case PatternName::alltoall:
    case PatternName::nway:
    case PatternName::halo2d:
    case PatternName::halo3d:
        return true;
    default:
        return false;
    }
}

std::uint32_t Pattern::distance(std::uint32_t step) const
{
    const Place where = place(step);
    const bool ring = where.part == Part::allreduce ||
                      (where.part == Part::pattern && given.name == PatternName::dissemination);

    return ring ? receiver(0, step, 0) : 0;
}

std::uint64_t Pattern::operations() const
{
    std::uint64_t sum = 0;

    for (std::uint32_t s = 0; s < step_count; s++) {
        const bool once = alike(s);
        for (std::uint32_t rank = 0; rank < (once ? 1 : given.ranks); rank++) {
            const Step one = step(rank, s);
            sum += (std::uint64_t{one.sends} + one.receives + (one.work > 0)) * (once ? given.ranks : 1);
        }
    }
    return sum;
}

} // namespace sim
