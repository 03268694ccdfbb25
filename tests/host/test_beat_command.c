/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_beat_command.c: a conductor's commands on a node of four CPUs, each of which is late as it likes:
 * every CPU does each command that was accepted, once and in order; none is lost for lack of room; and what
 * an answer says is done all CPUs have done.
 */
#include "check.h"
#include "arch.h"
#include "beat/command.h"
#include "beat/node_keys.h"
#include "beat/log_page.h"
#include "debug/klog.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "per_cpu_areas.h"
#include "time/timer.h"
#include <string.h>

#define CPUS     4
#define RING     15 /* commands that are kept for the slowest CPU */
#define COMMANDS 100000

uint32_t arena_cpu, klog_mask;
uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];
struct tacet_counters arena_counters[CPUS];

static uint64_t seed = 11;

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

unsigned arch_cpu_count(void)
{
    return CPUS;
}

/* What the node has been told, last. */
static char switched[BEAT_COMMAND_BYTES + 1], rated[BEAT_COMMAND_BYTES + 1];
static unsigned times_told;

int klog_switch(const char *text)
{
    times_told++;
    snprintf(switched, sizeof(switched), "%s", text);
    return text[0] == '+' || text[0] == '-' ? 0 : -EINVAL;
}

int timer_device_rate(const char *text)
{
    times_told++;
    snprintf(rated, sizeof(rated), "%s", text);
    return text[0] == 'n' ? 0 : -ENODEV;
}

/* Of the flight log: by one CPU alone (test_log_page.c). */
static unsigned times_held, times_requested;

int node_keys_renew(void)
{
    return -ENOKEY;
}

int log_pages_hold(const struct beat_command *command)
{
    CHECK_EQUAL(arena_cpu, 0);
    times_held++;
    return command->bytes == 4 ? 0 : -EBUSY;
}

int log_pages_request(const struct beat_command *command)
{
    CHECK_EQUAL(arena_cpu, 0);
    times_requested++;
    return command->bytes == PAGE_REQUEST_BYTES ? 0 : -EAGAIN;
}

/* ---- What the CPUs do ---- */

static struct {
    enum beat_code codes[COMMANDS]; /* of the commands accepted that concern ranks, in order */
    uint64_t count, done[CPUS];
} wanted;

static void rank_command(enum beat_code code)
{
    const uint64_t next = wanted.done[arena_cpu]++;

    CHECK(next < wanted.count);
    CHECK_EQUAL(code, wanted.codes[next]);
}

static const unsigned ranks = 3;

/* How long the service's threads have had first on each CPU, ever. */
static uint64_t had_ns[CPUS];

static bool services(uint64_t window_ns)
{
    had_ns[arena_cpu] += window_ns;
    return arena_cpu != 2; /* CPU 2 has no program that is ready */
}

static uint32_t job_now;

static const struct command_job job = {
    .command = rank_command, .services = services, .ranks = &ranks, .number = &job_now
};

static void cpu_does(unsigned cpu)
{
    arena_cpu = cpu;
    commands_do();
    arena_cpu = 0;
}

static void all_do(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        cpu_does(cpu);
}

static uint64_t epoch_now = 1;
static uint32_t number_now;

#define WELCOME 0x1122334455667788

/* Sends many welcomes: the node's among them, or not. */
static void welcome(bool is_ours)
{
    struct beat beat = { .epoch = epoch_now, .command_count = 2 };

    for (unsigned i = 0; i < 2; i++) {
        beat.commands[i] = (struct beat_command){ .code = BEAT_WELCOME, .bytes = (uint16_t)(8 * (3 + i)) };
        memset(beat.commands[i].body, 0x11, sizeof(beat.commands[i].body));
    }
    if (is_ours)
        store_be(beat.commands[1].body + 24, 8, WELCOME);
    CHECK(!commands_accept(&beat)); /* for the CPUs that is nothing */
}

static struct answer answer_now(void)
{
    struct answer answer = { .epoch = epoch_now, .done = 99 };

    commands_answer(&answer);
    return answer;
}

static bool beat_with(unsigned code, const void *body, size_t bytes)
{
    struct beat beat = { .epoch = epoch_now, .command_count = 1 };

    beat.commands[0] =
        (struct beat_command){ .code = (uint16_t)code, .bytes = (uint16_t)bytes, .number = ++number_now };
    memcpy(beat.commands[0].body, body, bytes);
    return commands_accept(&beat);
}

/* Sends a beat with one new command. */
static bool commanded(unsigned code, const char *text)
{
    const unsigned bare = code & BEAT_CODE_MASK;

    if (bare == BEAT_STOP || bare == BEAT_CONTINUE || bare == BEAT_KILL)
        wanted.codes[wanted.count++] = bare;
    return beat_with(code, text, strlen(text));
}

TEST(a_node_obeys_nobody_who_has_not_welcomed_it)
{
    struct beat beat = { .epoch = epoch_now, .command_count = 2 };

    commands_welcome_set(WELCOME);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(!beat_with(BEAT_KILL, "", 0));
        all_do();
        CHECK(!answer_now().is_welcomed);
        CHECK_EQUAL(answer_now().done, 0);
        welcome(false);
    }
    welcome(true);
    CHECK(answer_now().is_welcomed);
    number_now = 0; /* what it was not to do yet does not count */
    CHECK(commanded(BEAT_STOP, ""));
    all_do();
    CHECK_EQUAL(answer_now().done, 1);
    welcome(false);
    CHECK(answer_now().is_welcomed);

    beat.epoch = ++epoch_now; /* the next conductor has to, too; the same beat may command */
    CHECK(!answer_now().is_welcomed);
    CHECK(!beat_with(BEAT_KILL, "", 0));
    CHECK(!answer_now().is_welcomed);
    beat.commands[0] = (struct beat_command){ .code = BEAT_WELCOME, .bytes = 8 };
    store_be(beat.commands[0].body, 8, WELCOME);
    beat.commands[1] = (struct beat_command){ .code = BEAT_CONTINUE, .number = number_now = 1 };
    wanted.codes[wanted.count++] = BEAT_CONTINUE;
    CHECK(commands_accept(&beat));
    all_do();
    CHECK_EQUAL(answer_now().done, 1);
    epoch_now++;
    number_now = 0;
    welcome(true);
}

TEST(the_node_says_what_became_of_a_command)
{
    static const struct {
        unsigned code;
        const char *text;
        uint32_t result;
        uint8_t state;
    } commands[] = {
        { BEAT_STOP, "", 0, ANSWER_STOPPED },
        { BEAT_TRACE | BEAT_ACKNOWLEDGE, "+syscall", 0, ANSWER_STOPPED },
        { BEAT_TRACE, "syscall", EINVAL, ANSWER_STOPPED },
        { BEAT_CONTINUE | BEAT_ACKNOWLEDGE, "", 0, ANSWER_RUNNING },
        { BEAT_RATE, "nettick 3", 0, ANSWER_RUNNING },
        { BEAT_RATE, "other 3", ENODEV, ANSWER_RUNNING },
        { BEAT_HOLD, "1234", 0, ANSWER_RUNNING },
        { BEAT_HOLD | BEAT_ACKNOWLEDGE, "12345", EBUSY, ANSWER_RUNNING },
        { BEAT_PAGE, "1234567890123456", 0, ANSWER_RUNNING },
        { BEAT_PAGE, "", EAGAIN, ANSWER_RUNNING },
        { 99, "", ENOSYS, ANSWER_RUNNING },
        { BEAT_KILL, "", 0, ANSWER_RUNNING },
    };

    CHECK_EQUAL(answer_now().done, 0);
    CHECK_EQUAL(answer_now().ranks, 3);
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        CHECK(commanded(commands[i].code, commands[i].text));
        CHECK_EQUAL(answer_now().done, number_now - 1);
        for (unsigned cpu = CPUS; cpu-- > 0;) {
            CHECK_EQUAL(answer_now().done, number_now - 1);
            cpu_does(cpu);
        }
        CHECK_EQUAL(answer_now().done, number_now);
        CHECK_EQUAL(answer_now().result, commands[i].result);
        CHECK_EQUAL(answer_now().state, commands[i].state);
    }
    CHECK_EQUAL(times_told, 4); /* not by each CPU */
    CHECK_EQUAL(times_held, 2);
    CHECK_EQUAL(times_requested, 2);
    CHECK_TEXT(switched, "syscall");
    CHECK_TEXT(rated, "other 3");
}

TEST(a_command_for_a_job_is_done_where_that_runs_and_nowhere_else)
{
    static const struct {
        unsigned code;
        uint32_t runs;
        uint8_t bytes, body[5];
        bool is_done;
        uint32_t result;
        uint8_t state;
    } commands[] = {
        { BEAT_STOP, 7, 4, { 0, 0, 0, 8 }, false, 0, ANSWER_RUNNING },
        { BEAT_STOP, 7, 4, { 7, 0, 0, 0 }, false, 0, ANSWER_RUNNING },
        { BEAT_STOP, 7, 4, { 0, 0, 0, 7 }, true, 0, ANSWER_STOPPED },
        { BEAT_CONTINUE, 7, 4, { 0, 0, 0, 8 }, false, 0, ANSWER_STOPPED },
        { BEAT_KILL, 7, 4, { 0, 0, 0, 8 }, false, 0, ANSWER_STOPPED },
        { BEAT_CONTINUE, 7, 4, { 0, 0, 0, 7 }, true, 0, ANSWER_RUNNING },
        { BEAT_STOP, 7, 0, { 0 }, true, 0, ANSWER_STOPPED },
        { BEAT_TRACE, 8, 1, { '+' }, false, 0, ANSWER_RUNNING }, /* the next job runs */
        { BEAT_TRACE, 7, 1, { '+' }, false, 0, ANSWER_STOPPED },
        { BEAT_KILL, 7, 4, { 0, 0, 0, 7 }, true, 0, ANSWER_RUNNING },
        { BEAT_KILL, 0, 4, { 0, 0, 0, 0 }, false, 0, ANSWER_RUNNING }, /* 0 is no job's number */
        { BEAT_KILL, 7, 3, { 0, 0, 7 }, false, EINVAL, ANSWER_RUNNING },
        { BEAT_KILL, 7, 5, { 0, 0, 0, 7, 0 }, false, EINVAL, ANSWER_RUNNING },
        { BEAT_STOP, 0, 0, { 0 }, true, 0, ANSWER_STOPPED },
        { BEAT_CONTINUE, 0, 0, { 0 }, true, 0, ANSWER_RUNNING },
    };

    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        job_now = commands[i].runs;
        if (commands[i].is_done)
            wanted.codes[wanted.count++] = commands[i].code;
        CHECK(beat_with(commands[i].code, commands[i].body, commands[i].bytes));
        all_do();
        CHECK_EQUAL(answer_now().done, number_now);
        CHECK_EQUAL(answer_now().result, commands[i].result);
        CHECK_EQUAL(answer_now().state, commands[i].state);
        CHECK_EQUAL(answer_now().job, commands[i].runs);
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            CHECK_EQUAL(wanted.done[cpu], wanted.count);
    }
    job_now = 0;
}

TEST(kernel_entries_are_those_up_to_the_command)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        arena_counters[cpu] = (struct tacet_counters){ .system_calls = 1,
                                                       .exceptions = { [3] = 10, [63] = 10 },
                                                       .interrupts = { [0] = 100, [255] = 200 },
                                                       .switches = 1000 };
    all_do();
    CHECK_EQUAL(answer_now().system_calls, 0);
    commanded(BEAT_COUNT, "");
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        cpu_does(cpu);
        arena_counters[cpu].system_calls += 7; /* does not count any more */
    }
    CHECK_EQUAL(answer_now().system_calls, CPUS);
    CHECK_EQUAL(answer_now().exceptions, 20 * CPUS);
    CHECK_EQUAL(answer_now().interrupts, 300 * CPUS);
    CHECK_EQUAL(answer_now().switches, 1000 * CPUS);
    commanded(BEAT_COUNT, "");
    all_do();
    CHECK_EQUAL(answer_now().system_calls, 8 * CPUS);
    CHECK_EQUAL(answer_now().exceptions, 20 * CPUS);
    CHECK_EQUAL(answer_now().interrupts, 300 * CPUS);
}

TEST(every_cpu_lets_the_service_run_first_as_long_as_the_command_says)
{
    static const struct {
        uint8_t body[5];
        size_t bytes;
        uint64_t ns; /* 0: refused */
    } cases[] = {
        { { 0, 0, 0, 1 }, 4, 1000 },
        { { 0, 0, 1, 0xf4 }, 4, 500000 },
        { { 0, 1, 0x86, 0xa0 }, 4, 100000000 },
        { { 0, 1, 0x86, 0xa1 }, 4, 0 },
        { { 0xff, 0xff, 0xff, 0xff }, 4, 0 },
        { { 0, 0, 0, 0 }, 4, 0 },
        { { 0, 0, 1 }, 3, 0 },
        { { 0, 0, 0, 1, 0 }, 5, 0 },
        { { 0 }, 0, 0 },
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(had_ns, 0, sizeof(had_ns));
        beat_with(BEAT_SERVICES, cases[i].body, cases[i].bytes);
        for (unsigned cpu = CPUS; cpu-- > 0;) {
            CHECK_EQUAL(had_ns[cpu], 0);
            cpu_does(cpu);
            CHECK_EQUAL(had_ns[cpu], cases[i].ns);
        }
        CHECK_EQUAL(answer_now().result, cases[i].ns ? 0 : EINVAL);
    }
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(commands_windows(cpu), cpu == 2 ? 0 : 3);
}

/* ---- Many commands ---- */

/* The conductor: what it has not heard is done. */
static struct {
    struct beat_command commands[COMMANDS];
    uint64_t count, oldest; /* commands ever; the first that is outstanding */
} sent;

/* The node, as it should be: of the commands that it has accepted, the epoch and number. */
static struct {
    uint64_t epochs[COMMANDS];
    uint32_t numbers[COMMANDS];
    uint64_t count, done[CPUS], refused;
} model;

static uint64_t model_all_done(void)
{
    uint64_t least = model.count;

    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        least = model.done[cpu] < least ? model.done[cpu] : least;
    return least;
}

/* Returns whether the node already has the command. */
static bool model_has(const struct beat_command *command)
{
    const uint64_t last = model.count - 1;

    return model.count && model.epochs[last] == epoch_now && command->number <= model.numbers[last];
}

static void beat_comes(void)
{
    struct beat beat = { .epoch = epoch_now };
    const uint64_t before = model.count, room_until = model_all_done() + RING;

    for (uint64_t i = sent.oldest; i < sent.count && beat.command_count < BEAT_COMMANDS_MAX; i++) {
        beat.commands[beat.command_count++] = sent.commands[i];
        if (model_has(&sent.commands[i]))
            continue;
        if (model.count == room_until) {
            model.refused++;
            continue;
        }
        model.epochs[model.count] = epoch_now;
        model.numbers[model.count++] = sent.commands[i].number;
        wanted.codes[wanted.count++] = sent.commands[i].code;
    }
    if (beat.command_count)
        CHECK_EQUAL(commands_accept(&beat), model.count != before);
}

static void answer_comes(void)
{
    const uint64_t done = model_all_done();
    const bool is_of_epoch = done && model.epochs[done - 1] == epoch_now;
    const struct answer answer = answer_now();

    CHECK_EQUAL(answer.done, is_of_epoch ? model.numbers[done - 1] : 0);
    while (sent.oldest < sent.count && sent.commands[sent.oldest].number <= answer.done)
        sent.oldest++;
}

/* Beats and answers may be lost, CPUs may be late, and the conductor restarts now and then. */
TEST(every_cpu_does_each_command_once_and_in_order)
{
    uint64_t epochs = 0;

    all_do();
    memset(&wanted, 0, sizeof(wanted));
    epoch_now++;
    number_now = 0;
    welcome(true);
    beat_comes(); /* nothing is done in this epoch */
    while (sent.count < COMMANDS) {
        const unsigned cpu = (unsigned)random_below(CPUS);

        if (random_below(3) == 0)
            sent.commands[sent.count++] =
                (struct beat_command){ .code = (uint16_t)(1 + random_below(3)), .number = ++number_now };
        if (random_below(5000) == 0) {
            epoch_now++;
            epochs++;
            number_now = 0;
            sent.oldest = sent.count;
            welcome(true);
            beat_comes(); /* the first of an epoch: answers are to it */
        }
        if (random_below(2))
            beat_comes();
        if (random_below(cpu == 3 ? 8 : 2) == 0) {
            cpu_does(cpu);
            model.done[cpu] = model.count;
            CHECK_EQUAL(wanted.done[cpu], wanted.count);
        }
        if (random_below(3) == 0)
            answer_comes();
    }
    for (unsigned i = 0; i < COMMANDS / RING && sent.oldest < sent.count; i++) {
        beat_comes();
        all_do();
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            model.done[cpu] = model.count;
        answer_comes();
    }
    CHECK_EQUAL(sent.oldest, sent.count);
    CHECK(epochs > 10 && model.refused > 1000 && model.count > COMMANDS / 2);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(wanted.done[cpu], wanted.count);
}

int main(void)
{
    per_cpu_areas_make(CPUS);
    commands_job_set(&job);
    RUN(a_node_obeys_nobody_who_has_not_welcomed_it);
    RUN(the_node_says_what_became_of_a_command);
    RUN(a_command_for_a_job_is_done_where_that_runs_and_nowhere_else);
    RUN(kernel_entries_are_those_up_to_the_command);
    RUN(every_cpu_lets_the_service_run_first_as_long_as_the_command_says);
    RUN(every_cpu_does_each_command_once_and_in_order);
    per_cpu_areas_free(CPUS);
    return check_report("beat_command");
}
