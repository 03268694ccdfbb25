/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.c: see words.h.
 */
#include "service/conductorctl/words.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_WITHIN_S 10
#define OPERANDS_MAX     2

static const char usage[] =
    "usage: conductorctl [--socket PATH] [--json] [--one-way | --within SECONDS] WHAT\n"
    "\n"
    "  status                 what the conductor does, and how many nodes it knows\n"
    "  nodes                  a table of the nodes; with --watch [SECONDS] again and again\n"
    "  remove NODE            the node of this name or Ethernet address is gone for good\n"
    "  rate HZ                beats a second from now on, 1/60 to 1000; 0: none\n"
    "At the next beat, on all CPUs of all nodes:\n"
    "  stop, continue, kill   all ranks; with --job N those of this job alone\n"
    "  trace +CLASS|-CLASS    a class of the flight log on or off\n"
    "  rating NAME RATING     of a clock event device\n"
    "  services US            the service's ready threads run first, for so many microseconds\n"
    "                         at most, 1 to 100000\n"
    "  counters [SECONDS]     kernel entries of each node within that time (default: 1)\n"
    "  klog --to DIR          the flight logs of all nodes, held at the same beat, into files\n"
    "                         there; with --nodes NAME,... those of these nodes alone\n"
    "\n"
    "  --socket PATH          where the conductor listens (default: $" CONTROL_VARIABLE ",\n"
    "                         or " CONTROL_SOCKET ")\n"
    "  --json                 for scripts\n"
    "  --one-way              do not wait until all nodes have done it\n"
    "  --within SECONDS       wait so long for them (default: 10)\n";

enum {
    TAKES_JOB = 1,
    TAKES_WITHIN = 2,
    TAKES_ONE_WAY = 4,
    TAKES_WATCH = 8,
    TAKES_FOLDER = 16,
    TAKES_NODES = 32,
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
    { "remove", 1, 1, WHAT_ASK, 0 },
    { "nodes", 0, 0, WHAT_NODES, TAKES_WATCH },
    { "stop", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "continue", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "kill", 0, 0, WHAT_COMMAND, OF_COMMAND | TAKES_JOB },
    { "trace", 1, 1, WHAT_COMMAND, OF_COMMAND },
    { "rating", 2, 2, WHAT_COMMAND, OF_COMMAND },
    { "services", 1, 1, WHAT_COMMAND, OF_COMMAND },
    { "counters", 0, 1, WHAT_COUNTERS, TAKES_WITHIN },
    { "klog", 0, 0, WHAT_KLOG, TAKES_WITHIN | TAKES_FOLDER | TAKES_NODES },
};

/* What stands there, before it is known what it belongs to. */
static struct given {
    const char *operands[OPERANDS_MAX + 1]; /* what, and its words */
    unsigned operand_count;
    unsigned long job; /* 0: none */
    unsigned options;  /* TAKES_… */
} given;

static _Noreturn void wrong_words(const char *why)
{
    fprintf(stderr, "conductorctl: %s\n\n%s", why, usage);
    exit(2);
}

static unsigned long number_read(const char *text, unsigned long max, const char *why)
{
    char *end = "";
    unsigned long number = text && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

    if (*end || number < 1 || number > max)
        wrong_words(why);
    return number;
}

static unsigned long seconds_read(const char *text)
{
    return number_read(text, WITHIN_S_MAX, "a time is 1 to 86400 seconds");
}

/* Options stand before and after other words; "-CLASS" is none. */
static void options_read(struct words *words, char **word)
{
    while (*++word) {
        if (strcmp(*word, "--json") == 0) {
            words->is_json = true;
        } else if (strcmp(*word, "--one-way") == 0) {
            given.options |= TAKES_ONE_WAY;
        } else if (strcmp(*word, "--help") == 0) {
            exit(fputs(usage, stdout) < 0);
        } else if (strcmp(*word, "--socket") == 0 && word[1]) {
            words->socket = *++word;
        } else if (strcmp(*word, "--within") == 0) {
            given.options |= TAKES_WITHIN;
            words->within_s = seconds_read(word[1]);
            word++;
        } else if (strcmp(*word, "--job") == 0) {
            given.options |= TAKES_JOB;
            given.job = number_read(word[1], 4294967295, "a job's number is 1 to 4294967295");
            word++;
        } else if (strcmp(*word, "--to") == 0 && word[1]) {
            given.options |= TAKES_FOLDER;
            words->folder = *++word;
        } else if (strcmp(*word, "--nodes") == 0 && word[1]) {
            given.options |= TAKES_NODES;
            words->nodes = *++word;
        } else if (strcmp(*word, "--watch") == 0) {
            given.options |= TAKES_WATCH;
            words->watch_s = word[1] && isdigit((unsigned char)*word[1]) ? seconds_read(*++word) : 1;
        } else if (strncmp(*word, "--", 2) == 0) {
            wrong_words("there is no such option, or its value is missing");
        } else if (given.operand_count > OPERANDS_MAX) {
            wrong_words("too many words");
        } else {
            given.operands[given.operand_count++] = *word;
        }
    }
}

static enum what what_find(void)
{
    const unsigned operands = given.operand_count - 1;

    for (unsigned i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
        if (strcmp(whats[i].name, given.operands[0]) != 0)
            continue;
        if (operands < whats[i].operands_min || operands > whats[i].operands_max)
            wrong_words("this takes more or fewer words");
        if ((given.options & ~whats[i].takes) || (given.options & OF_COMMAND) == OF_COMMAND)
            wrong_words("this option does not belong here");
        if ((whats[i].takes & TAKES_FOLDER) && !(given.options & TAKES_FOLDER))
            wrong_words("it takes --to DIR, the folder for the logs");
        return whats[i].what;
    }
    wrong_words("there is nothing of this name to ask for");
}

static void text_write(char text[CONTROL_REQUEST_BYTES])
{
    for (unsigned i = 0; i < given.operand_count; i++) {
        if (strlen(text) + strlen(given.operands[i]) + 32 > CONTROL_REQUEST_BYTES)
            wrong_words("the words are too long");
        strcat(text, i ? " " : "");
        strcat(text, given.operands[i]);
    }
    if (given.job)
        snprintf(text + strlen(text), CONTROL_REQUEST_BYTES - strlen(text), " job %lu", given.job);
}

void words_read(struct words *words, char **word)
{
    const char *socket = getenv(CONTROL_VARIABLE);

    *words = (struct words){ .socket = socket ? socket : CONTROL_SOCKET, .within_s = COMMAND_WITHIN_S };
    options_read(words, word);
    if (!given.operand_count)
        wrong_words("it takes what to ask for");
    words->what = what_find();
    words->is_one_way = given.options & TAKES_ONE_WAY;
    words->seconds = given.operands[1];
    text_write(words->text);
}
