/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.c: see commands.h.
 */
#include "service/conductor/commands.h"
#include "lib/bytes.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum body { BODY_NONE, BODY_JOB, BODY_TRACE, BODY_RATING, BODY_MICROSECONDS, BODY_ZERO };

static const struct {
    const char *name;
    uint16_t code;
    enum body body;
} kinds[] = {
    { "stop", BEAT_STOP, BODY_JOB },
    { "continue", BEAT_CONTINUE, BODY_JOB },
    { "kill", BEAT_KILL, BODY_JOB },
    { "count", BEAT_COUNT, BODY_NONE },
    { "trace", BEAT_TRACE, BODY_TRACE },
    { "rating", BEAT_RATE, BODY_RATING },
    { "services", BEAT_SERVICES, BODY_MICROSECONDS },
    { "hold", BEAT_HOLD, BODY_ZERO },
    { "release", BEAT_HOLD, BODY_ZERO },
    { "rotate", BEAT_REKEY, BODY_NONE },
};

static bool is_number(const char *text, uint64_t min, uint64_t max)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return false;
    const uint64_t number = strtoull(text, &end, 10);
    return number >= min && number <= max && !*end;
}

static bool is_word(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
            return false;
    return bytes > 0;
}

static void number_write(const char *text, struct beat_command *wire)
{
    wire->bytes = 4;
    store_be(wire->body, 4, strtoull(text, NULL, 10));
}

/* Writes the command's body from the text after its name. Returns NULL, or the error. */
static const char *body_write(enum body body, const char *text, struct beat_command *wire)
{
    size_t bytes = strlen(text), name = strcspn(text, " ");

    if (body != BODY_MICROSECONDS && bytes > BEAT_COMMAND_BYTES)
        return "a command has at most 64 bytes";
    switch (body) {
    case BODY_NONE:
    case BODY_ZERO: /* a time limit; hold_add sets that of hold */
        if (bytes)
            return "this command takes no words";
        if (body == BODY_NONE)
            break;
        number_write("0", wire);
        return NULL;
    case BODY_JOB:
        if (!bytes)
            break;
        if (strncmp(text, "job ", 4) != 0 || !is_number(text + 4, 1, UINT32_MAX))
            return "it takes nothing, or one job: job N, its number from 1 to 4294967295";
        number_write(text + 4, wire);
        return NULL;
    case BODY_TRACE:
        if ((text[0] != '+' && text[0] != '-') || !is_word(text + 1, bytes - 1))
            return "trace takes +CLASS or -CLASS, a class of the flight log";
        break;
    case BODY_RATING:
        if (!is_word(text, name) || !text[name] || !is_number(text + name + 1, 0, UINT32_MAX))
            return "rating takes the NAME of a clock event device and its RATING, a number";
        break;
    case BODY_MICROSECONDS:
        if (!is_number(text, 1, BEAT_WINDOW_US_MAX))
            return "services takes microseconds, 1 to 100000";
        number_write(text, wire);
        return NULL;
    }
    wire->bytes = (uint16_t)bytes;
    memcpy(wire->body, text, bytes);
    return NULL;
}

int command_read(const char *text, bool is_acknowledged, struct command *command, const char **why)
{
    size_t name = strcspn(text, " ");

    *command = (struct command){ .is_answered = !is_acknowledged };
    *why = NULL;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i].name) != name || strncmp(text, kinds[i].name, name) != 0)
            continue;
        command->name = kinds[i].name;
        command->wire.code = (uint16_t)(kinds[i].code | (is_acknowledged ? BEAT_ACKNOWLEDGE : 0));
        *why = body_write(kinds[i].body, text + name + (text[name] == ' '), &command->wire);
        return *why ? -1 : 0;
    }
    return -1;
}

static bool is_outstanding(const struct command *command)
{
    return !command->is_answered;
}

struct command *commands_outstanding(struct commands *commands)
{
    for (unsigned i = 0; i < commands->carried_count; i++)
        if (is_outstanding(&commands->carried[i]))
            return &commands->carried[i];
    return NULL;
}

bool commands_have(const struct commands *commands, enum beat_code code)
{
    for (unsigned i = 0; i < commands->waiting_count; i++)
        if ((commands->waiting[i].wire.code & BEAT_CODE_MASK) == code)
            return true;
    for (unsigned i = 0; i < commands->carried_count; i++)
        if (is_outstanding(&commands->carried[i]) &&
            (commands->carried[i].wire.code & BEAT_CODE_MASK) == code)
            return true;
    return false;
}

static void carry(struct commands *commands, const struct command *command)
{
    struct command *place = &commands->carried[commands->carried_count++];

    *place = *command;
    place->wire.number = ++commands->last_number;
}

static void waiting_remove(struct commands *commands, unsigned at)
{
    commands->waiting_count--;
    memmove(&commands->waiting[at], &commands->waiting[at + 1],
            (commands->waiting_count - at) * sizeof(commands->waiting[0]));
}

static void carried_remove(struct commands *commands, unsigned at)
{
    commands->carried_count--;
    memmove(&commands->carried[at], &commands->carried[at + 1],
            (commands->carried_count - at) * sizeof(commands->carried[0]));
}

/* Makes the first waiting command a carried one if it may be. */
static void waiting_carry(struct commands *commands)
{
    if (!commands->waiting_count || commands->carried_count == BEAT_COMMANDS_MAX ||
        commands_outstanding(commands))
        return;
    carry(commands, &commands->waiting[0]);
    waiting_remove(commands, 0);
}

int commands_add(struct commands *commands, const struct command *command)
{
    bool has_to_wait = is_outstanding(command) && (commands_outstanding(commands) || commands->waiting_count);

    if (!has_to_wait && commands->carried_count < BEAT_COMMANDS_MAX) {
        carry(commands, command);
        return 1;
    }
    if (!is_outstanding(command) || commands->waiting_count == COMMANDS_WAITING_MAX)
        return -1;
    commands->waiting[commands->waiting_count++] = *command;
    return 0;
}

/* Counts commands of users in a list: the one-way ones (with those that are answered), or the others. */
static void users_count(const struct command *list, unsigned count, const struct command *like, unsigned *all,
                        unsigned *own)
{
    for (unsigned i = 0; i < count; i++) {
        if (!list[i].is_user || list[i].is_answered != like->is_answered)
            continue;
        ++*all;
        *own += list[i].uid == like->uid;
    }
}

const char *commands_refusal(const struct commands *commands, const struct command *command)
{
    const unsigned places = is_outstanding(command) ? COMMANDS_WAITING_MAX : BEAT_COMMANDS_MAX;
    unsigned all = 0, own = 0;

    users_count(commands->carried, commands->carried_count, command, &all, &own);
    users_count(commands->waiting, commands->waiting_count, command, &all, &own);
    if (command->is_user && own >= COMMANDS_OF_USER(places))
        return "refused: too many commands of yours are under way; try again later";
    if (command->is_user && all >= COMMANDS_OF_USERS(places))
        return "refused: too many commands of users are under way; try again later";
    return NULL;
}

void commands_put(const struct commands *commands, struct beat *beat)
{
    for (unsigned i = 0; i < commands->carried_count; i++)
        beat->commands[beat->command_count++] = commands->carried[i].wire;
}

void commands_epoch_begin(struct commands *commands)
{
    commands->last_number = 0;
    for (unsigned i = 0; i < commands->carried_count; i++)
        commands->carried[i].wire.number = ++commands->last_number;
}

void commands_sent(struct commands *commands, uint64_t due_ns)
{
    for (unsigned i = commands->carried_count; i-- > 0;) {
        struct command *command = &commands->carried[i];

        if (!command->beats++)
            command->first_beat_ns = due_ns;
        if (command->beats >= COMMAND_BEATS && !is_outstanding(command))
            carried_remove(commands, i);
    }
    waiting_carry(commands);
}

void commands_answered(struct commands *commands, bool is_dropped)
{
    struct command *command = commands_outstanding(commands);

    command->is_answered = true;
    if (is_dropped || command->beats >= COMMAND_BEATS)
        carried_remove(commands, (unsigned)(command - commands->carried));
    waiting_carry(commands);
}

bool commands_expired(struct commands *commands, uint64_t now_ns, struct command *command)
{
    for (unsigned i = 0; i < commands->waiting_count; i++) {
        if (commands->waiting[i].deadline_ns > now_ns)
            continue;
        *command = commands->waiting[i];
        waiting_remove(commands, i);
        return true;
    }
    return false;
}

uint64_t commands_deadline_ns(const struct commands *commands)
{
    uint64_t first = UINT64_MAX;

    for (unsigned i = 0; i < commands->carried_count; i++)
        if (is_outstanding(&commands->carried[i]) && commands->carried[i].deadline_ns < first)
            first = commands->carried[i].deadline_ns;
    for (unsigned i = 0; i < commands->waiting_count; i++)
        if (commands->waiting[i].deadline_ns < first)
            first = commands->waiting[i].deadline_ns;
    return first;
}
