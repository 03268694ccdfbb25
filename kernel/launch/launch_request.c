/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_request.c: see launch_request.h; docs/jobs.md, "The request", has the words and what they mean.
 *
 * Each word is read once, so the time is linear in the bytes. Every number is bounded when it is read, so no
 * sum or product of them wraps. Messages are one line of ASCII whatever a word holds, and short enough to
 * follow "refused": they go to tacetrun. Portable C; any context; owns nothing.
 */
#include "launch/launch_request.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define TICKET_LABEL "tacet-launch 2" /* a connection's key is made of this, the nonce, and the node's id */
#define NONCE_BYTES  8

enum word_id {
    WORD_JOB,
    WORD_RANKS,
    WORD_FIRST,
    WORD_SIZE,
    WORD_CPUS,
    WORD_PORT,
    WORD_STDIN,
    WORD_PROGRAM,
    WORD_SECRET,
    WORD_PATH,
    WORD_CWD,
    WORD_ARG,
    WORD_ENV,
    WORD_NUMBER,
    WORDS
};

static const struct word {
    const char *name;
    const char *right; /* what a valid value is; NULL: a decimal number */
    uint64_t low, high;
    bool is_required, is_repeated;
} words[WORDS] = {
    [WORD_JOB] = { "job", NULL, 1, UINT32_MAX, true, false },
    [WORD_RANKS] = { "ranks", NULL, 1, LAUNCH_RANKS_MAX, true, false },
    [WORD_FIRST] = { "first", NULL, 0, LAUNCH_RANKS_MAX - 1, false, false },
    [WORD_SIZE] = { "size", NULL, 1, LAUNCH_RANKS_MAX, false, false },
    [WORD_CPUS] = { "cpus", NULL, 1, LAUNCH_CPUS_MAX, false, false },
    [WORD_PORT] = { "port", NULL, 1, UINT16_MAX, true, false },
    [WORD_STDIN] = { "stdin", NULL, 0, LAUNCH_RANKS_MAX - 1, false, false },
    [WORD_PROGRAM] = { "program", NULL, 0, LAUNCH_PROGRAM_MAX, false, false },
    [WORD_SECRET] = { "secret", "a text of 16 hexadecimal digits", 0, 0, true, false },
    [WORD_PATH] = { "path", "the path or the name of a program", 0, 0, true, false },
    [WORD_CWD] = { "cwd", "a whole path, which begins with /", 0, 0, false, false },
    [WORD_ARG] = { "arg", "an argument, the program's name first", 0, 0, true, true },
    [WORD_ENV] = { "env", "a variable, NAME=VALUE", 0, 0, false, true },
    [WORD_NUMBER] = { "number", "the name of a variable, without =", 0, 0, false, true },
};

_Static_assert((uint64_t)LAUNCH_RANKS_MAX *LAUNCH_CPUS_MAX <= UINT32_MAX, "a job's CPUs can be counted");

/* A request that is being read. */
struct reading {
    struct launch_request *request;
    struct message *why;
    uint64_t numbers[WORDS];
    bool has[WORDS];
};

/* ---- Refusals ---- */

#define SHOWN 60 /* bytes of a word that messages repeat, at most */

struct shown {
    char text[SHOWN + sizeof("...")];
};

/* Copies the beginning of a text for a message, with a question mark for each byte that does not print. */
static const char *show(struct shown *shown, const char *text)
{
    unsigned i;

    for (i = 0; i < SHOWN && text[i]; i++)
        shown->text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    format_text(shown->text + i, sizeof(shown->text) - i, "%s", text[i] ? "..." : "");
    return shown->text;
}

/* Returns what a valid value of this word is. */
static const char *right_value(const struct word *word, struct shown *text)
{
    if (word->right)
        return word->right;
    format_text(text->text, sizeof(text->text), "a number from %llu to %llu", (unsigned long long)word->low,
                (unsigned long long)word->high);
    return text->text;
}

static int refuse_unknown(struct message *why, const char *text)
{
    struct shown shown;
    size_t length;

    message_set(why, 0, "request: unknown word \"%s\"; the words are", show(&shown, text));
    length = strlen(why->text);
    for (unsigned id = 0; id < WORDS; id++)
        length += format_text(why->text + length, sizeof(why->text) - length, " %s=", words[id].name);
    return -EINVAL;
}

/* ---- Values ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Reads a decimal number at *at, which is moved to what follows it. `high` is so low that ten times it does
 * not wrap. */
static bool decimal_read(const char **at, uint64_t low, uint64_t high, uint64_t *out)
{
    if (!is_digit(**at))
        return false;
    for (*out = 0; is_digit(**at); ++*at) {
        *out = *out * 10 + (uint64_t)(**at - '0');
        if (*out > high)
            return false;
    }
    return *out >= low;
}

/* Returns what ends the name of a variable: '=' or NUL; -1 if there is no name. */
static int name_end(const char *text)
{
    if (!*text || *text == '=')
        return -1;
    while (*text && *text != '=')
        text++;
    return *text;
}

static bool is_full(const struct launch_request *request, enum word_id id)
{
    if (id == WORD_ARG)
        return request->argument_count == LAUNCH_ARGUMENTS_MAX;
    return request->variable_count + request->number_count == LAUNCH_VARIABLES_MAX;
}

/* Keeps a value. Returns false if it is not valid for the word. */
static bool value_take(struct reading *reading, enum word_id id, const char *value)
{
    struct launch_request *request = reading->request;
    uint8_t secret[sizeof(request->secret)];

    switch (id) {
    case WORD_SECRET:
        if (!hexadecimal_read(value, secret, sizeof(secret)))
            return false;
        request->secret = load_be64(secret);
        return true;
    case WORD_PATH:
        request->path = value;
        return *value != '\0';
    case WORD_CWD:
        request->directory = value;
        return *value == '/';
    case WORD_ARG:
        request->arguments[request->argument_count++] = value;
        return true;
    case WORD_ENV:
        request->variables[request->variable_count++] = value;
        return name_end(value) == '=';
    case WORD_NUMBER:
        request->numbers[request->number_count++] = value;
        return name_end(value) == '\0';
    default:
        return decimal_read(&value, words[id].low, words[id].high, &reading->numbers[id]) && !*value;
    }
}

/* ---- Words ---- */

/* Returns which word a text is, and its value; WORDS if it is none. */
static enum word_id word_find(const char *text, const char **value)
{
    for (enum word_id id = 0; id < WORDS; id++) {
        size_t length = strlen(words[id].name);

        if (strncmp(text, words[id].name, length) == 0 && text[length] == '=') {
            *value = text + length + 1;
            return id;
        }
    }
    return WORDS;
}

static int word_take(struct reading *reading, const char *text)
{
    const char *value = NULL;
    enum word_id id = word_find(text, &value);
    const struct word *word = &words[id];
    struct shown shown, right;

    if (id == WORDS)
        return refuse_unknown(reading->why, text);
    if (!word->is_repeated && reading->has[id])
        return message_set(reading->why, -EINVAL, "request: second %s=\"%s\"; %s= comes only once",
                           word->name, show(&shown, value), word->name);
    if (word->is_repeated && is_full(reading->request, id))
        return message_set(reading->why, -EINVAL, "request: too many %s=; at most %d %s", word->name,
                           id == WORD_ARG ? LAUNCH_ARGUMENTS_MAX : LAUNCH_VARIABLES_MAX,
                           id == WORD_ARG ? "are allowed" : "are allowed, env= and number= together");
    if (!value_take(reading, id, value))
        return message_set(reading->why, -EINVAL, "request: %s=\"%s\" is not %s", word->name,
                           show(&shown, value), right_value(word, &right));
    reading->has[id] = true;
    return 0;
}

/* ---- The whole ---- */

static int required_check(const struct reading *reading)
{
    struct shown right;

    for (unsigned id = 0; id < WORDS; id++)
        if (words[id].is_required && !reading->has[id])
            return message_set(reading->why, -EINVAL, "request: %s= is missing; it is %s", words[id].name,
                               right_value(&words[id], &right));
    return 0;
}

static void numbers_set(const struct reading *reading)
{
    const uint64_t *numbers = reading->numbers;
    struct launch_request *request = reading->request;

    request->job = (uint32_t)numbers[WORD_JOB];
    request->ranks = (uint32_t)numbers[WORD_RANKS];
    request->first = (uint32_t)numbers[WORD_FIRST];
    request->size = reading->has[WORD_SIZE] ? (uint32_t)numbers[WORD_SIZE] : request->ranks;
    request->cpus = (uint32_t)numbers[WORD_CPUS];
    request->port = (uint16_t)numbers[WORD_PORT];
    request->stdin_rank = reading->has[WORD_STDIN] ? (uint32_t)numbers[WORD_STDIN] : LAUNCH_RANK_NONE;
    request->program_bytes = numbers[WORD_PROGRAM];
}

/* Checks that the words fit each other. */
static int request_check(const struct reading *reading)
{
    const struct launch_request *request = reading->request;
    uint32_t end = request->first + request->ranks;
    struct shown shown;

    if (end > request->size)
        return message_set(reading->why, -EINVAL,
                           "request: size=%u%s is too low; first=%u and ranks=%u need %u or more",
                           request->size, reading->has[WORD_SIZE] ? "" : " (not given: as ranks=)",
                           request->first, request->ranks, end);
    if (reading->has[WORD_STDIN] && request->stdin_rank >= request->size)
        return message_set(reading->why, -EINVAL,
                           "request: stdin=%u is not a rank of the job; its ranks are 0 to %u",
                           request->stdin_rank, request->size - 1);
    if (!request->program_bytes && request->path[0] != '/')
        return message_set(reading->why, -EINVAL,
                           "request: path=\"%s\" does not begin with /; without program= it must",
                           show(&shown, request->path));
    return 0;
}

int launch_request_read(const char *bytes, size_t count, struct launch_request *request, struct message *why)
{
    struct reading reading = { .request = request, .why = why };
    const char *end = bytes + count;
    int error = 0;

    memset(request, 0, sizeof(*request));
    if (count > LAUNCH_REQUEST_BYTES)
        return message_set(why, -EINVAL, "request: %zu bytes are too many; the limit is %d", count,
                           LAUNCH_REQUEST_BYTES);
    if (count && end[-1])
        return message_set(why, -EINVAL, "request: its last word does not end with NUL");
    for (const char *at = bytes; at < end && !error; at += strlen(at) + 1)
        error = word_take(&reading, at);
    if (!error)
        error = required_check(&reading);
    if (error)
        return error;
    numbers_set(&reading);
    return request_check(&reading);
}

/* ---- The line before it ---- */

/* Its numbers, in their order. */
enum line_field { LINE_BYTES, LINE_JOB, LINE_UID, LINE_GID, LINE_FIELDS };

static const struct {
    const char *name;
    uint64_t low, high;
} line_fields[LINE_FIELDS] = {
    [LINE_BYTES] = { "BYTES", 1, LAUNCH_REQUEST_BYTES },
    [LINE_JOB] = { "JOB", 1, UINT32_MAX },
    [LINE_UID] = { "UID", 0, CREDENTIALS_ID_MAX },
    [LINE_GID] = { "GID", 0, CREDENTIALS_ID_MAX },
};

#define EXPIRES_MAX (1ULL << 48) /* some million years */

/* Reads groups and the blank after them: numbers with commas, or "-" for none. */
static bool groups_read(const char **at, struct credentials *user)
{
    uint64_t number;

    user->group_count = 0;
    if (**at == '-') {
        ++*at;
        return *(*at)++ == ' ';
    }
    do {
        if (user->group_count == CREDENTIALS_GROUPS_MAX || !decimal_read(at, 0, CREDENTIALS_ID_MAX, &number))
            return false;
        user->groups[user->group_count++] = (uint32_t)number;
    } while (*(*at)++ == ',');
    return (*at)[-1] == ' ';
}

/* Reads a ticket, or "-" for none. */
static bool mac_read(const char *at, struct launch_line *line)
{
    line->has_ticket = strcmp(at, "-") != 0;
    return !line->has_ticket || hexadecimal_read(at, line->mac, sizeof(line->mac));
}

int launch_line_read(const char *text, struct launch_line *line, struct message *why)
{
    static const char start[] = "launch ";
    const char *at = text + sizeof(start) - 1;
    uint64_t numbers[LINE_FIELDS];
    struct shown shown;

    if (strncmp(text, start, sizeof(start) - 1) != 0)
        return message_set(why, -EINVAL, "line \"%s\" is not launch BYTES JOB UID GID GROUPS EXPIRES MAC",
                           show(&shown, text));
    for (unsigned i = 0; i < LINE_FIELDS; i++) {
        if (i == LINE_JOB)
            line->sealed = at;
        if (!decimal_read(&at, line_fields[i].low, line_fields[i].high, &numbers[i]) || *at++ != ' ')
            return message_set(why, -EINVAL, "line \"%s\": %s is not a number from %llu to %llu and a blank",
                               show(&shown, text), line_fields[i].name,
                               (unsigned long long)line_fields[i].low,
                               (unsigned long long)line_fields[i].high);
    }
    line->bytes = (size_t)numbers[LINE_BYTES];
    line->job = (uint32_t)numbers[LINE_JOB];
    line->user.uid = (uint32_t)numbers[LINE_UID];
    line->user.gid = (uint32_t)numbers[LINE_GID];
    if (!groups_read(&at, &line->user))
        return message_set(why, -EINVAL, "line \"%s\": GROUPS is not -, nor 1 to %d numbers with commas",
                           show(&shown, text), CREDENTIALS_GROUPS_MAX);
    if (!decimal_read(&at, 0, EXPIRES_MAX, &line->expires_s) || *at != ' ')
        return message_set(why, -EINVAL, "line \"%s\": EXPIRES is not a number of seconds and a blank",
                           show(&shown, text));
    line->sealed_bytes = (size_t)(at++ - line->sealed);
    if (!mac_read(at, line))
        return message_set(why, -EINVAL, "line \"%s\": MAC is not %d hexadecimal digits, nor -",
                           show(&shown, text), 2 * LAUNCH_TICKET_BYTES);
    return 0;
}

/* ---- Tickets ---- */

void launch_ticket(uint8_t mac[LAUNCH_TICKET_BYTES], const uint8_t key[KEY_BYTES], uint64_t nonce,
                   const char *id, const char *sealed, size_t bytes)
{
    uint8_t of[NONCE_BYTES + LAUNCH_NODE_ID_BYTES], own[KEY_BYTES];
    const size_t id_bytes = strnlen(id, LAUNCH_NODE_ID_BYTES);

    store_be(of, NONCE_BYTES, nonce);
    memcpy(of + NONCE_BYTES, id, id_bytes);
    key_derive(own, key, TICKET_LABEL, of, NONCE_BYTES + id_bytes);
    siphash_128(mac, own, sealed, bytes);
}

int launch_ticket_check(const struct launch_line *line, const uint8_t *key, uint64_t nonce, const char *id,
                        uint64_t now_s, struct message *why)
{
    uint8_t mac[LAUNCH_TICKET_BYTES], difference = 0;

    if (!key)
        return line->has_ticket ? message_set(why, -EACCES, "this node has no key: send - as the ticket") : 0;
    if (!line->has_ticket)
        return message_set(
            why, -EACCES,
            "this node has a key: it needs a ticket (tacetrun --key FILE or --conductor SOCKET)");
    if (line->expires_s < now_s)
        return message_set(why, -EACCES,
                           "the ticket expired %llu s ago by this node's clock; a ticket is valid for %d s",
                           (unsigned long long)(now_s - line->expires_s), LAUNCH_TICKET_S);
    launch_ticket(mac, key, nonce, id, line->sealed, line->sealed_bytes);
    for (unsigned i = 0; i < sizeof(mac); i++) /* all bytes, so that time tells nothing */
        difference |= mac[i] ^ line->mac[i];
    return difference ? message_set(why, -EACCES,
                                    "the ticket is wrong: it was made with another key, or for another node, "
                                    "nonce, job or user")
                      : 0;
}

int launch_job_check(const struct launch_line *line, const struct launch_request *request,
                     struct message *why)
{
    if (line->job == request->job)
        return 0;
    return message_set(why, -EACCES, "request: job=%u, but its ticket is for job %u", request->job,
                       line->job);
}
