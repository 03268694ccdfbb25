/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leases.c: the requests of tacetrun about its job (control.h, conductor.h), and what the conductor does for
 * jobs on its own: it tells a tacetrun of nodes that have fallen silent or lost the job, ends jobs whose
 * tacetrun is gone, and keeps the open jobs in a file (lease_file.c), so that they outlive it. The rules are
 * in lease_table.c.
 */
#include "lib/bytes.h"
#include "service/conductor/access.h"
#include "service/conductor/conductor.h"
#include "service/conductor/lease_file.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define KILLS_AT_ONCE 8    /* of the commands that a beat carries; the others are conductorctl's */
#define LOOK_AT_ONCE  1024 /* places of the registry, after a beat */
#define EXCUSED_BEATS 10   /* that ask for answers: by then nodes follow this conductor again */

static struct lease_table table;
static uint64_t return_by_ns;              /* until then a tacetrun may return; 0: all have */
static uint64_t excused_asked, excused_ns; /* lease_moment */
static unsigned kills_carried;             /* by beats up to kills_sequence */
static uint64_t kills_sequence;

static struct lease_moment moment(void)
{
    return (struct lease_moment){ .sequence = conductor.sequence,
                                  .asked = conductor.asked,
                                  .beaten_ns = conductor.beaten_ns,
                                  .excused_asked = excused_asked,
                                  .excused_ns = excused_ns,
                                  .asks = answer_every(UINT64_MAX) != 0 };
}

void leases_excuse(void)
{
    excused_asked = conductor.asked + EXCUSED_BEATS;
    excused_ns = conductor.beaten_ns;
}

void leases_epoch_begin(void)
{
    lease_epoch_begin(&table);
    kills_sequence = 0;
    leases_excuse();
}

/* ---- The file of jobs ---- */

/* Notes the outcome of a call of lease_file.h; the first failure is said. */
static void kept(int status)
{
    static bool has_failed;

    if (status && !has_failed)
        say("%s/jobs: %s: jobs that run now are not known to the conductor after a restart",
            conductor.state_folder, strerror(errno));
    has_failed = status != 0;
}

/* Enters a lease's end, or that it is ending, into the file. */
static void word_keep(const char *word, const struct lease *lease)
{
    if (!conductor.state_folder)
        return;
    kept(lease_file_word(word, lease->job));
    if (lease_file_is_long())
        kept(lease_file_begin(&table, conductor.state_folder, conductor.last_job));
}

void leases_start(void)
{
    const struct lease_moment now = moment();
    char why[256];

    if (getrandom(table.key, sizeof(table.key), 0) != sizeof(table.key))
        give_up(STATUS_WRONG, "no random numbers");
    if (!conductor.state_folder)
        return;
    uint32_t last = conductor.last_job;
    if (lease_file_read(&table, conductor.state_folder, &last, &now, why, sizeof(why)))
        give_up(STATUS_WRONG, "%s", why);
    conductor.last_job = last;
    if (lease_file_begin(&table, conductor.state_folder, last))
        give_up(STATUS_WRONG, "--state %s: cannot write its file jobs: %s", conductor.state_folder,
                strerror(errno));
    if (!table.counts[LEASE_LOST])
        return;
    leases_excuse();
    return_by_ns = conductor_now_ns() + LEASE_RETURN_S * SECOND_NS;
}

/* ---- Requests ---- */

/* Adds the nodes of a request's words. Returns NULL, or why the lease cannot have them. */
static const char *nodes_read(struct lease *lease, const char *words)
{
    const bool is_limited = !user_has_all_rights(lease->uid);
    struct lease_name name;
    unsigned count;

    leases_of_user(&table, lease->uid, &count);
    count -= lease->next_named ? lease->count : 0; /* these are named once more */
    while (*words == ' ')
        words++;
    while (*words) {
        if (!lease_name_read(words, &words, &name))
            return "a node of a job is named as 10.0.0.7/NAME, by its IPv4 address and its name";
        if (is_limited && count++ >= LEASE_NODES_OF_USER)
            return "refused: a user's jobs may have 16384 nodes in all";
        if (!lease_node_add(&table, lease, &name))
            return lease->next_named ? "the job has other nodes"
                                     : "the conductor has no room for more nodes of jobs";
        lease->looks = conductor.registry.places;
        while (*words == ' ')
            words++;
    }
    return NULL;
}

/* Returns why this client may have no further lease, or NULL. */
static const char *lease_refusal(unsigned client)
{
    const uint32_t uid = client_uid(client);
    unsigned nodes;

    if (lease_of_client(&table, client))
        return "this connection has a job already";
    if (!user_has_all_rights(uid) && leases_of_user(&table, uid, &nodes) >= LEASES_OF_USER_MAX)
        return "refused: a user may have 64 jobs at a time";
    if (table.counts[LEASE_HELD] >= clients_leases_max())
        return "refused: the conductor has no room for more jobs";
    return NULL;
}

static void begin(const char *words, unsigned client, struct json *answer)
{
    const struct lease_moment now = moment();
    const char *why = lease_refusal(client);
    uint32_t job = job_number_next();

    while (lease_of_job(&table, job))
        job = job_number_next();
    struct lease *lease = why ? NULL : lease_add(&table, LEASE_HELD, job, client_uid(client), &now);

    if (lease) {
        lease->client = client;
        why = nodes_read(lease, words);
    } else if (!why) {
        why = "refused: the conductor has no room for more jobs";
    }
    if (why) {
        if (lease)
            lease_drop(&table, lease);
        json_error(answer, why);
        return;
    }
    if (conductor.state_folder)
        kept(lease_file_job(&table, lease));
    client_lease_set(client, true);
    access_log(&conductor.peer, "begins job %u", lease->job);
    json_print(answer, "{\"job\": %u}\n", lease->job);
}

/* Enters the nodes after the place `last` (an index + 1; 0: all) into the file. */
static void nodes_keep(const struct lease *lease, uint16_t last)
{
    const uint16_t from = last ? table.nodes[last - 1].next : lease->first;

    if (conductor.state_folder && from)
        kept(lease_file_nodes(&table, lease, from));
}

static void more_nodes(const char *words, unsigned client, struct json *answer)
{
    struct lease *lease = lease_of_client(&table, client);
    const uint16_t last = lease ? lease->last : 0;
    const char *why = lease ? nodes_read(lease, words) : "this connection has no job";

    if (lease)
        nodes_keep(lease, last);
    if (why)
        json_error(answer, why);
    else
        json_print(answer, "{\"job\": %u}\n", lease->job);
}

/* Takes up the lease of a tacetrun that returns after a restart of the conductor. Only a user with all rights
 * can bring a job that this conductor does not know: else any user could end any job. */
static void resume(const char *words, unsigned client, struct json *answer)
{
    const struct lease_moment now = moment();
    const uint32_t uid = client_uid(client);
    uint32_t job = 0;
    const bool is_number = decimal_read(words, &words, UINT32_MAX, &job) && job;
    struct lease *lease = is_number ? lease_of_job(&table, job) : NULL;
    const char *why = !is_number ? "job resume takes the job's number and its nodes" : lease_refusal(client);

    if (!why && lease && lease->uid != uid && !user_has_all_rights(uid))
        why = "it is another user's job";
    else if (!why && lease && lease->state == LEASE_HELD)
        why = "its tacetrun is connected already";
    else if (!why && lease && lease->state == LEASE_ENDING)
        why = "the conductor is ending it, because its tacetrun was gone for too long";
    else if (!why && !lease && !user_has_all_rights(uid))
        why = "this conductor does not know the job";
    const bool is_new = !why && !lease;
    if (is_new)
        lease = lease_add(&table, LEASE_LOST, job, uid, &now);
    if (!why && !lease)
        why = "refused: the conductor has no room for more jobs";
    if (!why) {
        const uint16_t last = lease->last;

        lease_resume(&table, lease, &now);
        lease->client = client;
        client_lease_set(client, true);
        why = nodes_read(lease, words);
        if (is_new && conductor.state_folder)
            kept(lease_file_job(&table, lease));
        else
            nodes_keep(lease, last);
    }
    if (why)
        json_error(answer, why);
    else
        json_print(answer, "{\"job\": %u}\n", job);
}

static void end(unsigned client, struct json *answer)
{
    struct lease *lease = lease_of_client(&table, client);

    if (!lease) {
        json_error(answer, "this connection has no job");
        return;
    }
    json_print(answer, "{\"job\": %u}\n", lease->job);
    word_keep("end", lease);
    lease_drop(&table, lease);
    client_lease_set(client, false);
}

void job_take(const char *request, unsigned client, struct json *answer)
{
    if (strncmp(request, "begin", 5) == 0 && (!request[5] || request[5] == ' '))
        begin(request + 5, client, answer);
    else if (strncmp(request, "nodes ", 6) == 0)
        more_nodes(request + 6, client, answer);
    else if (strncmp(request, "resume ", 7) == 0)
        resume(request + 7, client, answer);
    else if (strcmp(request, "end") == 0)
        end(client, answer);
    else
        json_error(answer, "job takes: begin NODES, nodes NODES, resume NUMBER NODES, end");
}

bool job_owner(uint32_t job, uint32_t *uid)
{
    const struct lease *lease = lease_of_job(&table, job);

    if (lease)
        *uid = lease->uid;
    return lease != NULL;
}

void leases_client_gone(unsigned client)
{
    struct lease *lease = lease_of_client(&table, client);
    const struct lease_moment now = moment();

    if (!lease)
        return;
    say("job %u: its tacetrun is gone: killing it at a beat", lease->job);
    lease_state_set(&table, lease, LEASE_ENDING, &now);
    word_keep("ending", lease);
}

/* ---- What nodes say ---- */

void leases_heard(const struct node *node)
{
    const struct lease_moment now = moment();

    lease_answer(&table, false, node->address, &node->answer, &now);
}

/* Enters what nodes have said before a job has named them: only nodes that the conductor hears can fall
 * silent. A part of the registry at a time, whatever number of requests name nodes. */
static void nodes_look(const struct lease_moment *now)
{
    static unsigned place;
    const struct registry *registry = &conductor.registry;

    if (!leases_look(&table))
        return;
    for (unsigned i = 0; i < LOOK_AT_ONCE && i < registry->places; i++) {
        place = place + 1 < registry->places ? place + 1 : 0;
        const struct node *node = &registry->nodes[place];
        if (node->is_known && !node_is_silent(node, conductor.asked))
            lease_answer(&table, true, node->address, &node->answer, now);
    }
    leases_looked(&table, LOOK_AT_ONCE);
}

static void news_tell(const struct lease *lease, struct lease_node *node, unsigned place,
                      enum lease_news news)
{
    static const char *const words[] = {
        [LEASE_SILENT] = "silent", [LEASE_RESTARTED] = "restarted", [LEASE_WITHOUT_JOB] = "without"
    };
    static const char *const said[] = { [LEASE_SILENT] = "is silent",
                                        [LEASE_RESTARTED] = "has restarted, without the job",
                                        [LEASE_WITHOUT_JOB] = "does not run the job now" };
    const uint8_t *ip = node->named.address;
    char text[64];
    struct json json = { .text = text, .room = sizeof(text) };

    json_print(&json, "{\"event\": \"%s\", \"node\": %u}\n", words[news], place);
    if (!client_tell(lease->client, &json))
        return; /* its buffer is full: the next beat tries again */
    node->told = (uint8_t)news;
    say("job %u: node %u.%u.%u.%u %s %s", lease->job, ip[0], ip[1], ip[2], ip[3], node->named.name,
        said[news]);
}

static void news_pass(const struct lease_moment *now)
{
    for (unsigned i = 0; table.counts[LEASE_HELD] && i < LEASES_MAX; i++) {
        struct lease *lease = &table.leases[i];
        unsigned place = 0;

        for (uint16_t at = lease->state == LEASE_HELD ? lease->first : 0; at; place++) {
            struct lease_node *node = &table.nodes[at - 1];
            const enum lease_news news = lease_news_of(node, now);

            if (news)
                news_tell(lease, node, place, news);
            at = node->next;
        }
    }
}

/* ---- Jobs whose tacetrun is gone ---- */

/* Has the next beats carry kills for ending jobs, a few at once. */
static void jobs_kill(const struct lease_moment *now)
{
    struct lease *lease;
    bool is_over;

    table.is_ending = false;
    if (conductor.sequence >= kills_sequence)
        kills_carried = 0;
    while (is_beating() && kills_carried < KILLS_AT_ONCE &&
           (lease = lease_to_kill(&table, &conductor.registry, now, &is_over))) {
        if (is_over) {
            word_keep("end", lease);
            lease_drop(&table, lease);
            continue;
        }
        struct command command = { .name = "kill", .is_answered = true };

        command.wire.code = BEAT_KILL;
        command.wire.bytes = 4;
        store_be(command.wire.body, 4, lease->job);
        if (commands_add(&conductor.commands, &command) < 0) {
            table.is_ending = true; /* the next beat tries again */
            return;
        }
        kills_carried++;
        kills_sequence = conductor.sequence + COMMAND_BEATS;
        lease_killed(lease, kills_sequence);
    }
}

/* Ends jobs whose tacetruns have not returned in time. */
static void lost_end(const struct lease_moment *now)
{
    if (!return_by_ns || conductor_now_ns() < return_by_ns)
        return;
    return_by_ns = 0;
    for (unsigned i = 0; i < LEASES_MAX; i++)
        if (table.leases[i].state == LEASE_LOST) {
            say("job %u: its tacetrun has not returned within %u s: killing it at a beat",
                table.leases[i].job, LEASE_RETURN_S);
            lease_state_set(&table, &table.leases[i], LEASE_ENDING, now);
            word_keep("ending", &table.leases[i]);
        }
}

void leases_settle(void)
{
    static uint64_t seen_sequence, seen_asked;
    const struct lease_moment now = moment();

    lost_end(&now);
    if (seen_sequence != conductor.sequence) {
        seen_sequence = conductor.sequence;
        conductor.polls[POLL_LISTENER].events = POLLIN;
        if (table.has_news || seen_asked != conductor.asked)
            news_pass(&now);
        table.has_news = false;
        nodes_look(&now);
        if (table.is_ending || seen_asked != conductor.asked || conductor.sequence <= kills_sequence)
            jobs_kill(&now);
    }
    if (conductor.state_folder && table.has_heard && seen_asked != conductor.asked) {
        kept(lease_file_heard(&table));
        table.has_heard = false;
    }
    seen_asked = conductor.asked;
}

int leases_timeout_ms(void)
{
    const uint64_t now_ns = conductor_now_ns();

    if (!return_by_ns)
        return -1;
    return return_by_ns <= now_ns ? 0 : (int)((return_by_ns - now_ns) / 1000000 + 1);
}

void leases_write(struct json *answer)
{
    json_print(answer, ", \"clients\": %u, \"jobs\": %u, \"lost_jobs\": %u, \"ending_jobs\": %u",
               clients_count(), table.counts[LEASE_HELD], table.counts[LEASE_LOST],
               table.counts[LEASE_ENDING]);
}
