/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cpu_timers.c: timers of CPU time (process/posix_timer.c) in a model of a process whose threads go on,
 * block, begin and end at random. The model keeps the clocks and fires the alarms at their boundaries; what
 * it checks: no signal is early, none is later than the stated bound, alarms are few, and a timer leaves
 * nothing in a thread that has ended.
 */
#include "check.h"
#include "arch/platform.h"

/* The C library's, which are the kernel's own here. */
#undef SIG_DFL
#undef SIG_IGN
#undef SA_NOCLDSTOP
#undef SA_NOCLDWAIT
#undef SA_SIGINFO
#undef SA_ONSTACK
#undef SA_RESTART
#undef SA_NODEFER
#undef SA_RESETHAND
#undef SS_ONSTACK
#undef SS_DISABLE

struct arch_context {
    int none;
};
struct process;
struct thread;
static struct process *arch_process(void);
static struct thread *arch_thread(void);

#include "process/posix_timer.c"

#define THREADS 5
#define BOUND   32768ULL
#define MS      1000000ULL
#define STEPS   400000

uint32_t arena_cpu;
uintptr_t arena_origin;
uint64_t arena_distances[ARCH_CPUS_MAX];

static struct process process;
static struct model_thread {
    struct thread thread;
    bool runs;
    unsigned system_percent;
    struct cpu_time used;
} threads[THREADS];
static struct thread *caller;                                         /* NULL: an interrupt of an idle CPU */
static struct smart_timer *alarms[POSIX_TIMERS_MAX + PROCESS_TIMERS]; /* those that are pending */
static uint64_t now_ns, seed, fired, sent;
static uint32_t tid_next;

static struct process *arch_process(void)
{
    return &process;
}

static struct thread *arch_thread(void)
{
    CHECK(caller);
    return caller;
}

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* ---- What the timers stand on ---- */

void crosscall_serve(void)
{
}

uint64_t clock_now_ns(void)
{
    return now_ns;
}

uint64_t clock_wall_ns(uint64_t *tai_ns)
{
    (void)tai_ns;
    return now_ns;
}

bool deadline_wall_is_over(uint64_t deadline)
{
    return deadline <= now_ns;
}

void timer_start(struct smart_timer *timer, uint64_t deadline, uint64_t bound_ns)
{
    CHECK_EQUAL(bound_ns, BOUND);
    CHECK(!timer->pending);
    for (unsigned i = 0; i < sizeof(alarms) / sizeof(alarms[0]); i++)
        if (!alarms[i]) {
            alarms[i] = timer;
            break;
        }
    timer->pending = true;
    timer->deadline_ns = deadline;
    timer->boundary_ns = (deadline + BOUND - 1) / BOUND * BOUND;
}

static void alarm_remove(struct smart_timer *timer)
{
    for (unsigned i = 0; i < sizeof(alarms) / sizeof(alarms[0]); i++)
        if (alarms[i] == timer)
            alarms[i] = NULL;
    timer->pending = false;
}

void timer_cancel(struct smart_timer *timer)
{
    alarm_remove(timer);
}

struct cpu_time thread_time(const struct thread *thread)
{
    return LIST_OWNER(thread, model_thread, thread)->used;
}

struct cpu_time process_time(struct process *of)
{
    struct cpu_time sum = of->ended_time;

    for (unsigned i = 0; i < THREADS; i++) {
        sum.user_ns += threads[i].used.user_ns;
        sum.system_ns += threads[i].used.system_ns;
    }
    return sum;
}

struct thread *thread_find(const struct process *of, uint32_t tid)
{
    (void)of;
    for (unsigned i = 0; i < THREADS; i++)
        if (threads[i].thread.tid == tid)
            return &threads[i].thread;
    return NULL;
}

bool schedule_is_running(const struct thread *thread)
{
    return LIST_OWNER(thread, model_thread, thread)->runs;
}

unsigned schedule_busy(const struct process *of)
{
    unsigned count = 0;

    (void)of;
    for (unsigned i = 0; i < THREADS; i++)
        count += threads[i].runs;
    return count;
}

struct thread *schedule_running_after(const struct process *of, unsigned cpu)
{
    (void)of;
    for (unsigned i = 1; i <= THREADS; i++)
        if (threads[(cpu + i) % THREADS].runs)
            return &threads[(cpu + i) % THREADS].thread;
    return NULL;
}

void signals_timed_set(struct process *of, bool on)
{
    of->signals.timed = on;
}

int signal_send(struct process *of, struct thread *thread, const struct signal_info *info,
                struct signal_entry *entry)
{
    (void)thread, (void)info;
    const struct posix_timer *timer = entry->timer;

    CHECK(cpu_time_of_timer(timer) >= timer->deadline_ns);
    CHECK(!entry->in);
    entry->in = entry->first ? &entry->first->signals.pending : &of->signals.pending;
    sent++;
    return 0;
}

void signal_withdraw_entry(struct process *of, struct signal_entry *entry)
{
    (void)of;
    entry->in = NULL;
}

/* ---- Time ---- */

static void pass(uint64_t until_ns)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (threads[i].runs) {
            uint64_t system_ns = (until_ns - now_ns) * threads[i].system_percent / 100;

            threads[i].used.system_ns += system_ns;
            threads[i].used.user_ns += until_ns - now_ns - system_ns;
        }
    now_ns = until_ns;
}

static struct smart_timer *alarm_first(void)
{
    struct smart_timer *first = NULL;

    for (unsigned i = 0; i < sizeof(alarms) / sizeof(alarms[0]); i++)
        if (alarms[i] && (!first || alarms[i]->boundary_ns < first->boundary_ns))
            first = alarms[i];
    return first;
}

/* Checks that no timer is later than a bound and a step on each CPU. */
static void check_late(void)
{
    for (unsigned i = 0; i < POSIX_TIMERS_MAX + PROCESS_TIMERS; i++) {
        const struct posix_timer *timer = &process.timers.all[i];
        const unsigned clocks = timer->thread ? 1 : THREADS;

        if (timer->process && timer->armed && timer->clock.is_cpu)
            CHECK(cpu_time_of_timer(timer) < timer->deadline_ns + clocks * (BOUND + CPU_TIMER_STEP_NS + 2));
    }
}

static void pass_with_alarms(uint64_t until_ns)
{
    for (struct smart_timer *first; (first = alarm_first()) && first->boundary_ns <= until_ns; fired++) {
        pass(first->boundary_ns > now_ns ? first->boundary_ns : now_ns);
        alarm_remove(first);
        caller = NULL;
        first->expire(first, now_ns);
        check_late();
    }
    pass(until_ns);
    check_late();
}

/* ---- What threads do ---- */

static struct model_thread *any_thread(void)
{
    return &threads[random_below(THREADS)];
}

static void go_on(struct model_thread *one)
{
    one->runs = true;
    caller = &one->thread;
    if (process.signals.timed)
        posix_timers_go_on(&one->thread);
}

static void thread_new(struct model_thread *one)
{
    one->thread = (struct thread){ .process = &process, .tid = ++tid_next, .latency_bound_ns = BOUND };
    one->thread.schedule.cpu = (unsigned)(one - threads);
    one->used = (struct cpu_time){ 0 };
    one->system_percent = (unsigned)random_below(100);
    one->runs = false;
}

static void thread_end(struct model_thread *one)
{
    const uint32_t tid = one->thread.tid;
    struct timer_setting old;

    process.ended_time.user_ns += one->used.user_ns;
    process.ended_time.system_ns += one->used.system_ns;
    one->used = (struct cpu_time){ 0 };
    one->thread.tid = 0;
    for (unsigned i = 0; i < POSIX_TIMERS_MAX + PROCESS_TIMERS; i++)
        if (process.timers.all[i].entry.in == &one->thread.signals.pending)
            process.timers.all[i].entry.in = NULL; /* as signal_thread_end does */
    posix_timers_thread_end(&one->thread);
    for (unsigned i = 0; i < POSIX_TIMERS_MAX + PROCESS_TIMERS; i++)
        CHECK(!is_suspended(&process.timers.all[i]));
    CHECK(!one->thread.cpu_timers.first);
    for (unsigned i = 0; i < POSIX_TIMERS_MAX; i++) {
        struct posix_timer *timer = &process.timers.all[i];

        if (timer->process && timer->clock.tid == tid) {
            CHECK_EQUAL(posix_timer_set(timer, 5, false, 5, &old), -ESRCH);
            CHECK(!timer->alarm.pending && !timer->entry.in);
            CHECK_EQUAL(posix_timer_get(timer).left_ns + posix_timer_get(timer).interval_ns, 0);
            posix_timer_delete(i);
        }
    }
    thread_new(one);
}

static void signal_taken(void)
{
    struct posix_timer *timer = &process.timers.all[random_below(POSIX_TIMERS_MAX + PROCESS_TIMERS)];

    for (unsigned i = 0; i < POSIX_TIMERS_MAX + PROCESS_TIMERS && !(timer->process && timer->entry.in); i++)
        timer = &process.timers.all[i];
    if (!timer->process || !timer->entry.in)
        return;
    struct signal_info info = timer->entry.info;
    timer->entry.in = NULL;
    posix_timer_signal_taken(timer, timer->entry.setting, &info);
}

static void timer_set_any(void)
{
    const uint64_t most = random_below(4) ? 20 * MS : 1000;
    struct timer_setting old;
    struct posix_timer *timer;

    if (random_below(4) == 0) {
        const struct timer_clock clock = { .is_cpu = true,
                                           .is_user = random_below(2),
                                           .tid = random_below(2) ? any_thread()->thread.tid : 0 };
        posix_timer_create(&clock, SIGNAL_PROF, NULL, 0, random_below(8) == 0);
    }
    if (random_below(2))
        timer = posix_timer_of_process(TIMER_VIRTUAL + (unsigned)random_below(2));
    else if (!(timer = posix_timer_find(random_below(8))))
        return;
    uint64_t ns = random_below(8) ? 1 + random_below(most) : 0;
    bool is_absolute = random_below(4) == 0;
    if (is_absolute && timer->is_listed)
        ns += cpu_time_of_timer(timer);
    posix_timer_set(timer, ns, is_absolute, random_below(3) ? random_below(most) : 0, &old);
}

static void begin(uint64_t with_seed)
{
    seed = with_seed;
    now_ns = 1000 * MS;
    fired = sent = 0;
    process = (struct process){ 0 };
    for (unsigned i = 0; i < sizeof(alarms) / sizeof(alarms[0]); i++)
        alarms[i] = NULL;
    for (unsigned i = 0; i < THREADS; i++)
        thread_new(&threads[i]);
    go_on(&threads[0]);
}

/* ---- Promises ---- */

TEST(signals_are_never_early_and_late_by_the_bound_at_most)
{
    begin(1);
    for (unsigned step = 0; step < STEPS; step++) {
        struct model_thread *one = any_thread();

        pass_with_alarms(now_ns + random_below(random_below(8) ? MS / 4 : 4 * MS));
        if (random_below(3)) {
            if (one->runs)
                one->runs = false;
            else
                go_on(one);
            continue;
        }
        if (!one->runs)
            continue;
        caller = &one->thread;
        if (random_below(3))
            signal_taken();
        else if (random_below(20))
            timer_set_any();
        else
            thread_end(one);
    }
    CHECK(sent > STEPS / 100);
    posix_timers_end(&process);
    CHECK(!alarm_first() && !process.signals.timed && !process.timers.listed);
}

TEST(a_thread_that_computes_alone_has_one_interrupt_for_each_signal)
{
    struct timer_setting old;

    for (unsigned which = 0; which < 2; which++) {
        begin(2);
        const struct timer_clock clock = { .is_cpu = true, .tid = which ? threads[0].thread.tid : 0 };
        int id = posix_timer_create(&clock, SIGNAL_PROF, NULL, 0, false);
        posix_timer_set(posix_timer_find((uint64_t)id), MS, false, MS, &old);
        for (unsigned i = 0; i < 1000; i++) {
            pass_with_alarms(now_ns + MS / 7);
            caller = &threads[0].thread;
            signal_taken();
        }
        CHECK(sent >= 100 && fired == sent);
    }
}

TEST(a_process_that_sleeps_has_one_interrupt_at_most)
{
    struct timer_setting old;

    begin(3);
    posix_timer_set(posix_timer_of_process(TIMER_PROF), 10 * MS, false, 10 * MS, &old);
    pass_with_alarms(now_ns + 3 * MS);
    threads[0].runs = false;
    pass_with_alarms(now_ns + 3600000 * MS);
    CHECK(fired == 1 && sent == 0);
    go_on(&threads[0]);
    pass_with_alarms(now_ns + 8 * MS);
    CHECK(fired == 2 && sent == 1);
}

TEST(threads_that_run_get_the_signals_in_turns)
{
    unsigned counts[THREADS] = { 0 };
    struct timer_setting old;

    begin(4);
    for (unsigned i = 1; i < THREADS - 1; i++)
        go_on(&threads[i]);
    posix_timer_set(posix_timer_of_process(TIMER_PROF), MS, false, MS, &old);
    for (unsigned i = 0; i < 400; i++) {
        uint64_t before = sent;

        while (sent == before)
            pass_with_alarms(now_ns + MS / 10);
        counts[process.timers.all[POSIX_TIMERS_MAX + TIMER_PROF].entry.first->schedule.cpu]++;
        caller = &threads[0].thread;
        signal_taken();
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQUAL(counts[i], i < THREADS - 1 ? 100 : 0);
}

TEST(a_time_of_a_nanosecond_leaves_time_to_compute)
{
    struct timer_setting old;

    begin(5);
    posix_timer_set(posix_timer_of_process(TIMER_PROF), 1, false, 1, &old);
    for (unsigned i = 0; i < 10000; i++) {
        pass_with_alarms(now_ns + 1000);
        caller = &threads[0].thread;
        signal_taken();
    }
    CHECK(fired <= 10000 * 1000 / CPU_TIMER_STEP_NS + 1);
}

int main(void)
{
    RUN(signals_are_never_early_and_late_by_the_bound_at_most);
    RUN(a_thread_that_computes_alone_has_one_interrupt_for_each_signal);
    RUN(a_process_that_sleeps_has_one_interrupt_at_most);
    RUN(threads_that_run_get_the_signals_in_turns);
    RUN(a_time_of_a_nanosecond_leaves_time_to_compute);
    return check_report("cpu_timers");
}
