/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cpu_mask.c: sets of CPUs at random against a model that is an array of bool, and the atomic ones under
 * threads that change one set together.
 */
#include "check.h"
#include "smp/cpu_mask.h"
#include <pthread.h>

#define CPUS    ARCH_CPUS_MAX
#define ROUNDS  400
#define CHANGES 60

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Returns CPUs that are mostly near each other, like those of a rank, and at the ends of words. */
static unsigned random_cpu(void)
{
    static const unsigned ends[] = { 0, 1, 63, 64, 65, 127, 128, CPUS / 2, CPUS - 64, CPUS - 1 };
    uint64_t number = random_number() >> 8;

    return number % 3 == 0   ? ends[number / 3 % (sizeof(ends) / sizeof(ends[0]))]
           : number % 3 == 1 ? (unsigned)(number / 3 % 70)
                             : (unsigned)(number / 3 % CPUS);
}

struct model {
    bool has[CPUS];
};

static void change(struct cpu_mask *mask, struct model *model)
{
    for (unsigned i = 0, changes = (unsigned)(random_number() >> 8) % CHANGES; i < changes; i++) {
        unsigned cpu = random_cpu(), how = (unsigned)(random_number() >> 9) % 5;

        if (how == 0)
            cpu_mask_set(mask, cpu);
        else if (how == 1)
            cpu_mask_set_atomic(mask, cpu);
        else if (how == 2)
            cpu_mask_clear(mask, cpu);
        else if (how == 3)
            cpu_mask_clear_atomic(mask, cpu);
        else
            *mask = cpu_mask_below(cpu);
        for (unsigned other = 0; how == 4 && other < CPUS; other++)
            model->has[other] = other < cpu;
        if (how < 4)
            model->has[cpu] = how < 2;
    }
}

static unsigned model_next(const struct model *a, const struct model *b, unsigned from)
{
    while (from < CPUS && !(a->has[from] && b->has[from]))
        from++;
    return from < CPUS ? from : CPU_MASK_END;
}

static void expect_same(const struct cpu_mask *mask, const struct model *model)
{
    unsigned count = 0, next = 0;

    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        CHECK_EQUAL(cpu_mask_test(mask, cpu), model->has[cpu]);
        count += model->has[cpu];
    }
    CHECK_EQUAL(cpu_mask_count(mask), count);
    CHECK_EQUAL(cpu_mask_is_empty(mask), count == 0);
    for (unsigned word = 0; word < CPU_MASK_WORDS; word++) /* or loops would pass over it */
        CHECK(mask->words[word] == 0 || mask->used >> word & 1);
    CHECK_EQUAL(cpu_mask_first(mask), model_next(model, model, 0));
    CPU_MASK_EACH(cpu, mask) {
        CHECK_EQUAL(cpu, model_next(model, model, next));
        next = (unsigned)cpu + 1;
    }
    CHECK_EQUAL(model_next(model, model, next), CPU_MASK_END);
}

TEST(any_changes_leave_what_a_model_has)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct cpu_mask mask = { 0 };
        struct model model = { 0 };

        for (unsigned i = 0; i < 4; i++) {
            change(&mask, &model);
            expect_same(&mask, &model);
        }
    }
}

TEST(two_sets_meet_as_two_models_do)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct cpu_mask a = { 0 }, b = { 0 };
        struct model in_a = { 0 }, in_b = { 0 }, both;
        bool meet = false, others = false;
        unsigned cpu = random_cpu(), next = 0;

        change(&a, &in_a);
        if (round % 8 == 0) {
            b = a;
            in_b = in_a;
        } else {
            change(&b, &in_b);
        }
        for (unsigned i = 0; i < CPUS; i++) {
            both.has[i] = in_a.has[i] && in_b.has[i];
            meet |= both.has[i];
            others |= in_a.has[i] && i != cpu;
        }

        struct cpu_mask common = cpu_mask_and(&a, &b);
        expect_same(&common, &both);
        CHECK_EQUAL(cpu_mask_intersects(&a, &b), meet);
        CHECK_EQUAL(cpu_mask_has_others(&a, cpu), others);
        CPU_MASK_EACH_COMMON(each, &a, &b) {
            CHECK_EQUAL(each, model_next(&in_a, &in_b, next));
            next = (unsigned)each + 1;
        }
        CHECK_EQUAL(model_next(&in_a, &in_b, next), CPU_MASK_END);

        unsigned around = model_next(&in_a, &in_a, cpu);
        CHECK_EQUAL(cpu_mask_next_around(&a, cpu),
                    around != CPU_MASK_END ? around : model_next(&in_a, &in_a, 0));
    }
}

TEST(a_search_that_begins_after_the_last_cpu_finds_none_or_goes_around)
{
    struct cpu_mask all = cpu_mask_below(CPUS), none = { 0 };

    CHECK_EQUAL(cpu_mask_count(&all), CPUS);
    CHECK_EQUAL(cpu_mask_next(&all, CPUS), CPU_MASK_END);
    CHECK_EQUAL(cpu_mask_next_around(&all, CPUS), 0);
    CHECK_EQUAL(cpu_mask_next_around(&none, CPUS), CPU_MASK_END);
    all = cpu_mask_below(CPUS + 5);
    CHECK_EQUAL(cpu_mask_count(&all), CPUS);
}

/* Words that are not in use are not looked at: nothing grows with what the kernel could manage. */
TEST(loops_look_at_words_in_use_alone)
{
    struct cpu_mask mask = { 0 };

    cpu_mask_set(&mask, 70);
    cpu_mask_clear(&mask, 70);
    CHECK_EQUAL(mask.used, 2);
    mask.words[5] = UINT64_MAX; /* not allowed */
    CHECK(cpu_mask_is_empty(&mask) && cpu_mask_count(&mask) == 0);
    CPU_MASK_EACH(cpu, &mask)
        CHECK(cpu == CPU_MASK_END);
}

static struct cpu_mask shared;

static void *set_every_fourth(void *first)
{
    for (unsigned round = 0; round < 200; round++)
        for (unsigned cpu = (unsigned)(uintptr_t)first; cpu < CPUS; cpu += 4) {
            cpu_mask_set_atomic(&shared, cpu);
            if (round < 199 || cpu % 3 == 0)
                cpu_mask_clear_atomic(&shared, cpu);
        }
    return NULL;
}

TEST(no_change_of_several_cpus_is_lost)
{
    pthread_t threads[4];

    for (uintptr_t i = 0; i < 4; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, set_every_fourth, (void *)i), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        CHECK_EQUAL(cpu_mask_test(&shared, cpu), cpu % 3 != 0);
}

int main(void)
{
    RUN(any_changes_leave_what_a_model_has);
    RUN(two_sets_meet_as_two_models_do);
    RUN(a_search_that_begins_after_the_last_cpu_finds_none_or_goes_around);
    RUN(loops_look_at_words_in_use_alone);
    RUN(no_change_of_several_cpus_is_lost);
    return check_report("cpu_mask");
}
