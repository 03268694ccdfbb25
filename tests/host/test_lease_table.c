/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_lease_table.c: the jobs that the conductor has numbered: which answers are about their nodes, what is
 * news for a tacetrun, when an ending job is killed again and when it is over, and the file that they outlive
 * the conductor in.
 */
#include "check.h"
#include "service/conductor/lease_file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct lease_table table;
static struct registry registry;
static struct lease_moment now;

static void reset(void)
{
    memset(&table, 0, sizeof(table));
    memset(&registry, 0, sizeof(registry));
    now = (struct lease_moment){ .sequence = 100, .asked = 20, .beaten_ns = 20000000000, .asks = true };
}

static const uint8_t *card_of(unsigned node)
{
    static uint8_t card[NODE_ADDRESS_BYTES] = { 2, 0x54 };

    card[4] = (uint8_t)(node >> 8);
    card[5] = (uint8_t)node;
    return card;
}

static void name_node(struct lease *lease, const char *text)
{
    struct lease_name name;
    const char *end;

    CHECK(lease_name_read(text, &end, &name) && !*end);
    CHECK(lease_node_add(&table, lease, &name) != NULL);
}

static struct lease *job_of(uint32_t number, unsigned nodes)
{
    struct lease *lease = lease_add(&table, LEASE_HELD, number, 1000, &now);
    char text[64];

    for (unsigned i = 1; i <= nodes; i++) {
        snprintf(text, sizeof(text), "10.0.0.%u/n%u", i, i);
        name_node(lease, text);
    }
    return lease;
}

static struct lease_node *node_at(const struct lease *lease, unsigned place)
{
    uint16_t at = lease->first;

    while (place--)
        at = table.nodes[at - 1].next;
    return &table.nodes[at - 1];
}

/* Lets a second pass: ten beats, one of which asks for an answer. */
static void second(void)
{
    now.sequence += 10;
    now.asked++;
    now.beaten_ns += 1000000000;
}

static void say_as(unsigned node, uint32_t job, uint64_t start, bool polls)
{
    const struct registry_moment moment = {
        .epoch = 5, .sequence = now.sequence, .conductor_ns = 7, .asked = now.asked
    };
    struct answer answer = {
        .state = ANSWER_RUNNING, .cpus = 1, .epoch = 5, .follows = 5, .sequence = now.sequence
    };
    struct node *found;

    answer.address[0] = 10;
    answer.address[3] = (uint8_t)node;
    snprintf(answer.name, sizeof(answer.name), "n%u", node);
    answer.job = job;
    answer.start = start;
    answer.polls = polls;
    registry_take(&registry, card_of(node), &answer, &moment, &found);
    lease_answer(&table, false, card_of(node), &answer, &now);
}

static void say(unsigned node, uint32_t job)
{
    say_as(node, job, 1, false);
}

/* ---- Names ---- */

TEST(a_node_is_named_by_its_address_and_its_name)
{
    static const char *const wrong[] = { "",
                                         " 10.0.0.1",
                                         "/n1",
                                         "n1",
                                         "10.0.0/n1",
                                         "10.0.0.1/a/b",
                                         "10.0.0.256/n",
                                         "10.0.0.1/x\x01",
                                         "10.0.0.1/0123456789012345678901234567890123",
                                         "10.0.0.1/01234567890123456789012345678901" };
    struct lease_name name;
    const char *end;

    CHECK(lease_name_read("10.0.0.7/n3 10.0.0.8", &end, &name));
    CHECK_EQUAL(strcmp(end, " 10.0.0.8"), 0);
    CHECK_EQUAL(strcmp(name.name, "n3"), 0);
    CHECK_EQUAL(name.address[3], 7);
    CHECK(lease_name_read("0.0.0.0", &end, &name) && !name.name[0]);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK(!lease_name_read(wrong[i], &end, &name));
}

TEST(an_answer_is_about_the_nodes_of_its_address_or_card_or_name)
{
    static const struct {
        const char *name;
        uint8_t address[4];
        const char *said;
        bool is_heard;
    } cases[] = {
        { "10.0.0.1/n1", { 10, 0, 0, 1 }, "other", true },
        { "10.0.0.1/n1", { 10, 0, 0, 2 }, "n1", false },
        { "10.0.0.1/n1", { 0 }, "n1", true },
        { "10.0.0.1", { 0 }, "", false },
        { "10.0.0.1/025400000007", { 10, 0, 0, 1 }, "n1", false },
        { "10.0.0.9/025400000003", { 10, 0, 0, 1 }, "n1", true },
        { "0.0.0.0/n1", { 0 }, "n1", true },
        { "127.0.0.1/n2", { 0 }, "n1", false },
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = { .job = 7, .start = 1, .sequence = 100 };

        reset();
        struct lease *lease = job_of(7, 0);
        name_node(lease, cases[i].name);
        memcpy(answer.address, cases[i].address, 4);
        strcpy(answer.name, cases[i].said);
        lease_answer(&table, false, card_of(3), &answer, &now);
        CHECK_EQUAL(node_at(lease, 0)->is_heard, cases[i].is_heard);
    }
}

/* ---- News ---- */

TEST(a_node_is_silent_after_more_than_three_beats_that_asked_and_three_seconds_of_beats)
{
    reset();
    struct lease *lease = job_of(7, 1);
    say(1, 7);
    for (unsigned i = 0; i < 3; i++) {
        second();
        CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
    }
    second();
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_SILENT);
    node_at(lease, 0)->told = LEASE_SILENT;
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
    say(1, 7);
    CHECK_EQUAL(node_at(lease, 0)->told, LEASE_NO_NEWS);
    /* Many beats in a short time do not count, nor does a long time without beats. */
    now.asked += 1000;
    now.beaten_ns += LEASE_SILENCE_NS;
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
    say(1, 7);
    now.beaten_ns += 1000000000000;
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
}

TEST(a_node_that_polls_or_was_never_heard_or_follows_another_conductor_is_not_silent)
{
    reset();
    struct lease *lease = job_of(7, 3);
    say_as(1, 7, 1, true);
    say(2, 7);
    for (unsigned i = 0; i < 30; i++)
        second();
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_SILENT);
    CHECK_EQUAL(lease_news_of(node_at(lease, 2), &now), LEASE_NO_NEWS);
    now.excused_asked = now.asked;
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_NO_NEWS);
}

TEST(a_node_that_restarts_or_loses_its_job_is_news_and_one_that_begins_late_is_not)
{
    reset();
    struct lease *lease = job_of(7, 3);
    for (unsigned i = 0; i < 5; i++, second()) {
        say(1, 0);
        say_as(2, 0, i < 2 ? 1 : 2, false); /* restarts before it has the job */
        CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_NO_NEWS);
        CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_NO_NEWS);
    }
    say(1, 7);
    say_as(2, 7, 3, false);
    say(3, 7);
    second();
    say_as(1, 0, 2, false);
    say_as(2, 0, 3, false);
    say_as(3, 7, 2, false); /* its new start has the job: it began after the restart */
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_RESTARTED);
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_NO_NEWS);
    CHECK_EQUAL(lease_news_of(node_at(lease, 2), &now), LEASE_NO_NEWS);
    second();
    say_as(2, 8, 3, false);
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_NO_NEWS);
    second();
    say_as(2, 8, 3, false);
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_WITHOUT_JOB);
}

/* ---- Jobs that end ---- */

/* Returns whether a kill is due; if so, the next three beats carry it. */
static bool is_killed(void)
{
    struct lease *lease;
    bool is_over;

    while ((lease = lease_to_kill(&table, &registry, &now, &is_over))) {
        if (!is_over) {
            lease_killed(lease, now.sequence + 3);
            return true;
        }
        lease_drop(&table, lease);
    }
    return false;
}

static struct lease *ending_job(unsigned nodes)
{
    reset();
    struct lease *lease = job_of(7, nodes);
    for (unsigned i = 1; i <= nodes; i++)
        say(i, 7);
    lease_state_set(&table, lease, LEASE_ENDING, &now);
    return lease;
}

TEST(a_kill_is_repeated_until_each_node_has_answered_for_a_while_without_the_job)
{
    struct lease *lease = ending_job(2);

    CHECK(is_killed());
    CHECK(!is_killed()); /* beats still carry it */
    second();
    say(1, 0);
    say(2, 7);
    CHECK(is_killed());
    CHECK(!is_killed());
    second();
    say(1, 0);
    say(2, 0);
    CHECK(!is_killed());
    second();
    say(1, 0);
    say(2, 7); /* it was about to begin */
    CHECK(is_killed());
    for (unsigned i = 0; i < 3; i++) {
        second();
        CHECK_EQUAL(lease->state, LEASE_ENDING);
        say(1, 0);
        say(2, 9);
        CHECK(!is_killed());
    }
    CHECK_EQUAL(lease->state, LEASE_FREE);
    CHECK_EQUAL(table.node_count, 0);
}

TEST(a_silent_node_is_killed_when_it_comes_back_or_is_forgotten_when_it_is_removed)
{
    for (unsigned comes_back = 0; comes_back < 2; comes_back++) {
        struct lease *lease = ending_job(1);

        CHECK(is_killed());
        for (unsigned i = 0; i < 100; i++) {
            second();
            CHECK(!is_killed());
        }
        CHECK_EQUAL(lease->state, LEASE_ENDING);
        if (comes_back) {
            say(1, 7);
            CHECK(is_killed());
            for (unsigned i = 0; i < 4; i++) {
                second();
                say(1, 0);
                CHECK(!is_killed());
            }
        } else {
            registry_remove(&registry, registry_node(&registry, card_of(1)));
            CHECK(!is_killed());
        }
        CHECK_EQUAL(lease->state, LEASE_FREE);
    }
}

TEST(nodes_that_the_conductor_does_not_hear_get_three_kills)
{
    for (unsigned asks = 0; asks < 2; asks++) {
        unsigned kills = 0;

        reset();
        struct lease *lease = job_of(7, 2);
        if (!asks)
            say(1, 7);
        now.asks = asks;
        lease_state_set(&table, lease, LEASE_ENDING, &now);
        for (unsigned i = 0; i < 20; i++, second())
            kills += is_killed();
        CHECK_EQUAL(kills, 3);
        CHECK_EQUAL(lease->state, LEASE_FREE);
    }
}

TEST(a_new_epoch_kills_again)
{
    struct lease *lease = ending_job(1);

    CHECK(is_killed());
    now.sequence = 0;
    lease_epoch_begin(&table);
    second();
    say(1, 7);
    CHECK(is_killed());
    CHECK_EQUAL(lease->kill_sequence, 13);
}

TEST(all_ending_jobs_get_their_turn)
{
    reset();
    for (uint32_t job = 1; job <= 20; job++) {
        struct lease *lease = job_of(job, 0);

        name_node(lease, "10.0.0.1/n1");
        lease_state_set(&table, lease, LEASE_ENDING, &now);
    }
    for (unsigned beats = 0; beats < 60; beats++, now.sequence++)
        for (unsigned i = 0; i < 4 && is_killed(); i++)
            ;
    CHECK_EQUAL(table.counts[LEASE_ENDING], 0);
}

TEST(a_full_table_gives_up_the_jobs_of_silent_nodes_and_no_others)
{
    reset();
    for (uint32_t job = 1; job <= LEASES_MAX; job++)
        CHECK(lease_add(&table, LEASE_HELD, job, 1000, &now) != NULL);
    CHECK(!lease_add(&table, LEASE_HELD, 9999, 1000, &now));
    struct lease *lease = lease_of_job(&table, 77);
    name_node(lease, "10.0.0.1/n1");
    say(1, 77);
    lease_state_set(&table, lease, LEASE_ENDING, &now);
    CHECK(is_killed());
    CHECK(!lease_add(&table, LEASE_HELD, 9999, 1000, &now));
    for (unsigned i = 0; i < 4; i++)
        second();
    CHECK(lease_add(&table, LEASE_HELD, 9999, 1000, &now) == lease);
    unsigned nodes;
    CHECK_EQUAL(leases_of_user(&table, 1000, &nodes), LEASES_MAX);
    CHECK_EQUAL(nodes, 0);
    CHECK_EQUAL(table.node_count, 0);
}

TEST(places_of_nodes_come_back)
{
    reset();
    for (unsigned round = 0; round < 5; round++) {
        struct lease *leases[4];
        unsigned count = 0;

        for (unsigned i = 0; i < 4; i++) {
            struct lease_name name = { .address = { 10, 1, 1, 1 } };

            leases[i] = job_of(100 + i, 0);
            while (lease_node_add(&table, leases[i], &name))
                count++;
        }
        CHECK_EQUAL(count, LEASE_NODES_MAX);
        for (unsigned i = 0; i < 4; i++)
            lease_drop(&table, leases[i]);
        CHECK_EQUAL(table.node_count, 0);
    }
    for (unsigned i = 0; i < LEASE_BUCKETS; i++)
        CHECK(!table.addresses[i] && !table.names[i]);
}

/* With a walk along the chain for each node that leaves, this would take minutes. */
TEST(nodes_with_one_name_leave_their_chain_at_once)
{
    struct lease *leases[4];
    unsigned nodes;

    reset();
    for (unsigned i = 0; i < 4; i++)
        leases[i] = job_of(100 + i, 0);
    for (unsigned i = 0; i < LEASE_NODES_MAX; i++)
        name_node(leases[i % 4], i % 2 ? "10.0.0.1/n1" : "0.0.0.0/n1");
    CHECK_EQUAL(leases_of_user(&table, 1000, &nodes), 4);
    CHECK_EQUAL(nodes, LEASE_NODES_MAX);
    lease_drop(&table, leases[1]);
    lease_drop(&table, leases[2]);
    say(1, 103); /* from 10.0.0.1 */
    for (const struct lease_node *node = table.nodes; node < table.nodes + table.places; node++)
        CHECK(node->is_heard == (node->lease == (uint16_t)(leases[3] - table.leases)));
    lease_drop(&table, leases[0]);
    lease_drop(&table, leases[3]);
    for (unsigned i = 0; i < LEASE_BUCKETS; i++)
        CHECK(!table.addresses[i] && !table.names[i]);
    CHECK(!lease_of_job(&table, 100) && !lease_of_job(&table, 103));
}

TEST(an_old_answer_is_for_jobs_that_look_for_their_nodes)
{
    struct answer answer = { .job = 7, .start = 1, .sequence = 100, .address = { 10, 0, 0, 1 } };

    reset();
    struct lease *old = job_of(7, 1), *looks = job_of(8, 1);
    looks->looks = 5;
    CHECK(leases_look(&table));
    lease_answer(&table, true, card_of(1), &answer, &now);
    CHECK(!node_at(old, 0)->is_heard && node_at(looks, 0)->is_heard);
    leases_looked(&table, 3);
    CHECK(leases_look(&table));
    leases_looked(&table, 3);
    CHECK(!leases_look(&table));
}

TEST(jobs_whose_numbers_share_a_bucket_are_found_and_leave)
{
    reset();
    for (uint32_t i = 0; i < 5; i++)
        job_of(7 + i * LEASES_MAX, 0);
    lease_drop(&table, lease_of_job(&table, 7 + 2 * LEASES_MAX));
    lease_drop(&table, lease_of_job(&table, 7));
    lease_drop(&table, lease_of_job(&table, 7 + 4 * LEASES_MAX));
    for (uint32_t i = 0; i < 5; i++)
        CHECK((lease_of_job(&table, 7 + i * LEASES_MAX) != NULL) == (i % 2 == 1));
}

/* ---- The file ---- */

static char folder[] = "/tmp/lease_table.XXXXXX";

static bool file_is(const char *text)
{
    char path[64], read[4096] = "";

    snprintf(path, sizeof(path), "%s/jobs", folder);
    FILE *file = fopen(path, "r");
    if (file) {
        read[fread(read, 1, sizeof(read) - 1, file)] = '\0';
        fclose(file);
    }
    return CHECK_EQUAL(strcmp(read, text), 0);
}

static void file_put(const char *text)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/jobs", folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(open_jobs_outlive_the_conductor)
{
    static const char text[] = "tacet-jobs 1\nlast 44\njob 7 1000\n"
                               "nodes 7 10.0.0.1/n1 10.0.0.2/n2 10.0.0.3\nheard 7 10.0.0.1/n1\n"
                               "job 8 1000\nending 8\n";
    uint32_t last = 1;
    char why[256];

    reset();
    struct lease *lease = job_of(7, 2);
    name_node(lease, "10.0.0.3");
    say(1, 7);
    say_as(2, 7, 1, true);
    lease_state_set(&table, job_of(8, 0), LEASE_ENDING, &now);
    CHECK_EQUAL(lease_file_begin(&table, folder, 44), 0);
    file_is(text);

    reset();
    CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
    CHECK_EQUAL(last, 44);
    lease = lease_of_job(&table, 7);
    CHECK_EQUAL(lease->state, LEASE_LOST);
    CHECK_EQUAL(lease->uid, 1000);
    CHECK_EQUAL(lease_of_job(&table, 8)->state, LEASE_ENDING);
    CHECK_EQUAL(lease_file_begin(&table, folder, 44), 0);
    file_is(text);

    /* Its tacetrun names the same nodes again; what the file knows of them is kept. */
    lease_resume(&table, lease, &now);
    name_node(lease, "10.0.0.1/n1");
    name_node(lease, "10.0.0.2/n2");
    struct lease_name other = { .address = { 10, 0, 0, 4 } };
    CHECK(!lease_node_add(&table, lease, &other));
    name_node(lease, "10.0.0.3");
    CHECK_EQUAL(lease->count, 3);
    second();
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_SILENT); /* it died meanwhile */
    CHECK_EQUAL(lease_news_of(node_at(lease, 1), &now), LEASE_NO_NEWS);
    for (unsigned i = 0; i < 3; i++, second())
        say_as(1, 0, 2, false);
    CHECK_EQUAL(lease_news_of(node_at(lease, 0), &now), LEASE_WITHOUT_JOB);
}

TEST(many_nodes_stand_on_many_lines)
{
    uint32_t last = 1;
    char why[256];

    reset();
    struct lease *lease = job_of(7, 250);
    CHECK_EQUAL(lease_file_begin(&table, folder, 7), 0);
    reset();
    CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
    lease = lease_of_job(&table, 7);
    CHECK_EQUAL(lease->count, 250);
    for (unsigned i = 0; i < 250; i++)
        CHECK_EQUAL(node_at(lease, i)->named.address[3], i + 1);
}

TEST(what_happens_is_appended)
{
    static const char text[] = "tacet-jobs 1\nlast 6\njob 7 1000\nnodes 7 10.0.0.1/n1\nheard 7 10.0.0.1/n1\n"
                               "nodes 7 10.0.0.9\nending 7\njob 8 1000\nheard 7 10.0.0.9\nend 8\n";
    uint32_t last = 1;
    char why[256];

    reset();
    CHECK_EQUAL(lease_file_begin(&table, folder, 6), 0);
    struct lease *lease = job_of(7, 1);
    say(1, 7);
    CHECK_EQUAL(lease_file_job(&table, lease), 0);
    CHECK_EQUAL(lease_file_heard(&table), 0);
    name_node(lease, "10.0.0.9");
    CHECK_EQUAL(lease_file_nodes(&table, lease, lease->last), 0);
    CHECK_EQUAL(lease_file_word("ending", 7), 0);
    CHECK_EQUAL(lease_file_job(&table, job_of(8, 0)), 0);
    say(9, 7);
    CHECK_EQUAL(lease_file_heard(&table), 0);
    CHECK_EQUAL(lease_file_heard(&table), 0);
    CHECK_EQUAL(lease_file_word("end", 8), 0);
    file_is(text);
    reset();
    CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
    CHECK_EQUAL(last, 8);
    CHECK(lease_of_job(&table, 7)->state == LEASE_ENDING && !lease_of_job(&table, 8));
    CHECK(node_at(lease_of_job(&table, 7), 1)->is_heard);
    CHECK(!lease_file_is_long());
    for (unsigned i = 0; i < 200000; i++)
        CHECK_EQUAL(lease_file_word("end", 8), 0);
    CHECK(lease_file_is_long());
    CHECK_EQUAL(lease_file_begin(&table, folder, 8), 0);
    CHECK(!lease_file_is_long());
}

TEST(a_file_that_was_cut_is_read_up_to_there)
{
    static const char *const cut[] = { "", "tacet-jo", "tacet-jobs 1\njob 7 1000\njob 8 10" };
    char why[256], path[64], fresh[64];

    for (unsigned i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        uint32_t last = 1;

        reset();
        file_put(cut[i]);
        CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
        CHECK_EQUAL(table.counts[LEASE_LOST], i == 2);
    }
    /* The conductor was killed while the new file took the place of the old one. */
    uint32_t last = 1;
    snprintf(path, sizeof(path), "%s/jobs", folder);
    snprintf(fresh, sizeof(fresh), "%s/jobs.new", folder);
    reset();
    CHECK_EQUAL(rename(path, fresh), 0);
    CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
    CHECK_EQUAL(table.counts[LEASE_LOST], 1);
    unlink(fresh);
}

TEST(a_damaged_file_is_named_with_its_line)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "tacet-jobs 2\n", "line 1: it does not begin" },
        { "tacet-jobs 1\nlast 4x\n", "line 2: a job's number is missing" },
        { "tacet-jobs 1\nlast 4 5\n", "line 2: a job's number is missing" },
        { "tacet-jobs 1\njob 0 0\n", "line 2: a job's number is missing" },
        { "tacet-jobs 1\njob 4294967296 0\n", "line 2: a job's number is missing" },
        { "tacet-jobs 1\nend\n", "line 2: a job's number is missing" },
        { "tacet-jobs 1\njob 4\n", "line 2: a job has" },
        { "tacet-jobs 1\njob 4 0\njob 4 0\n", "line 3: the job is there twice" },
        { "tacet-jobs 1\nnodes 4 10.0.0.1\n", "line 2: there is no such job" },
        { "tacet-jobs 1\njob 4 0\nnodes 4 10.0.0\n", "line 3: a node is named" },
        { "tacet-jobs 1\njob 4 0\nheard 4 10.0.0.1\n", "line 3: the job has no such node" },
        { "tacet-jobs 1\nhello\n", "line 2: the line is none" },
    };
    char why[256];

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t last = 1;

        reset();
        file_put(cases[i].text);
        CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), -1);
        CHECK(strstr(why, cases[i].said) && strstr(why, "/jobs"));
    }
    char path[64];
    uint32_t last = 5;
    snprintf(path, sizeof(path), "%s/jobs", folder);
    unlink(path);
    CHECK_EQUAL(lease_file_read(&table, folder, &last, &now, why, sizeof(why)), 0);
    CHECK_EQUAL(last, 5);
}

int main(void)
{
    CHECK(mkdtemp(folder));
    RUN(a_node_is_named_by_its_address_and_its_name);
    RUN(an_answer_is_about_the_nodes_of_its_address_or_card_or_name);
    RUN(a_node_is_silent_after_more_than_three_beats_that_asked_and_three_seconds_of_beats);
    RUN(a_node_that_polls_or_was_never_heard_or_follows_another_conductor_is_not_silent);
    RUN(a_node_that_restarts_or_loses_its_job_is_news_and_one_that_begins_late_is_not);
    RUN(a_kill_is_repeated_until_each_node_has_answered_for_a_while_without_the_job);
    RUN(a_silent_node_is_killed_when_it_comes_back_or_is_forgotten_when_it_is_removed);
    RUN(nodes_that_the_conductor_does_not_hear_get_three_kills);
    RUN(a_new_epoch_kills_again);
    RUN(all_ending_jobs_get_their_turn);
    RUN(a_full_table_gives_up_the_jobs_of_silent_nodes_and_no_others);
    RUN(places_of_nodes_come_back);
    RUN(nodes_with_one_name_leave_their_chain_at_once);
    RUN(an_old_answer_is_for_jobs_that_look_for_their_nodes);
    RUN(jobs_whose_numbers_share_a_bucket_are_found_and_leave);
    RUN(open_jobs_outlive_the_conductor);
    RUN(many_nodes_stand_on_many_lines);
    RUN(what_happens_is_appended);
    RUN(a_file_that_was_cut_is_read_up_to_there);
    RUN(a_damaged_file_is_named_with_its_line);
    rmdir(folder);
    return check_report("lease_table");
}
