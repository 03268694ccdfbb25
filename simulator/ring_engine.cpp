// SPDX-License-Identifier: BSD-2-Clause
//
// ring_engine.cpp: see ring_engine.hpp.
#include "ring_engine.hpp"

#include <bit>
#include <cstring>
#include <limits>

// Compiles a function twice: for all processors, and for those with vectors of 256 bits. Not with sanitizers,
// which are not initialised yet when the loader chooses.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define VECTOR_CLONES [[gnu::target_clones("avx2", "default")]]
#else
#define VECTOR_CLONES
#endif

namespace sim {

namespace {

constexpr std::uint32_t LANES = 4;
using Times [[gnu::vector_size(LANES * sizeof(Time))]] = Time;

struct Look {
    std::uint64_t due; // a bit for each time before the end
    Time next;         // the earliest of the other times
};

// Looks at 64 times. Which of them are due is nearly random, so the code does not branch on it.
VECTOR_CLONES Look times_look(const Time *times, Time end)
{
    static_assert(NEVER ==
                  std::numeric_limits<Time>::max()); // all bits but the sign; so | makes any time NEVER
    const Times never = {NEVER, NEVER, NEVER, NEVER};
    Times bits = {1, 2, 4, 8}, due = {}, next = never;

    for (unsigned i = 0; i < 64; i += LANES) {
        Times time;
        std::memcpy(&time, times + i, sizeof time);
        const Times is_due = time < end;
        due |= is_due & bits;
        bits <<= LANES;
        time |= is_due & never;
        next = time < next ? time : next;
    }
    return {static_cast<std::uint64_t>(due[0] | due[1] | due[2] | due[3]),
            std::min(std::min(next[0], next[1]), std::min(next[2], next[3]))};
}

} // namespace

bool RingEngine::suits(const Pattern &pattern, const Parameters &parameters)
{
    const PatternOptions &options = pattern.options();

    return options.name == PatternName::dissemination && options.ranks > 1 && options.compute == 0 &&
           options.reduction == 0 && options.bytes <= parameters.eager_limit &&
           parameters.overhead_send + parameters.latency > 0 && parameters.zero_bytes == ZeroBytes::nothing &&
           parameters.handling == Handling::arrival && parameters.gate == 0 &&
           parameters.gap + byte_costs(options.bytes, parameters).wire <= UINT32_MAX;
}

RingEngine::RingEngine(const Pattern &pattern, const Parameters &given, const Noise &disturbance,
                       unsigned threads)
    : parameters(given), noise(disturbance), cost(byte_costs(pattern.options().bytes, given)),
      stands_for(disturbance.any() ? 1 : pattern.ranks()), ranks(pattern.ranks() / stands_for),
      rounds(pattern.steps()), iterations(pattern.options().iterations), apart(disturbance.spares_messages()),
      gap(given.gap + cost.wire), gap_matters(gap > std::min(given.overhead_send, given.overhead_receive))
{
    for (std::uint32_t step = 0; step < rounds; step++)
        distances.push_back(pattern.distance(step) % ranks);
    domains_deal(parts, std::clamp<unsigned>(threads, 1, ranks), ranks);
    for (const auto &part : parts)
        part->outbox.resize(parts.size());
}

std::optional<Result> RingEngine::run()
{
    Result result;

    Team team(parts.size());
    domains_each(team, parts, [this](Part &part) { begin(part); });
    result.windows = windows_run(
        team, parts, given_up, parameters.overhead_send + parameters.latency,
        [](const Part &part) { return *std::min_element(part.group_times.begin(), part.group_times.end()); },
        [this](Part &part, Time end) { process_window(part, end); }, [this](Part &part) { exchange(part); });
    if (given_up)
        return std::nullopt;
    result.finish.resize(std::size_t{ranks} * stands_for);
    domains_each(team, parts, [this, &result](Part &part) { collect(part, result.finish); });
    for (const auto &part : parts) {
        result.maximum = std::max(result.maximum, part->maximum);
        result.complete &= part->complete;
        result.events += part->events;
        result.messages += part->messages;
    }
    std::fill(result.finish.begin() + ranks, result.finish.end(), result.finish[0]);
    result.messages *= stands_for;
    result.operations = result.messages * 2;
    return result;
}

void RingEngine::collect(Part &part, LargeVector<Time> &finish) const
{
    for (std::uint32_t place = 0; place < part.states.size(); place++) {
        const Rank &rank = part.states[place];
        finish[part.first + place] = rank.cpu;
        part.maximum = std::max(part.maximum, rank.cpu);
        part.complete &= rank.step == rounds * iterations;
    }
}

std::vector<Time> RingEngine::iteration_ends() const
{
    std::vector<Time> ends(iterations, 0);

    for (const auto &part : parts)
        for (std::size_t i = 0; i < ends.size(); i++)
            ends[i] = std::max(ends[i], part->iteration_ends[i]);
    return ends;
}

// Prepares a part. Runs in the part's thread, so that this thread touches the memory first.
void RingEngine::begin(Part &part)
{
    const std::uint32_t count = part.last - part.first;

    part.states.resize(count);
    if (gap_matters)
        part.interfaces.resize(count);
    part.next_times.assign((std::size_t{count} + WORD - 1) / WORD * WORD, NEVER);
    std::fill_n(part.next_times.begin(), count, 0);
    for (std::uint32_t place = 0; place < count; place++) {
        const NoiseCursor cursor = noise.begin(part.first + place);
        part.states[place].noise_start = cursor.start;
        part.states[place].noise_index = cursor.index;
    }
    part.group_times.assign((std::size_t{count} + GROUP - 1) / GROUP, 0);
    part.iteration_ends.assign(iterations, 0);
    part.mail.assign(part.group_times.size(), {});
    part.later.assign(part.group_times.size(), {});
    part.heads.fill(0);
    part.busy.fill(0);
}

void RingEngine::prefetch(const Chunk *chunk)
{
    const char *const bytes = reinterpret_cast<const char *>(chunk);

    for (std::size_t at = 0; chunk && at < sizeof *chunk; at += 64)
        __builtin_prefetch(bytes + at, 1);
}

// Prefetches the state of a rank. Called once for each rank that is processed, for a rank further on: a
// processor can fetch only few lines at a time.
inline void RingEngine::prefetch_rank(const Part &part, std::uint32_t place)
{
    if (place < part.last - part.first)
        __builtin_prefetch(&part.states[place], 1);
}

void RingEngine::process_window(Part &part, Time end)
{
    if (end > TIME_LIMIT)
        throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
    for (std::size_t group = 0; group < part.group_times.size(); group++) {
        if (group + 2 < part.mail.size())
            prefetch(part.mail[group + 2].first);
        if (group + 1 < part.mail.size() && part.mail[group + 1].first)
            prefetch(part.mail[group + 1].first->next);
        if (part.group_times[group] < end)
            process_group(part, group, end);
    }
}

// Processes a group. Which rank has events in this window is nearly random, so the code uses masks and no
// branches.
void RingEngine::process_group(Part &part, std::size_t group, Time end)
{
    const auto first = static_cast<std::uint32_t>(group * GROUP); // in the part
    const std::uint32_t last = std::min(first + GROUP, part.last - part.first);
    Time next = NEVER;

    Chunk *const chunks = fetch_due(part, group, end);
    for (std::uint32_t word = first; word < last; word += WORD) {
        const std::size_t number = (word - first) / WORD;
        std::uint64_t busy = part.busy[number];
        part.busy[number] = 0;
        for (std::uint64_t left = busy; left; left &= left - 1)
            process_messages(part, word + static_cast<std::uint32_t>(std::countr_zero(left)), end);
        for (;;) {
            const Look look = times_look(&part.next_times[word], end);
            if (!look.due) {
                next = std::min(next, look.next);
                break;
            }
            for (std::uint64_t due = look.due; due; due &= due - 1) {
                const std::uint32_t place = word + static_cast<std::uint32_t>(std::countr_zero(due));
                prefetch_rank(part, place + RANKS_AHEAD);
                own_event(part, part.first + place, part.states[place], part.next_times[place]);
            }
        }
    }
    part.group_times[group] = next;
    recycle(part, chunks);
}

// Sorts the group's messages that come before `end` into its ranks' lists. Returns the chunks that hold them.
RingEngine::Chunk *RingEngine::fetch_due(Part &part, std::size_t group, Time end)
{
    const auto first = static_cast<std::uint32_t>(part.first + group * GROUP);
    const Mailbox mailbox = part.mail[group];
    std::uint32_t count = mailbox.count;

    part.mail[group] = {};
    part.due.resize(1);
    for (Chunk *chunk = mailbox.first; chunk; chunk = chunk->next) {
        if (chunk->next)
            prefetch(chunk->next->next); // the next chunk's first line has arrived by now
        for (std::uint32_t i = 0; i < count; i++) {
            Message &message = chunk->messages[i];
            if (message.time >= end) {
                slot(part, message.rank, message.time) = message;
                continue;
            }
            const std::uint32_t place = message.rank - first;
            part.busy[place / 64] |= std::uint64_t{1} << place % 64;
            part.due.push_back({&message, 0});
            part.heads[place] =
                insert(part, part.heads[place], static_cast<std::uint32_t>(part.due.size() - 1));
        }
        count = static_cast<std::uint32_t>(chunk->messages.size());
    }
    return mailbox.first;
}

// Puts a message into a rank's list, which is in the order of events. Returns the first of the list.
inline std::uint32_t RingEngine::insert(Part &part, std::uint32_t head, std::uint32_t added)
{
    std::uint32_t *link = &head;

    while (*link && happens_before(*part.due[*link].message, *part.due[added].message))
        link = &part.due[*link].next;
    part.due[added].next = *link;
    *link = added;
    return head;
}

[[gnu::noinline]] Time RingEngine::delayed(std::uint32_t number, Rank &rank, Time now, Time work) const
{
    NoiseCursor cursor = noise.restored(number, rank.noise_start, rank.noise_index);
    const Time end = noise.finish(cursor, now, work);
    rank.noise_start = cursor.start;
    rank.noise_index = cursor.index;
    return end;
}

inline Time RingEngine::finish(std::uint32_t number, Rank &rank, Time now, Time work) const
{
    return now + work <= rank.noise_start ? now + work : delayed(number, rank, now, work);
}

inline Time RingEngine::finish_ahead(std::uint32_t number, Rank &rank, Time now, Time work) const
{
    if (now + work <= rank.noise_start)
        return now + work;
    if (noise.by_work())
        return delayed(number, rank, now, work);
    NoiseCursor cursor = noise.restored(number, rank.noise_start, rank.noise_index);
    return noise.finish(cursor, now, work);
}

// Compares two events at one time: negative if `a` goes first; 0 if only the operations decide.
int RingEngine::compare(const Past &a, const Past &b)
{
    for (const auto &[one, other] :
         {std::pair{a.caused, b.caused}, {a.before, b.before}, {a.earlier, b.earlier}}) {
        if (one != other)
            return one > other ? -1 : 1;
        if (one == UINT32_MAX)
            given_up = true;
    }
    return 0;
}

std::uint32_t RingEngine::source(std::uint32_t number, std::uint32_t step) const
{
    const std::uint32_t distance = distances[step % rounds];
    return number >= distance ? number - distance : number + (ranks - distance);
}

// Returns whether `a` goes first. If the pasts do not decide, the message of the lower rank does.
bool RingEngine::happens_before(const Message &a, const Message &b)
{
    if (a.time != b.time)
        return a.time < b.time;
    const int order = compare(a.past, b.past);
    return order < 0 || (order == 0 && source(a.rank, a.step) < source(b.rank, b.step));
}

// Processes the rank's events before `end` up to its last message, in their order. If times and pasts do not
// decide, operations go before messages.
[[gnu::always_inline]] inline void RingEngine::process_messages(Part &part, std::uint32_t place, Time end)
{
    prefetch_rank(part, place + RANKS_AHEAD);
    Rank &rank = part.states[place];
    Time next = part.next_times[place];
    std::uint32_t head = part.heads[place % GROUP];

    part.heads[place % GROUP] = 0;
    do {
        const Due &due = part.due[head];
        Message &message = *due.message;
        if (next < message.time || (next == message.time && compare(rank.past, message.past) <= 0)) {
            own_event(part, part.first + place, rank, next);
            continue;
        }
        Time free = rank.cpu;
        if (gap_matters)
            free = std::max(free, part.interfaces[place].receive);
        const std::uint32_t index = head;
        head = due.next;
        if (free <= message.time) {
            message_event(part, rank, next, message);
            continue;
        }
        message.past.put_off(free - message.time);
        message.time = free;
        if (free < end)
            head = insert(part, head, index);
        else
            slot(part, message.rank, free) = message;
    } while (head);
    part.next_times[place] = next;
}

// Lets the send come to the processor. When it comes the first time, the receive is posted just after.
[[gnu::always_inline]] inline void RingEngine::own_event(Part &part, std::uint32_t number, Rank &rank,
                                                         Time &next)
{
    const Time now = next;
    const Past past = rank.past;
    Time free = rank.cpu;

    if (gap_matters)
        free = std::max(free, part.interfaces[number - part.first].send);
    part.events++;
    if (free <= now) {
        next = NEVER;
        begin_send(part, number, rank, now);
    } else {
        next = free;
        rank.past.put_off(free - now);
    }
    if (rank.flags & POST_WAITS) {
        rank.flags &= ~POST_WAITS;
        rank.flags |= rank.flags & HANDLED ? RECEIVED : 0;
    }
    if (next == NEVER && (rank.flags & RECEIVED))
        complete(part, rank, next, past, now);
}

[[gnu::always_inline]] inline void RingEngine::begin_send(Part &part, std::uint32_t number, Rank &rank,
                                                          Time now)
{
    const Time leaves = finish(number, rank, now, parameters.overhead_send);
    const std::uint32_t distance = distances[iterations == 1 ? rank.step : rank.step % rounds];
    const std::uint32_t left = ranks - number; // ranks from this to the last
    const std::uint32_t to = distance < left ? number + distance : distance - left;

    const Time sent = apart ? now + parameters.overhead_send : leaves;
    rank.cpu = cost.send > 0 && !apart ? finish_ahead(number, rank, leaves, cost.send) : leaves + cost.send;
    if (gap_matters)
        part.interfaces[number - part.first].send = sent - parameters.overhead_send + gap;
    part.messages++;
    Message &message =
        part.has(to) ? slot(part, to, sent + parameters.latency) : slot(part, outbox(part, to));
    message.time = sent + parameters.latency;
    message.past = rank.past.next(message.time - now);
    message.rank = to;
    message.step = rank.step;
}

// Has the processor, which is free, take a message.
[[gnu::always_inline]] inline void RingEngine::message_event(Part &part, Rank &rank, Time &next,
                                                             const Message &message)
{
    const Time now = message.time;
    const std::uint32_t ahead = message.step - rank.step;
    const Time taken = finish(message.rank, rank, now, parameters.overhead_receive);

    part.events++;
    rank.cpu = cost.work > 0 && !apart
                   ? std::max(taken + cost.wire, finish_ahead(message.rank, rank, taken, cost.work))
                   : taken + cost.receive;
    if (gap_matters)
        part.interfaces[message.rank - part.first].receive =
            (apart ? now : taken - parameters.overhead_receive) + gap;
    if (ahead == 0 && !(rank.flags & POST_WAITS)) {
        rank.flags |= RECEIVED;
        if (next == NEVER)
            complete(part, rank, next, message.past, now);
    } else if (ahead < HANDLED_BITS) {
        rank.flags |= HANDLED << ahead;
    } else {
        given_up = true; // further ahead than the flags have bits
    }
}

// Ends the step. Sets `next` to the time at which the next step's send comes to the processor.
[[gnu::always_inline]] inline void RingEngine::complete(Part &part, Rank &rank, Time &next, const Past &past,
                                                        Time now)
{
    rank.step++;
    rank.flags = (rank.flags / HANDLED / 2 * HANDLED) | POST_WAITS;
    next = rank.cpu;
    rank.past = past.next(next - now);
    if (iterations == 1 ? rank.step == rounds : rank.step % rounds == 0) {
        Time &end = part.iteration_ends[rank.step / rounds - 1];
        end = std::max(end, rank.cpu);
        if (rank.step == rounds * iterations)
            next = NEVER;
    }
}

// Returns the mailbox for messages to a rank of another part.
inline RingEngine::Mailbox &RingEngine::outbox(Part &part, std::uint32_t number)
{
    const auto other = std::find_if(parts.begin(), parts.end(),
                                    [number](const auto &candidate) { return candidate->has(number); });

    return part.outbox[(*other)->number];
}

[[gnu::always_inline]] inline RingEngine::Message &RingEngine::slot(Part &part, Mailbox &mailbox)
{
    if (!mailbox.first || mailbox.count == mailbox.first->messages.size()) {
        Chunk *const added = part.free ? part.free : new_chunk(part);
        part.free = added->next;
        added->next = mailbox.first;
        mailbox.first = added;
        mailbox.count = 0;
    }
    return mailbox.first->messages[mailbox.count++];
}

// Returns the slot in its group's list for a message that comes after this window.
[[gnu::always_inline]] inline RingEngine::Message &RingEngine::slot(Part &part, std::uint32_t number,
                                                                    Time time)
{
    Mailbox &later = part.later[(number - part.first) / GROUP];

    later.earliest = time < later.earliest ? time : later.earliest;
    return slot(part, later);
}

[[gnu::noinline]] RingEngine::Chunk *RingEngine::new_chunk(Part &part)
{
    constexpr std::size_t RESERVE_MAX =
        2 * LargePages<Chunk>::PAGE_BYTES / sizeof(Chunk); // fills the large pages

    if (part.slabs.empty() || part.slabs.back().size() == part.slabs.back().capacity())
        part.slabs.emplace_back().reserve(std::clamp<std::size_t>(part.mail.size() * 3, 16, RESERVE_MAX));
    return &part.slabs.back().emplace_back();
}

void RingEngine::recycle(Part &part, Chunk *chunk)
{
    while (chunk) {
        Chunk *const next = chunk->next;
        chunk->next = part.free;
        part.free = chunk;
        chunk = next;
    }
}

// Takes the messages from other parts. Chunks stay with the part that received them; they come and go in
// equal numbers.
void RingEngine::exchange(Part &part)
{
    for (const auto &other : parts) {
        Mailbox &mail = other->outbox[part.number];
        std::uint32_t count = mail.count;
        for (const Chunk *chunk = mail.first; chunk; chunk = chunk->next) {
            prefetch(chunk->next);
            for (std::uint32_t i = 0; i < count; i++)
                slot(part, chunk->messages[i].rank, chunk->messages[i].time) = chunk->messages[i];
            count = static_cast<std::uint32_t>(chunk->messages.size());
        }
        recycle(part, mail.first);
        mail = {};
    }
    for (std::size_t group = 0; group < part.mail.size(); group++)
        deliver(part, group);
}

// Moves a group's later mail into its mail.
void RingEngine::deliver(Part &part, std::size_t group)
{
    Mailbox &mail = part.mail[group];
    Mailbox &later = part.later[group];

    part.group_times[group] = std::min(part.group_times[group], later.earliest);
    if (mail.first) { // the group had nothing to do in this window
        std::uint32_t count = later.count;
        for (const Chunk *chunk = later.first; chunk; chunk = chunk->next) {
            for (std::uint32_t i = 0; i < count; i++)
                slot(part, mail) = chunk->messages[i];
            count = static_cast<std::uint32_t>(chunk->messages.size());
        }
        recycle(part, later.first);
    } else {
        mail = later;
    }
    later = {};
}

} // namespace sim
