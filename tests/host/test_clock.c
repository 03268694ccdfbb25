/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_clock.c: the clock's parameters while wall time follows a global clock: a reader at any instruction of
 * an update gets the time of one line, and no reader gets an earlier time than a reader before it.
 *
 * Updates and readings run one instruction at a time (the CPU's trap flag), and between any two the other
 * side has its turn, on another CPU as it were.
 */
#include "check.h"
#include "arch.h"
#include "beat/global_clock.h"
#include "time/clock.h"

#define HZ        3000000000ULL
#define SECOND    1000000000ULL
#define TRAP_FLAG 0x100ULL
#define UPDATES   100
#define READINGS  200
#define TAI_UTC   (37 * SECOND)

static uint64_t seed = 5;
static uint64_t ticks = 12345678; /* the clock source */

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* ---- The machine ---- */

uint32_t arena_cpu;
uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];

uint64_t arch_ticks_ordered(void)
{
    return __atomic_add_fetch(&ticks, 1 + random_below(60), __ATOMIC_RELAXED); /* in one instruction */
}

uint64_t arch_clock_hz(void)
{
    return HZ;
}

uint64_t arch_boot_ticks(void)
{
    return 12345678;
}

uint64_t arch_clock_offset(unsigned cpu)
{
    return cpu;
}

uint64_t arch_wall_clock_s(void)
{
    return 1600000000;
}

uint32_t arch_vdso_features(void)
{
    return 0;
}

unsigned arch_cpu_count(void)
{
    return 1;
}

/* ---- One instruction at a time ---- */

static void (*between)(void);
static uint64_t steps;

static void trap(int signal)
{
    (void)signal; /* the one that is handled */
    steps++;
    between();
}

static void trap_flag_set(uint64_t flag)
{
    __asm__ volatile("pushfq\n\tandq %1, (%%rsp)\n\torq %0, (%%rsp)\n\tpopfq"
                     :
                     : "r"(flag), "r"(~TRAP_FLAG)
                     : "memory", "cc");
}

static void traced(void (*what)(void), void (*meanwhile)(void))
{
    between = meanwhile;
    trap_flag_set(TRAP_FLAG);
    what();
    trap_flag_set(0);
}

/* ---- The conductor's time ---- */

static struct global_clock conductor;
static uint64_t tai_utc_ns;

/* The line that there was and the one that there is from now on. */
static struct global_line lines[2];

/* Makes the next bend: a second later, or a little, as on a slow network; the writer is held up. */
static void line_next(void)
{
    uint64_t now_ns;

    ticks += random_below(3 * HZ);
    now_ns = clock_now_ns();
    lines[0] = conductor.line;
    conductor.beats = GLOBAL_CLOCK_WINDOW_BEATS - 1;
    conductor.best =
        (struct global_point){ now_ns, 1700000000 * SECOND + now_ns + random_below(SECOND / 100) };
    global_clock_update(&conductor, now_ns, conductor.best.global);
    lines[1] = conductor.line;
    ticks += random_below(HZ / (random_below(10) ? 1000000 : 100));
}

static void line_publish(void)
{
    clock_wall_line_set(conductor.line.base_local, conductor.line.base_global, conductor.line.slope,
                        tai_utc_ns);
}

/* ---- Readers ---- */

static uint64_t last_tai_ns, backwards, readings, waits;

static bool is_changing(void)
{
    const struct clock_page *page = clock_page();

    return page->wall.sequence & 1;
}

/* Checks a time read between two readings of the clock source: it is of one of the lines, or stands still. */
static void time_check(uint64_t wall_ns, uint64_t tai_ns, uint64_t after_ns)
{
    readings++;
    backwards += tai_ns < last_tai_ns;
    last_tai_ns = tai_ns;
    CHECK_EQUAL(tai_ns - wall_ns, tai_utc_ns);
    CHECK(tai_ns <= global_line_at(&lines[0], after_ns) || tai_ns <= global_line_at(&lines[1], after_ns));
}

static void reading(void)
{
    uint64_t tai_ns, wall_ns = clock_wall_ns(&tai_ns);

    time_check(wall_ns, tai_ns, clock_now_ns());
}

/* Reads during an update: the reader waits. */
static void reading_between(void)
{
    const uint64_t before_ns = clock_now_ns();

    CHECK(clock_now_ns() >= before_ns); /* monotonic time does not wait */
    if (is_changing())
        waits++;
    else
        reading();
}

TEST(at_each_instruction_of_an_update_readers_see_one_line_and_no_time_twice)
{
    line_next();
    lines[0] = lines[1];
    tai_utc_ns = TAI_UTC;
    line_publish();
    last_tai_ns = 0;
    for (unsigned i = 0; i < UPDATES; i++) {
        line_next();
        for (unsigned k = 0; k < 3; k++)
            reading();
        traced(line_publish, reading_between);
        reading();
        /* Time has caught up with the line, and is the line's. */
        ticks += HZ / 1000;
        CHECK(clock_wall_at(&((const struct clock_page *)clock_page())->wall, clock_now_ns()) + TAI_UTC <=
              global_line_at(&conductor.line, clock_now_ns()));
    }
    CHECK_EQUAL(backwards, 0);
    CHECK(waits > UPDATES && readings > 10 * UPDATES);
}

/* ---- A reader that is overtaken ---- */

static uint64_t read_wall_ns, read_tai_ns;
static unsigned until_update;

static void reading_slow(void)
{
    read_wall_ns = clock_wall_ns(&read_tai_ns);
}

static void update_between(void)
{
    if (until_update && --until_update == 0) {
        line_next();
        line_publish();
        reading(); /* another CPU's, which is later */
    }
}

TEST(a_reader_that_an_update_overtakes_begins_anew)
{
    uint64_t steps_max = 200, again = 0;

    for (unsigned i = 0; i < READINGS; i++) {
        reading();
        const uint64_t before = last_tai_ns;

        until_update = 1 + (unsigned)random_below(steps_max);
        steps = 0;
        traced(reading_slow, update_between);
        CHECK(read_tai_ns >= before);
        CHECK_EQUAL(read_tai_ns - read_wall_ns, tai_utc_ns);
        CHECK(read_tai_ns <= global_line_at(&conductor.line, clock_now_ns()) ||
              read_tai_ns <= global_line_at(&lines[0], clock_now_ns()));
        again += until_update == 0;
    }
    CHECK(again > READINGS / 4);
    CHECK_EQUAL(backwards, 0);
}

/* ---- Steps ---- */

TEST(a_step_of_utc_moves_realtime_alone_and_is_told)
{
    const uint64_t steps_before = clock_wall_steps();
    uint64_t tai_before, tai_after, wall_before = clock_wall_ns(&tai_before), wall_after;

    CHECK(!clock_wall_line_set(conductor.line.base_local, conductor.line.base_global, conductor.line.slope,
                               TAI_UTC)); /* the same again */
    CHECK_EQUAL(clock_wall_steps(), steps_before);
    deadline_wall_wait_ns(deadline_by(DEADLINE_WALL, 1)); /* a waiting thread */
    CHECK(clock_wall_line_set(conductor.line.base_local, conductor.line.base_global, conductor.line.slope,
                              TAI_UTC + SECOND)); /* a leap second */
    CHECK_EQUAL(clock_wall_steps(), steps_before + 1);
    wall_after = clock_wall_ns(&tai_after);
    CHECK(tai_after >= tai_before && tai_after < tai_before + SECOND / 100);
    CHECK_EQUAL(wall_before - wall_after, SECOND - (tai_after - tai_before));
    tai_utc_ns = TAI_UTC + SECOND;
}

/* ---- Deadlines ---- */

TEST(a_deadline_by_wall_time_is_waited_for_and_never_too_long)
{
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t tai_ns, wall_ns, waits_for = 0;
        const bool by_tai = random_below(2);
        const uint64_t far_ns = 1 + random_below(1ULL << random_below(44));

        if (random_below(4) == 0) {
            line_next();
            line_publish();
        }
        wall_ns = clock_wall_ns(&tai_ns);
        const uint64_t until_ns = (by_tai ? tai_ns : wall_ns) + far_ns;
        const uint64_t deadline = deadline_by(by_tai ? DEADLINE_TAI : DEADLINE_WALL, until_ns);
        CHECK(deadline_is_wall(deadline));
        do { /* until then, and 60 ticks at most for each reading of the clock */
            const uint64_t wait_ns = deadline_wait_ns(deadline), now_ns = clock_now_ns();

            if (wait_ns > now_ns)
                ticks += (wait_ns - now_ns) * (HZ / SECOND);
            waits_for++;
        } while (!deadline_is_over(deadline));
        wall_ns = clock_wall_ns(&tai_ns);
        CHECK((by_tai ? tai_ns : wall_ns) - until_ns < 1000);
        CHECK(waits_for <= 5);
    }
    CHECK_EQUAL(deadline_wait_ns(deadline_by(DEADLINE_WALL, 1)), 0);
    CHECK(deadline_is_over(deadline_by(DEADLINE_TAI, 1)));
    CHECK_EQUAL(deadline_by(DEADLINE_WALL, 1ULL << 62), UINT64_MAX);
    CHECK_EQUAL(deadline_wait_ns(UINT64_MAX), UINT64_MAX);
    CHECK_EQUAL(deadline_wait_ns(12345), 12345);
    CHECK(deadline_is_over(12345));
}

/* Before any beat: no step has to be asked for, and deadlines are exact. */
TEST(without_a_line_wall_time_is_an_offset)
{
    uint64_t tai_ns, wall_ns;

    clock_start();
    clock_wall_offset_set(1500000000 * SECOND);
    wall_ns = clock_wall_ns(&tai_ns);
    CHECK_EQUAL(tai_ns, wall_ns);
    CHECK(wall_ns - 1500000000 * SECOND <= clock_now_ns());
    CHECK_EQUAL(deadline_wait_ns(deadline_by(DEADLINE_WALL, 1500000100 * SECOND)), 100 * SECOND);
    CHECK_EQUAL(deadline_wait_ns(deadline_by(DEADLINE_TAI, 1500000100 * SECOND)), 100 * SECOND);
    CHECK(!deadline_is_over(deadline_by(DEADLINE_TAI, 1500000100 * SECOND)));
}

int main(void)
{
    struct sigaction action = { .sa_handler = trap };

    sigaction(SIGTRAP, &action, NULL);
    RUN(without_a_line_wall_time_is_an_offset);
    RUN(at_each_instruction_of_an_update_readers_see_one_line_and_no_time_twice);
    RUN(a_reader_that_an_update_overtakes_begins_anew);
    RUN(a_step_of_utc_moves_realtime_alone_and_is_told);
    RUN(a_deadline_by_wall_time_is_waited_for_and_never_too_long);
    return check_report("clock");
}
