/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductorctl.c: asks the conductor, and tells it what to do. Prints its answer as lines of name and value,
 * or as it came, in JSON. The answer is flat: no object or list in it.
 */
#include "service/control.h"
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define ANSWER_WITHIN_S 5

static const char usage[] = "usage: conductorctl [--socket PATH] [--json] status | rate HZ\n"
                            "\n"
                            "  status   what the conductor does\n"
                            "  rate HZ  beats a second from now on, 1/60 to 1000; 0: none\n";

/* `"name": value` pairs as lines, names without quotes. */
static void print_lines(const char *answer)
{
    while ((answer = strchr(answer, '"'))) {
        const char *name = answer + 1, *end = strchr(name, '"'), *value;

        if (!end || end[1] != ':')
            return;
        value = end + 3;
        bool quoted = *value == '"';
        size_t bytes = strcspn(value + quoted, quoted ? "\"" : ",}\n");
        printf("%-14.*s %.*s\n", (int)(end - name), name, (int)bytes, value + quoted);
        answer = value + quoted + bytes + quoted;
    }
}

static int ask(const char *path, const char *request, bool json)
{
    const struct timeval limit = { .tv_sec = ANSWER_WITHIN_S };
    char answer[CONTROL_ANSWER_BYTES];
    int conductor = control_connect(path);

    if (conductor < 0) {
        fprintf(stderr, "conductorctl: no conductor at %s: %s\n", path, strerror(errno));
        return 1;
    }
    setsockopt(conductor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ssize_t bytes = send(conductor, request, strlen(request), MSG_NOSIGNAL);
    if (bytes > 0)
        bytes = recv(conductor, answer, sizeof(answer) - 1, 0);
    if (bytes <= 0) {
        fprintf(stderr, "conductorctl: the conductor at %s does not answer: %s\n", path,
                bytes ? strerror(errno) : "it has ended");
        return 1;
    }
    answer[bytes] = '\0';
    bool failed = strncmp(answer, "{\"error\"", 8) == 0;
    if (json)
        fputs(answer, stdout);
    else
        print_lines(answer);
    return failed;
}

int main(int count, char **words)
{
    static const struct option options[] = { { "socket", required_argument, NULL, 's' },
                                             { "json", no_argument, NULL, 'j' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    const char *path = CONTROL_SOCKET;
    char request[CONTROL_REQUEST_BYTES] = "";
    bool json = false;
    int option;

    while ((option = getopt_long(count, words, "+", options, NULL)) != -1) {
        if (option == 's')
            path = optarg;
        else if (option == 'j')
            json = true;
        else if (option == 'h')
            return fputs(usage, stdout) < 0;
        else
            return 2;
    }
    if (optind == count) {
        fputs(usage, stderr);
        return 2;
    }
    for (int i = optind; i < count; i++)
        if (strlen(request) + strlen(words[i]) + 2 < sizeof(request)) {
            strcat(request, i > optind ? " " : "");
            strcat(request, words[i]);
        }
    return ask(path, request, json);
}
