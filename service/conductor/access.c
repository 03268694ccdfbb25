/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.c: see access.h.
 */
#include "service/conductor/access.h"
#include "service/conductor/conductor.h"
#include "service/lib/control.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define USER_LINES_PER_S 20
#define USERS_PER_S      16 /* whose lines are logged */

enum level { USER, OPERATOR, ROOT };

static const char *operators_name; /* NULL: there are none */
static gid_t operators;

gid_t access_group(const char *option, const char *name)
{
    const struct group *found = getgrnam(name);
    const char *end;
    uint32_t number;

    if (found)
        return found->gr_gid;
    if (!decimal_read(name, &end, CREDENTIALS_ID_MAX, &number) || *end)
        options_wrong("--%s %s: no group has this name", option, name);
    return number;
}

void access_operators_set(const char *group)
{
    operators_name = group && *group ? group : NULL;
    if (operators_name)
        operators = access_group("operators", group);
}

static enum level level_of(const struct credentials *who)
{
    if (who->uid == 0 || who->uid == geteuid())
        return ROOT;
    return operators_name && credentials_have(who, operators) ? OPERATOR : USER;
}

/* ---- The log ---- */

/* Returns how many lines this user has had in this second, with this one; more than are logged if lines of
 * many others have been. */
static unsigned lines_of(uint32_t uid, bool is_new_second)
{
    static struct {
        uint32_t uid;
        unsigned lines;
    } users[USERS_PER_S];
    static unsigned count;
    unsigned i = 0;

    count = is_new_second ? 0 : count;
    while (i < count && users[i].uid != uid)
        i++;
    if (i == USERS_PER_S)
        return USER_LINES_PER_S + 1;
    if (i == count) {
        users[count].uid = uid;
        users[count++].lines = 0;
    }
    return ++users[i].lines;
}

/* Returns whether a line of a user is to be logged. Says how many were not, once there is room again. */
static bool user_line_is_due(uint32_t uid)
{
    static uint64_t second, dropped;
    const uint64_t now_s = clock_now_ns() / SECOND_NS;
    const bool is_due = lines_of(uid, now_s != second) <= USER_LINES_PER_S;

    if (now_s != second && dropped)
        say("%llu requests of users were not logged: more than %d of one user in a second",
            (unsigned long long)dropped, USER_LINES_PER_S);
    dropped = (now_s != second ? 0 : dropped) + !is_due;
    second = now_s;
    return is_due;
}

bool access_is_user(const struct peer *peer)
{
    return level_of(&peer->who) == USER;
}

void access_log(const struct peer *peer, const char *format, ...)
{
    char text[CONTROL_REQUEST_BYTES + 64];
    va_list arguments;

    if (access_is_user(peer) && !user_line_is_due(peer->who.uid))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    say("uid %u, pid %d: %s", peer->who.uid, (int)peer->pid, text);
}

/* ---- Requests ---- */

struct rule {
    const char *begins; /* a request, or with a blank at its end the beginning of one */
    enum level level;
    bool is_logged;
};

/* What is not here is a command to all nodes, or unknown. */
static const struct rule rules[] = {
    { "status", USER, false },    { "nodes ", USER, false },    { "ticket ", USER, false },
    { "job ", USER, false },      { "page ", OPERATOR, false }, { "key ", ROOT, true },
    { "keys ", OPERATOR, false }, { "admit ", ROOT, true },
};
static const struct rule rule_others = { "", OPERATOR, true };

static const struct rule *rule_of(const char *request)
{
    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const size_t length = strlen(rules[i].begins);

        if (strncmp(request, rules[i].begins, length) == 0 &&
            (rules[i].begins[length - 1] == ' ' || !request[length]))
            return &rules[i];
    }
    return &rule_others;
}

/* Reads "kill job N", perhaps after "one-way" or "within SECONDS". Returns N, or 0 for another request. */
static uint32_t kill_job_read(const char *request)
{
    const char *end;
    uint32_t number;

    if (strncmp(request, "one-way ", 8) == 0)
        request += 8;
    else if (strncmp(request, "within ", 7) == 0 && decimal_read(request + 7, &end, UINT32_MAX, &number) &&
             *end == ' ')
        request = end + 1;
    return strncmp(request, "kill job ", 9) == 0 && decimal_read(request + 9, &end, UINT32_MAX, &number) &&
                   !*end
               ? number
               : 0;
}

/* Writes who may make a request of this level. */
static const char *who_may(enum level level, char text[], size_t room)
{
    if (level == ROOT)
        snprintf(text, room, "only root may do this");
    else if (operators_name)
        snprintf(text, room, "only root and members of the group %s may do this", operators_name);
    else
        snprintf(text, room, "only root may do this, because the conductor has no --operators GROUP");
    return text;
}

static void refuse(const struct peer *peer, const char *request, const char *why, struct json *answer)
{
    access_log(peer, "%s: refused: %s", request, why);
    json_error(answer, why);
}

bool access_check(const struct peer *peer, const char *request, struct json *answer)
{
    const struct rule *rule = rule_of(request);
    const enum level level = level_of(&peer->who);
    const uint32_t job = kill_job_read(request);
    char text[160];
    uint32_t owner;

    if (level < rule->level && job && job_owner(job, &owner) && owner == peer->who.uid) {
        access_log(peer, "%s", request);
        return true;
    }
    if (level >= rule->level) {
        if (rule->is_logged)
            access_log(peer, "%s", request);
        return true;
    }
    who_may(rule->level, text, sizeof(text));
    if (job && job_owner(job, &owner))
        snprintf(text, sizeof(text), "job %u is a job of uid %u, and you are uid %u", job, owner,
                 peer->who.uid);
    else if (job)
        snprintf(text, sizeof(text), "no job %u of uid %u is known", job, peer->who.uid);
    refuse(peer, request, text, answer);
    return false;
}
