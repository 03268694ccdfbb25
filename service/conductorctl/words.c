/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.c: see words.h.
 */
#include "service/conductorctl/words.h"
#include "service/lib/options.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_WITHIN_S 10
#define OPERANDS_MAX     2

static const char usage[] =
    "usage: conductorctl [--socket PATH] [--json] [--one-way | --within SECONDS] WHAT\n"
    "\n"
    "  status                 prints the conductor's state and counters, and the number of nodes\n"
    "  nodes                  prints a table of the nodes; with --watch [SECONDS] repeatedly\n"
    "  keys                   prints the conductor's public key, and the nodes that have asked for keys\n"
    "  admit NODE FINGERPRINT lets this node, by name or Ethernet address, have its keys\n"
    "  remove NODE            forgets the node of this name or Ethernet address; with --silent all silent\n"
    "                         nodes\n"
    "  key ID                 prints a node's keys, for a file on the node, to root; ID is the Ethernet\n"
    "                         address of its card for beats, 12 hexadecimal digits, or its name;\n"
    "                         with --next those that it has after a rotation to what the key file holds now\n"
    "  rate HZ                sets the beats a second, 1/60 to 1000; 0: none\n"
    "At the next beat, on all CPUs of all nodes:\n"
    "  stop, continue, kill   all ranks; with --job N only those of job N\n"
    "  trace +CLASS|-CLASS    switches a class of the flight log on or off\n"
    "  rating NAME RATING     sets the rating of a clock event device\n"
    "  services US            runs the service's ready threads first, for at most US microseconds,\n"
    "                         1 to 100000\n"
    "  counters [SECONDS]     counts each node's kernel entries during this time (default: 1)\n"
    "  rotate                 has all nodes ask for new keys, made of what the key file holds now, and ends\n"
    "                         the old ones\n"
    "  klog --to DIR          writes the flight logs of all nodes, held at the same beat, to files\n"
    "                         in DIR; with --nodes NAME,... only those of these nodes\n"
    "\n"
    "  --socket PATH          the conductor's socket (default: $" CONTROL_VARIABLE ",\n"
    "                         or " CONTROL_SOCKET ")\n"
    "  --json                 prints JSON, for scripts\n"
    "  --one-way              does not wait until all nodes have done the command\n"
    "  --within SECONDS       waits this long for all nodes (default: 10)\n";

enum {
    TAKES_JOB = 1,
    TAKES_WITHIN = 2,
    TAKES_ONE_WAY = 4,
    TAKES_WATCH = 8,
    TAKES_FOLDER = 16,
    TAKES_NODES = 32,
    TAKES_SILENT = 64,
    TAKES_NEXT = 128,
    OF_COMMAND = TAKES_WITHIN | TAKES_ONE_WAY
};

static const struct {
    const char *name;
    unsigned operands_min, operands_max;
    enum what what;
    unsigned takes;
} whats[] = {
    { "status", 0, 0, WHAT_ASK, 0 },
    { "rate", 1, 1, WHAT_ASK, 0 },
    { "remove", 0, 1, WHAT_ASK, TAKES_SILENT },
    { "key", 1, 1, WHAT_KEY, TAKES_NEXT },
    { "nodes", 0, 0, WHAT_NODES, TAKES_WATCH },
    { "keys", 0, 0, WHAT_KEYS, 0 },
    { "admit", 2, 2, WHAT_ASK, 0 },
    { "rotate", 0, 0, WHAT_COMMAND, TAKES_WITHIN },
    { "stop", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "continue", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "kill", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "trace", 1, 1, WHAT_COMMAND, OF_COMMAND },
    { "rating", 2, 2, WHAT_COMMAND, OF_COMMAND },
    { "services", 1, 1, WHAT_COMMAND, OF_COMMAND },
    { "counters", 0, 1, WHAT_COUNTERS, TAKES_WITHIN },
    { "klog", 0, 0, WHAT_KLOG, TAKES_WITHIN | TAKES_FOLDER | TAKES_NODES },
};

/* The words as read, before they are checked. */
static const char *operands[OPERANDS_MAX + 1]; /* WHAT, and its operands */
static unsigned operand_count;
static uint32_t job; /* 0: none */
static bool is_silent, is_next;
static struct words given; /* a time of 0: not given */

static void watch_take(const char *text)
{
    (void)text;
    given.watch_s = 1;
}

static const struct option_row option_rows[] = {
    { "json", 0, OPTION_FLAG, .value = &given.is_json },
    { "one-way", 0, OPTION_FLAG, .value = &given.is_one_way },
    { "socket", 0, OPTION_TEXT, .value = &given.socket },
    { "silent", 0, OPTION_FLAG, .value = &is_silent },
    { "next", 0, OPTION_FLAG, .value = &is_next },
    { "within", 0, OPTION_NUMBER, .value = &given.within_s, .min = 1, .max = WITHIN_S_MAX },
    { "job", 0, OPTION_NUMBER, .value = &job, .min = 1, .max = UINT32_MAX },
    { "to", 0, OPTION_TEXT, .value = &given.folder },
    { "nodes", 0, OPTION_TEXT, .value = &given.nodes },
    { "watch", 0, OPTION_CALL, .take = watch_take },
    { 0 },
};
static const struct options options = { .rows = option_rows, .usage = usage, .failed = 1 };

/* Reads all words. Options may stand before and after other words; "-CLASS" is not an option. --watch may
 * have a value. */
static void all_read(char **word)
{
    for (int at = 1; word[at = options_read(&options, word, at)]; at++) {
        if (strncmp(word[at - 1], "--wa", 4) == 0 && isdigit((unsigned char)*word[at])) /* or shorter */
            given.watch_s = option_number("--watch", word[at], 1, WITHIN_S_MAX);
        else if (operand_count > OPERANDS_MAX)
            options_wrong("%s: too many words", word[at]);
        else
            operands[operand_count++] = word[at];
    }
}

static unsigned options_given(void)
{
    return (job ? TAKES_JOB : 0) | (given.within_s ? TAKES_WITHIN : 0) |
           (given.is_one_way ? TAKES_ONE_WAY : 0) | (given.watch_s ? TAKES_WATCH : 0) |
           (is_silent ? TAKES_SILENT : 0) | (is_next ? TAKES_NEXT : 0) | (given.folder ? TAKES_FOLDER : 0) |
           (given.nodes ? TAKES_NODES : 0);
}

static enum what what_find(void)
{
    const unsigned count = operand_count - 1, takes = options_given();

    for (unsigned i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
        if (strcmp(whats[i].name, operands[0]) != 0)
            continue;
        if (count < whats[i].operands_min || count > whats[i].operands_max)
            options_wrong("%s: wrong number of words after it", operands[0]);
        if ((takes & ~whats[i].takes) || (takes & OF_COMMAND) == OF_COMMAND)
            options_wrong("%s: it does not take one of these options", operands[0]);
        if ((whats[i].takes & TAKES_SILENT) && count + is_silent != 1)
            options_wrong("%s: it takes a NODE or --silent", operands[0]);
        if ((whats[i].takes & TAKES_FOLDER) && !given.folder)
            options_wrong("%s: it takes --to DIR, the folder for the logs", operands[0]);
        return whats[i].what;
    }
    options_wrong("%s: unknown request", operands[0]);
}

static void text_write(char text[CONTROL_WORDS_BYTES])
{
    for (unsigned i = 0; i < operand_count; i++) {
        if (strlen(text) + strlen(operands[i]) + 32 > CONTROL_WORDS_BYTES)
            options_wrong("the request is too long");
        strcat(text, i ? " " : "");
        strcat(text, operands[i]);
    }
    if (is_silent)
        strcat(text, " --silent");
    if (is_next)
        strcat(text, " next");
    if (job)
        snprintf(text + strlen(text), CONTROL_WORDS_BYTES - strlen(text), " job %" PRIu32, job);
}

void words_read(struct words *words, char **word)
{
    const char *socket = getenv(CONTROL_VARIABLE);

    given.socket = socket ? socket : CONTROL_SOCKET;
    all_read(word);
    if (!operand_count)
        options_wrong("it takes a request, such as status");
    given.what = what_find();
    given.within_s = given.within_s ? given.within_s : COMMAND_WITHIN_S;
    given.seconds = operands[1];
    text_write(given.text);
    *words = given;
}
