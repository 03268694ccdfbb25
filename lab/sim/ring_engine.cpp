// SPDX-License-Identifier: BSD-2-Clause
//
// ring_engine.cpp: see ring_engine.hpp.
#include "ring_engine.hpp"

namespace sim {

bool RingEngine::suits(const Pattern &pattern, const Parameters &parameters)
{
    const PatternOptions &options = pattern.options();

    return options.name == PatternName::dissemination && options.ranks > 1 && options.compute == 0 && options.reduction == 0 &&
           options.bytes <= parameters.eager_limit && parameters.overhead_send + parameters.latency > 0 &&
           parameters.zero_bytes == ZeroBytes::nothing && parameters.handling == Handling::arrival &&
           parameters.gap + byte_costs(options.bytes, parameters).wire <= UINT32_MAX;
}

RingEngine::RingEngine(const Pattern &pattern, const Parameters &given, const Noise &disturbance, unsigned threads)
    : parameters(given), noise(disturbance), cost(byte_costs(pattern.options().bytes, given)), ranks(pattern.ranks()), rounds(pattern.steps()),
      iterations(pattern.options().iterations), gap_from_start(disturbance.applied_rule() == NoiseRule::published)
{
    for (std::uint32_t step = 0; step < rounds; step++)
        distances.push_back(pattern.distance(step));
    domains_deal(parts, std::clamp<unsigned>(threads, 1, ranks), ranks);
    for (const auto &part : parts) {
        part->outbox.resize(parts.size());
        part->iteration_ends.assign(iterations, 0);
    }
}

std::optional<Result> RingEngine::run()
{
    states.resize(ranks);
    next_times.assign(ranks, 0);
    domains_each(parts, [this](Part &part) { begin(part); });
    Result result;
    result.windows = windows_run(
        parts, parameters.overhead_send + parameters.latency, given_up, [this](Part &part, Time end) { process_window(part, end); },
        [this](Part &part) { exchange(part); });
    if (given_up)
        return std::nullopt;
    result.finish.reserve(ranks);
    for (const Rank &rank : states) {
        result.finish.push_back(rank.cpu);
        result.maximum = std::max(result.maximum, rank.cpu);
        result.complete &= rank.step == rounds * iterations && rank.count == 0;
    }
    for (const auto &part : parts) {
        result.events += part->events;
        result.messages += part->messages;
    }
    result.operations = result.messages * 2;
    return result;
}

std::vector<Time> RingEngine::iteration_ends() const
{
    std::vector<Time> ends(iterations, 0);

    for (const auto &part : parts)
        for (std::size_t i = 0; i < ends.size(); i++)
            ends[i] = std::max(ends[i], part->iteration_ends[i]);
    return ends;
}

void RingEngine::begin(Part &part)
{
    for (std::uint32_t number = part.first; number < part.last; number++) {
        const NoiseCursor cursor = noise.begin(number);
        Rank &rank = states[number];
        rank.noise_start = cursor.start;
        rank.noise_index = cursor.index;
        rank.flags = SEND_WAITS; // the first receive is posted from the beginning
    }
    std::fill(part.group_times.begin(), part.group_times.end(), 0);
}

void RingEngine::process_window(Part &part, Time end)
{
    for (std::size_t group = 0; group < part.group_times.size(); group++) {
        if (part.group_times[group] >= end)
            continue;
        const auto first = static_cast<std::uint32_t>(part.first + group * Domain::GROUP);
        const std::uint32_t last = std::min(first + Domain::GROUP, part.last);
        for (std::uint32_t number = first; number < last; number++) {
            if (next_times[number] >= end)
                continue;
            const Rank *const soon = &states[std::min(number + 8, last - 1)];
            __builtin_prefetch(soon, 1);
            __builtin_prefetch(reinterpret_cast<const char *>(soon) + 64, 1);
            process_rank(part, number, end);
        }
        Time next = NEVER;
        for (std::uint32_t number = first; number < last; number++)
            next = std::min(next, next_times[number]);
        part.group_times[group] = next;
    }
}

inline Time RingEngine::finish(std::uint32_t number, Rank &rank, Time now, Time work) const
{
    if (now + work <= rank.noise_start)
        return now + work;
    NoiseCursor cursor = noise.restored(number, rank.noise_start, rank.noise_index);
    const Time end = noise.finish(cursor, now, work);
    rank.noise_start = cursor.start;
    rank.noise_index = cursor.index;
    return end;
}

inline Time RingEngine::finish_ahead(std::uint32_t number, const Rank &rank, Time now, Time work) const
{
    if (now + work <= rank.noise_start)
        return now + work;
    NoiseCursor cursor = noise.restored(number, rank.noise_start, rank.noise_index);
    return noise.finish(cursor, now, work);
}

// Negative when `a` is older, with equal causes; 0 when only the operations decide.
int RingEngine::compare(const Past &a, const Past &b)
{
    if (a.caused != b.caused)
        return a.caused < b.caused ? -1 : 1;
    if ((a.before == b.before && a.before == UINT32_MAX) || (a.earlier == b.earlier && a.earlier == UINT32_MAX))
        given_up = true;
    if (a.before != b.before)
        return a.before > b.before ? -1 : 1;
    if (a.earlier != b.earlier)
        return a.earlier > b.earlier ? -1 : 1;
    return 0;
}

std::uint32_t RingEngine::source(std::uint32_t number, std::uint32_t step) const
{
    const std::uint32_t distance = distances[step % rounds];
    return number >= distance ? number - distance : number + (ranks - distance);
}

// The rank's events before `end`, in their order.
void RingEngine::process_rank(Part &part, std::uint32_t number, Time end)
{
    constexpr unsigned OWN = SLOTS, LISTED = SLOTS + 1;
    Rank &rank = states[number];

    for (;;) {
        Time time = NEVER;
        const Past *past = nullptr;
        unsigned which = OWN;
        std::uint32_t *listed = nullptr;
        std::uint32_t step = 0;
        const auto consider = [&](Time its_time, const Past &its_past, std::uint32_t its_step, unsigned what) {
            if (its_time > time)
                return false;
            if (its_time == time) {
                const int order = compare(its_past, *past);
                // Operations go before messages, then messages of lower ranks.
                if (order > 0 || (order == 0 && (which == OWN || source(number, its_step) > source(number, step))))
                    return false;
            }
            time = its_time;
            past = &its_past;
            step = its_step;
            which = what;
            return true;
        };

        if (rank.flags & SEND_WAITS)
            consider(rank.ready, rank.past, rank.step, OWN);
        for (unsigned i = 0; i < rank.count; i++)
            consider(rank.times[i], rank.pasts[i], rank.steps[i], i);
        for (std::uint32_t *link = &rank.more; *link != ANY; link = &part.overflow[*link].next)
            if (consider(part.overflow[*link].message.time, part.overflow[*link].message.past, part.overflow[*link].message.step, LISTED))
                listed = link;
        if (time >= end) {
            next_times[number] = time;
            return;
        }
        part.events++;
        if (which == OWN) {
            own_event(part, number, rank);
        } else if (which == LISTED) {
            const std::uint32_t entry = *listed;
            Message &message = part.overflow[entry].message;
            if (message_event(part, number, rank, message.time, message.past, message.step)) {
                *listed = part.overflow[entry].next;
                part.overflow[entry].next = part.overflow_free;
                part.overflow_free = entry;
            }
        } else if (message_event(part, number, rank, rank.times[which], rank.pasts[which], rank.steps[which])) {
            drop_slot(part, rank, which);
        }
    }
}

inline void RingEngine::drop_slot(Part &part, Rank &rank, unsigned slot)
{
    if (rank.more != ANY) {
        const std::uint32_t entry = rank.more;
        const Message &message = part.overflow[entry].message;
        rank.times[slot] = message.time;
        rank.pasts[slot] = message.past;
        rank.steps[slot] = message.step;
        rank.more = part.overflow[entry].next;
        part.overflow[entry].next = part.overflow_free;
        part.overflow_free = entry;
        return;
    }
    const unsigned last = --rank.count;
    rank.times[slot] = rank.times[last];
    rank.pasts[slot] = rank.pasts[last];
    rank.steps[slot] = rank.steps[last];
}

// The processor is taken until `end`.
inline void RingEngine::take(Rank &rank, Time end)
{
    const Time longer = end - rank.cpu;

    rank.nic_send = rank.nic_send > longer ? rank.nic_send - static_cast<std::uint32_t>(longer) : 0;
    rank.nic_receive = rank.nic_receive > longer ? rank.nic_receive - static_cast<std::uint32_t>(longer) : 0;
    rank.cpu = end;
}

// How much later than the processor something is free that is free at `time`.
inline std::uint32_t RingEngine::after(const Rank &rank, Time time)
{
    return time > rank.cpu ? static_cast<std::uint32_t>(time - rank.cpu) : 0;
}

// The send comes to the processor; at the first time the receive is posted just after that.
inline void RingEngine::own_event(Part &part, std::uint32_t number, Rank &rank)
{
    const Time now = rank.ready;
    const Time free = rank.cpu + rank.nic_send;

    if (now > TIME_LIMIT)
        throw InputError("the simulated time exceeds " + nanoseconds(TIME_LIMIT) + " ns");
    if (free > now)
        rank.ready = free;
    else
        begin_send(part, number, rank, now);
    if (rank.flags & POST_WAITS) {
        rank.flags &= static_cast<std::uint8_t>(~POST_WAITS);
        if (rank.handled & 1)
            rank.flags |= RECEIVED;
    }
    if (!(rank.flags & SEND_WAITS) && (rank.flags & RECEIVED))
        complete(part, rank, rank.past, now);
}

inline void RingEngine::begin_send(Part &part, std::uint32_t number, Rank &rank, Time now)
{
    const Time leaves = finish(number, rank, now, parameters.overhead_send);
    const std::uint32_t round = iterations == 1 ? rank.step : rank.step % rounds;
    const std::uint64_t to = std::uint64_t{number} + distances[round];

    take(rank, cost.send > 0 ? finish_ahead(number, rank, leaves, cost.send) : leaves);
    rank.nic_send = after(rank, (gap_from_start ? now : leaves - parameters.overhead_send) + parameters.gap + cost.wire);
    rank.flags &= static_cast<std::uint8_t>(~SEND_WAITS);
    part.messages++;
    transmit(part, {leaves + parameters.latency, rank.past.next(now), static_cast<std::uint32_t>(to >= ranks ? to - ranks : to), rank.step});
}

// False when the processor is not free: the message's time is put off.
inline bool RingEngine::message_event(Part &part, std::uint32_t number, Rank &rank, Time &time, const Past &past, std::uint32_t step)
{
    const Time now = time;
    const Time free = rank.cpu + rank.nic_receive;

    if (free > now) {
        time = free;
        return false;
    }
    const Time taken = finish(number, rank, now, parameters.overhead_receive);
    take(rank, cost.work > 0 ? std::max(taken + cost.wire, finish_ahead(number, rank, taken, cost.work)) : taken + cost.receive);
    rank.nic_receive = after(rank, (gap_from_start ? now : taken - parameters.overhead_receive) + parameters.gap + cost.wire);
    if (step == rank.step && !(rank.flags & POST_WAITS)) {
        rank.flags |= RECEIVED;
        if (!(rank.flags & SEND_WAITS))
            complete(part, rank, past, now);
        return true;
    }
    if (step - rank.step >= HANDLED_BITS) {
        given_up = true; // further ahead than there is memory for
        return true;
    }
    rank.handled |= 1u << (step - rank.step);
    return true;
}

inline void RingEngine::complete(Part &part, Rank &rank, const Past &past, Time now)
{
    rank.step++;
    rank.handled >>= 1;
    rank.past = past.next(now);
    rank.ready = rank.cpu;
    rank.flags = SEND_WAITS | POST_WAITS;
    if (iterations == 1 ? rank.step == rounds : rank.step % rounds == 0) {
        Time &end = part.iteration_ends[rank.step / rounds - 1];
        end = std::max(end, rank.cpu);
        if (rank.step == rounds * iterations)
            rank.flags = 0;
    }
}

// Messages of a window arrive after it: there is time to fetch the receivers' data into the cache.
inline void RingEngine::transmit(Part &part, const Message &message)
{
    if (!part.has(message.rank)) {
        for (const auto &other : parts)
            if (other->has(message.rank))
                part.outbox[other->number].push_back(message);
        return;
    }
    const char *const state = reinterpret_cast<const char *>(&states[message.rank]);
    __builtin_prefetch(state, 1);
    __builtin_prefetch(state + 64, 1);
    __builtin_prefetch(&next_times[message.rank], 1);
    Message &slot = part.on_the_way[part.sent++ % part.on_the_way.size()];
    if (part.sent > part.on_the_way.size())
        deliver(part, slot);
    slot = message;
}

inline void RingEngine::deliver(Part &part, const Message &message)
{
    Rank &rank = states[message.rank];

    if (rank.count < SLOTS) {
        rank.times[rank.count] = message.time;
        rank.pasts[rank.count] = message.past;
        rank.steps[rank.count++] = message.step;
    } else {
        std::uint32_t entry = part.overflow_free;
        if (entry == ANY) {
            entry = static_cast<std::uint32_t>(part.overflow.size());
            part.overflow.emplace_back();
        } else {
            part.overflow_free = part.overflow[entry].next;
        }
        part.overflow[entry] = {message, rank.more};
        rank.more = entry;
    }
    if (message.time < next_times[message.rank]) {
        next_times[message.rank] = message.time;
        part.event_at(message.rank, message.time);
    }
}

void RingEngine::exchange(Part &part)
{
    for (const auto &other : parts) {
        std::vector<Message> &mail = other->outbox[part.number];
        for (const Message &message : mail)
            transmit(part, message);
        mail.clear();
    }
    const std::uint64_t size = part.on_the_way.size();
    for (std::uint64_t i = part.sent > size ? part.sent - size : 0; i < part.sent; i++)
        deliver(part, part.on_the_way[i % size]);
    part.sent = 0;
}

} // namespace sim
