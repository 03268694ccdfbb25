/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductorctl.c: a user's program to ask and command the conductor. It turns the command line (words.h) into
 * requests (control.h), and prints answers as lines, or as JSON unchanged. Exit status: 0 if all is done, 1
 * if the conductor or a node has not done it, 2 if the command line is wrong.
 */
#include "service/conductorctl/conversation.h"
#include "service/conductorctl/log_pull.h"
#include "service/conductorctl/node_view.h"
#include "service/conductorctl/words.h"
#include "service/lib/control.h"
#include "service/lib/json.h"
#include "service/lib/say.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_WITHIN_S 10

static struct words words;
static struct conversation conductor = { .socket = -1 };

/* ---- Printing answers ---- */

/* Prints the line of "nodes", with the counts of running, stopped and silent nodes, and restarts, on it. */
static void nodes_line_print(const char *answer)
{
    static const char *const names[] = { "nodes", "running", "stopped", "silent", "restarts" };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const uint64_t count = json_number(answer, names[i]);

        if (i == 0)
            printf("%-20s %" PRIu64, names[i], count);
        else
            printf("%s%" PRIu64 " %s", i == 1 ? ": " : ", ", count, names[i]);
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
    fprintf(stderr, "%s: %s:", say_program(), what);
    for (; node; node = json_next(node)) {
        const int error = (int)json_number(node, "result");
        char name[64], address[32];

        fprintf(stderr, " %s (%s)", json_member_text(node, "name", name, sizeof(name)),
                json_member_text(node, "address", address, sizeof(address)));
        if (error)
            fprintf(stderr, " %s", error == ENOSYS ? "does not know the command" : strerror(error));
    }
    fputc('\n', stderr);
}

/* Prints the answer's error, and the nodes that have not done the command. */
static void error_print(const char *answer)
{
    char error[512];

    if (json_member(answer, "error"))
        say("%s", json_member_text(answer, "error", error, sizeof(error)));
    names_print(answer, "missing_nodes", "not acknowledged by");
    names_print(answer, "failed_nodes", "not done by");
    names_print(answer, "silent_nodes", "silent");
}

static void command_print(const char *answer)
{
    char text[64];

    json_member_text(answer, "command", text, sizeof(text));
    if (*text && json_member(answer, "done"))
        printf("%s: done by %" PRIu64 " nodes\n", text, json_number(answer, "done"));
    else if (*text)
        printf("%s: goes with the next beats\n", text);
    fflush(stdout);
    error_print(answer);
}

/* Prints a node's keys in the form of a file of keys. */
static void keys_print(const char *answer)
{
    static const char *const names[] = { "beats", "ticket" };
    char key[64];

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        printf("%s %s\n", names[i], json_member_text(answer, names[i], key, sizeof(key)));
}

static bool has_failed(const char *answer)
{
    return json_member(answer, "error") != NULL;
}

/* ---- Requests ---- */

static int ask_and_print(const char *request, void (*print)(const char *), unsigned within_s)
{
    const char *answer = conversation_ask(&conductor, request, within_s);

    if (!answer)
        return 1;
    if (words.is_json)
        fputs(answer, stdout);
    else
        (has_failed(answer) ? command_print : print)(answer);
    return has_failed(answer);
}

/* Writes the request for a command. Returns the seconds to wait for its answer: more than the conductor's own
 * limit, after which it answers. */
static unsigned command_request(char request[CONTROL_REQUEST_BYTES], const char *text)
{
    if (words.is_one_way)
        snprintf(request, CONTROL_REQUEST_BYTES, "one-way %s", text);
    else
        snprintf(request, CONTROL_REQUEST_BYTES, "within %u %s", words.within_s, text);
    return words.within_s + ANSWER_WITHIN_S;
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
        if (!node_list_ask(&list, &conductor))
            return 1;
        if (words.watch_s && isatty(STDOUT_FILENO))
            fputs("\033[H\033[J", stdout);
        node_list_print(&list, words.is_json);
        fflush(stdout);
        node_list_free(&list);
        if (words.watch_s)
            seconds_sleep((double)words.watch_s);
    } while (words.watch_s && !ferror(stdout));
    return 0;
}

static int keys_show(void)
{
    struct node_list list;

    if (!key_list_ask(&list, &conductor))
        return 1;
    key_list_print(&list, words.is_json);
    node_list_free(&list);
    return 0;
}

/* Has the nodes count, and asks for their counts. Returns false if the conductor gives none. Sets *status to
 * 1 if not all nodes have counted. */
static bool count_take(struct node_list *list, uint64_t *beat_ns, uint32_t *number, int *status)
{
    char request[CONTROL_REQUEST_BYTES];
    unsigned within_s = command_request(request, "count");
    const char *answer = conversation_ask(&conductor, request, within_s);

    if (!answer)
        return false;
    if (has_failed(answer)) {
        *status = 1;
        if (words.is_json && !json_member(answer, "number"))
            fputs(answer, stdout);
        else
            error_print(answer);
    }
    if (!json_member(answer, "number"))
        return false;
    *number = (uint32_t)json_number(answer, "number");
    *beat_ns = json_number(answer, "first_beat_ns");
    return node_list_ask(list, &conductor);
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
        say("counters takes a number of seconds, at most 86400");
        return 2;
    }
    if (!count_take(&before, &before_ns, &number, &status))
        return 1;
    seconds_sleep(interval_s);
    if (!count_take(&after, &after_ns, &number, &status))
        return 1;
    node_counts_print(&before, &after, number, after_ns - before_ns, words.is_json);
    node_list_free(&before);
    node_list_free(&after);
    return status;
}

int main(int count, char **given)
{
    char request[CONTROL_REQUEST_BYTES];

    (void)count; /* NULL ends the words */
    say_begin("conductorctl", NULL);
    words_read(&words, given);
    conductor.path = words.socket;
    switch (words.what) {
    case WHAT_NODES:
        return nodes_show();
    case WHAT_KEYS:
        return keys_show();
    case WHAT_COUNTERS:
        return counters_show(words.seconds);
    case WHAT_KLOG:
        return log_pull(&conductor, &words, error_print);
    case WHAT_COMMAND: {
        unsigned within_s = command_request(request, words.text);

        return ask_and_print(request, command_print, within_s);
    }
    case WHAT_KEY:
        return ask_and_print(words.text, keys_print, ANSWER_WITHIN_S);
    case WHAT_ASK:
        break;
    }
    return ask_and_print(words.text, status_print, ANSWER_WITHIN_S);
}
