/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nettick.c: heartbeats, from the frame to the timer that expires: what counts, what is global time, by
 * which device each CPU goes, and what becomes of its timers when beats are lost. beat_node.h is the node;
 * here is a network that loses, repeats, delays and forges, and a clock that drifts.
 */
#include "beat_node.h"
#include "beat/global_clock.h"
#include "beat/welcome.h"

#define BEATS        1000000
#define FLIGHTS      64
#define DRIFT_BEATS  10000 /* after which the node's clock drifts otherwise */
#define ERROR_MAX_NS (100 * (int64_t)US)

/* ---- A million beats ---- */

enum cause { ORIGINAL, COPY, REPLAY, TRUNCATED, OTHER_VERSION, OTHER_KIND, FORGED, ABSURD, CAUSES };

struct flight {
    enum cause cause;
    uint64_t arrival; /* true time; 0: none */
    uint64_t epoch, sequence, sent, period_ns;
    uint8_t payload[BEAT_HEADER_BYTES + BEAT_END_BYTES];
    size_t bytes;
};

static struct flight flights[FLIGHTS], recorded; /* one of the earlier epoch */

/* By what they were sent as, and what came of those that are beats. */
static struct {
    uint64_t causes[CAUSES], next, after_lost, duplicate, late, new_epoch, dropped, overtaken;
} sent;

/* The node's clock compared with true time: its drift changes. */
static struct {
    uint64_t base_true, base_local;
    int64_t slope; /* in 2^-32 */
} node_clock = { BEGIN, 0, 0 };

static uint64_t local_of(uint64_t true_ns)
{
    const uint64_t passed = true_ns - node_clock.base_true;

    return node_clock.base_local + passed + (uint64_t)((int64_t)passed * node_clock.slope >> 32);
}

static void drift_set(uint64_t true_ns, int64_t ppm)
{
    node_clock.base_local = local_of(true_ns);
    node_clock.base_true = true_ns;
    node_clock.slope = ppm * GLOBAL_CLOCK_PPM;
}

static void flight_add(const struct flight *flight)
{
    for (unsigned i = 0; i < FLIGHTS; i++)
        if (!flights[i].arrival) {
            flights[i] = *flight;
            return;
        }
    CHECK(!"there is room for frames under way");
}

static struct flight *flight_first(void)
{
    struct flight *first = NULL;

    for (unsigned i = 0; i < FLIGHTS; i++)
        if (flights[i].arrival && (!first || flights[i].arrival < first->arrival))
            first = &flights[i];
    return first;
}

static struct global_clock shadow; /* that has taken the same beats */
static uint64_t global_last;       /* global time when it was last read */

static uint64_t global_read(void)
{
    const uint64_t global = global_line_at(&shadow.line, now_ns);

    CHECK(global >= global_last);
    return global_last = global;
}

/* Works out the effect of a frame from the frames before it; returns whether it is a beat that counts. */
static bool count(const struct flight *flight)
{
    sent.causes[flight->cause]++;
    if (flight->cause >= TRUNCATED)
        return false;
    if (flight->cause == REPLAY || flight->epoch < taken.epoch) {
        sent.late++;
        return false;
    }
    if (flight->cause == COPY) {
        *(flight->sequence == taken.sequence ? &sent.duplicate : &sent.late) += 1;
        return false;
    }
    if (flight->epoch == taken.epoch && flight->sequence < taken.sequence) {
        sent.late++;
        sent.overtaken++;
        return false;
    }
    *(!taken.epoch                             ? &sent.next
      : flight->epoch > taken.epoch            ? &sent.new_epoch
      : flight->sequence == taken.sequence + 1 ? &sent.next
                                               : &sent.after_lost) += 1;
    if (taken.epoch && flight->epoch > taken.epoch)
        global_clock_restart(&shadow);
    taken.epoch = flight->epoch;
    taken.sequence = flight->sequence;
    taken.period_ns = flight->period_ns;
    return true;
}

static void flight_arrives(struct flight *flight)
{
    run_until(local_of(flight->arrival));
    if (shadow.is_set) {
        const int64_t error_ns = (int64_t)(global_read() - flight->arrival);

        /* The drift has changed long ago. */
        if (flight->sequence % DRIFT_BEATS > DRIFT_BEATS / 2)
            CHECK(error_ns > -ERROR_MAX_NS && error_ns < ERROR_MAX_NS);
    }
    const bool counts = count(flight);
    frame_handle(flight->payload, flight->bytes);
    if (counts)
        global_clock_update(&shadow, first_read_ns, flight->sent);
    global_read();
    flight->arrival = 0;
}

/* Changes a beat as a sender other than the conductor would. */
static void spoil(struct flight *flight)
{
    uint8_t *payload = flight->payload;

    switch (flight->cause) {
    case TRUNCATED:
        flight->bytes = random_below(flight->bytes);
        break;
    case OTHER_VERSION:
        payload[0] = (uint8_t)(payload[0] ^ (1 + random_below(255)));
        break;
    case OTHER_KIND:
        payload[1] = BEAT_KIND_ANSWER;
        break;
    case FORGED:
        payload[4 + random_below(flight->bytes - 4)] ^= (uint8_t)(1U << random_below(8));
        break;
    default: { /* with the conductor's key: a sequence number of 0 */
        uint64_t tag;

        memset(payload + 16, 0, 8);
        tag = __builtin_bswap64(siphash(key, payload, BEAT_HEADER_BYTES + BEAT_ADDRESS_BYTES));
        memcpy(payload + BEAT_HEADER_BYTES + BEAT_ADDRESS_BYTES, &tag, sizeof(tag));
    }
    }
}

/* Returns delays, as often short as long, at least 20 us; some take whole periods and are overtaken. */
static uint64_t network_delay(uint64_t period_ns)
{
    uint64_t most = 8 * US;

    if (chance(10))
        return period_ns + random_below(2 * period_ns);
    while (random_below(2) && most < MS)
        most *= 2;
    return 20 * US + random_below(most);
}

/* Sends the conductor's beat that is due. The first and the last of an epoch arrive, in their order; of the
 * others those that do not arrive are lost. */
static void beat_goes(uint64_t due, uint64_t epoch, uint64_t sequence, uint64_t period_ns, bool is_last)
{
    static unsigned outage;
    const struct beat beat = { .epoch = epoch,
                               .sequence = sequence,
                               .time_ns = due,
                               .period_ns = period_ns,
                               .late_ns = (uint32_t)random_below(50 * US) };
    struct flight flight = { .epoch = epoch, .sequence = sequence, .period_ns = period_ns };

    flight.sent = due + beat.late_ns;
    flight.bytes = beat_encode(&beat, key, conductor_address, flight.payload, sizeof(flight.payload));
    if (sequence == 7 && !recorded.bytes)
        recorded = flight;
    if (random_below(5000) == 0)
        outage = 1 + (unsigned)random_below(9);
    outage -= outage > 0;

    const bool must_come = sequence == 1 || is_last;
    const bool is_lost = !must_come && (outage || chance(10));
    flight.arrival = flight.sent + (sequence == 1 ? 30 * US
                                    : is_last     ? 4 * period_ns
                                                  : network_delay(period_ns));
    if (is_lost)
        sent.dropped++;
    else
        flight_add(&flight);

    if (!is_lost && chance(10)) {
        flight.arrival += 1 + random_below(2 * period_ns);
        flight.cause = COPY;
        flight_add(&flight);
    }
    if (epoch != recorded.epoch && chance(10)) {
        recorded.arrival = flight.sent + random_below(period_ns);
        recorded.cause = REPLAY;
        flight_add(&recorded);
    }
    if (chance(30)) {
        flight.arrival = flight.sent + random_below(period_ns);
        flight.cause = TRUNCATED + (enum cause)random_below(CAUSES - TRUNCATED);
        spoil(&flight);
        flight_add(&flight);
    }
}

static void flights_arrive(uint64_t until)
{
    for (struct flight *first; (first = flight_first()) && first->arrival <= until;)
        flight_arrives(first);
}

/* Sends `beats` beats of one start of the conductor; its last ones have arrived at the end. */
static uint64_t epoch_goes(uint64_t from, uint64_t epoch, unsigned beats, uint64_t period_ns)
{
    uint64_t due = (from / period_ns + 1) * period_ns;

    for (unsigned i = 1; i <= beats; i++, due += period_ns) {
        flights_arrive(due);
        if (i % DRIFT_BEATS == 0)
            drift_set(due, (int64_t)random_below(201) - 100);
        beat_goes(due, epoch, i, period_ns, i == beats);
        if (i % 100 == 0) {
            describe();
            CHECK_EQUAL(said("global_ns"), global_line_at(&shadow.line, said("local_ns")));
            CHECK(said("global_ns") >= global_last);
        }
    }
    flights_arrive(due + 10 * period_ns);
    CHECK(!flight_first());
    return due + 10 * period_ns;
}

NODE(a_million_beats_are_counted_by_what_they_are_and_timers_keep_to_their_bounds)
{
    uint64_t fallbacks = 0, expirations = 0, fine = 0;

    node_start("nettick=irq" OPTIONS);
    restarts = true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        for (unsigned i = 0; i < TIMERS; i++)
            timer_begin(cpu, i, random_below(10 * MS), random_below(30 * MS));
    drift_set(BEGIN, 100);
    uint64_t end = epoch_goes(BEGIN + SECOND, BEGIN, 1000, 10 * MS);
    epoch_goes(end, BEGIN + 1, BEATS - 1000, 10 * MS);

    check_counts();
    for (unsigned i = ORIGINAL; i <= REPLAY; i++)
        fine += sent.causes[i];
    CHECK_EQUAL(said("fine"), fine);
    CHECK_EQUAL(said("truncated"), sent.causes[TRUNCATED]);
    CHECK_EQUAL(said("other_version"), sent.causes[OTHER_VERSION]);
    CHECK_EQUAL(said("other_kind"), sent.causes[OTHER_KIND]);
    CHECK_EQUAL(said("forged"), sent.causes[FORGED]);
    CHECK_EQUAL(said("absurd"), sent.causes[ABSURD]);
    CHECK_EQUAL(said("next"), sent.next);
    CHECK_EQUAL(said("after_lost"), sent.after_lost);
    CHECK_EQUAL(said("duplicate"), sent.duplicate);
    CHECK_EQUAL(said("late"), sent.late);
    CHECK_EQUAL(said("new_epoch"), 1);
    CHECK_EQUAL(said("next") + said("after_lost") + said("duplicate") + said("late") + 1, fine);
    CHECK_EQUAL(said("lost"), sent.dropped + sent.overtaken);
    CHECK_EQUAL(sent.causes[ORIGINAL] + sent.dropped, BEATS);
    CHECK_EQUAL(said("steps"), 0);
    CHECK_EQUAL(ipis, sent.next + sent.after_lost + 1);
    for (unsigned i = 0; i < CAUSES; i++)
        CHECK(sent.causes[i] > BEATS / 1000);
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        const struct timer_counts *counts = &timers[cpu][0].queue->counts;

        fallbacks += cpus[cpu].fallbacks;
        expirations += cpus[cpu].expired;
        CHECK_EQUAL(counts->expired, cpus[cpu].expired);
        CHECK_EQUAL(counts->spurious + counts->rearms, 0);
    }
    CHECK(fallbacks > BEATS / 10000);
    CHECK(expirations > BEATS);
}

/* ---- When beats stop ---- */

NODE(while_beats_come_the_local_device_is_armed_for_pending_timers_alone)
{
    node_start("nettick=irq" OPTIONS);
    beats_come(20, 10 * MS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(cpus[cpu].arms, 0);
    timer_begin(1, 0, 12 * MS, 1);
    check_cpus();
    CHECK_EQUAL(cpus[1].fires_ns, timers[1][0].deadline_ns + 30 * MS);
    timer_end(1, 0);
    check_cpus();
    timer_begin(1, 0, 12 * MS, 1);
    beats_come(1, 10 * MS);
    CHECK_EQUAL(cpus[1].expired, 0);
    beats_come(1, 10 * MS);
    CHECK_EQUAL(cpus[1].expired, 1);
    check_cpus();
    CHECK_EQUAL(cpus[0].arms + cpus[2].arms, 0);
    check_counts();
}

static void stop(void)
{
    node_start("nettick=irq" OPTIONS);
    beats_come(20, 10 * MS);
    timer_begin(1, 0, 2 * MS, 1);

    const uint64_t boundary = timers[1][0].boundary_ns;
    run_until(boundary + 30 * MS - early_ns - 1);
    CHECK_EQUAL(cpus[1].expired, 0);
    run_until(boundary + 30 * MS);
    CHECK_EQUAL(cpus[1].expired, 1);
    CHECK_EQUAL(cpus[1].fallbacks, 1);
    check_counts();
    for (unsigned i = 0; i < 5; i++) {
        timer_begin(1, 0, 3 * MS, 1);
        run_until(timers[1][0].boundary_ns + 10 * US);
        CHECK_EQUAL(cpus[1].expired, 2 + i);
        check_cpus();
    }
    CHECK_CONTAINS(describe(), "state lost\n");
    const uint64_t arms = cpus[1].arms;
    beats_come(1, 10 * MS);
    CHECK_CONTAINS(describe(), "state beating\n");
    CHECK_EQUAL(cpus[1].arms, arms); /* for nothing pends */
    timer_begin(1, 0, 2 * MS, 1);
    run_until(now_ns + 5 * MS);
    CHECK_EQUAL(cpus[1].expired, 6);
    beats_come(1, 10 * MS);
    CHECK_EQUAL(cpus[1].expired, 7);
    CHECK_EQUAL(timers[1][0].queue->counts.spurious, 0);
    check_counts();
}

NODE(a_cpu_whose_beats_stop_falls_back_once_and_then_goes_exactly_until_one_comes)
{
    stop();
}

NODE(a_local_device_that_is_a_little_early_falls_back_as_well)
{
    early_ns = 1500;
    stop();
}

NODE(a_timer_near_the_end_of_time_is_no_lost_beat)
{
    node_start("nettick=irq" OPTIONS);
    beats_come(20, 10 * MS);
    timer_begin(0, 0, INT64_MAX - 5 * MS - now_ns, 1);
    CHECK_EQUAL(cpus[0].fires_ns, UINT64_MAX);
    arena_cpu = 0;
    timer_interrupt(); /* the device cannot wait as long */
    CHECK_CONTAINS(describe(), "fallbacks 0 windows 0 goes_by beats\ncpu1");
    CHECK_EQUAL(cpus[0].fires_ns, UINT64_MAX);
}

NODE(a_rest_puts_all_cpus_on_their_local_devices_and_a_beat_takes_them_back)
{
    node_start("nettick=irq" OPTIONS);
    restarts = true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        for (unsigned i = 0; i < TIMERS; i++)
            timer_begin(cpu, i, random_below(10 * MS), random_below(30 * MS));
    for (unsigned round = 0; round < 50; round++) {
        beats_come(20, 10 * MS);
        beat_comes(1, taken.sequence + 1, 0);
        check_cpus();
        CHECK_CONTAINS(describe(), "state resting\n");
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            CHECK_EQUAL(cpus[cpu].fires_ns, earliest_of(cpu));
        run_until(now_ns + SECOND);
        check_counts();
    }
    beats_come(1, 10 * MS);
    check_counts();
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        CHECK_EQUAL(cpus[cpu].fires_ns, earliest_of(cpu) + 30 * MS);
        CHECK_EQUAL(cpus[cpu].fallbacks, 0);
    }
}

NODE(another_rate_moves_what_is_armed)
{
    static const uint64_t periods[] = { 100 * MS, 20 * MS, 10 * MS, 20 * MS, 100 * MS, 10 * MS };

    node_start("nettick=irq" OPTIONS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        timer_begin(cpu, 0, SECOND, 1);
    for (unsigned i = 0; i < 6; i++) {
        beats_come(1, periods[i]);
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            CHECK_EQUAL(cpus[cpu].fires_ns, timers[cpu][0].boundary_ns + 3 * periods[i]);
    }
    beats_come(200, 10 * MS);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(cpus[cpu].expired, 1);
    check_counts();
}

/* ---- A timer that is to be exact ---- */

static uint64_t exact_expired_ns;

static void exact_expired(struct smart_timer *timer, uint64_t at_ns)
{
    (void)timer;
    exact_expired_ns = at_ns;
}

/* Begins on CPU 1, whose own device fires for the timer at that time, or a little earlier. */
static void exact_begin(struct smart_timer *timer, uint64_t wait_ns)
{
    exact_expired_ns = 0;
    timer->expire = exact_expired;
    arena_cpu = 1;
    timer_start_exact(timer, now_ns + wait_ns);
    arena_cpu = 0;
    CHECK(cpus[1].is_armed);
    CHECK_EQUAL(cpus[1].fires_ns, timer->deadline_ns);
}

/* Fires its device: for this timer alone; the CPU then follows the beats again. */
static void exact_fire(const struct smart_timer *timer)
{
    CHECK_EQUAL(cpus[1].fires_ns, timer->deadline_ns);
    now_ns = cpus[1].fires_ns - early_ns;
    cpus[1].is_armed = false;
    cpus[1].by_beat = true; /* the others may be late until the next one */
    arena_cpu = 1;
    timer_interrupt();
    arena_cpu = 0;
    CHECK(exact_expired_ns >= timer->deadline_ns && exact_expired_ns < timer->deadline_ns + US);
    check_cpu(1);
    check_counts();
}

static void exact_among_beats(void)
{
    static struct smart_timer exact;

    node_start("nettick=irq" OPTIONS);
    beats_come(20, 10 * MS);
    exact_begin(&exact, 2 * MS); /* alone */
    exact_fire(&exact);
    timer_begin(1, 0, 15 * MS, 1); /* a later one waits for beats still */
    exact_begin(&exact, 2 * MS);
    exact_fire(&exact);
    CHECK(timers[1][0].pending);
    timer_begin(1, 1, MS, 1); /* and an earlier one, which then is due */
    exact_begin(&exact, 2 * MS);
    exact_fire(&exact);
    CHECK(timers[1][0].pending && !timers[1][1].pending);
    exact_begin(&exact, 2 * MS); /* moved */
    exact_begin(&exact, 3 * MS);
    exact_fire(&exact);
    beats_come(2, 10 * MS);
    CHECK(!timers[1][0].pending);
    check_cpus();
    CHECK_EQUAL(timers[1][0].queue->counts.spurious + timers[1][0].queue->counts.rearms, 0);
}

NODE(an_exact_timer_interrupts_in_time_among_beats_and_others_go_on_by_them)
{
    exact_among_beats();
}

NODE(an_exact_timer_of_a_device_that_is_a_little_early_is_waited_for)
{
    early_ns = 1500;
    exact_among_beats();
}

NODE(a_beat_that_comes_later_than_an_exact_timer_expires_it_and_nothing_interrupts_for_it_any_more)
{
    static struct smart_timer exact;

    node_start("nettick=irq" OPTIONS);
    beats_come(20, 10 * MS);
    timer_begin(1, 0, 25 * MS, 1);
    exact_begin(&exact, 2 * MS);
    now_ns += 3 * MS;
    beat_comes(1, taken.sequence + 1, 10 * MS); /* before its device's interrupt is taken */
    CHECK(exact_expired_ns >= exact.deadline_ns);
    CHECK_EQUAL(cpus[1].fires_ns, timers[1][0].boundary_ns + 30 * MS);
    check_counts();
}

NODE(an_exact_timer_is_exact_by_whatever_device_and_where_that_changes)
{
    static struct smart_timer exact;

    node_start("nettick=irq clockevents=writable" OPTIONS);
    exact_begin(&exact, MS); /* before the first beat */
    exact_fire(&exact);
    beats_come(20, 10 * MS);
    exact_begin(&exact, 5 * MS);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQUAL(timer_device_rate("local 300"), 0);
        CHECK_EQUAL(cpus[1].fires_ns, exact.deadline_ns);
        CHECK_EQUAL(timer_device_rate("local 100"), 0);
        CHECK_EQUAL(cpus[1].fires_ns, exact.deadline_ns);
    }
    exact_fire(&exact);
    CHECK_EQUAL(exact.queue->counts.spurious, 0);
}

/* ---- Options and ratings ---- */

NODE(before_the_first_beat_the_local_device_alone_is_used)
{
    node_start("nettick=irq" OPTIONS);
    restarts = true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        timer_begin(cpu, 0, MS, 1);
    run_until(now_ns + SECOND);
    check_cpus();
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK(cpus[cpu].expired > 20);
    check_counts();
    CHECK_CONTAINS(description, "mode irq\nstate none\nepoch 0\n");
    CHECK_EQUAL(said("global_ns"), 0);
    beats_come(1, 10 * MS);
    check_cpus();
    check_counts();
}

NODE(polled_beats_set_the_clock_and_pass_nothing_on)
{
    node_start("nettick=poll" OPTIONS);
    by_other = true;
    restarts = true;
    timer_begin(2, 0, MS, 1);
    beats_come(100, 10 * MS);
    CHECK(clock_event_top == &local_device);
    CHECK_EQUAL(clock_event_rate("nettick 1"), -EPERM);
    CHECK_EQUAL(ipis, 0);
    CHECK(cpus[2].expired > 20);
    CHECK_CONTAINS(describe(), "mode poll\nstate beating\n");
    CHECK_EQUAL(said("next"), 100);
    CHECK_EQUAL(offset_said(), BEGIN - READ_NS); /* from when it was sent to when it was read */
    check_cpus();
}

/* A beat with a command goes to all CPUs, once this start of the node is welcomed; other beats disturb no
 * CPU, and are answered once if they ask for it. */
NODE(a_node_that_polls_answers_and_obeys)
{
    static const uint8_t card[BEAT_ADDRESS_BYTES] = { 2, 0x54, 0, 0, 0, 7 };
    uint8_t payload[BEAT_BYTES_MAX], to[BEAT_ADDRESS_BYTES], answer[ANSWER_BYTES] = { 0 };
    struct beat beat = { .epoch = 1, .time_ns = BEGIN, .period_ns = 10 * MS, .answer_every = 2 };
    const struct beat_command stop = { .code = BEAT_COUNT | BEAT_ACKNOWLEDGE, .number = 1 };

    node_start("nettick=poll" OPTIONS);
    by_other = true;
    nettick_card_set(card);
    for (beat.sequence = 1; beat.sequence <= 6; beat.sequence++) {
        const bool is_welcome = beat.sequence == 4;

        beat.command_count = 0;
        if (is_welcome)
            CHECK(welcome_add(&beat, BEAT_COMMANDS_MAX, welcome_of(key, card, arch_random() ^ BEGIN)));
        else if (beat.sequence == 3 || beat.sequence == 5 || beat.sequence == 6)
            beat.commands[beat.command_count++] = stop;
        const bool passes = nettick_frame(
            payload, beat_encode(&beat, key, conductor_address, payload, sizeof(payload)), conductor_address);
        CHECK_EQUAL(passes, beat.sequence == 5);
        CHECK_EQUAL(nettick_answer_due(), beat.sequence >= 2);
        CHECK_EQUAL(nettick_answer("n", 0, to, answer), beat.sequence >= 2);
        CHECK(!nettick_answer_due() && !nettick_answer("n", 0, to, answer));
        CHECK_EQUAL(answer[5], beat.sequence >= 4); /* welcomed */
        if (passes)
            arch_beat_send(true);
        for (arena_cpu = 0; passes && arena_cpu < CPUS; arena_cpu++) {
            CHECK(cpus[arena_cpu].beat_pending);
            nettick_interrupt();
        }
        arena_cpu = 0;
        CHECK_EQUAL(answer[59], beat.sequence == 6);  /* the number of what all CPUs have done */
        CHECK_EQUAL(answer[102], beat.sequence >= 2); /* it polls */
    }
    CHECK_EQUAL(ipis, 1);
    describe();
    CHECK_EQUAL(said("answered"), 5);
    CHECK_CONTAINS(description, "cpu0 beats 0 ");
}

/* Takes the answer that is due. Returns false if none is. */
static bool answer_next(struct answer *answer, uint8_t to[BEAT_ADDRESS_BYTES])
{
    static const uint8_t card[BEAT_ADDRESS_BYTES] = { 2, 0x54, 0, 0, 0, 7 };
    uint8_t payload[ANSWER_BYTES];

    if (!nettick_answer("n", 0, to, payload))
        return false;
    CHECK_EQUAL(answer_decode(payload, sizeof(payload), key, card, answer), BEAT_FINE);
    return true;
}

/* A second conductor, which was started later, ends. The first one is told of the epoch that the node follows
 * from the fourth beat on, the console once a minute; and follows it once its epoch is higher. */
NODE(a_conductor_of_an_older_epoch_is_told_what_the_node_follows)
{
    static const uint8_t card[BEAT_ADDRESS_BYTES] = { 2, 0x54, 0, 0, 0, 7 };
    uint8_t to[BEAT_ADDRESS_BYTES];
    struct answer answer;
    unsigned told = 0;

    node_start("nettick=irq" OPTIONS);
    nettick_card_set(card);
    for (unsigned i = 0; i < 50;
         i++) { /* both beat: the node follows the newer one, and is silent about it */
        run_until(now_ns + 10 * MS);
        beat_comes(9, taken.sequence + 1, 10 * MS);
        beat_comes(7, 100 + i, 10 * MS);
        CHECK(!answer_next(&answer, to));
    }
    for (unsigned i = 1; i <= 8; i++) {
        run_until(now_ns + 10 * MS);
        beat_comes(7, 200 + i, 10 * MS);
        if (!answer_next(&answer, to))
            continue;
        told++;
        CHECK(i > 2);
        CHECK_EQUAL(answer.epoch, 7);
        CHECK_EQUAL(answer.sequence, 200 + i);
        CHECK_EQUAL(answer.follows, 9);
        CHECK(!answer.is_welcomed && !answer.done);
        CHECK_EQUAL(memcmp(to, conductor_address, sizeof(to)), 0);
    }
    CHECK(told >= 2);
    CHECK_EQUAL(printed_lines, 1);
    CHECK_CONTAINS(printed, "02:54:00:00:00:01 is in epoch 7; this node follows epoch 9");
    beat_comes(10, 1, 10 * MS);
    beat_comes(7, 300, 10 * MS);
    beat_comes(7, 301, 10 * MS);
    CHECK(!answer_next(&answer, to));
    beat_comes(10, 2, 0); /* it ends */
    for (unsigned i = 0; i < 70; i++) {
        run_until(now_ns + SECOND);
        beat_comes(7, 302 + i, SECOND);
        CHECK_EQUAL(answer_next(&answer, to), i % 2 == 1);
    }
    CHECK_EQUAL(printed_lines, 2);
}

NODE(a_node_with_nettick_off_hears_nothing)
{
    node_start("nettick=off" OPTIONS);
    by_other = true;
    timer_begin(2, 0, MS, 1);
    beats_come(100, 10 * MS);
    CHECK(clock_event_top == &local_device);
    CHECK_EQUAL(ipis, 0);
    CHECK_EQUAL(cpus[2].expired, 1);
    CHECK_EQUAL(timers[2][0].queue->global_offset_ns, 0);
    CHECK_EQUAL(first_read_ns, 0);
    CHECK_TEXT(describe(), "mode off\n");
}

/* ---- Keys that the conductor brings ---- */

#define CONDUCTOR_KEY " conductor_key=422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"

static const uint8_t conductor_secret[CURVE_BYTES] = { 9 };
static const uint8_t own_card[BEAT_ADDRESS_BYTES] = { 2, 0x54, 0, 0, 0, 7 };

static struct node_keys keys_of(uint8_t beats)
{
    return (struct node_keys){ { beats }, { beats, 1 } };
}

/* Takes the node's request, and makes the conductor's answer to it. Returns the request's number. */
static uint32_t request_answer(const struct node_keys *keys, uint8_t answer[KEY_ANSWER_BYTES])
{
    static const uint8_t nonce[SEAL_NONCE_BYTES] = { 3 };
    uint8_t payload[KEY_REQUEST_BYTES];
    struct key_request request;
    struct key_session session;

    now_ns = now_ns < node_keys_state.due_ns ? node_keys_state.due_ns : now_ns;
    CHECK(node_keys_request("n7", payload));
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &request), BEAT_FINE);
    CHECK_TEXT(request.name, "n7");
    CHECK_EQUAL(request.start, arch_random() ^ BEGIN);
    memcpy(session.node, request.public, CURVE_BYTES);
    curve_public(session.conductor, conductor_secret);
    memcpy(session.address, own_card, sizeof(own_card));
    session.start = request.start;
    CHECK(curve_agree(session.key, conductor_secret, request.public));
    key_answer_encode(&session, request.number, keys, nonce, answer);
    return request.number;
}

/* Sends a beat under a key. Returns whether it counted. */
static bool beat_under(const uint8_t *of_key, uint64_t sequence, struct beat_command *command)
{
    struct beat beat = {
        .epoch = BEGIN, .sequence = sequence, .time_ns = BEGIN + now_ns, .period_ns = 10 * MS
    };
    uint8_t payload[BEAT_BYTES_MAX];
    struct nettick_moment moment;

    if (command) {
        CHECK(welcome_add(&beat, BEAT_COMMANDS_MAX, welcome_of(of_key, own_card, arch_random() ^ BEGIN)));
        beat.commands[beat.command_count++] = *command;
    }
    now_ns += 10 * MS;
    nettick_frame(payload, beat_encode(&beat, of_key, conductor_address, payload, sizeof(payload)),
                  conductor_address);
    for (arena_cpu = 0; arena_cpu < CPUS; arena_cpu++)
        nettick_interrupt();
    arena_cpu = 0;
    nettick_moment(&moment);
    return moment.epoch == BEGIN && moment.sequence == sequence;
}

NODE(a_node_gets_its_keys_from_the_conductor_and_new_ones_at_its_command)
{
    struct beat_command rekey = { .code = BEAT_REKEY, .number = 1 };
    const struct node_keys first = keys_of(1), second = keys_of(2);
    uint8_t answer[KEY_ANSWER_BYTES], old[KEY_ANSWER_BYTES];

    node_start("nettick=irq" CONDUCTOR_KEY);
    nettick_card_set(own_card);
    CHECK(node_keys_state.waits && !node_keys_state.has_keys);
    CHECK(!beat_under(first.beats, 1, NULL));
    CHECK_EQUAL(request_answer(&first, old), 1);
    old[40] ^= 1;
    nettick_frame(old, sizeof(old), conductor_address);
    CHECK(!node_keys_state.has_keys);
    old[40] ^= 1;
    nettick_frame(old, sizeof(old), conductor_address);
    CHECK(node_keys_state.has_keys && !node_keys_state.waits);
    CHECK_TEXT(printed, "nettick: the conductor's keys have come\n");
    CHECK(!beat_under(second.beats, 1, NULL) && beat_under(first.beats, 1, NULL));

    CHECK(beat_under(first.beats, 2, &rekey));
    CHECK(node_keys_state.waits);
    CHECK_EQUAL(request_answer(&second, answer), 2);
    nettick_frame(old, sizeof(old), conductor_address); /* replayed */
    CHECK(node_keys_state.waits && !node_keys_state.has_next);
    CHECK(!beat_under(second.beats, 3, NULL));
    nettick_frame(answer, sizeof(answer), conductor_address);
    CHECK(!node_keys_state.waits && node_keys_state.has_next);
    CHECK(beat_under(first.beats, 3, NULL) && node_keys_state.has_next);
    CHECK(beat_under(second.beats, 4, NULL) && !node_keys_state.has_next);
    CHECK(!beat_under(first.beats, 5, NULL));
    CHECK(beat_under(second.beats, 5, NULL));
    CHECK_EQUAL(memcmp(&node_keys_open()->now, &second, sizeof(second)), 0);
    node_keys_close();
}

NODE(a_node_that_hears_only_another_key_requests_keys_once_more)
{
    const struct node_keys first = keys_of(1), second = keys_of(2);
    uint8_t answer[KEY_ANSWER_BYTES];

    node_start("nettick=poll" CONDUCTOR_KEY);
    nettick_card_set(own_card);
    request_answer(&first, answer);
    nettick_frame(answer, sizeof(answer), conductor_address);
    CHECK(beat_under(first.beats, 1, NULL));
    for (unsigned i = 0; i < 900; i++)
        CHECK(!beat_under(second.beats, 100 + i, NULL) && !node_keys_state.waits);
    for (unsigned i = 0; i < 200; i++)
        CHECK(!beat_under(second.beats, 2000 + i, NULL));
    CHECK(node_keys_state.waits);
    CHECK_EQUAL(request_answer(&second, answer), 2);
    nettick_frame(answer, sizeof(answer), conductor_address);
    CHECK(beat_under(second.beats, 3000, NULL));
}

NODE(requests_for_keys_come_with_growing_pauses)
{
    uint8_t payload[KEY_REQUEST_BYTES];
    uint64_t last_ns = 0, pause_ns = 0;

    node_start("nettick=irq" CONDUCTOR_KEY);
    nettick_card_set(own_card);
    for (unsigned requests = 0; requests < 12; requests++) {
        while (!node_keys_request("n7", payload))
            now_ns += MS;
        CHECK(requests < 2 || now_ns - last_ns >= pause_ns);
        pause_ns = now_ns - last_ns;
        last_ns = now_ns;
        pause_ns = pause_ns < 8 * SECOND ? pause_ns : 8 * SECOND;
    }
    CHECK(pause_ns >= 8 * SECOND && node_keys_state.waits);
}

NODE(a_conductor_key_that_is_none_is_refused)
{
    struct message why;

    CHECK_EQUAL(configure("nettick=irq conductor_key=12", &why), -EINVAL);
    CHECK_TEXT(why.text,
               "conductor_key= is the conductor's public key, 64 hexadecimal digits (conductorctl keys)");
    CHECK_EQUAL(
        configure("nettick=irq conductor_key=00000000000000000000000000000000000000000000000000000000000"
                  "00000",
                  &why),
        -EINVAL);
    CHECK_TEXT(why.text, "conductor_key= is no public key that a conductor has");
    CHECK_EQUAL(configure("nettick=irq" CONDUCTOR_KEY OPTIONS, &why), -EINVAL);
    CHECK_TEXT(why.text, "conductor_key= brings both keys: leave out nettick_key= and ticket_key=");
    CHECK_EQUAL(configure(CONDUCTOR_KEY, &why), -EINVAL);
    CHECK_TEXT(why.text, "conductor_key= needs nettick=irq or nettick=poll");
    has_random = false;
    CHECK_EQUAL(configure("nettick=irq" CONDUCTOR_KEY, &why), -ENODEV);
    CHECK_TEXT(why.text, "conductor_key=: this CPU has no random numbers (x86_64: RDRAND, ppc64: DARN); use "
                         "nettick_key=");
}

NODE(a_wrong_option_is_answered_with_one_line)
{
    static const char *const keys[] = { "",
                                        " nettick_key",
                                        " nettick_key=",
                                        " nettick_key=000102030405060708090a0b0c0d0e0",
                                        " nettick_key=000102030405060708090a0b0c0d0e0f0",
                                        " nettick_key=000102030405060708090a0b0c0d0e0g",
                                        " nettick_key=0x0102030405060708090a0b0c0d0e0f",
                                        " nettick_key=:00102030405060708090a0b0c0d0e0f" };
    struct message why;
    char options[100];

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(options, sizeof(options), "nettick=irq%s", keys[i]);
        CHECK_EQUAL(configure(options, &why), -EINVAL);
        CHECK_TEXT(why.text, i ? "nettick_key=, the conductor's key, must be 32 hexadecimal digits"
                               : "nettick=irq needs conductor_key=, the conductor's public key, or "
                                 "nettick_key=, its key for beats: 32 hexadecimal digits");
    }
    CHECK_EQUAL(configure("nettick_key=12", &why), -EINVAL);
    CHECK_TEXT(why.text, "nettick_key=, the conductor's key, must be 32 hexadecimal digits");
    CHECK_EQUAL(configure("nettick=always" OPTIONS, &why), -EINVAL);
    CHECK_TEXT(why.text, "nettick=always: unknown; use irq, poll or off");
    CHECK_EQUAL(configure("nettick" OPTIONS, &why), -EINVAL);
    CHECK_TEXT(why.text, "nettick=: unknown; use irq, poll or off");
    CHECK(!clock_event_top);
}

NODE(beats_are_passed_on_while_nettick_is_on_top)
{
    node_start("nettick=irq clockevents=writable" OPTIONS);
    restarts = true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        timer_begin(cpu, 0, MS, 1);
    timer_begin(1, 1, 3 * MS, MS);
    for (unsigned round = 0; round < 20; round++) {
        const uint64_t period_ns = (1 + round % 3) * 10 * MS;

        beats_come(20, period_ns);
        check_counts();
        const uint64_t before = ipis;
        CHECK_EQUAL(timer_device_rate(round % 2 ? "nettick 50" : "local 300"), 0);
        by_other = true;
        check_cpus();
        beats_come(20, 50 * MS);
        check_cpus();
        CHECK_EQUAL(ipis, before);
        CHECK_EQUAL(timer_device_rate(round % 2 ? "nettick 200" : "local 100"), 0);
        by_other = false;
        check_cpus();
        check_counts();
        CHECK_EQUAL(said("next"), (round + 1) * 40);
    }
    CHECK_EQUAL(timers[1][0].queue->counts.spurious, 0);
}

/* ---- The conductor's time ---- */

NODE(a_conductor_started_anew_is_followed_and_the_old_one_is_late)
{
    node_start("nettick=irq" OPTIONS);
    taken.epoch = 10;
    taken.sequence = 500;
    beats_come(20, 10 * MS);
    beat_comes(11, 1, 20 * MS);
    describe();
    CHECK_EQUAL(said("new_epoch"), 1);
    CHECK_EQUAL(said("epoch"), 11);
    CHECK_EQUAL(said("sequence"), 1);
    CHECK_EQUAL(said("period_ns"), 20 * MS);
    beat_comes(10, 521, 10 * MS);
    beat_comes(10, 1000000, 10 * MS);
    describe();
    CHECK_EQUAL(said("late"), 2);
    CHECK_EQUAL(said("period_ns"), 20 * MS);
    CHECK_EQUAL(said("lost"), 0);
    CHECK_EQUAL(ipis, 21);
    beats_come(20, 20 * MS);
    describe();
    CHECK_EQUAL(said("next"), 40);
    check_counts();
}

NODE(boundaries_are_multiples_in_global_time)
{
    node_start("nettick=irq" OPTIONS);
    restarts = true;
    conductor_ppm = 100;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        for (unsigned i = 0; i < TIMERS; i++)
            timer_begin(cpu, i, random_below(10 * MS), 30 * MS);
    for (unsigned beat = 0; beat < 5000; beat++) {
        beats_come(1, 10 * MS);
        const uint64_t offset = offset_said();

        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            for (unsigned i = 0; i < TIMERS; i++) {
                const struct smart_timer *timer = &timers[cpu][i];
                const uint64_t past =
                    (timer->boundary_ns + offset + GLOBAL_OFFSET_STEP_NS + US) & (timer->bound_ns - 1);

                if (timer->bound_ns > 16 * US)
                    CHECK(past <= 2 * (GLOBAL_OFFSET_STEP_NS + US));
            }
    }
    describe();
    CHECK_EQUAL(said("steps"), 0);
    check_counts();
}

NODE(wall_time_is_told_each_new_line_and_is_global_time)
{
    uint64_t sets = 0;

    node_start("nettick=poll" OPTIONS);
    conductor_ppm = 50;
    tai_utc_s = 37;
    for (unsigned beat = 0; beat < 1000; beat++) {
        if (beat == 500)
            tai_utc_s = 38; /* a leap second, in the midst of a window */
        beats_come(1, 10 * MS);
        sets += beat % GLOBAL_CLOCK_WINDOW_BEATS == 0 || beat == 500;
        CHECK_EQUAL(wall.sets, sets);
        CHECK_EQUAL(wall.tai_utc_ns, tai_utc_s * SECOND);
        const struct global_line line = { wall.local_ns, wall.tai_ns, wall.slope };
        describe();
        CHECK_EQUAL(said("global_ns"), global_line_at(&line, said("local_ns")));
    }
}

NODE(wall_time_follows_a_new_conductor_once_the_line_goes_by_its_beats)
{
    node_start("nettick=irq" OPTIONS);
    taken.epoch = 10;
    beats_come(1 + 2 * GLOBAL_CLOCK_WINDOW_BEATS, 10 * MS);
    CHECK_EQUAL(wall.sets, 3);
    tai_utc_s = 37;
    beat_comes(11, 1, 10 * MS);
    beats_come(GLOBAL_CLOCK_WINDOW_BEATS - 2, 10 * MS);
    CHECK_EQUAL(wall.sets, 3);
    CHECK_EQUAL(wall.tai_utc_ns, 0);
    beats_come(1, 10 * MS);
    CHECK_EQUAL(wall.sets, 4);
    CHECK_EQUAL(wall.tai_utc_ns, 37 * SECOND);
}

NODE(a_step_of_wall_time_makes_due_who_waits_by_it_on_all_cpus_even_where_beats_are_polled)
{
    uint8_t payload[BEAT_BYTES_MAX];

    node_start("nettick=poll" OPTIONS);
    by_other = true;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        timer_begin(cpu, 0, DEADLINE_WALL + SECOND, 1);
        timer_begin(cpu, 1, SECOND, 1);
    }
    wall.has_stepped = true;
    CHECK(nettick_frame(payload, beat_write(payload, 1, 1, 10 * MS), conductor_address));
    arch_beat_send(true);
    CHECK_EQUAL(ipis, 1);
    for (arena_cpu = 0; arena_cpu < CPUS; arena_cpu++)
        nettick_interrupt();
    arena_cpu = 0;
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        CHECK(cpus[cpu].fires_ns < now_ns);
        CHECK_EQUAL(cpus[cpu].expired, 0);
        CHECK(timers[cpu][1].boundary_ns > now_ns);
    }
    check_counts(); /* it was no beat for them */
    wall.has_stepped = false;
    CHECK(!nettick_frame(payload, beat_write(payload, 1, 2, 10 * MS), conductor_address));
}

static uint8_t other_frame[BEAT_BYTES_MAX];
static size_t other_bytes;
static bool other_waits;

/* Lets another CPU take a frame, or wait until the lock is free. */
static void other_takes(void)
{
    const uint32_t here = arena_cpu;
    jmp_buf waits;

    while_read = NULL;
    now_ns += 5 * US;
    arena_cpu = (here + 1) % CPUS;
    lock_is_held = &waits;
    other_waits = setjmp(waits) != 0;
    if (!other_waits && nettick_frame(other_frame, other_bytes, conductor_address)) {
        arch_beat_send(true); /* its own part comes later, too */
    }
    lock_is_held = NULL;
    arena_cpu = here;
}

NODE(of_two_beats_that_two_cpus_take_at_once_none_is_before_the_line)
{
    node_start("nettick=irq" OPTIONS);
    conductor_ppm = 100;
    beats_come(100, 10 * MS);
    timer_begin(0, 0, 1000 * SECOND, 1);
    for (unsigned i = 0; i < 100; i++) {
        uint8_t payload[BEAT_BYTES_MAX];

        run_until(now_ns + 10 * MS);
        other_bytes = beat_write(other_frame, 1, taken.sequence + 1, 10 * MS);
        taken.sequence += 2;
        while_read = other_takes;
        frame_handle(payload, beat_write(payload, 1, taken.sequence, 10 * MS));
        if (other_waits)
            frame_handle(other_frame, other_bytes);
        CHECK(offset_said() - timers[0][0].queue->global_offset_ns + 10 * US < 20 * US);
    }
}

int main(void)
{
    RUN(a_million_beats_are_counted_by_what_they_are_and_timers_keep_to_their_bounds);
    RUN(while_beats_come_the_local_device_is_armed_for_pending_timers_alone);
    RUN(a_cpu_whose_beats_stop_falls_back_once_and_then_goes_exactly_until_one_comes);
    RUN(a_local_device_that_is_a_little_early_falls_back_as_well);
    RUN(a_timer_near_the_end_of_time_is_no_lost_beat);
    RUN(a_rest_puts_all_cpus_on_their_local_devices_and_a_beat_takes_them_back);
    RUN(another_rate_moves_what_is_armed);
    RUN(an_exact_timer_interrupts_in_time_among_beats_and_others_go_on_by_them);
    RUN(an_exact_timer_of_a_device_that_is_a_little_early_is_waited_for);
    RUN(a_beat_that_comes_later_than_an_exact_timer_expires_it_and_nothing_interrupts_for_it_any_more);
    RUN(an_exact_timer_is_exact_by_whatever_device_and_where_that_changes);
    RUN(before_the_first_beat_the_local_device_alone_is_used);
    RUN(polled_beats_set_the_clock_and_pass_nothing_on);
    RUN(a_node_that_polls_answers_and_obeys);
    RUN(a_conductor_of_an_older_epoch_is_told_what_the_node_follows);
    RUN(a_node_with_nettick_off_hears_nothing);
    RUN(a_node_gets_its_keys_from_the_conductor_and_new_ones_at_its_command);
    RUN(a_node_that_hears_only_another_key_requests_keys_once_more);
    RUN(requests_for_keys_come_with_growing_pauses);
    RUN(a_conductor_key_that_is_none_is_refused);
    RUN(a_wrong_option_is_answered_with_one_line);
    RUN(beats_are_passed_on_while_nettick_is_on_top);
    RUN(a_conductor_started_anew_is_followed_and_the_old_one_is_late);
    RUN(boundaries_are_multiples_in_global_time);
    RUN(wall_time_is_told_each_new_line_and_is_global_time);
    RUN(wall_time_follows_a_new_conductor_once_the_line_goes_by_its_beats);
    RUN(a_step_of_wall_time_makes_due_who_waits_by_it_on_all_cpus_even_where_beats_are_polled);
    RUN(of_two_beats_that_two_cpus_take_at_once_none_is_before_the_line);
    return check_report("nettick");
}
