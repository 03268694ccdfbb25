/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_timer_queue.c: every promise of timer_queue.h, against a plain model, with a simulated clock and
 * one-shot devices.
 *
 * The model is an array that is sorted by boundary and deadline whenever something comes due. It computes
 * boundaries by division and in 128 bits, so that it shares no trick with the code. A device fires at the
 * time that it was asked for, or after its range, whichever comes first.
 */
#include "check.h"
#include "time/timer_queue.h"

#define SLOTS     512
#define MS        1000000ULL
#define SECOND    1000000000ULL
#define UNLIMITED UINT64_MAX
#define CHAIN     100000

__extension__ typedef unsigned __int128 wide;

static uint64_t seed = 5;

static uint64_t random_below(uint64_t limit)
{
    return limit ? check_random(&seed) % limit : 0;
}

static struct timer_queue queue;

/* ---- the device ---- */

static struct {
    uint64_t now_ns;
    uint64_t range_ns; /* it cannot wait longer */
    bool armed;
    uint64_t fires_ns;
    uint64_t arms, disarms;
} device;

static void device_arm(uint64_t when_ns)
{
    uint64_t wait_ns = when_ns > device.now_ns ? when_ns - device.now_ns : 0;

    CHECK(when_ns != TIMER_NEVER);
    CHECK(!queue.expiring);
    device.armed = true;
    device.fires_ns = device.now_ns + (wait_ns < device.range_ns ? wait_ns : device.range_ns);
    device.arms++;
}

static void device_disarm(void)
{
    CHECK(device.armed);
    CHECK(!queue.expiring);
    device.armed = false;
    device.disarms++;
}

static const struct clock_event_device model_device = { .arm = device_arm, .disarm = device_disarm };

uint32_t klog_mask; /* nothing is logged */

/* ---- the model ---- */

struct model_timer {
    uint64_t deadline_ns, bound_ns, boundary_ns;
    bool pending;
};

static struct smart_timer timers[SLOTS];
static struct model_timer model[SLOTS];
static struct {
    uint64_t started, cancelled, expired, boundaries, interrupts, served_by_interrupt;
} expected;
static uint64_t offset_now_ns, boundary_served_ns;
static unsigned served[SLOTS], served_count; /* slots, in the order in which they expired */

static uint64_t model_bound(uint64_t bound_ns)
{
    uint64_t rounded = 1;

    while (bound_ns / 2 >= rounded)
        rounded *= 2;
    return rounded;
}

/* Returns a deadline's boundary. Global time wraps at 2^64, which is a multiple of every bound. */
static uint64_t model_boundary(uint64_t deadline_ns, uint64_t bound_ns, uint64_t offset_ns)
{
    wide global = (wide)deadline_ns + offset_ns;
    wide local = (global + bound_ns - 1) / bound_ns * bound_ns - offset_ns;

    return local >= UINT64_MAX ? TIMER_NEVER : (uint64_t)local;
}

static int compare_slots(const void *left, const void *right)
{
    const struct model_timer *a = &model[*(const unsigned *)left], *b = &model[*(const unsigned *)right];

    if (a->boundary_ns != b->boundary_ns)
        return a->boundary_ns < b->boundary_ns ? -1 : 1;
    return (a->deadline_ns > b->deadline_ns) - (a->deadline_ns < b->deadline_ns);
}

void crosscall_serve(void) /* a lock that is not free calls it */
{
    CHECK(!"the queue's lock is held");
}

static bool is_foreground;

static bool is_background(unsigned slot)
{
    return slot % 4 == 1;
}

static bool is_active(unsigned slot)
{
    return model[slot].pending && !(is_foreground && is_background(slot));
}

/* Returns, in order, what the queue must serve at `now_ns`. */
static unsigned model_due(uint64_t now_ns, unsigned *slots)
{
    unsigned count = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        if (is_active(i) && model[i].boundary_ns <= now_ns && model[i].boundary_ns != TIMER_NEVER)
            slots[count++] = i;
    qsort(slots, count, sizeof(slots[0]), compare_slots);
    return count;
}

static uint64_t model_earliest(void)
{
    uint64_t earliest = TIMER_NEVER;

    for (unsigned i = 0; i < SLOTS; i++)
        if (is_active(i) && model[i].boundary_ns < earliest)
            earliest = model[i].boundary_ns;
    return earliest;
}

static uint64_t model_pending(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        count += model[i].pending;
    return count;
}

/* ---- both side by side ---- */

static unsigned slot_of(const struct smart_timer *timer)
{
    return (unsigned)(timer - timers);
}

static void note_expired(struct smart_timer *timer, uint64_t now_ns)
{
    unsigned slot = slot_of(timer);

    CHECK(!timer->pending);
    CHECK(now_ns == device.now_ns);
    CHECK(now_ns >= timer->deadline_ns);
    CHECK(model[slot].pending);
    model[slot].pending = false;
    served[served_count++] = slot;
}

/* Checks that queue, model and device agree. */
static void check_agreement(void)
{
    uint64_t earliest = model_earliest();
    const struct timer_counts *counts = &queue.counts;

    CHECK_EQUAL(queue.pending, model_pending());
    CHECK_EQUAL(queue.armed_ns, earliest);
    CHECK_EQUAL(device.armed, earliest != TIMER_NEVER);
    CHECK_EQUAL(counts->armed, device.arms);
    CHECK_EQUAL(counts->cancelled, expected.cancelled);
    CHECK_EQUAL(counts->expired, expected.expired);
    CHECK_EQUAL(expected.started, counts->expired + counts->cancelled + queue.pending);
    CHECK_EQUAL(counts->interrupts, expected.interrupts);
    CHECK_EQUAL(counts->interrupts, expected.served_by_interrupt + counts->rearms + counts->spurious);
}

static void begin(uint64_t now_ns, uint64_t range_ns)
{
    memset(&device, 0, sizeof(device));
    memset(timers, 0, sizeof(timers));
    memset(model, 0, sizeof(model));
    memset(&expected, 0, sizeof(expected));
    memset(&queue, 0xee, sizeof(queue));
    device.now_ns = now_ns;
    device.range_ns = range_ns;
    offset_now_ns = 0;
    is_foreground = false;
    served_count = 0;
    boundary_served_ns = TIMER_NEVER;
    timer_queue_initialise(&queue, &model_device);
    for (unsigned i = 0; i < SLOTS; i++) {
        timers[i].expire = note_expired;
        timers[i].is_background = is_background(i);
    }
}

static void start_counted(struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns)
{
    expected.started += !timer->pending;
    timer_queue_start(&queue, timer, deadline_ns, bound_ns);
}

static void start(unsigned slot, uint64_t deadline_ns, uint64_t bound_ns)
{
    struct model_timer *timer = &model[slot];

    timer->pending = true;
    timer->deadline_ns = deadline_ns;
    timer->bound_ns = model_bound(bound_ns);
    timer->boundary_ns = model_boundary(deadline_ns, timer->bound_ns, offset_now_ns);
    start_counted(&timers[slot], deadline_ns, bound_ns);
    CHECK(timers[slot].pending);
    CHECK_EQUAL(timers[slot].boundary_ns, timer->boundary_ns);
    CHECK_EQUAL(timers[slot].bound_ns, timer->bound_ns);
}

static void cancel(unsigned slot)
{
    expected.cancelled += model[slot].pending;
    model[slot].pending = false;
    timer_queue_cancel(&queue, &timers[slot], true);
    CHECK(!timers[slot].pending);
}

static void set_foreground(bool on)
{
    is_foreground = on;
    timer_queue_foreground_set(&queue, on);
}

static void set_offset(uint64_t offset_ns)
{
    offset_now_ns = offset_ns;
    for (unsigned i = 0; i < SLOTS; i++)
        if (model[i].pending)
            model[i].boundary_ns = model_boundary(model[i].deadline_ns, model[i].bound_ns, offset_ns);
    timer_queue_rebuild(&queue, offset_ns, false);
}

static void queue_expire(void)
{
    timer_queue_expire(&queue, device.now_ns, false);
}

static void queue_interrupt(void)
{
    timer_queue_expire(&queue, device.now_ns, true);
}

static void queue_background_expire(void)
{
    timer_queue_background_expire(&queue, device.now_ns);
}

/* Lets the queue look at the present time; it serves exactly what the model says, in its order. */
static void look_by(void (*expire)(void))
{
    const bool from_hardware = expire == queue_interrupt, was_foreground = is_foreground;

    is_foreground = is_foreground && expire != queue_background_expire;
    unsigned due[SLOTS], count = model_due(device.now_ns, due);

    is_foreground = was_foreground;
    served_count = 0;
    for (unsigned i = 0; i < count; i++) {
        expected.boundaries += model[due[i]].boundary_ns != boundary_served_ns;
        boundary_served_ns = model[due[i]].boundary_ns;
    }
    if (from_hardware) {
        expected.interrupts++;
        expected.served_by_interrupt += count > 0;
        device.armed = false;
    }
    expire();
    CHECK_EQUAL(served_count, count);
    for (unsigned i = 0; i < count && i < served_count; i++) {
        /* alike ones may come in any order */
        CHECK(compare_slots(&served[i], &due[i]) == 0);
    }
    expected.expired += count;
}

static void look(bool from_hardware)
{
    look_by(from_hardware ? queue_interrupt : queue_expire);
}

/* Lets time pass, with all interrupts on the way. */
static void advance_to(uint64_t end_ns)
{
    while (device.armed && device.fires_ns <= end_ns) {
        device.now_ns = device.fires_ns;
        look(true);
    }
    if (end_ns > device.now_ns)
        device.now_ns = end_ns;
}

static uint64_t random_bound(void)
{
    return random_below(16) ? check_random(&seed) >> (34 + random_below(30)) : 0;
}

static uint64_t random_deadline(void)
{
    return device.now_ns + 1 + (check_random(&seed) >> (34 + random_below(28)));
}

static void check_all_due_were_served(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        CHECK(!is_active(i) || model[i].boundary_ns > device.now_ns);
}

/* Makes a random step; `steady` steps let no boundary pass unserved, so that each one costs an interrupt. */
static void random_step(bool steady)
{
    unsigned slot = (unsigned)random_below(SLOTS);

    switch (random_below(16)) {
    case 0:
        cancel(slot);
        break;
    case 1:
        if (!steady)
            set_offset(random_below(4) ? check_random(&seed) >> random_below(64) : 0);
        break;
    case 2:
        if (!steady)
            start(slot, device.now_ns - random_below(device.now_ns / 1000), random_bound());
        break;
    case 3:
        if (!steady) {
            if (device.armed && random_below(2))
                device.now_ns += random_below(device.fires_ns - device.now_ns + 1);
            look(false);
        }
        break;
    case 4:
    case 5:
        advance_to(device.now_ns + random_below(SECOND >> random_below(30)));
        break;
    case 6:
        if (!steady)
            set_foreground(random_below(2));
        break;
    case 7:
        if (!steady)
            look_by(queue_background_expire);
        break;
    default:
        start(slot, random_deadline(), random_bound());
    }
}

static void random_run(unsigned steps, bool steady, uint64_t range_ns)
{
    begin(1000 * SECOND + random_below(SECOND), range_ns);
    for (unsigned i = 0; i < steps && check_state.failures == 0; i++) {
        random_step(steady);
        advance_to(device.now_ns); /* what was asked for the past comes at once */
        check_agreement();
        check_all_due_were_served();
    }
    set_foreground(false);
    advance_to(device.now_ns + 100 * SECOND);
    check_agreement();
    CHECK_EQUAL(queue.pending, 0);
}

/* ---- tests ---- */

TEST(random_timers_fire_at_their_boundary_with_one_interrupt_each)
{
    random_run(150000, true, UNLIMITED);
    CHECK(queue.counts.expired > 50000);
    CHECK_EQUAL(queue.counts.interrupts, expected.boundaries);
    CHECK_EQUAL(queue.counts.rearms, 0);
    CHECK_EQUAL(queue.counts.spurious, 0);
}

TEST(random_timers_with_looks_past_deadlines_and_offset_changes_are_served_as_the_model_says)
{
    random_run(150000, false, UNLIMITED);
    CHECK(queue.counts.expired > 50000);
    CHECK(queue.counts.interrupts <= expected.boundaries);
}

TEST(background_timers_neither_interrupt_nor_expire_until_the_foreground_ends)
{
    begin(0, UNLIMITED);
    start(1, MS, 0); /* in the background */
    set_foreground(true);
    CHECK(!device.armed);
    start(0, 3 * MS, 0);
    advance_to(5 * MS);
    CHECK_EQUAL(queue.counts.interrupts, 1);
    CHECK(!model[0].pending && model[1].pending);
    cancel(1);
    start(1, 4 * MS, 0);
    set_foreground(false);
    advance_to(device.now_ns);
    CHECK(!model[1].pending);
    check_agreement();
}

TEST(background_timers_that_are_due_expire_beside_the_foreground_when_they_are_looked_for)
{
    begin(0, UNLIMITED);
    start(1, MS, 0); /* in the background, as the next */
    start(5, 4 * MS, 0);
    start(0, 3 * MS, 0);
    set_foreground(true);
    advance_to(2 * MS);
    const uint64_t arms = device.arms;
    look_by(queue_background_expire);
    CHECK(!model[1].pending && model[5].pending);
    look_by(queue_background_expire); /* nothing more is due */
    CHECK_EQUAL(device.arms, arms);   /* for the foreground's, as it was */
    check_agreement();
    advance_to(5 * MS);
    CHECK(!model[0].pending && model[5].pending);
    check_agreement();
}

TEST(what_another_cpu_withdraws_leaves_the_device_armed_for_one_interrupt_at_most)
{
    begin(0, UNLIMITED);
    start(0, MS, 0);
    timer_queue_cancel(&queue, &timers[0], false);
    CHECK(!timers[0].pending && device.armed);
    device.now_ns = MS;
    timer_queue_expire(&queue, device.now_ns, true);
    CHECK_EQUAL(queue.counts.spurious, 1);
    CHECK_EQUAL(queue.counts.expired, 0);
    CHECK_EQUAL(queue.armed_ns, TIMER_NEVER);
    timer_queue_cancel(&queue, &timers[0], false); /* not pending: nothing */
    CHECK_EQUAL(queue.counts.cancelled, 1);
}

TEST(device_of_short_range_is_armed_again_and_counted_apart)
{
    random_run(50000, true, 50 * MS);
    CHECK(queue.counts.rearms > 100);
    CHECK_EQUAL(queue.counts.interrupts - queue.counts.rearms, expected.boundaries);

    begin(0, 3 * SECOND);
    start(0, 10 * SECOND, 0);
    advance_to(20 * SECOND);
    CHECK_EQUAL(queue.counts.rearms, 3);
    CHECK_EQUAL(queue.counts.interrupts, 4);
    CHECK_EQUAL(queue.counts.armed, 4);
}

static uint64_t latest_ns;

static void note_lateness(struct smart_timer *timer, uint64_t now_ns)
{
    CHECK(now_ns >= timer->deadline_ns);
    latest_ns = now_ns - timer->deadline_ns > latest_ns ? now_ns - timer->deadline_ns : latest_ns;
}

TEST(timer_is_never_early_and_less_than_its_bound_late)
{
    for (unsigned round = 0; round < 100000 && check_state.failures == 0; round++) {
        uint64_t bound_ns = random_bound();

        begin(random_below(1000 * SECOND), random_below(2) ? UNLIMITED : 1 + random_below(SECOND));
        device.range_ns = device.range_ns < 10 * MS ? 10 * MS : device.range_ns;
        queue.global_offset_ns = check_random(&seed);
        timers[0].expire = note_lateness;
        latest_ns = 0;
        timer_queue_start(&queue, &timers[0], device.now_ns + random_below(4 * SECOND), bound_ns);
        while (device.armed) {
            device.now_ns = device.fires_ns;
            device.armed = false;
            timer_queue_expire(&queue, device.now_ns, true);
        }
        CHECK_EQUAL(queue.counts.expired, 1);
        CHECK(latest_ns < (bound_ns ? bound_ns : 1));
    }
}

TEST(a_step_of_wall_time_makes_the_timers_due_that_wait_by_it)
{
    for (unsigned round = 0; round < 2000; round++) {
        uint64_t by_wall = 0;

        begin(SECOND + random_below(1000 * SECOND), UNLIMITED);
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            timers[slot].expire = note_lateness;
            timers[slot].is_wall = random_below(2);
            by_wall += timers[slot].is_wall;
            timer_queue_start(&queue, &timers[slot], device.now_ns + 1 + random_below(SECOND), 1);
        }
        timer_queue_rebuild(&queue, queue.global_offset_ns, true);
        CHECK_EQUAL(queue.counts.expired, 0);
        CHECK(!by_wall || device.fires_ns <= device.now_ns);
        timer_queue_expire(&queue, device.now_ns, false);
        CHECK_EQUAL(queue.counts.expired, by_wall);
        for (unsigned slot = 0; slot < SLOTS; slot++)
            CHECK_EQUAL(timers[slot].pending, !timers[slot].is_wall);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++)
        timers[slot].is_wall = false;
}

TEST(offset_changes_keep_a_timer_within_its_bound)
{
    for (unsigned round = 0; round < 20000 && check_state.failures == 0; round++) {
        uint64_t bound_ns = 1 + random_bound();

        begin(random_below(1000 * SECOND), UNLIMITED);
        timers[0].expire = note_lateness;
        latest_ns = 0;
        timer_queue_start(&queue, &timers[0], device.now_ns + random_below(2 * bound_ns), bound_ns);
        while (queue.pending) {
            uint64_t next_ns = device.now_ns + 1 + random_below(bound_ns / 2);

            timer_queue_rebuild(&queue, check_random(&seed), false);
            if (device.fires_ns > next_ns) {
                device.now_ns = next_ns;
                continue;
            }
            device.now_ns = device.fires_ns;
            device.armed = false;
            timer_queue_expire(&queue, device.now_ns, true);
        }
        CHECK(latest_ns < bound_ns);
    }
}

TEST(bounds_are_rounded_down_to_powers_of_two)
{
    CHECK_EQUAL(timer_bound_round(0), 1);
    CHECK_EQUAL(timer_bound_round(1), 1);
    CHECK_EQUAL(timer_bound_round(MS), 1 << 19);
    CHECK_EQUAL(timer_bound_round(UINT64_MAX), 1ULL << 63);
    for (unsigned bit = 0; bit < 64; bit++) {
        CHECK_EQUAL(timer_bound_round(1ULL << bit), 1ULL << bit);
        CHECK_EQUAL(timer_bound_round((1ULL << bit) + ((1ULL << bit) - 1)), 1ULL << bit);
    }
}

TEST(boundaries_are_multiples_in_global_time)
{
    CHECK_EQUAL(timer_boundary(0, 8, 0), 0);
    CHECK_EQUAL(timer_boundary(1, 8, 0), 8);
    CHECK_EQUAL(timer_boundary(8, 8, 0), 8);
    CHECK_EQUAL(timer_boundary(9, 8, 3), 13);
    CHECK_EQUAL(timer_boundary(9, 8, (uint64_t)-3), 11);
    CHECK_EQUAL(timer_boundary(9, 1, 12345), 9);
    for (unsigned i = 0; i < 1000000 && check_state.failures == 0; i++) {
        uint64_t bound = 1ULL << random_below(64), deadline = check_random(&seed) >> random_below(64);
        uint64_t offset = check_random(&seed) >> random_below(64);

        deadline = random_below(8) ? deadline : UINT64_MAX - deadline;
        CHECK_EQUAL(timer_boundary(deadline, bound, offset), model_boundary(deadline, bound, offset));
    }
}

TEST(boundary_of_a_larger_bound_is_one_of_every_smaller_bound)
{
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t offset = check_random(&seed), deadline = check_random(&seed) >> 2;
        unsigned large = (unsigned)random_below(60), small = (unsigned)random_below(large + 1);
        uint64_t boundary = timer_boundary(deadline, 1ULL << large, offset);

        CHECK(timer_boundary(boundary, 1ULL << small, offset) == boundary);
    }
}

TEST(boundaries_beyond_the_last_nanosecond_never_come)
{
    CHECK_EQUAL(timer_boundary(UINT64_MAX - 5, 8, 0), TIMER_NEVER);
    CHECK_EQUAL(timer_boundary(UINT64_MAX - 7, 8, 0), UINT64_MAX - 7);
    CHECK_EQUAL(timer_boundary((1ULL << 63) + 1, 1ULL << 63, 0), TIMER_NEVER);
    CHECK_EQUAL(timer_boundary(UINT64_MAX, 1, 0), TIMER_NEVER);
    CHECK_EQUAL(timer_boundary(UINT64_MAX - 1, 2, 1), UINT64_MAX);
    begin(SECOND, UNLIMITED);
    start(0, UINT64_MAX, 0);
    start(1, UINT64_MAX - 5, MS);
    check_agreement();
    CHECK_EQUAL(queue.counts.armed, 0);
    start(2, UINT64_MAX - 1, 1);
    check_agreement();
    CHECK_EQUAL(device.fires_ns, UINT64_MAX - 1);
    advance_to(UINT64_MAX - 1);
    device.now_ns = UINT64_MAX;
    look(false);
    CHECK_EQUAL(queue.counts.expired, 1);
    CHECK_EQUAL(queue.pending, 2);
    cancel(0);
    cancel(1);
    check_agreement();
}

TEST(ten_thousand_timers_a_nanosecond_apart_cost_at_most_two_interrupts)
{
    enum { MANY = 10000 };
    static struct smart_timer many[MANY];

    for (unsigned round = 0; round < 50; round++) {
        begin(SECOND + random_below(SECOND), UNLIMITED);
        memset(many, 0, sizeof(many));
        latest_ns = 0;
        uint64_t first_ns = device.now_ns + random_below(10 * MS);
        for (unsigned i = 0; i < MANY; i++) {
            many[i].expire = note_lateness;
            timer_queue_start(&queue, &many[i], first_ns + (round % 2 ? i : MANY - i), MS);
        }
        CHECK(queue.counts.armed <= 2);
        while (device.armed) {
            device.now_ns = device.fires_ns;
            device.armed = false;
            timer_queue_expire(&queue, device.now_ns, true);
        }
        CHECK_EQUAL(queue.counts.expired, MANY);
        CHECK(queue.counts.interrupts <= 2);
        CHECK(queue.counts.expired_max >= MANY / 2);
        CHECK(latest_ns < MS);
    }
}

TEST(timers_of_one_boundary_share_one_interrupt)
{
    begin(0, UNLIMITED);
    for (unsigned interval = 0; interval < 100; interval++) {
        for (unsigned i = 0; i < SLOTS; i++)
            start(i, (interval << 20) + 1 + random_below(1 << 20), 1ULL << (10 + random_below(11)) | 1 << 20);
        CHECK_EQUAL(queue.counts.armed, interval + 1);
        advance_to((interval + 1) << 20);
        CHECK_EQUAL(queue.counts.interrupts, interval + 1);
        CHECK_EQUAL(queue.pending, 0);
    }
    CHECK_EQUAL(queue.counts.expired_max, SLOTS);
    check_agreement();
}

TEST(nothing_is_armed_after_the_last_timer)
{
    begin(0, SECOND);
    advance_to(60 * SECOND);
    start(0, 61 * SECOND, 0);
    start(1, 62 * SECOND, 0);
    cancel(0);
    CHECK_EQUAL(queue.armed_ns, 62 * SECOND);
    advance_to(63 * SECOND);
    uint64_t interrupts = queue.counts.interrupts;
    advance_to(1000 * SECOND);
    CHECK_EQUAL(queue.counts.interrupts, interrupts);
    CHECK(!device.armed);
    start(2, 1001 * SECOND, 0);
    cancel(2);
    CHECK(!device.armed);
    check_agreement();
}

TEST(later_timer_does_not_touch_the_hardware)
{
    begin(0, UNLIMITED);
    start(0, MS, 0);
    for (unsigned i = 1; i < SLOTS; i++)
        start(i, MS + random_below(SECOND), 0);
    for (unsigned i = 1; i < SLOTS; i += 2)
        cancel(i);
    start(0, MS, 0);
    CHECK_EQUAL(queue.counts.armed, 1);
    start(0, MS - 1, 0);
    CHECK_EQUAL(queue.counts.armed, 2);
    CHECK_EQUAL(device.disarms, 0);
    check_agreement();
}

TEST(deadline_in_the_past_fires_at_once_or_at_the_boundary_that_is_still_to_come)
{
    begin(10 * SECOND, UNLIMITED);
    start(0, 9 * SECOND, 0);
    CHECK_EQUAL(device.fires_ns, 10 * SECOND);
    advance_to(10 * SECOND);
    CHECK_EQUAL(queue.counts.expired, 1);
    start(1, 0, SECOND);
    advance_to(10 * SECOND);
    CHECK_EQUAL(queue.counts.expired, 2);
    start(2, 10 * SECOND - 1, 8 * SECOND);
    uint64_t boundary = timers[2].boundary_ns;
    CHECK(boundary > 10 * SECOND && boundary % (1ULL << 32) == 0);
    advance_to(boundary - 1);
    CHECK_EQUAL(queue.counts.expired, 2);
    advance_to(boundary);
    CHECK_EQUAL(queue.counts.expired, 3);
    check_agreement();
}

TEST(look_from_elsewhere_spares_the_interrupt)
{
    begin(0, UNLIMITED);
    start(0, MS, 0);
    start(1, 2 * MS, 0);
    device.now_ns = MS + 5;
    look(false);
    CHECK_EQUAL(queue.counts.expired, 1);
    CHECK_EQUAL(queue.armed_ns, 2 * MS);
    device.now_ns = 3 * MS;
    look(false);
    CHECK(!device.armed);
    CHECK_EQUAL(queue.counts.interrupts, 0);
    check_agreement();
}

TEST(interrupt_in_flight_when_withdrawn_is_counted_as_spurious)
{
    begin(0, UNLIMITED);
    start(0, MS, 0);
    device.now_ns = MS;
    look(false);
    look(true);
    CHECK_EQUAL(queue.counts.spurious, 1);
    start(0, 3 * MS, 0);
    look(true); /* a stale one again, with something armed: armed again */
    CHECK_EQUAL(queue.counts.rearms, 1);
    CHECK(device.armed && device.fires_ns == 3 * MS);
    check_agreement();
}

TEST(other_device_takes_over_what_is_armed)
{
    begin(0, UNLIMITED);
    timer_queue_device_set(&queue, &model_device);
    CHECK_EQUAL(device.arms, 0);
    start(0, MS, 0);
    timer_queue_device_set(&queue, &model_device);
    CHECK_EQUAL(device.arms, 2);
    CHECK_EQUAL(device.disarms, 1);
    CHECK(device.armed && device.fires_ns == MS);
    check_agreement();
}

TEST(cancelling_what_is_not_pending_does_nothing)
{
    begin(0, UNLIMITED);
    cancel(0);
    start(0, MS, 0);
    cancel(0);
    cancel(0);
    start(0, MS, 0);
    advance_to(2 * MS);
    cancel(0);
    check_agreement();
    CHECK_EQUAL(queue.counts.cancelled, 1);
}

/* ---- what `expire` does ---- */

static unsigned calls[SLOTS];

static void count_call(struct smart_timer *timer, uint64_t now_ns)
{
    CHECK(now_ns >= timer->boundary_ns);
    calls[slot_of(timer)]++;
}

static void start_again_in_the_past(struct smart_timer *timer, uint64_t now_ns)
{
    count_call(timer, now_ns);
    CHECK(queue.expiring);
    timer_queue_start(&queue, timer, 0, 0);
}

TEST(timer_that_starts_itself_in_the_past_waits_for_the_next_interrupt)
{
    begin(0, UNLIMITED);
    memset(calls, 0, sizeof(calls));
    timers[0].expire = start_again_in_the_past;
    timer_queue_start(&queue, &timers[0], MS, 0);
    device.now_ns = MS;
    for (unsigned i = 1; i < 100; i++) {
        CHECK(device.armed && device.fires_ns == MS);
        device.armed = false;
        timer_queue_expire(&queue, device.now_ns, true);
        CHECK_EQUAL(calls[0], i);
        CHECK_EQUAL(queue.pending, 1);
    }
}

static void start_a_period_later(struct smart_timer *timer, uint64_t now_ns)
{
    count_call(timer, now_ns);
    timer_queue_start(&queue, timer, timer->deadline_ns + MS, 1 << 16);
}

TEST(periodic_timer_does_not_drift)
{
    begin(0, UNLIMITED);
    memset(calls, 0, sizeof(calls));
    timers[0].expire = start_a_period_later;
    timer_queue_start(&queue, &timers[0], MS, 1 << 16);
    while (device.fires_ns <= 10 * SECOND + (1 << 16)) {
        device.now_ns = device.fires_ns;
        device.armed = false;
        timer_queue_expire(&queue, device.now_ns, true);
    }
    CHECK_EQUAL(calls[0], 10000);
    CHECK_EQUAL(queue.counts.interrupts, 10000);
}

static void cancel_all_others(struct smart_timer *timer, uint64_t now_ns)
{
    count_call(timer, now_ns);
    for (unsigned i = SLOTS; i-- > 0;)
        timer_queue_cancel(&queue, &timers[i], true);
}

TEST(timer_that_is_due_can_still_be_cancelled)
{
    begin(0, UNLIMITED);
    memset(calls, 0, sizeof(calls));
    for (unsigned i = 0; i < SLOTS; i++) {
        timers[i].expire = cancel_all_others;
        timer_queue_start(&queue, &timers[i], MS + i % 256, 0);
    }
    device.now_ns = MS + 128;
    device.armed = false;
    timer_queue_expire(&queue, device.now_ns, true);
    CHECK_EQUAL(queue.counts.expired, 1);
    CHECK_EQUAL(queue.counts.cancelled, SLOTS - 1);
    CHECK_EQUAL(queue.pending, 0);
    CHECK(!device.armed);
}

static void move_a_neighbour(struct smart_timer *timer, uint64_t now_ns)
{
    unsigned slot = slot_of(timer);

    count_call(timer, now_ns);
    timer_queue_start(&queue, &timers[(slot + 1) % SLOTS], now_ns + SECOND, 0);
}

TEST(timer_that_is_due_can_still_be_moved)
{
    begin(0, UNLIMITED);
    memset(calls, 0, sizeof(calls));
    for (unsigned i = 0; i < SLOTS; i++) {
        timers[i].expire = move_a_neighbour;
        timer_queue_start(&queue, &timers[i], MS + i, 0);
    }
    device.now_ns = 2 * MS;
    device.armed = false;
    timer_queue_expire(&queue, device.now_ns, true);
    for (unsigned i = 0; i < SLOTS; i++)
        CHECK_EQUAL(calls[i], i % 2 == 0); /* each one that is served puts its neighbour off */
    CHECK_EQUAL(queue.pending, SLOTS / 2);
    CHECK_EQUAL(queue.counts.expired, SLOTS / 2);
    CHECK_EQUAL(device.fires_ns, 2 * MS + SECOND);
}

static void do_anything(struct smart_timer *timer, uint64_t now_ns)
{
    CHECK(now_ns >= timer->boundary_ns);
    CHECK(!timer->pending);
    for (uint64_t i = random_below(4); i > 0; i--) {
        struct smart_timer *other = random_below(4) ? &timers[random_below(SLOTS)] : timer;

        switch (random_below(16)) {
        case 0:
            timer_queue_rebuild(&queue, check_random(&seed), false);
            break;
        case 1:
        case 2:
        case 3:
        case 4:
            timer_queue_cancel(&queue, other, true);
            break;
        case 5:
            start_counted(other, now_ns - random_below(MS), random_bound());
            break;
        default:
            start_counted(other, now_ns + random_below(100 * MS), random_bound() / 256);
        }
    }
}

TEST(expiring_timers_may_do_anything_to_all_timers)
{
    begin(1000 * SECOND, 20 * MS);
    for (unsigned i = 0; i < SLOTS; i++)
        timers[i].expire = do_anything;
    for (unsigned round = 0; round < 200000 && check_state.failures == 0; round++) {
        if (queue.pending < SLOTS / 2)
            start_counted(&timers[random_below(SLOTS)], device.now_ns + random_below(10 * MS),
                          random_bound());
        device.now_ns = device.fires_ns > device.now_ns ? device.fires_ns : device.now_ns;
        device.armed = false;
        timer_queue_expire(&queue, device.now_ns, true);
        CHECK_EQUAL(expected.started, queue.counts.expired + queue.counts.cancelled + queue.pending);
        uint64_t pending = 0, earliest = TIMER_NEVER;
        for (unsigned i = 0; i < SLOTS; i++) {
            pending += timers[i].pending;
            if (timers[i].pending && timers[i].boundary_ns < earliest)
                earliest = timers[i].boundary_ns;
        }
        CHECK_EQUAL(queue.pending, pending);
        CHECK_EQUAL(queue.armed_ns, earliest);
        CHECK_EQUAL(device.armed, earliest != TIMER_NEVER);
    }
    CHECK(queue.counts.expired > 100000);
}

static void free_memory(struct smart_timer *timer, uint64_t now_ns)
{
    CHECK(now_ns >= timer->boundary_ns);
    free(timer);
}

TEST(expired_timer_gives_its_memory_away)
{
    begin(0, UNLIMITED);
    for (unsigned i = 0; i < 100; i++) {
        struct smart_timer *timer = calloc(1, sizeof(*timer));

        timer->expire = free_memory;
        timer_queue_start(&queue, timer, i % 10, i % 3);
    }
    timer_queue_expire(&queue, MS, false);
    CHECK_EQUAL(queue.counts.expired, 100);
}

/* A heap that is one chain, or one flat list, is as deep as there are timers. */
TEST(degenerate_heaps_need_no_stack)
{
    static struct smart_timer many[CHAIN];

    for (unsigned flat = 0; flat < 2; flat++) {
        begin(0, UNLIMITED);
        memset(many, 0, sizeof(many));
        for (unsigned i = 0; i < CHAIN; i++) {
            many[i].expire = note_lateness;
            timer_queue_start(&queue, &many[i], flat ? SECOND + i : SECOND - i, 0);
        }
        for (unsigned i = 0; i < CHAIN; i += 3)
            timer_queue_cancel(&queue, &many[i], true);
        timer_queue_rebuild(&queue, 12345, false);
        timer_queue_expire(&queue, 2 * SECOND, false);
        CHECK_EQUAL(queue.counts.expired, CHAIN - (CHAIN + 2) / 3);
        CHECK_EQUAL(queue.pending, 0);
    }
}

int main(void)
{
    RUN(random_timers_fire_at_their_boundary_with_one_interrupt_each);
    RUN(random_timers_with_looks_past_deadlines_and_offset_changes_are_served_as_the_model_says);
    RUN(device_of_short_range_is_armed_again_and_counted_apart);
    RUN(background_timers_neither_interrupt_nor_expire_until_the_foreground_ends);
    RUN(background_timers_that_are_due_expire_beside_the_foreground_when_they_are_looked_for);
    RUN(what_another_cpu_withdraws_leaves_the_device_armed_for_one_interrupt_at_most);
    RUN(timer_is_never_early_and_less_than_its_bound_late);
    RUN(a_step_of_wall_time_makes_the_timers_due_that_wait_by_it);
    RUN(offset_changes_keep_a_timer_within_its_bound);
    RUN(bounds_are_rounded_down_to_powers_of_two);
    RUN(boundaries_are_multiples_in_global_time);
    RUN(boundary_of_a_larger_bound_is_one_of_every_smaller_bound);
    RUN(boundaries_beyond_the_last_nanosecond_never_come);
    RUN(ten_thousand_timers_a_nanosecond_apart_cost_at_most_two_interrupts);
    RUN(timers_of_one_boundary_share_one_interrupt);
    RUN(nothing_is_armed_after_the_last_timer);
    RUN(later_timer_does_not_touch_the_hardware);
    RUN(deadline_in_the_past_fires_at_once_or_at_the_boundary_that_is_still_to_come);
    RUN(look_from_elsewhere_spares_the_interrupt);
    RUN(interrupt_in_flight_when_withdrawn_is_counted_as_spurious);
    RUN(other_device_takes_over_what_is_armed);
    RUN(cancelling_what_is_not_pending_does_nothing);
    RUN(timer_that_starts_itself_in_the_past_waits_for_the_next_interrupt);
    RUN(periodic_timer_does_not_drift);
    RUN(timer_that_is_due_can_still_be_cancelled);
    RUN(timer_that_is_due_can_still_be_moved);
    RUN(expiring_timers_may_do_anything_to_all_timers);
    RUN(expired_timer_gives_its_memory_away);
    RUN(degenerate_heaps_need_no_stack);
    return check_report("timer_queue");
}
