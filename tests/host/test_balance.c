/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_balance.c: holds the balancer's heuristic (apps/balance/heuristic.c) to [Betti09 §IV-B], with two
 * ranks on the modelled core of apps/balance/model.c. test_balance_changed.py holds this test to its own
 * promise.
 */
#include "check.h"

#include "heuristic.h"
#include "model.h"

#include <math.h>

#define MS         UINT64_C(1000000)
#define CASES      2000
#define ITERATIONS 60
#define SETTLED_BY 20

static uint64_t random_state = 1;

/* Returns random numbers, the same on each machine (Numerical Recipes' generator). */
static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (random_state >> 33) % limit;
}

struct job {
    struct model model;
    uint64_t work_ns[2];
    struct balance_core core;
    struct balance_rules rules;
    unsigned changes, changed_last; /* how often priorities changed, after which iteration the last time */
    unsigned iterations;
    uint64_t total_ns, longest_ns, last_ns;
};

static struct job job_of(double need, bool yields, uint64_t first_ns, uint64_t second_ns)
{
    struct job job = { .model = { need, yields },
                       .work_ns = { first_ns, second_ns },
                       .core = { .count = 2 },
                       .rules = balance_rules_default };

    for (int i = 0; i < 2; i++)
        job.core.siblings[i].priority = job.rules.lowest;
    return job;
}

static uint64_t length_ns(const struct model *model, const uint64_t work_ns[2], unsigned first,
                          unsigned second)
{
    const unsigned priority[2] = { first, second };
    uint64_t running_ns[2];

    model_iteration(model, work_ns, priority, running_ns);
    return running_ns[0] > running_ns[1] ? running_ns[0] : running_ns[1];
}

static uint64_t untouched_ns(const struct job *job)
{
    return length_ns(&job->model, job->work_ns, job->rules.lowest, job->rules.lowest);
}

/* Runs an iteration: each rank's work as it is, or up to `noise` thousandths longer. */
static void iterate(struct job *job, uint64_t noise)
{
    const unsigned priority[2] = { job->core.siblings[0].priority, job->core.siblings[1].priority };
    uint64_t work_ns[2], running_ns[2];

    for (int i = 0; i < 2; i++)
        work_ns[i] = job->work_ns[i] + (noise ? job->work_ns[i] / 1000 * random_below(noise) : 0);
    model_iteration(&job->model, work_ns, priority, running_ns);
    job->last_ns = running_ns[0] > running_ns[1] ? running_ns[0] : running_ns[1];
    job->total_ns += job->last_ns;
    job->longest_ns = job->last_ns > job->longest_ns ? job->last_ns : job->longest_ns;
    job->iterations++;
    for (int i = 0; i < 2; i++)
        balance_add(&job->core.siblings[i],
                    (struct balance_times){ running_ns[i], job->last_ns - running_ns[i] });
    if (balance_decide(&job->core, &job->rules)) {
        job->changes++;
        job->changed_last = job->iterations;
    }
    for (int i = 0; i < 2; i++)
        CHECK(job->core.siblings[i].priority >= job->rules.lowest &&
              job->core.siblings[i].priority <= job->rules.highest);
}

static void iterate_many(struct job *job, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        iterate(job, 0);
}

static struct job random_job(bool may_yield)
{
    return job_of((double)(500 + random_below(501)) / 1000, may_yield && random_below(2),
                  MS * (1 + random_below(100)), MS * (1 + random_below(100)));
}

/* ---- Figures ---- */

TEST(utilisation_is_running_of_running_and_waiting)
{
    struct balance_sibling sibling = { .priority = 4 };

    CHECK_EQUAL(balance_utilisation((struct balance_times){ 30, 10 }), 750);
    CHECK_EQUAL(balance_utilisation((struct balance_times){ 0, 10 }), 0);
    CHECK_EQUAL(balance_utilisation((struct balance_times){ 0, 0 }), 1000);
    balance_add(&sibling, (struct balance_times){ 30, 10 });
    balance_add(&sibling, (struct balance_times){ 10, 70 });
    CHECK_EQUAL(balance_utilisation(sibling.last), 125);
    CHECK_EQUAL(balance_utilisation(sibling.sum), 333);
}

TEST(slots_are_shared_by_the_published_rule)
{
    CHECK(fabs(model_share(4, 4) - 1.0 / 2) < 1e-12);
    CHECK(fabs(model_share(4, 5) - 1.0 / 4) < 1e-12 && fabs(model_share(5, 4) - 3.0 / 4) < 1e-12);
    CHECK(fabs(model_share(4, 6) - 1.0 / 8) < 1e-12 && fabs(model_share(6, 4) - 7.0 / 8) < 1e-12);
    CHECK(fabs(model_share(2, 6) - 1.0 / 32) < 1e-12 && fabs(model_share(6, 2) - 31.0 / 32) < 1e-12);
}

TEST(an_iteration_lasts_as_worked_out_by_hand)
{
    const uint64_t work_ns[2] = { 30 * MS, 10 * MS };

    CHECK_EQUAL(length_ns(&(struct model){ 1, false }, work_ns, 4, 4), 60 * MS);
    CHECK_EQUAL(length_ns(&(struct model){ 1, false }, work_ns, 5, 4), 40 * MS);
    CHECK_EQUAL(length_ns(&(struct model){ 1, false }, work_ns, 6, 4), 80 * MS);
    /* With all slots for who works, none is lost, and there is nothing to gain. */
    CHECK_EQUAL(length_ns(&(struct model){ 1, true }, work_ns, 4, 4), 40 * MS);
    CHECK_EQUAL(length_ns(&(struct model){ 1, true }, work_ns, 6, 4), 40 * MS);
    CHECK_EQUAL(length_ns(&(struct model){ 0.5, false }, work_ns, 4, 4), 30 * MS);
}

/* ---- One behaviour ---- */

TEST(three_to_one_is_balanced_by_one_step)
{
    struct job job = job_of(1, false, 30 * MS, 10 * MS);

    iterate(&job, 0);
    CHECK_EQUAL(job.last_ns, 60 * MS);
    iterate_many(&job, ITERATIONS);
    CHECK_EQUAL(job.last_ns, 40 * MS);
    CHECK_EQUAL(job.changes, 1);
    CHECK(job.core.siblings[0].priority == 5 && job.core.siblings[1].priority == 4);
}

TEST(a_step_too_far_is_undone_and_not_tried_again)
{
    struct job job = job_of(1, false, 100 * MS, 60 * MS);

    iterate_many(&job, ITERATIONS);
    CHECK_EQUAL(job.changes, 2);
    CHECK_EQUAL(job.changed_last, 2);
    CHECK(job.core.siblings[0].priority == 4 && job.core.siblings[1].priority == 4);
    CHECK(job.longest_ns <= 13 * untouched_ns(&job) / 10);
}

TEST(balanced_ranks_are_left_alone)
{
    for (unsigned i = 0; i < CASES; i++) {
        const uint64_t work_ns = MS * (20 + random_below(100));
        struct job job = job_of(1, random_below(2), work_ns, work_ns - work_ns * random_below(300) / 1000);

        iterate_many(&job, ITERATIONS);
        CHECK_EQUAL(job.changes, 0);
    }
}

TEST(any_imbalance_shrinks_and_then_nothing_changes)
{
    for (unsigned i = 0; i < CASES; i++) {
        struct job job = random_job(false);
        uint64_t best_ns = UINT64_MAX;

        iterate_many(&job, ITERATIONS);
        for (unsigned first = 4; first <= 6; first++)
            for (unsigned second = 4; second <= 6; second++) {
                uint64_t found_ns = length_ns(&job.model, job.work_ns, first, second);

                best_ns = found_ns < best_ns ? found_ns : best_ns;
            }
        CHECK(job.changed_last <= SETTLED_BY);
        CHECK(job.last_ns <= best_ns + best_ns / 40);
    }
}

TEST(balancing_costs_one_iteration_at_most)
{
    for (unsigned i = 0; i < CASES; i++) {
        struct job job = random_job(true);
        const uint64_t each_ns = untouched_ns(&job);

        iterate_many(&job, ITERATIONS);
        CHECK(job.changed_last <= SETTLED_BY);
        CHECK(job.last_ns <= each_ns);
        CHECK(job.longest_ns <= 3 * each_ns / 2);
        CHECK(job.total_ns <= (ITERATIONS + 1) * each_ns);
    }
}

/* ---- Behaviour that changes, noise ---- */

TEST(ranks_that_change_places_are_balanced_anew)
{
    for (unsigned i = 0; i < CASES / 10; i++) {
        struct job job = job_of(1, false, MS * (60 + random_below(40)), MS * (5 + random_below(25)));

        for (int turn = 0; turn < 4; turn++) {
            const uint64_t each_ns = untouched_ns(&job), swapped_ns = job.work_ns[0];
            const int later = job.work_ns[1] > job.work_ns[0];

            iterate_many(&job, ITERATIONS);
            CHECK(job.last_ns < each_ns);
            CHECK(job.core.siblings[later].priority > job.core.siblings[1 - later].priority);
            job.work_ns[0] = job.work_ns[1];
            job.work_ns[1] = swapped_ns;
        }
    }
}

TEST(noise_moves_no_balanced_ranks_and_hides_no_imbalance)
{
    struct job balanced = job_of(1, false, 50 * MS, 50 * MS), other = job_of(1, false, 80 * MS, 20 * MS);

    for (unsigned i = 0; i < CASES; i++) {
        iterate(&balanced, 100);
        iterate(&other, 100);
    }
    CHECK_EQUAL(balanced.changes, 0);
    CHECK(other.changes <= 4);
    CHECK(other.core.siblings[0].priority > other.core.siblings[1].priority);
}

/* ---- What else a core may be ---- */

TEST(a_core_that_nobody_waits_for_is_left_alone)
{
    struct balance_core core = { .count = 2, .siblings = { { .priority = 4 }, { .priority = 4 } } };

    for (unsigned i = 0; i < ITERATIONS; i++) {
        balance_add(&core.siblings[0], (struct balance_times){ 60, 40 });
        balance_add(&core.siblings[1], (struct balance_times){ 20, 80 });
        CHECK(!balance_decide(&core, &balance_rules_default));
    }
}

TEST(a_rank_alone_on_its_core_keeps_its_priority)
{
    struct balance_core core = { .count = 1, .siblings = { { .priority = 4 } } };

    for (uint64_t i = 0; i < ITERATIONS; i++) {
        balance_add(&core.siblings[0], (struct balance_times){ 1 + i % 7, i % 5 });
        CHECK(!balance_decide(&core, &balance_rules_default));
    }
}

TEST(of_four_ranks_the_longest_gets_more)
{
    struct balance_core core = { .count = 4 };
    const uint64_t running_ns[4] = { 50, 70, 100, 20 };

    for (int i = 0; i < 4; i++) {
        core.siblings[i].priority = 4;
        balance_add(&core.siblings[i], (struct balance_times){ running_ns[i], 100 - running_ns[i] });
    }
    CHECK(balance_decide(&core, &balance_rules_default));
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(core.siblings[i].priority, i == 2 ? 5 : 4);
}

TEST(the_other_one_gives_where_the_highest_is_reached)
{
    struct balance_core core = { .count = 2, .siblings = { { .priority = 6 }, { .priority = 6 } } };

    balance_add(&core.siblings[0], (struct balance_times){ 100, 0 });
    balance_add(&core.siblings[1], (struct balance_times){ 10, 90 });
    CHECK(balance_decide(&core, &balance_rules_default));
    CHECK(core.siblings[0].priority == 6 && core.siblings[1].priority == 5);
}

TEST(the_sums_alone_decide_where_history_is_all)
{
    struct balance_core core = { .count = 2, .siblings = { { .priority = 4 }, { .priority = 4 } } };
    struct balance_rules rules = balance_rules_default;

    rules.history = 1000;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 2; j++)
            balance_add(&core.siblings[j], (struct balance_times){ 100, 0 });
    balance_add(&core.siblings[0], (struct balance_times){ 100, 0 });
    balance_add(&core.siblings[1], (struct balance_times){ 10, 90 });
    CHECK(!balance_decide(&core, &rules));
    rules.history = 0;
    CHECK(balance_decide(&core, &rules));
}

int main(void)
{
    RUN(utilisation_is_running_of_running_and_waiting);
    RUN(slots_are_shared_by_the_published_rule);
    RUN(an_iteration_lasts_as_worked_out_by_hand);
    RUN(three_to_one_is_balanced_by_one_step);
    RUN(a_step_too_far_is_undone_and_not_tried_again);
    RUN(balanced_ranks_are_left_alone);
    RUN(any_imbalance_shrinks_and_then_nothing_changes);
    RUN(balancing_costs_one_iteration_at_most);
    RUN(ranks_that_change_places_are_balanced_anew);
    RUN(noise_moves_no_balanced_ranks_and_hides_no_imbalance);
    RUN(a_core_that_nobody_waits_for_is_left_alone);
    RUN(a_rank_alone_on_its_core_keeps_its_priority);
    RUN(of_four_ranks_the_longest_gets_more);
    RUN(the_other_one_gives_where_the_highest_is_reached);
    RUN(the_sums_alone_decide_where_history_is_all);
    return check_report("balance");
}
