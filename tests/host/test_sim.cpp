// SPDX-License-Identifier: BSD-2-Clause
//
// test_sim.cpp: promises of the LogGOPS simulator that hold for all schedules, tried on random ones.
//
// Monotony (a detour never makes any rank earlier) is promised for schedules whose operations are totally
// ordered in each rank and for messages that are handled when they are received, under every noise rule. A
// test shows why handling on arrival cannot promise it.
#include "../../simulator/goal.hpp"
#include "../../simulator/goal_program.hpp"
#include "../../simulator/goal_write.hpp"
#include "../../simulator/pattern_program.hpp"
#include "../../simulator/ring_engine.hpp"
#include "../../simulator/statistics.hpp"
#include "check.h"

#include <deque>
#include <sstream>

using namespace sim;

namespace
{

constexpr Time US = 1000 * PS_PER_NS;
constexpr NoiseRule RULES[] = { NoiseRule::physical, NoiseRule::loggopsim, NoiseRule::paper2010 };
std::uint64_t random_state = 1;

std::uint64_t random_below(std::uint64_t limit)
{
    return check_random(&random_state) % limit;
}

NoiseRule random_rule()
{
    return RULES[random_below(std::size(RULES))];
}

// Messages between random ranks in one global order, which each rank's operations keep: no deadlock, totally
// ordered.
std::string ordered_schedule(unsigned ranks, unsigned messages)
{
    std::vector<std::vector<std::string>> operations(ranks);

    for (unsigned i = 0; i < messages; i++) {
        const auto from = static_cast<unsigned>(random_below(ranks));
        const auto to = static_cast<unsigned>((from + 1 + random_below(ranks - 1)) % ranks);
        const std::string bytes = std::to_string(random_below(4) ? 1 + random_below(3000) : 70000) + "b";
        const std::string tag = " tag " + std::to_string(random_below(2));
        if (random_below(2))
            operations[from].push_back("calc " + std::to_string(random_below(20000)));
        operations[from].push_back("send " + bytes + " to " + std::to_string(to) + tag);
        operations[to].push_back("recv " + bytes + " from " + std::to_string(from) + tag);
    }
    std::string text = "num_ranks " + std::to_string(ranks) + "\n";
    for (unsigned rank = 0; rank < ranks; rank++) {
        text += "rank " + std::to_string(rank) + " {\n";
        for (std::size_t i = 0; i < operations[rank].size(); i++) {
            text += "a" + std::to_string(i) + ": " + operations[rank][i] + "\n";
            if (i)
                text += "a" + std::to_string(i) + " requires a" + std::to_string(i - 1) + "\n";
        }
        text += "}\n";
    }
    return text;
}

// The same without an order: all receives first, sends and computations as they come.
std::string loose_schedule(unsigned ranks, unsigned messages)
{
    std::vector<std::string> receives(ranks), others(ranks);

    for (unsigned i = 0; i < messages; i++) {
        const auto from = static_cast<unsigned>(random_below(ranks));
        const auto to = static_cast<unsigned>(random_below(ranks));
        others[from] += "send 100b to " + std::to_string(to) + "\n";
        receives[to] +=
            "recv 100b from " + (random_below(8) ? std::to_string(from) : std::string("-1")) + "\n";
        if (random_below(3) == 0)
            others[to] += "calc " + std::to_string(random_below(5000)) + "\n";
    }
    std::string text = "num_ranks " + std::to_string(ranks) + "\n";
    for (unsigned rank = 0; rank < ranks; rank++)
        text += "rank " + std::to_string(rank) + " {\n" + receives[rank] + others[rank] + "}\n";
    return text;
}

Trace random_trace()
{
    Trace trace;

    trace.period = 200 * US;
    for (Time at = 0; at < 180 * US; at += static_cast<Time>(1 + random_below(30)) * US) {
        trace.detours.push_back({ at, static_cast<Time>(1 + random_below(9000)) * PS_PER_NS });
        at += trace.detours.back().duration;
    }
    return trace;
}

Result simulate(const std::string &text, const Parameters &parameters, const Noise &noise,
                unsigned threads = 1)
{
    const auto schedule = goal_parse_text(text, "test");
    GoalProgram program(*schedule, parameters);

    return goal_simulate(program, parameters, noise, threads, nullptr);
}

Noise noise_of(const Trace &trace, NoiseRule rule = NoiseRule::physical)
{
    return Noise({ trace }, rule, 7, false);
}

bool none_earlier(const Result &result, const Result &than)
{
    for (std::size_t i = 0; i < result.finish.size(); i++)
        if (result.finish[i] < than.finish[i])
            return false;
    return true;
}

TEST(a_detour_never_makes_any_rank_earlier)
{
    Parameters parameters;

    parameters.handling = Handling::posted;
    parameters.overhead_per_byte_fs = 500000;
    for (unsigned i = 0; i < 300; i++) {
        const std::string text = ordered_schedule(2 + static_cast<unsigned>(random_below(6)), 40);
        const Trace trace = random_trace();
        Trace fewer = trace;
        fewer.detours.erase(fewer.detours.begin() +
                            static_cast<std::ptrdiff_t>(random_below(fewer.detours.size())));
        const Result quiet = simulate(text, parameters, Noise());
        const NoiseRule rule = RULES[i % std::size(RULES)];
        const Result some = simulate(text, parameters, noise_of(fewer, rule));
        const Result more = simulate(text, parameters, noise_of(trace, rule));
        CHECK(quiet.complete && some.complete && more.complete);
        CHECK(none_earlier(some, quiet));
        CHECK(none_earlier(more, some));
    }
}

// At rank 0 a message of rank 1 comes just before the computation that a message of rank 2 starts, and delays
// it and the answer to rank 2; much later it comes after both.
TEST(handling_on_arrival_can_gain_from_a_delay)
{
    const auto schedule = [](const char *delay) {
        return std::string("num_ranks 3\nrank 0 {\na: recv 1b from 2\nb: calc 10000\nb requires a\nc: send "
                           "1b to 2\nc requires b\n"
                           "d: recv 1b from 1\nd requires c\n}\nrank 1 {\na: calc ") +
               delay +
               "\nb: send 1b to 0\nb requires a\n}\nrank 2 {\na: calc 1000\nb: send 1b to 0\nb requires a\n" +
               "c: recv 1b from 0\nc requires b\n}\n";
    };
    Parameters parameters;
    parameters.latency = 2000 * PS_PER_NS;

    const Result early = simulate(schedule("2400"), parameters, Noise());
    const Result late = simulate(schedule("14000"), parameters, Noise());
    CHECK(late.finish[2] < early.finish[2]);
    parameters.handling = Handling::posted;
    CHECK(none_earlier(simulate(schedule("14000"), parameters, Noise()),
                       simulate(schedule("2400"), parameters, Noise())));
}

TEST(results_do_not_depend_on_threads_or_windows)
{
    for (unsigned i = 0; i < 100; i++) {
        const auto ranks = 2 + static_cast<unsigned>(random_below(40));
        const std::string text = loose_schedule(ranks, 300);
        const Noise noise = noise_of(random_trace(), RULES[i % std::size(RULES)]);
        Parameters parameters;
        parameters.latency = static_cast<Time>(random_below(4)) * 1000 * PS_PER_NS;
        parameters.overhead_send = parameters.overhead_receive =
            static_cast<Time>(1 + random_below(3)) * 500 * PS_PER_NS;
        const Result one = simulate(text, parameters, noise);
        for (unsigned threads = 2; threads < 5; threads++)
            CHECK(simulate(text, parameters, noise, threads).finish == one.finish);
        // No message here is empty: this only makes the engine take all events from one heap.
        parameters.zero_bytes = ZeroBytes::published;
        const Result together = simulate(text, parameters, noise);
        CHECK_EQUAL(together.windows, 0);
        CHECK(one.windows > 0);
        CHECK(together.finish == one.finish);
    }
}

// Successors in a row, far away, named twice, very many: each operation is done exactly once, after all that
// it requires.
TEST(operations_wait_for_whatever_they_require)
{
    for (unsigned i = 0; i < 60; i++) {
        const auto count = 2 + random_below(i % 2 ? 30 : 9000);
        std::string text = "num_ranks 1\nrank 0 {\n";
        for (std::uint64_t operation = 0; operation < count; operation++)
            text += "a" + std::to_string(operation) + ": calc 1\n";
        for (unsigned rows = 0; rows < 40; rows++) {
            const std::uint64_t before = random_below(count - 1);
            const std::uint64_t first = before + 1 + random_below(count - before - 1);
            const std::uint64_t last = std::min(count - 1, first + random_below(random_below(2) ? 3 : 300));
            for (std::uint64_t after = first; after <= last; after++)
                text += "a" + std::to_string(after) + (random_below(9) ? " requires a" : " irequires a") +
                        std::to_string(before) + "\n";
        }
        const Result result = simulate(text + "}\n", Parameters(), Noise());
        CHECK(result.complete);
        CHECK_EQUAL(result.operations, count);
        CHECK_EQUAL(result.finish[0], static_cast<Time>(count) * PS_PER_NS);
    }
}

TEST(a_common_delay_shifts_all_times)
{
    const Time shift = 123456 * PS_PER_NS;

    for (unsigned i = 0; i < 100; i++) {
        const std::string text = ordered_schedule(5, 40);
        std::string shifted = text;
        for (std::size_t at = shifted.find("{\n"); at != std::string::npos;
             at = shifted.find("{\n", at + 1)) {
            const bool some = shifted[at + 2] != '}';
            shifted.insert(at + 2, std::string("shift: calc 123456\n") + (some ? "a0 requires shift\n" : ""));
        }
        Parameters parameters;
        parameters.handling = i % 2 ? Handling::posted : Handling::arrival;
        const Result before = simulate(text, parameters, Noise());
        const Result after = simulate(shifted, parameters, Noise());
        for (std::size_t rank = 0; rank < before.finish.size(); rank++)
            CHECK_EQUAL(after.finish[rank], before.finish[rank] + shift);
    }
}

TEST(noise_repeats_with_its_period)
{
    for (const NoiseRule rule : { NoiseRule::physical, NoiseRule::loggopsim }) {
        const Noise noise({ random_trace() }, rule, 3, false);
        for (unsigned i = 0; i < 1000; i++) {
            const auto now = static_cast<Time>(random_below(200000000)),
                       work = static_cast<Time>(random_below(50000000));
            NoiseCursor one = noise.begin(i), other = one;
            CHECK_EQUAL(noise.finish(other, now + 5 * 200 * US, work),
                        noise.finish(one, now, work) + 5 * 200 * US);
        }
    }
}

// Whenever the work is done: only its length moves a rank's place.
TEST(by_the_papers_words_noise_goes_by_work)
{
    const Noise noise({ random_trace() }, NoiseRule::paper2010, 3, false);

    for (unsigned i = 0; i < 100; i++) {
        NoiseCursor whole = noise.begin(i), pieces = whole;
        Time work = 0, late = 0;
        for (unsigned piece = 0; piece < 100; piece++) {
            const auto now = static_cast<Time>(random_below(300000000));
            const auto length = static_cast<Time>(random_below(9000000) * (random_below(50) ? 1 : 90));
            late += noise.finish(pieces, now, length) - now;
            work += length;
        }
        CHECK_EQUAL(noise.finish(whole, 0, work), late);
    }
}

TEST(long_work_is_many_short_pieces)
{
    const Noise noise({ random_trace() }, NoiseRule::physical, 3, false);

    for (unsigned i = 0; i < 100; i++) {
        NoiseCursor cursor = noise.begin(i);
        Time now = static_cast<Time>(random_below(300000000)), begin = now, work = 0;
        for (unsigned piece = 0; piece < 500; piece++) {
            const auto length = static_cast<Time>(1 + random_below(9000000));
            work += length;
            now = noise.finish(cursor, now, length);
        }
        NoiseCursor other = noise.begin(i);
        CHECK_EQUAL(noise.finish(other, begin, work), now);
    }
    const Noise fine({ trace_periodic(1000000, 500000) }, NoiseRule::physical, 3, false);
    NoiseCursor cursor = fine.begin(0);
    CHECK(fine.finish(cursor, 0, STEP_LIMIT) > STEP_LIMIT / 10 * 19);
}

TEST(coscheduled_noise_of_a_barrier_loop_costs_its_serial_share)
{
    PatternOptions options;
    options.ranks = 256;
    options.iterations = 200;
    options.compute = 1000 * US;
    const Pattern pattern(options);
    const Parameters parameters;
    const auto end = [&](const Noise &noise) {
        PatternProgram program(pattern, parameters);
        return static_cast<double>(pattern_simulate_general(program, parameters, noise, 2, nullptr).maximum);
    };
    const Trace trace = trace_periodic(1000 * US, 50 * US);
    const double quiet = end(Noise());
    const double together = end(Noise({ trace }, NoiseRule::physical, 1, true)) / quiet;
    const double apart = end(Noise({ trace }, NoiseRule::physical, 1, false)) / quiet;

    CHECK(together > 1.04 && together < 1 / 0.95 + 0.005);
    CHECK(apart > together + 0.02);
}

TEST(patterns_without_a_schedule_end_as_their_schedules)
{
    for (unsigned i = 0; i < 400; i++) {
        PatternOptions options;
        options.name =
            static_cast<PatternName>(random_below(pattern_names().size() - 1)); // the last has no messages
        options.ranks = static_cast<std::uint32_t>(1 + random_below(random_below(2) ? 12 : 70));
        options.bytes = random_below(3) ? 8 : 5000;
        options.segment_bytes = 1 + random_below(3000);
        options.ways = static_cast<unsigned>(1 + random_below(4));
        options.iterations = static_cast<std::uint32_t>(1 + random_below(3));
        options.compute = static_cast<Time>(random_below(2) * random_below(9000)) * PS_PER_NS;
        options.reduction = static_cast<Time>(random_below(2) * random_below(900)) * PS_PER_NS;
        Parameters parameters;
        parameters.gap = static_cast<Time>(random_below(5000)) * PS_PER_NS;
        parameters.latency = static_cast<Time>(random_below(5)) * US;
        parameters.eager_limit = random_below(2) ? 65535 : 4000;
        parameters.handling = random_below(2) ? Handling::arrival : Handling::posted;
        const Noise noise = random_below(3) ? noise_of(random_trace(), random_rule()) : Noise();
        const Pattern pattern(options);
        PatternProgram program(pattern, parameters);
        const Result direct = pattern_simulate_general(program, parameters, noise, 1 + i % 3, nullptr);
        std::ostringstream text;
        goal_write(pattern, text);
        const Result scheduled = simulate(text.str(), parameters, noise, 1 + i % 2);
        CHECK(direct.complete && scheduled.complete);
        CHECK_EQUAL(direct.operations, scheduled.operations);
        if (!CHECK(direct.finish == scheduled.finish))
            fprintf(stderr, "  %s of %u ranks\n",
                    pattern_names()[static_cast<std::size_t>(options.name)].c_str(), options.ranks);
    }
}

// What waits for a processor or an interface stands in a line: only its head looks whether that is free.
TEST(events_of_an_alltoall_are_as_many_as_its_messages)
{
    PatternOptions options;
    options.name = PatternName::alltoall;
    options.ranks = 128;
    const Pattern pattern(options);
    for (const std::uint64_t eager_limit : { 0, 65535 }) {
        Parameters parameters;
        parameters.eager_limit = eager_limit;
        PatternProgram program(pattern, parameters);
        const Result result =
            pattern_simulate_general(program, parameters, noise_of(random_trace()), 1, nullptr);
        CHECK(result.complete);
        CHECK(result.events < 3 * (result.operations + result.messages));
    }
}

// Small differences and the largest, in a queue that is filled and emptied in turns.
TEST(packed_events_come_out_as_they_went_in)
{
    for (unsigned round = 0; round < 50; round++) {
        ChunkPool pool;
        PackedEvents packed;
        std::deque<Event> plain;
        Event event;
        const auto step = [&] { return random_below(random_below(8) ? 3 : std::uint64_t{ 1 } << 61); };
        event.rank = round;
        for (unsigned i = 0; i < 2000; i++) {
            if (random_below(3)) {
                event.history = { event.history.caused + static_cast<Time>(step() / 2000),
                                  static_cast<Time>(step()), -static_cast<Time>(random_below(3)) };
                event.operation += static_cast<std::uint32_t>(step());
                event.source = static_cast<std::uint32_t>(random_below(2) ? event.source - 1 : step());
                event.info = static_cast<std::uint32_t>(step());
                packed.push(pool, event);
                plain.push_back(event);
                CHECK(!happens_before(packed.back(), event) && !happens_before(event, packed.back()));
            } else if (!plain.empty()) {
                const Event &expected = plain.front(), &found = packed.front();
                CHECK(!happens_before(found, expected) && !happens_before(expected, found));
                CHECK(found.rank == round && found.info == expected.info && found.time == expected.time);
                packed.pop(pool);
                plain.pop_front();
            }
            CHECK_EQUAL(packed.empty(), plain.empty());
        }
    }
}

// A rank has random events; now and then an earlier one comes.
TEST(a_tree_of_times_finds_the_ranks_that_are_due)
{
    for (unsigned round = 0; round < 60; round++) {
        const auto first = static_cast<std::uint32_t>(random_below(1000));
        const auto ranks =
            static_cast<std::uint32_t>(1 + random_below(std::uint64_t{ 1 } << random_below(12)));
        std::vector<Time> times(ranks, NEVER);
        TimeTree tree;
        tree.reset(first, first + ranks);
        Time now = 0;
        for (unsigned window = 0; window < 50; window++) {
            for (std::uint64_t i = random_below(ranks + 5); i > 0; i--) {
                const std::uint64_t rank = random_below(ranks);
                const Time time = now + static_cast<Time>(random_below(1000));
                times[rank] = std::min(times[rank], time);
                tree.add(first + static_cast<std::uint32_t>(rank), time);
            }
            CHECK_EQUAL(tree.earliest(), *std::min_element(times.begin(), times.end()));
            now += static_cast<Time>(random_below(200));
            std::vector<std::uint32_t> due;
            const bool look_ahead = random_below(2);
            tree.each_due(
                now, [](std::uint32_t) {}, look_ahead,
                [&](std::uint32_t rank) {
                    due.push_back(rank - first);
                    // A message to a rank that may have been looked at already.
                    const std::uint64_t to = random_below(ranks);
                    const Time arrives = now + static_cast<Time>(random_below(50));
                    if (to != rank - first) {
                        times[to] = times[to] < now ? times[to] : std::min(times[to], arrives);
                        tree.add(first + static_cast<std::uint32_t>(to), arrives);
                    }
                    return times[rank - first] =
                               random_below(4) ? now + static_cast<Time>(random_below(900)) : NEVER;
                });
            CHECK(std::is_sorted(due.begin(), due.end()));
            CHECK(std::all_of(times.begin(), times.end(), [&](Time time) { return time >= now; }));
        }
    }
}

// Round numbers make ties; the ring engine must resolve them as the general one does.
TEST(the_ring_engine_ends_as_the_general_one)
{
    for (unsigned i = 0; i < 400; i++) {
        PatternOptions options;
        options.ranks = static_cast<std::uint32_t>(2 + random_below(random_below(2) ? 30 : 600));
        options.bytes = random_below(3);
        options.iterations = static_cast<std::uint32_t>(1 + random_below(3));
        Parameters parameters;
        parameters.gap = static_cast<Time>(random_below(4)) * US;
        parameters.latency = static_cast<Time>(random_below(4)) * US;
        parameters.overhead_send = static_cast<Time>(1 + random_below(2)) * US;
        parameters.overhead_receive = static_cast<Time>(random_below(3)) * US;
        parameters.gap_per_byte_fs = static_cast<std::int64_t>(random_below(2)) * 1000000000;
        parameters.overhead_per_byte_fs = static_cast<std::int64_t>(random_below(3)) * 500000000;
        const NoiseRule rule = random_rule();
        const Trace round = trace_periodic(static_cast<Time>(20 + random_below(100)) * US,
                                           static_cast<Time>(1 + random_below(12)) * US);
        const Noise noise = random_below(4) ? Noise({ random_below(3) ? round : random_trace() }, rule, i,
                                                    random_below(5) == 0)
                                            : Noise();
        const Pattern pattern(options);
        PatternProgram program(pattern, parameters);
        const Result general = pattern_simulate_general(program, parameters, noise, 1, nullptr);
        RingEngine ring(pattern, parameters, noise, 1 + i % 3);
        const auto special = ring.run();
        if (!CHECK(special.has_value()))
            continue;
        CHECK(special->complete);
        CHECK_EQUAL(special->operations, general.operations);
        CHECK(special->finish == general.finish);
        CHECK(ring.iteration_ends() == program.iteration_ends());
    }
}

TEST(traces_of_no_or_one_detour_are_legal)
{
    constexpr NoiseRule physical = NoiseRule::physical;
    std::string remark;
    const Trace none = trace_parse("# nothing\n", "t", physical, remark);
    CHECK(none.detours.empty() && remark.empty());
    CHECK(!Noise({ none }, NoiseRule::physical, 1, false).any());
    const Trace one = trace_parse("0\t500\n", "t", physical, remark);
    CHECK(one.detours.empty() && !remark.empty());
    const Trace stated = trace_parse("# Measurement period: 0.001 s\n0\t500\n", "t", physical, remark);
    CHECK_EQUAL(stated.detours.size(), 1);
    CHECK_EQUAL(stated.period, 1000 * US);
    const Trace two = trace_parse("0\t500\n10000 250\n", "t", physical, remark);
    CHECK_EQUAL(two.period, 20 * US);
}

TEST(the_end_of_work_under_noise_is_as_by_hand)
{
    const auto end = [](NoiseRule rule, Time now, Time work) {
        Noise noise({ { { { 1000, 100 }, { 1150, 50 } }, 10000 } }, rule, 0, false);
        noise.begin_at({ 0 });
        NoiseCursor cursor = noise.begin(0);
        return noise.finish(cursor, now, work);
    };

    for (const NoiseRule rule : RULES)
        CHECK_EQUAL(end(rule, 0, 1000), 1000);
    CHECK_EQUAL(end(NoiseRule::physical, 900, 120), 1120);
    CHECK_EQUAL(end(NoiseRule::physical, 900, 160), 1210);
    CHECK_EQUAL(end(NoiseRule::physical, 1050, 10), 1110);
    CHECK_EQUAL(end(NoiseRule::physical, 1050, 0), 1050);
    // The detour at 1150 begins while the one at 1000 is being served, and is over before that is.
    CHECK_EQUAL(end(NoiseRule::loggopsim, 900, 160), 1160);
    CHECK_EQUAL(end(NoiseRule::loggopsim, 900, 300), 1350);
    CHECK_EQUAL(end(NoiseRule::loggopsim, 1050, 10), 1110);
    CHECK_EQUAL(end(NoiseRule::loggopsim, 1050, 0), 1100);
    CHECK_EQUAL(end(NoiseRule::loggopsim, 1000, 10), 1110);
    CHECK_EQUAL(end(NoiseRule::loggopsim, 0, 30000), 30450);
    // From place 0, whenever that is.
    CHECK_EQUAL(end(NoiseRule::paper2010, 5000, 1000), 6000);
    CHECK_EQUAL(end(NoiseRule::paper2010, 5000, 1001), 6101);
    CHECK_EQUAL(end(NoiseRule::paper2010, 5000, 21160), 26160 + 450);
}

// What is odd in the public tool: a file's first line never delays, its last one only says how long it is,
// and it is as much shorter as the work is long.
TEST(a_file_is_replayed_as_the_public_tool_does)
{
    std::string remark;
    const Trace trace = trace_parse("0\t700\n10\t2\n20.4 3\n100\t50\n", "t", NoiseRule::loggopsim, remark);
    const auto delay = [&](Time now_ns, Time work_ns) {
        Noise noise({ trace }, NoiseRule::loggopsim, 0, false);
        noise.begin_at({ 200 * PS_PER_NS });
        NoiseCursor cursor = noise.begin(0);
        return noise.finish(cursor, now_ns * PS_PER_NS, work_ns * PS_PER_NS) / PS_PER_NS - now_ns - work_ns;
    };

    CHECK_EQUAL(trace.lap, 100 * PS_PER_NS);
    CHECK_EQUAL(delay(0, 0), 0);            // at 0
    CHECK_EQUAL(delay(1, 0), 699);          // in the first line, which began before
    CHECK_EQUAL(delay(11, 0), 1);           // in the second
    CHECK_EQUAL(delay(0, 1), 698);          // 200 modulo 99
    CHECK_EQUAL(delay(9, 50), 691 + 2 + 3); // 209 modulo 50: at 9, and the whole of both lines that begin
    CHECK_EQUAL(delay(50, 40), 2 + 3);      // 250 modulo 60: at the beginning of one
    for (Time work = 0; work < 100; work++)
        for (Time now = 0; now < 300; now++)
            CHECK(delay(now, work) >= 0);
    // A file of one line is only as long as that line's start says.
    Noise lone({ trace_parse("7\t30\n", "t", NoiseRule::loggopsim, remark) }, NoiseRule::loggopsim, 0, false);
    lone.begin_at({ 0 });
    NoiseCursor begin = lone.begin(0);
    CHECK_EQUAL(lone.finish(begin, 3, 5), 8);
    try {
        delay(0, 100);
        CHECK(false);
    } catch (const InputError &error) {
        CHECK(std::string(error.what()).find("longer trace") != std::string::npos);
    }
}

// Few times and many are sorted in different ways; distances between them of 0 to 62 bits.
TEST(quantiles_are_of_the_sorted_times)
{
    for (const std::size_t count : { std::size_t{ 5 }, std::size_t{ 4001 }, std::size_t{ 20001 } })
        for (unsigned bits = 0; bits <= 62; bits += 31) {
            std::vector<Time> times;
            for (std::size_t i = 0; i < count; i++)
                times.push_back(static_cast<Time>(1000 + random_below(std::uint64_t{ 1 } << bits)));
            const Summary summary = summary_of(times);
            std::sort(times.begin(), times.end());
            const auto ns = [](Time time) { return static_cast<double>(time) / PS_PER_NS; };
            double sum = 0;
            for (const Time time : times)
                sum += ns(time);
            CHECK_EQUAL(summary.count, count);
            CHECK(summary.minimum == ns(times.front()) && summary.maximum == ns(times.back()));
            CHECK(summary.quartile1 == ns(times[count / 4]));
            CHECK(summary.median == ns(times[count / 2]));
            CHECK(summary.quartile3 == ns(times[3 * (count / 4)]));
            CHECK(summary.maximum >= summary.percentile99 && summary.percentile99 >= summary.quartile3);
            CHECK(std::abs(summary.mean * static_cast<double>(count) - sum) <= 1e-11 * sum);
        }
}

} // namespace

// The same random numbers, whichever tests run before.
#undef RUN
#define RUN(name) (random_state = 1, check_run(#name, name))

int main(int count, char **words)
{
    check_part(count, words);
    RUN(a_detour_never_makes_any_rank_earlier);
    RUN(handling_on_arrival_can_gain_from_a_delay);
    RUN(results_do_not_depend_on_threads_or_windows);
    RUN(operations_wait_for_whatever_they_require);
    RUN(a_common_delay_shifts_all_times);
    RUN(noise_repeats_with_its_period);
    RUN(by_the_papers_words_noise_goes_by_work);
    RUN(long_work_is_many_short_pieces);
    RUN(coscheduled_noise_of_a_barrier_loop_costs_its_serial_share);
    RUN(patterns_without_a_schedule_end_as_their_schedules);
    RUN(events_of_an_alltoall_are_as_many_as_its_messages);
    RUN(packed_events_come_out_as_they_went_in);
    RUN(a_tree_of_times_finds_the_ranks_that_are_due);
    RUN(the_ring_engine_ends_as_the_general_one);
    RUN(traces_of_no_or_one_detour_are_legal);
    RUN(the_end_of_work_under_noise_is_as_by_hand);
    RUN(a_file_is_replayed_as_the_public_tool_does);
    RUN(quantiles_are_of_the_sorted_times);
    return check_report("sim");
}
