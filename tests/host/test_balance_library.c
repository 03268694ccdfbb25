/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_balance_library.c: how ranks meet in the page of apps/balance/balance.c, say when they wait, and get
 * their priorities. Clock, CPU and the file that takes priorities are the test's own, so that each step is
 * exact; the page is a real one in /dev/shm.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "check.h"

static struct timespec clock_shown;
static int cpu_shown;
static const char *priorities_path;

static int clock_of_test(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = clock_shown;
    return 0;
}

static int cpu_of_test(void)
{
    return cpu_shown;
}

#define clock_gettime clock_of_test
#define sched_getcpu  cpu_of_test
#define PRIORITIES    priorities_path
#include "../../apps/balance/balance.c"

/* No machine of a test has these, so that each is a core of its own. */
#define CORE 5000

static char name[BALANCE_NAME_MAX], path[64];

/* Returns the priorities of two ranks of one core as written to one file, in the order of their calls. */
static const char *written(void)
{
    static char text[64];
    FILE *file = fopen(path, "r");
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);

    fclose(file);
    text[bytes] = '\0';
    return text;
}

static void begin(void)
{
    snprintf(name, sizeof(name), "test.%d", getpid());
    snprintf(path, sizeof(path), "/tmp/balance.test.%d", getpid());
    unlink(path);
    /* Writes are appended, as each is a command of its own in the kernel's file. */
    fclose(fopen(path, "w"));
    priorities_path = path;
    cpu_shown = CORE;
    clock_shown = (struct timespec){ .tv_sec = 100 };
}

static void after_ms(long ms)
{
    clock_shown.tv_nsec += ms * 1000000;
    clock_shown.tv_sec += clock_shown.tv_nsec / 1000000000;
    clock_shown.tv_nsec %= 1000000000;
}

/* Runs an iteration of two ranks, of which the second waits first. */
static void iterate(struct balance *longer, struct balance *shorter, long longer_ms, long shorter_ms)
{
    balance_iteration_begin(longer);
    balance_iteration_begin(shorter);
    after_ms(shorter_ms);
    balance_wait_begin(shorter);
    after_ms(longer_ms - shorter_ms);
    balance_wait_begin(longer);
    after_ms(5); /* for ranks of other cores */
    balance_wait_end(shorter);
    balance_wait_end(longer);
}

TEST(who_is_waited_for_gets_the_higher_priority)
{
    struct balance a, b;

    begin();
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    iterate(&a, &b, 60, 20);
    CHECK(a.figures->priority == 5 && b.figures->priority == 4);
    iterate(&a, &b, 40, 40); /* that has helped, and nothing is left to do */
    iterate(&a, &b, 40, 40);
    CHECK(a.figures->priority == 5 && b.figures->priority == 4);
    CHECK_EQUAL(a.place->steps, 1);
    balance_leave(&a);
    balance_leave(&b);
}

TEST(a_priority_is_written_where_it_changes_and_nowhere_else)
{
    struct balance a, b;

    begin();
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    lseek(a.priorities, 0, SEEK_END);
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    lseek(b.priorities, 20, SEEK_SET);
    for (int i = 0; i < 5; i++)
        iterate(&a, &b, 60, 20); /* priorities move nothing: one step, and it is undone */
    CHECK(memcmp(written(), "454", 4) == 0);
    balance_leave(&a);
    balance_leave(&b);
}

TEST(figures_of_all_iterations_are_exported)
{
    struct balance a, b;

    begin();
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    iterate(&a, &b, 30, 30);
    iterate(&a, &b, 30, 20);
    const struct balance_page *page = balance_page_open(name);
    const struct balance_figures *figures = page->places[0].figures;

    CHECK_EQUAL(page->places[0].core, CORE + 1);
    CHECK_EQUAL(figures[0].iterations, 2);
    CHECK_EQUAL(figures[0].last.running_ns, 30000000);
    CHECK_EQUAL(figures[0].last.waiting_ns, 5000000);
    CHECK_EQUAL(figures[1].last.running_ns, 20000000);
    CHECK_EQUAL(figures[1].last.waiting_ns, 15000000);
    CHECK_EQUAL(figures[1].sum.running_ns, 50000000);
    CHECK_EQUAL(figures[1].sum.waiting_ns, 20000000);
    CHECK(figures[0].cpu == CORE && figures[0].priority == 4);
    munmap((void *)page, sizeof(*page));
    balance_leave(&a);
    balance_leave(&b);
}

TEST(waiting_for_other_cores_moves_no_priority)
{
    struct balance a, b;

    begin();
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    for (int i = 0; i < 10; i++) {
        iterate(&a, &b, 30, 28);
        after_ms(1000);
    }
    CHECK_EQUAL(a.place->steps, 0);
    balance_leave(&a);
    balance_leave(&b);
}

TEST(ranks_of_different_cores_take_nothing_from_each_other)
{
    struct balance a, b;

    begin();
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    cpu_shown = CORE + 1;
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    for (int i = 0; i < 10; i++)
        iterate(&a, &b, 60, 20);
    CHECK(a.place != b.place && a.place->steps == 0 && b.place->steps == 0);
    balance_leave(&a);
    balance_leave(&b);
}

TEST(without_priorities_nothing_is_decided)
{
    struct balance a, b;

    begin();
    priorities_path = "/no/such/file";
    CHECK_EQUAL(balance_join(&a, name, NULL), 0);
    CHECK_EQUAL(balance_join(&b, name, NULL), 0);
    CHECK(!balance_has_priorities(&a));
    iterate(&a, &b, 60, 20);
    CHECK(a.place->steps == 0 && a.figures->priority == 0 && a.figures->iterations == 1);
    balance_leave(&a);
    balance_leave(&b);
}

TEST(what_makes_no_sense_is_refused)
{
    struct balance balance;
    struct balance_rules rules = balance_rules_default;
    char long_name[BALANCE_NAME_MAX + 1];

    begin();
    memset(long_name, 'a', BALANCE_NAME_MAX);
    long_name[BALANCE_NAME_MAX] = '\0';
    CHECK_EQUAL(balance_join(&balance, "", NULL), -EINVAL);
    CHECK_EQUAL(balance_join(&balance, "a/b", NULL), -EINVAL);
    CHECK_EQUAL(balance_join(&balance, long_name, NULL), -EINVAL);
    rules.highest = 7;
    CHECK_EQUAL(balance_join(&balance, name, &rules), -EINVAL);
    rules = balance_rules_default;
    rules.low = rules.high;
    CHECK_EQUAL(balance_join(&balance, name, &rules), -EINVAL);
    CHECK(!balance_page_open(name) && errno == ENOENT);
}

TEST(a_core_has_room_for_its_hardware_threads_and_the_last_rank_removes_the_page)
{
    struct balance ranks[BALANCE_SIBLINGS_MAX], another;

    begin();
    for (int i = 0; i < BALANCE_SIBLINGS_MAX; i++)
        CHECK_EQUAL(balance_join(&ranks[i], name, NULL), 0);
    CHECK_EQUAL(balance_join(&another, name, NULL), -ENOSPC);
    for (int i = 0; i < BALANCE_SIBLINGS_MAX; i++) {
        const struct balance_page *page = balance_page_open(name);

        if (CHECK(page != NULL))
            munmap((void *)page, sizeof(*page));
        balance_leave(&ranks[i]);
    }
    CHECK(!balance_page_open(name) && errno == ENOENT);
}

int main(void)
{
    RUN(who_is_waited_for_gets_the_higher_priority);
    RUN(a_priority_is_written_where_it_changes_and_nowhere_else);
    RUN(figures_of_all_iterations_are_exported);
    RUN(waiting_for_other_cores_moves_no_priority);
    RUN(ranks_of_different_cores_take_nothing_from_each_other);
    RUN(without_priorities_nothing_is_decided);
    RUN(what_makes_no_sense_is_refused);
    RUN(a_core_has_room_for_its_hardware_threads_and_the_last_rank_removes_the_page);
    unlink(path);
    return check_report("balance_library");
}
