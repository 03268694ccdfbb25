/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_command_line.c: parses any text. Every word must lie inside the text; every option's value is also
 * parsed as a number and as a size.
 */
#include "lib/command_line.h"
#include "fuzz.h"

static void promise_inside(const char *word, const char *text, size_t bytes)
{
    PROMISE(word >= text && word < text + bytes);
    PROMISE(memchr(word, 0, (size_t)(text + bytes - word)));
}

static void promise_line(const struct command_line *line, const char *text, size_t bytes)
{
    PROMISE(line->option_count <= COMMAND_LINE_OPTIONS_MAX);
    PROMISE(line->argument_count <= COMMAND_LINE_ARGUMENTS_MAX);
    for (unsigned i = 0; i < line->option_count; i++) {
        promise_inside(line->options[i].name, text, bytes);
        PROMISE(line->options[i].name[0] != '\0');
        PROMISE(!strchr(line->options[i].name, '='));
        if (line->options[i].value)
            promise_inside(line->options[i].value, text, bytes);
        PROMISE(command_line_option(line, line->options[i].name));
    }
    for (unsigned i = 0; i < line->argument_count; i++)
        promise_inside(line->arguments[i], text, bytes);
}

static void try_values(const struct command_line *line)
{
    struct message why;

    for (unsigned i = 0; i < line->option_count; i++) {
        uint64_t number = 3;

        if (option_value(OPTION_NUMBER, "x", line->options[i].value, 3, 1000, &number, &why) == 0)
            PROMISE(number >= 3 && number <= 1000);
        if (option_value(OPTION_BYTES, "x", line->options[i].value, 3, 1u << 30, &number, &why) == 0)
            PROMISE(number >= 3 && number <= 1u << 30);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char known[] = "app, ranks, env";
    static struct command_line line;
    struct message why = { "" };
    char *text = malloc(bytes + 1);

    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (command_line_parse(text, &line, &why) == 0) {
        promise_line(&line, text, bytes + 1);
        try_values(&line);
        command_line_check(&line, known, &why);
    } else {
        PROMISE(why.text[0] != '\0');
    }
    free(text);
    return 0;
}
