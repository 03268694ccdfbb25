/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductorctl.c: asks the conductor, and tells it what to do: words and options to requests (control.h), and
 * answers to lines, or JSON as it came. Exit status: 0 where all is done, 1 where the conductor or a node has
 * not done it, 2 where the words are wrong.
 */
#include "service/control.h"
#include "service/conversation.h"
#include "service/json.h"
#include "service/node_view.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_WITHIN_S  10
#define COMMAND_WITHIN_S 10
#define WITHIN_S_MAX     86400
#define OPERANDS_MAX     2

static const char usage[] =
    "usage: conductorctl [--socket PATH] [--json] [--one-way | --within SECONDS] WHAT\n"
    "\n"
    "  status                 what the conductor does, and how many nodes it knows\n"
    "  nodes                  a table of the nodes; with --watch [SECONDS] again and again\n"
    "  remove NODE            the node of this name or Ethernet address is gone for good\n"
    "  rate HZ                beats a second from now on, 1/60 to 1000; 0: none\n"
    "At the next beat, on all CPUs of all nodes:\n"
    "  stop, continue, kill   all ranks\n"
    "  trace +CLASS|-CLASS    a class of the flight log on or off\n"
    "  rating NAME RATING     of a clock event device\n"
    "  services US            the service's ready threads run first, for so many microseconds\n"
    "                         at most, 1 to 100000\n"
    "  counters [SECONDS]     kernel entries of each node within that time (default: 1)\n"
    "\n"
    "  --socket PATH          where the conductor listens (default: $" CONTROL_VARIABLE ",\n"
    "                         or " CONTROL_SOCKET ")\n"
    "  --json                 for scripts\n"
    "  --one-way              do not wait until all nodes have done it\n"
    "  --within SECONDS       wait so long for them (default: 10)\n";

static struct options {
    struct conversation conductor;
    bool is_json, is_one_way, has_within, has_watch;
    unsigned long within_s, watch_s;
    const char *operands[OPERANDS_MAX + 1]; /* what, and its words */
    unsigned operand_count;
} options = { .conductor = { .path = CONTROL_SOCKET, .socket = -1 }, .within_s = COMMAND_WITHIN_S };

/* ---- What it says ---- */

/* The names that follow it are on its line. */
static void nodes_line_print(const char *answer)
{
    static const char *const names[] = { "nodes", "running", "stopped", "silent", "restarts" };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = json_member(answer, names[i]);
        unsigned long count = value ? strtoul(value, NULL, 10) : 0;

        if (i == 0)
            printf("%-20s %lu", names[i], count);
        else
            printf("%s%lu %s", i == 1 ? ": " : ", ", count, names[i]);
    }
    putchar('\n');
}

static void status_print(const char *answer)
{
    bool is_sum = false;

    for (const char *at = json_name_first(answer); at; at = json_name_next(at)) {
        char name[32], value[512];

        json_text(at, name, sizeof(name));
        json_text(json_value(at), value, sizeof(value));
        if (strcmp(name, "nodes") == 0)
            nodes_line_print(answer);
        is_sum = strcmp(name, "nodes") == 0 || (is_sum && strcmp(name, "answers") != 0);
        if (!is_sum)
            printf("%-20s %s\n", name, value);
    }
}

static void names_print(const char *answer, const char *list, const char *what)
{
    const char *node = json_first(json_member(answer, list));

    if (!node)
        return;
    fprintf(stderr, "conductorctl: %s:", what);
    for (; node; node = json_next(node)) {
        const char *result = json_member(node, "result");
        int error = result ? atoi(result) : 0;
        char name[64], address[32];

        json_text(json_member(node, "name"), name, sizeof(name));
        json_text(json_member(node, "address"), address, sizeof(address));
        fprintf(stderr, " %s (%s)", name, address);
        if (error)
            fprintf(stderr, " %s", error == ENOSYS ? "does not know the command" : strerror(error));
    }
    fputc('\n', stderr);
}

/* What was wrong, and the nodes that have not done it. */
static void error_print(const char *answer)
{
    const char *error = json_member(answer, "error");
    char text[512];

    if (error) {
        json_text(error, text, sizeof(text));
        fprintf(stderr, "conductorctl: %s\n", text);
    }
    names_print(answer, "missing_nodes", "not acknowledged by");
    names_print(answer, "failed_nodes", "not done by");
    names_print(answer, "silent_nodes", "silent");
}

static void command_print(const char *answer)
{
    const char *name = json_member(answer, "command"), *done = json_member(answer, "done");
    char text[64] = "";

    if (name)
        json_text(name, text, sizeof(text));
    if (name && done)
        printf("%s: done by %lu nodes\n", text, strtoul(done, NULL, 10));
    else if (name)
        printf("%s: goes with the next beats\n", text);
    fflush(stdout);
    error_print(answer);
}

static bool has_failed(const char *answer)
{
    return json_member(answer, "error") != NULL;
}

/* ---- What it is asked ---- */

static int ask_and_print(const char *request, void (*print)(const char *), unsigned within_s)
{
    const char *answer = conversation_ask(&options.conductor, request, within_s);

    if (!answer)
        return 1;
    if (options.is_json)
        fputs(answer, stdout);
    else
        (has_failed(answer) ? command_print : print)(answer);
    return has_failed(answer);
}

/* The conductor says itself when the time is up. */
static unsigned command_request(char request[CONTROL_REQUEST_BYTES], const char *text)
{
    if (options.is_one_way)
        snprintf(request, CONTROL_REQUEST_BYTES, "one-way %s", text);
    else
        snprintf(request, CONTROL_REQUEST_BYTES, "within %lu %s", options.within_s, text);
    return (unsigned)options.within_s + ANSWER_WITHIN_S;
}

static void seconds_sleep(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds };

    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static int nodes_show(void)
{
    struct node_list list;

    do {
        if (!node_list_ask(&list, &options.conductor))
            return 1;
        if (options.has_watch && isatty(STDOUT_FILENO))
            fputs("\033[H\033[J", stdout);
        node_list_print(&list, options.is_json);
        fflush(stdout);
        node_list_free(&list);
        if (options.has_watch)
            seconds_sleep((double)options.watch_s);
    } while (options.has_watch && !ferror(stdout));
    return 0;
}

/* Lets nodes count, and asks for what they have counted; false where that is impossible. *status becomes 1
 * where not all nodes did. */
static bool count_take(struct node_list *list, uint64_t *beat_ns, uint32_t *number, int *status)
{
    char request[CONTROL_REQUEST_BYTES];
    unsigned within_s = command_request(request, "count");
    const char *answer = conversation_ask(&options.conductor, request, within_s), *value;

    if (!answer)
        return false;
    if (has_failed(answer)) {
        *status = 1;
        if (options.is_json && !json_member(answer, "number"))
            fputs(answer, stdout);
        else
            error_print(answer);
    }
    value = json_member(answer, "number");
    if (!value)
        return false;
    *number = (uint32_t)strtoul(value, NULL, 10);
    value = json_member(answer, "first_beat_ns");
    *beat_ns = value ? strtoull(value, NULL, 10) : 0;
    return node_list_ask(list, &options.conductor);
}

static int counters_show(const char *seconds)
{
    char *end = "";
    double interval_s = seconds ? strtod(seconds, &end) : 1;
    struct node_list before = { 0 }, after = { 0 };
    uint64_t before_ns, after_ns;
    uint32_t number;
    int status = 0;

    if (*end || !(interval_s >= 0 && interval_s <= WITHIN_S_MAX)) {
        fputs("conductorctl: counters takes seconds, 86400 at most\n", stderr);
        return 2;
    }
    if (!count_take(&before, &before_ns, &number, &status))
        return 1;
    seconds_sleep(interval_s);
    if (!count_take(&after, &after_ns, &number, &status))
        return 1;
    node_counts_print(&before, &after, number, after_ns - before_ns, options.is_json);
    node_list_free(&before);
    node_list_free(&after);
    return status;
}

/* ---- Words ---- */

enum what { WHAT_ASK, WHAT_NODES, WHAT_COUNTERS, WHAT_COMMAND };

static const struct {
    const char *name;
    unsigned words_min, words_max;
    enum what what;
} whats[] = {
    { "status", 0, 0, WHAT_ASK },        { "rate", 1, 1, WHAT_ASK },
    { "remove", 1, 1, WHAT_ASK },        { "nodes", 0, 0, WHAT_NODES },
    { "stop", 0, 0, WHAT_COMMAND },      { "continue", 0, 0, WHAT_COMMAND },
    { "kill", 0, 0, WHAT_COMMAND },      { "trace", 1, 1, WHAT_COMMAND },
    { "rating", 2, 2, WHAT_COMMAND },    { "services", 1, 1, WHAT_COMMAND },
    { "counters", 0, 1, WHAT_COUNTERS },
};

static _Noreturn void wrong_words(const char *why)
{
    fprintf(stderr, "conductorctl: %s\n\n%s", why, usage);
    exit(2);
}

static unsigned long seconds_read(const char *text)
{
    char *end = "";
    unsigned long seconds = text && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

    if (*end || seconds < 1 || seconds > WITHIN_S_MAX)
        wrong_words("a time is 1 to 86400 seconds");
    return seconds;
}

/* Options stand before and after other words; "-CLASS" is none. */
static void words_read(char **words)
{
    while (*++words) {
        if (strcmp(*words, "--json") == 0) {
            options.is_json = true;
        } else if (strcmp(*words, "--one-way") == 0) {
            options.is_one_way = true;
        } else if (strcmp(*words, "--help") == 0) {
            exit(fputs(usage, stdout) < 0);
        } else if (strcmp(*words, "--socket") == 0 && words[1]) {
            options.conductor.path = *++words;
        } else if (strcmp(*words, "--within") == 0) {
            options.has_within = true;
            options.within_s = seconds_read(words[1]);
            words++;
        } else if (strcmp(*words, "--watch") == 0) {
            options.has_watch = true;
            options.watch_s = words[1] && isdigit((unsigned char)*words[1]) ? seconds_read(*++words) : 1;
        } else if (strncmp(*words, "--", 2) == 0) {
            wrong_words("there is no such option, or its value is missing");
        } else if (options.operand_count > OPERANDS_MAX) {
            wrong_words("too many words");
        } else {
            options.operands[options.operand_count++] = *words;
        }
    }
}

static enum what what_find(void)
{
    for (unsigned i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
        unsigned count = options.operand_count - 1;
        bool is_command = whats[i].what == WHAT_COMMAND;

        if (strcmp(whats[i].name, options.operands[0]) != 0)
            continue;
        if (count < whats[i].words_min || count > whats[i].words_max)
            wrong_words("this takes more or fewer words");
        if ((options.is_one_way && (!is_command || options.has_within)) ||
            (options.has_within && !is_command && whats[i].what != WHAT_COUNTERS) ||
            (options.has_watch && whats[i].what != WHAT_NODES))
            wrong_words("this option does not belong here");
        return whats[i].what;
    }
    wrong_words("there is nothing of this name to ask for");
}

int main(int count, char **words)
{
    char text[CONTROL_REQUEST_BYTES] = "", request[CONTROL_REQUEST_BYTES];

    if (count < 2)
        wrong_words("it takes what to ask for");
    if (getenv(CONTROL_VARIABLE))
        options.conductor.path = getenv(CONTROL_VARIABLE);
    words_read(words);
    if (!options.operand_count)
        wrong_words("it takes what to ask for");
    enum what what = what_find();
    for (unsigned i = 0; i < options.operand_count; i++) {
        if (strlen(text) + strlen(options.operands[i]) + 32 > sizeof(text))
            wrong_words("the words are too long");
        strcat(text, i ? " " : "");
        strcat(text, options.operands[i]);
    }
    if (what == WHAT_NODES)
        return nodes_show();
    if (what == WHAT_COUNTERS)
        return counters_show(options.operands[1]);
    if (what == WHAT_ASK)
        return ask_and_print(text, status_print, ANSWER_WITHIN_S);
    unsigned within_s = command_request(request, text);
    return ask_and_print(request, command_print, within_s);
}
