/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello.c: which rank this is, of how many, and what it was given: arguments, a variable, a file, an input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value of an environment variable, or a default. */
static const char *value_of(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value ? value : otherwise;
}

/* Prints the first line of a file if there is one. */
static void show_line(const char *what, FILE *file)
{
    char line[80];

    if (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        printf("%s: %s\n", what, line);
    }
}

int main(int argc, char **argv)
{
    FILE *greeting = fopen("/data/greeting", "r");

    printf("rank %s of %s, %d arguments, NAME=%s\n", value_of("TACET_RANK", "0"), value_of("TACET_SIZE", "1"),
           argc - 1, value_of("NAME", "(none)"));
    for (int i = 1; i < argc; i++)
        printf("argument %d: %s\n", i, argv[i]);
    show_line("file", greeting);
    show_line("input", stdin);
    return 0;
}
