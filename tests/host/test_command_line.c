/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_command_line.c: quoting, options, arguments, numbers and sizes.
 */
#include "check.h"
#include "lib/command_line.h"
#include "lib/errno.h"

static char text[16384];
static struct command_line line;
static struct message why;

static int parse(const char *given)
{
    snprintf(text, sizeof(text), "%s", given);
    return command_line_parse(text, &line, &why);
}

TEST(options_and_arguments_part_at_the_dashes)
{
    CHECK_EQUAL(parse("app=/bin/ftq env=A=1  stack=16M\tquiet -- -n 1000 \"a b\" -- x=y"), 0);
    CHECK_EQUAL(line.option_count, 4);
    CHECK_TEXT(command_line_option(&line, "app"), "/bin/ftq");
    CHECK_TEXT(command_line_option(&line, "env"), "A=1");
    CHECK_TEXT(command_line_option(&line, "quiet"), "");
    CHECK(line.options[3].value == NULL);
    CHECK(command_line_option(&line, "absent") == NULL);
    CHECK_EQUAL(line.argument_count, 5);
    CHECK_TEXT(line.arguments[0], "-n");
    CHECK_TEXT(line.arguments[2], "a b");
    CHECK_TEXT(line.arguments[3], "--");
    CHECK_TEXT(line.arguments[4], "x=y");
}

TEST(empty_and_blank_lines_hold_nothing)
{
    CHECK_EQUAL(parse(""), 0);
    CHECK_EQUAL(line.option_count, 0);
    CHECK_EQUAL(parse(" \t\n "), 0);
    CHECK_EQUAL(line.option_count, 0);
    CHECK_EQUAL(parse("--"), 0);
    CHECK_EQUAL(line.argument_count, 0);
}

TEST(quotes_and_backslashes_take_bytes_literally)
{
    CHECK_EQUAL(parse("a=\"x y\"z b=\\\"q\\\\ c=\"in\\\"side\" d=\\  -- \"\" a\\ b \"\"\"\""), 0);
    CHECK_TEXT(command_line_option(&line, "a"), "x yz");
    CHECK_TEXT(command_line_option(&line, "b"), "\"q\\");
    CHECK_TEXT(command_line_option(&line, "c"), "in\"side");
    CHECK_TEXT(command_line_option(&line, "d"), " ");
    CHECK_EQUAL(line.argument_count, 3);
    CHECK_TEXT(line.arguments[0], "");
    CHECK_TEXT(line.arguments[1], "a b");
    CHECK_TEXT(line.arguments[2], "");
}

TEST(quoted_dashes_are_an_ordinary_word)
{
    CHECK_EQUAL(parse("\"--\" x=1"), 0);
    CHECK_EQUAL(line.option_count, 2);
    CHECK_TEXT(line.options[0].name, "--");
}

TEST(last_option_wins)
{
    CHECK_EQUAL(parse("ranks=1 ranks=2 ranks=3"), 0);
    CHECK_TEXT(command_line_option(&line, "ranks"), "3");
    CHECK_EQUAL(parse("x= x"), 0);
    CHECK_TEXT(line.options[0].value, "");
    CHECK(line.options[1].value == NULL);
}

TEST(broken_quoting_is_refused)
{
    CHECK_EQUAL(parse("app=\"abc"), -EINVAL);
    CHECK_CONTAINS(why.text, "app=abc");
    CHECK_EQUAL(parse("app=abc\\"), -EINVAL);
    CHECK_CONTAINS(why.text, "backslash");
    CHECK_EQUAL(parse("\"abc\\"), -EINVAL);
    CHECK_EQUAL(parse("\""), -EINVAL);
}

TEST(options_without_a_name_are_refused)
{
    CHECK_EQUAL(parse("=value"), -EINVAL);
    CHECK_CONTAINS(why.text, "no name");
    CHECK_EQUAL(parse("\"\""), -EINVAL);
    CHECK_EQUAL(parse("="), -EINVAL);
}

TEST(too_many_words_are_refused)
{
    char many[8192] = "";

    for (int i = 0; i < COMMAND_LINE_OPTIONS_MAX; i++)
        strcat(many, "x ");
    CHECK_EQUAL(parse(many), 0);
    strcat(many, "x");
    CHECK_EQUAL(parse(many), -E2BIG);
    strcpy(many, "-- ");
    for (int i = 0; i < COMMAND_LINE_ARGUMENTS_MAX; i++)
        strcat(many, "x ");
    CHECK_EQUAL(parse(many), 0);
    CHECK_EQUAL(line.argument_count, COMMAND_LINE_ARGUMENTS_MAX);
    strcat(many, "x");
    CHECK_EQUAL(parse(many), -E2BIG);
}

TEST(unknown_options_are_named_with_the_known_ones)
{
    static const char known[] = "app, ranks, latency_bound";

    CHECK_EQUAL(parse("app=x ranks=2 -- other=1"), 0);
    CHECK_EQUAL(command_line_check(&line, known, &why), 0);
    CHECK_EQUAL(command_line_check(&line, "", &why), -EINVAL);
    CHECK_EQUAL(parse("app=x rank=2"), 0);
    CHECK_EQUAL(command_line_check(&line, known, &why), -EINVAL);
    CHECK_TEXT(why.text, "command line: unknown option \"rank\"; known are app, ranks, latency_bound");
}

TEST(an_option_is_one_of_its_words)
{
    unsigned way = 7;

    CHECK_EQUAL(parse("idle=poll end=pol speed= mode=halt,"), 0);
    CHECK_EQUAL(option_word(&line, "other", "halt, poll", &way, &why), 0);
    CHECK_EQUAL(way, 7);
    CHECK_EQUAL(option_word(&line, "idle", "halt, poll", &way, &why), 0);
    CHECK_EQUAL(way, 1);
    CHECK_EQUAL(option_word(&line, "end", "halt, poll", &way, &why), -EINVAL);
    CHECK_TEXT(why.text, "end=pol: it can be halt, poll");
    CHECK_EQUAL(option_word(&line, "speed", "halt, poll", &way, &why), -EINVAL);
    CHECK_EQUAL(option_word(&line, "mode", "halt, poll", &way, &why), -EINVAL);
    CHECK_EQUAL(way, 1);
}

TEST(numbers_are_decimal_or_hexadecimal)
{
    uint64_t number = 0;

    CHECK_EQUAL(option_value(OPTION_NUMBER, "n", "0", 0, 10, &number, &why), 0);
    CHECK_EQUAL(number, 0);
    CHECK_EQUAL(option_value(OPTION_NUMBER, "n", "0123", 0, 1000, &number, &why), 0);
    CHECK_EQUAL(number, 123);
    CHECK_EQUAL(option_value(OPTION_NUMBER, "n", "0xBeef", 0, UINT64_MAX, &number, &why), 0);
    CHECK_EQUAL(number, 0xbeef);
    CHECK_EQUAL(option_value(OPTION_NUMBER, "n", "18446744073709551615", 0, UINT64_MAX, &number, &why), 0);
    CHECK(number == UINT64_MAX);
}

TEST(wrong_numbers_are_refused_and_leave_the_result_alone)
{
    static const char *const wrong[] = {
        "",
        "x",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1K",
        "0x",
        "0xg",
        "1.5",
        "11",
        "18446744073709551616",
        "0x10000000000000000",
        "99999999999999999999999",
        "4",
    };
    uint64_t number = 4711;

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQUAL(option_value(OPTION_NUMBER, "ranks", wrong[i], 5, 10, &number, &why), -EINVAL);
        CHECK_CONTAINS(why.text, "option ranks");
        CHECK_CONTAINS(why.text, "from 5 to 10");
    }
    CHECK_EQUAL(option_value(OPTION_NUMBER, "ranks", NULL, 5, 10, &number, &why), 0);
    CHECK_EQUAL(number, 4711);
}

TEST(sizes_take_powers_of_1024)
{
    uint64_t bytes = 0;

    CHECK_EQUAL(option_value(OPTION_BYTES, "s", "4096", 0, UINT64_MAX, &bytes, &why), 0);
    CHECK_EQUAL(bytes, 4096);
    CHECK_EQUAL(option_value(OPTION_BYTES, "s", "3K", 0, UINT64_MAX, &bytes, &why), 0);
    CHECK_EQUAL(bytes, 3072);
    CHECK_EQUAL(option_value(OPTION_BYTES, "s", "16M", 0, UINT64_MAX, &bytes, &why), 0);
    CHECK_EQUAL(bytes, 16 << 20);
    CHECK_EQUAL(option_value(OPTION_BYTES, "s", "0x2G", 0, UINT64_MAX, &bytes, &why), 0);
    CHECK_EQUAL(bytes, 2LL << 30);
    CHECK_EQUAL(option_value(OPTION_BYTES, "s", "1T", 0, UINT64_MAX, &bytes, &why), 0);
    CHECK_EQUAL(bytes, 1LL << 40);
}

TEST(wrong_sizes_are_refused)
{
    static const char *const wrong[] = { "", "K", "1KK", "1KB", "1P", "16777216T", "1 K", "1k", "1M" };
    uint64_t bytes = 4711;

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQUAL(option_value(OPTION_BYTES, "stack", wrong[i], 4096, 65536, &bytes, &why), -EINVAL);
        CHECK_CONTAINS(why.text, "from 4096 to 65536 bytes");
    }
    CHECK_EQUAL(bytes, 4711);
}

int main(void)
{
    RUN(options_and_arguments_part_at_the_dashes);
    RUN(empty_and_blank_lines_hold_nothing);
    RUN(quotes_and_backslashes_take_bytes_literally);
    RUN(quoted_dashes_are_an_ordinary_word);
    RUN(last_option_wins);
    RUN(broken_quoting_is_refused);
    RUN(options_without_a_name_are_refused);
    RUN(too_many_words_are_refused);
    RUN(unknown_options_are_named_with_the_known_ones);
    RUN(an_option_is_one_of_its_words);
    RUN(numbers_are_decimal_or_hexadecimal);
    RUN(wrong_numbers_are_refused_and_leave_the_result_alone);
    RUN(sizes_take_powers_of_1024);
    RUN(wrong_sizes_are_refused);
    return check_report("command_line");
}
