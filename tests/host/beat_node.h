/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_node.h: a node of three CPUs that hears heartbeats, for test_nettick.c: models of the node's clock, of
 * each CPU's one-shot device and of the IPI that passes a beat on, and what must hold after each of their
 * events. All between them is the kernel's own.
 *
 * Each NODE is a test in a process of its own: what the kernel knows of a conductor lasts as long as the
 * node. Included once per binary.
 */
#ifndef TACET_BEAT_NODE_H
#define TACET_BEAT_NODE_H

#include "check.h"
#include "arch.h"
#include "beat/beat_frame.h"
#include "beat/log_page.h"
#include "beat/nettick.h"
#include "beat/node_keys.h"
#include "lib/errno.h"
#include "per_cpu_areas.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define CPUS     3
#define TIMERS   3 /* of each CPU */
#define US       1000ULL
#define MS       1000000ULL
#define SECOND   1000000000ULL
#define BEGIN    (1700000000 * SECOND) /* true time at the node's start, TAI */
#define SERVE_NS (50 * US)             /* a CPU may have its interrupts off for so long */
#define READ_NS  7                     /* between two readings of the clock */
#define OPTIONS  " nettick_key=000102030405060708090a0b0c0d0e0F"

static const uint8_t key[SIPHASH_KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t conductor_address[BEAT_ADDRESS_BYTES] = { 2, 0x54, 0, 0, 0, 1 };
static uint64_t seed = 3;

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

static bool chance(unsigned per_thousand)
{
    return random_below(1000) < per_thousand;
}

/* ---- The machine ---- */

uint32_t arena_cpu, klog_mask;
uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];

static uint64_t now_ns, first_read_ns; /* the node's clock */

struct model_cpu {
    bool is_armed, beat_pending;
    uint64_t fires_ns, arms;
    uint64_t period_ns; /* that it must go by */
    uint64_t beats, fallbacks, expired;
    bool by_beat;         /* what is served now */
    uint64_t late_max_ns; /* how long after their boundary the timers that are served now may expire */
};

static struct model_cpu cpus[CPUS];
static struct smart_timer timers[CPUS][TIMERS];
static uint64_t early_ns; /* by which the devices are too early */
static uint64_t ipis;     /* arch_beat_send was called */
static bool by_other;     /* a device other than nettick is on top */

static void (*while_read)(void); /* what another CPU does before this one has used the time that it read */
static jmp_buf *lock_is_held;    /* where a CPU goes on that would have to wait; NULL: none has to */

uint64_t clock_now_ns(void)
{
    const uint64_t read_ns = now_ns += READ_NS;

    if (!first_read_ns)
        first_read_ns = read_ns;
    if (while_read)
        while_read();
    return read_ns;
}

/* What wall time follows, and how often it has been told. */
static struct {
    uint64_t sets, local_ns, tai_ns, tai_utc_ns;
    int64_t slope;
    uint64_t steps;
    bool has_stepped; /* what the clock answers */
} wall;

bool clock_wall_line_set(uint64_t local_ns, uint64_t tai_ns, int64_t slope, uint64_t tai_utc_ns)
{
    wall.sets++;
    wall.local_ns = local_ns;
    wall.tai_ns = tai_ns;
    wall.slope = slope;
    wall.tai_utc_ns = tai_utc_ns;
    wall.steps += wall.has_stepped;
    return wall.has_stepped;
}

uint64_t clock_wall_steps(void)
{
    return wall.steps;
}

/* Returns the deadline unchanged: the clock that may step shows the same time here. */
uint64_t deadline_wall_wait_ns(uint64_t deadline)
{
    return deadline & ~DEADLINE_TAI;
}

static bool has_random = true;

bool arch_random_strong(uint64_t *value)
{
    *value = check_random(&seed);
    return has_random;
}

uint64_t arch_random(void)
{
    return 4; /* no node is welcomed here */
}

unsigned arch_cpu_count(void)
{
    return CPUS;
}

void arch_cpu_idle(void)
{
    CHECK(!"no CPU idles here");
}

struct tacet_counters arena_counters[CPUS];
static char switched[BEAT_COMMAND_BYTES + 1]; /* the flight log's class, last */

int klog_switch(const char *text)
{
    snprintf(switched, sizeof(switched), "%s", text);
    return text[0] == '+' || text[0] == '-' ? 0 : -EINVAL;
}

static char printed[256]; /* the kernel's last line */
static unsigned printed_lines;

void kernel_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(printed, sizeof(printed), format, arguments);
    va_end(arguments);
    printed_lines++;
}

/* Does nothing: test_log_page.c tests log pages. */
void log_pages_set(const uint8_t address[BEAT_ADDRESS_BYTES], uint64_t start)
{
    (void)address;
    (void)start;
}

int log_pages_hold(const struct beat_command *command)
{
    (void)command;
    return 0;
}

int log_pages_request(const struct beat_command *command)
{
    (void)command;
    return 0;
}

uint64_t clock_wall_ns(uint64_t *tai_ns)
{
    (void)tai_ns;
    return BEGIN;
}

void arch_guard_page(uint64_t address, struct page_pool *pool)
{
    (void)address; /* of a page that node_keys_hide got, which no test calls */
    (void)pool;
}

void arch_guard_page_open(uint64_t address, bool is_open)
{
    (void)address;
    (void)is_open;
}

void arch_beat_send(bool to_itself)
{
    ipis++;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        if (cpu != arena_cpu || to_itself)
            cpus[cpu].beat_pending = true;
}

void crosscall_serve(void) /* a lock that is not free calls it */
{
    if (lock_is_held)
        longjmp(*lock_is_held, 1);
    CHECK(!"a lock is held");
}

void crosscall_all(void (*function)(void))
{
    const uint32_t here = arena_cpu;

    function();
    for (arena_cpu = 0; arena_cpu < CPUS; arena_cpu++)
        if (arena_cpu != here)
            function();
    arena_cpu = here;
}

static void local_arm(uint64_t when_ns)
{
    struct model_cpu *cpu = &cpus[arena_cpu];

    cpu->is_armed = true;
    cpu->fires_ns = when_ns;
    cpu->arms++;
}

static void local_disarm(void)
{
    cpus[arena_cpu].is_armed = false;
}

static struct clock_event_device local_device = {
    .name = "local", .description = "a CPU's own", .rating = 100, .arm = local_arm, .disarm = local_disarm
};

/* Options are words of the command line. */
static int configure(const char *options, struct message *why)
{
    static char text[256];
    static struct command_line line;

    snprintf(text, sizeof(text), "%s", options);
    memset(why, 0, sizeof(*why));
    CHECK_EQUAL(command_line_parse(text, &line, why), 0);
    const int error = nettick_configure(&line, why);
    return error ? error : clock_event_configure(&line, why);
}

static void node_start(const char *options)
{
    struct message why;

    now_ns = 5 * MS;
    per_cpu_areas_make(CPUS);
    clock_event_register(&local_device);
    if (!CHECK_EQUAL(configure(options, &why), 0))
        fprintf(stderr, "  %s\n", why.text);
    for (arena_cpu = 0; arena_cpu < CPUS; arena_cpu++)
        timer_cpu_start();
    arena_cpu = 0;
}

/* ---- What holds between any two events ---- */

static uint64_t earliest_of(unsigned cpu)
{
    uint64_t earliest = TIMER_NEVER;

    for (unsigned i = 0; i < TIMERS; i++)
        if (timers[cpu][i].pending && timers[cpu][i].boundary_ns < earliest)
            earliest = timers[cpu][i].boundary_ns;
    return earliest;
}

/* Checks that the local device is armed while a timer pends: for three periods after the boundary while beats
 * come, else for the boundary. */
static void check_cpu(unsigned cpu)
{
    const struct model_cpu *of = &cpus[cpu];
    const uint64_t earliest = earliest_of(cpu);

    CHECK_EQUAL(of->is_armed, earliest != TIMER_NEVER);
    if (of->is_armed)
        CHECK_EQUAL(of->fires_ns, earliest + (by_other ? 0 : 3 * of->period_ns));
}

static void check_cpus(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        check_cpu(cpu);
}

static bool restarts; /* each timer that expires is started again */

static void timer_begin(unsigned cpu, unsigned slot, uint64_t wait_ns, uint64_t bound_ns);

static void expired(struct smart_timer *timer, uint64_t at_ns)
{
    struct model_cpu *cpu = &cpus[arena_cpu];
    const unsigned slot = (unsigned)(timer - timers[arena_cpu]);

    CHECK(slot < TIMERS);
    cpu->expired++;
    CHECK(at_ns >= timer->deadline_ns);
    CHECK(at_ns >= timer->boundary_ns);
    if (!cpu->by_beat)
        CHECK(at_ns - timer->boundary_ns <= cpu->late_max_ns);
    CHECK(at_ns - timer->deadline_ns <
          timer->bound_ns + cpu->late_max_ns); /* wherever the boundary has moved */
    if (restarts)
        timer_begin(arena_cpu, slot, 1000 + random_below(25 * MS), 1ULL << random_below(26));
}

static void timer_begin(unsigned cpu, unsigned slot, uint64_t wait_ns, uint64_t bound_ns)
{
    const uint32_t here = arena_cpu;
    struct smart_timer *timer = &timers[cpu][slot];

    arena_cpu = cpu;
    timer->expire = expired;
    timer_start(timer, now_ns + wait_ns, bound_ns);
    CHECK_EQUAL((timer->boundary_ns + timer->queue->global_offset_ns) % timer->bound_ns, 0);
    arena_cpu = here;
}

static void timer_end(unsigned cpu, unsigned slot)
{
    arena_cpu = cpu;
    timer_cancel(&timers[cpu][slot]);
    arena_cpu = 0;
}

/* Fires the local device of a CPU: for the device's own deadline, or because beats are lost. */
static void local_fire(unsigned cpu)
{
    struct model_cpu *of = &cpus[cpu];

    if (of->fires_ns > now_ns + early_ns)
        now_ns = of->fires_ns - early_ns;
    of->is_armed = false;
    of->by_beat = false;
    of->late_max_ns = SERVE_NS + 3 * of->period_ns;
    if (of->period_ns && !by_other) {
        of->period_ns = 0;
        of->fallbacks++;
    }
    arena_cpu = cpu;
    timer_interrupt();
    arena_cpu = 0;
    check_cpu(cpu);
}

/* Runs the node's devices until its clock says so. */
static void run_until(uint64_t until_ns)
{
    for (;;) {
        unsigned next = 0;

        for (unsigned cpu = 1; cpu < CPUS; cpu++)
            if (cpus[cpu].is_armed && (!cpus[next].is_armed || cpus[cpu].fires_ns < cpus[next].fires_ns))
                next = cpu;
        if (!cpus[next].is_armed || cpus[next].fires_ns > until_ns + early_ns)
            break;
        local_fire(next);
    }
    if (now_ns < until_ns)
        now_ns = until_ns;
}

/* ---- Frames ---- */

static struct {
    uint64_t epoch, sequence, period_ns; /* of the last beat that counted */
} taken;

/* Serves a beat on a CPU, which the beat interrupts or which passes it on: all timers that were due before it
 * expire at this beat and not at the next. */
static void beat_serve(unsigned cpu, void (*serve)(void))
{
    struct model_cpu *of = &cpus[cpu];
    const uint64_t before_ns = now_ns;

    of->beat_pending = false;
    of->beats++;
    of->late_max_ns = SERVE_NS + 3 * of->period_ns;
    of->period_ns = taken.period_ns;
    of->by_beat = true;
    arena_cpu = cpu;
    serve();
    arena_cpu = 0;
    CHECK(earliest_of(cpu) > before_ns);
    check_cpu(cpu);
}

/* Handles a frame on its CPU with interrupts off; the IPI comes to each CPU soon after. */
static void frame_handle(const uint8_t *payload, size_t bytes)
{
    const unsigned first = (unsigned)random_below(CPUS);

    first_read_ns = 0;
    arena_cpu = first;
    const bool beats = nettick_frame(payload, bytes, conductor_address);
    arena_cpu = 0;
    if (beats)
        beat_serve(first, nettick_pass_on);
    for (unsigned i = 0; i < CPUS; i++)
        if (cpus[(first + i) % CPUS].beat_pending) {
            now_ns += random_below(2 * US);
            beat_serve((first + i) % CPUS, nettick_interrupt);
        }
}

static unsigned conductor_ppm; /* by which its clock is faster than the node's, in what follows */
static uint32_t tai_utc_s;     /* that it says */

static size_t beat_write(uint8_t *payload, uint64_t epoch, uint64_t sequence, uint64_t period_ns)
{
    const struct beat beat = { .epoch = epoch,
                               .sequence = sequence,
                               .time_ns = BEGIN + now_ns + now_ns * conductor_ppm / 1000000,
                               .period_ns = period_ns,
                               .tai_utc_s = tai_utc_s };

    return beat_encode(&beat, key, conductor_address, payload, BEAT_BYTES_MAX);
}

/* Lets a beat come as soon as it is sent. */
static void beat_comes(uint64_t epoch, uint64_t sequence, uint64_t period_ns)
{
    uint8_t payload[BEAT_BYTES_MAX];
    const size_t bytes = beat_write(payload, epoch, sequence, period_ns);

    if (epoch > taken.epoch || (epoch == taken.epoch && sequence > taken.sequence)) {
        taken.epoch = epoch;
        taken.sequence = sequence;
        taken.period_ns = period_ns;
    }
    frame_handle(payload, bytes);
}

/* Lets the next beats of the epoch come, each a period after the last. */
static void beats_come(unsigned count, uint64_t period_ns)
{
    for (unsigned i = 0; i < count; i++) {
        run_until(now_ns + period_ns);
        beat_comes(taken.epoch ? taken.epoch : 1, taken.sequence + 1, period_ns);
    }
}

/* ---- What nettick_describe says ---- */

static char description[4096];

static void description_add(struct text_sink *sink, const char *text)
{
    (void)sink;
    strncat(description, text, sizeof(description) - strlen(description) - 1);
}

static const char *describe(void)
{
    struct text_sink sink = { description_add };

    description[0] = '\0';
    nettick_describe(&sink);
    return description;
}

/* Returns the number after a word of the last description. */
static uint64_t said(const char *word)
{
    const size_t bytes = strlen(word);

    for (const char *line = description; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, bytes) == 0 && line[bytes] == ' ')
            return strtoull(line + bytes + 1, NULL, 10);
    }
    CHECK(!"a number is missing");
    return 0;
}

static void check_counts(void)
{
    describe();
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        char line[100];

        snprintf(line, sizeof(line), "cpu%u beats %lu fallbacks %lu windows 0 goes_by %s\n", cpu,
                 cpus[cpu].beats, cpus[cpu].fallbacks, cpus[cpu].period_ns ? "beats" : "local");
        CHECK_CONTAINS(description, line);
    }
}

/* Returns how far global time is ahead of the node's at the next reading of its clock. */
static uint64_t offset_said(void)
{
    describe();
    return said("global_ns") - said("local_ns");
}

static void run_alone(const char *name, void (*promise)(void))
{
    int status = -1;

    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        check_state.test = name;
        promise();
        _exit(check_state.failures ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

#define NODE(name)                     \
    static void name##_node(void);     \
    TEST(name)                         \
    {                                  \
        run_alone(#name, name##_node); \
    }                                  \
    static void name##_node(void)

#endif
