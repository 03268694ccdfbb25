/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_launch_request.c: what tacetrun asks of a node: each word of a request, what is refused and why, the
 * line before it, and the ticket.
 */
#include "check.h"
#include "launch/launch_request.h"
#include "lib/errno.h"

/* Words that each request has, but for one that a test leaves out or gives otherwise. */
#define JOB    "job=7\0"
#define RANKS  "ranks=2\0"
#define PORT   "port=4000\0"
#define SECRET "secret=00000000000000ff\0"
#define PATH   "path=/bin/a\0"
#define ARG    "arg=a\0"
#define FULL   JOB RANKS PORT SECRET PATH ARG
/* A literal's own NUL ends its last word. */
#define READ(literal) read_words(literal, sizeof(literal) - 1)

static struct launch_request request;
static struct message why;

/* Reads a copy that ends where the request ends, so that no byte after it can be read unseen. */
static int read_words(const char *words, size_t count)
{
    static char *copy;

    free(copy);
    copy = malloc(count + !count);
    memcpy(copy, words, count);
    why.text[0] = '\0';
    return launch_request_read(copy, count, &request, &why);
}

/* A request that is refused, in these words. */
#define REFUSED(literal, text) refused((literal), sizeof(literal) - 1, (text), __LINE__)

static void refused(const char *words, size_t count, const char *text, int line)
{
    check_equal(read_words(words, count), -EINVAL, "launch_request_read", __FILE__, line);
    check_text(why.text, text, "why.text", __FILE__, line);
}

TEST(every_word_is_kept_in_its_place)
{
    CHECK_EQUAL(
        READ("number=B\0env=A=1=2\0arg=\0job=4294967295\0size=9\0first=3\0ranks=2\0cpus=4\0port=65535\0"
             "secret=fedcba9876543210\0stdin=8\0path=a\n\x80\0program=4294967296\0cwd=/x y\0arg=b\0"
             "env=A=\0number=C\0"),
        0);
    CHECK_EQUAL(request.job, UINT32_MAX);
    CHECK_EQUAL(request.ranks, 2);
    CHECK_EQUAL(request.first, 3);
    CHECK_EQUAL(request.size, 9);
    CHECK_EQUAL(request.cpus, 4);
    CHECK_EQUAL(request.port, 65535);
    CHECK_EQUAL(request.secret, 0xfedcba9876543210);
    CHECK_EQUAL(request.stdin_rank, 8);
    CHECK_TEXT(request.path, "a\n\x80");
    CHECK_EQUAL(request.program_bytes, 4294967296);
    CHECK_TEXT(request.directory, "/x y");
    CHECK_EQUAL(request.argument_count, 2);
    CHECK_TEXT(request.arguments[0], "");
    CHECK_TEXT(request.arguments[1], "b");
    CHECK(request.arguments[2] == NULL);
    CHECK_EQUAL(request.variable_count, 2);
    CHECK_TEXT(request.variables[0], "A=1=2");
    CHECK_TEXT(request.variables[1], "A=");
    CHECK(request.variables[2] == NULL);
    CHECK_EQUAL(request.number_count, 2);
    CHECK_TEXT(request.numbers[0], "B");
    CHECK_TEXT(request.numbers[1], "C");
    CHECK(request.numbers[2] == NULL);
}

TEST(what_is_left_out_has_its_default)
{
    CHECK_EQUAL(READ(FULL), 0);
    CHECK_EQUAL(request.first, 0);
    CHECK_EQUAL(request.size, 2);
    CHECK_EQUAL(request.cpus, 0);
    CHECK_EQUAL(request.stdin_rank, LAUNCH_RANK_NONE);
    CHECK_EQUAL(request.program_bytes, 0);
    CHECK(request.directory == NULL);
    CHECK_EQUAL(request.variable_count, 0);
    CHECK_EQUAL(request.number_count, 0);
}

TEST(a_request_leaves_nothing_to_the_next)
{
    CHECK_EQUAL(READ(FULL "cwd=/x\0stdin=1\0env=A=1\0number=N\0program=5\0arg=b\0"), 0);
    CHECK_EQUAL(READ(FULL), 0);
    CHECK(request.directory == NULL);
    CHECK_EQUAL(request.stdin_rank, LAUNCH_RANK_NONE);
    CHECK_EQUAL(request.argument_count, 1);
    CHECK_EQUAL(request.variable_count, 0);
    CHECK_EQUAL(request.number_count, 0);
    CHECK(request.arguments[1] == NULL && !request.variables[0] && !request.numbers[0]);
}

TEST(each_word_that_must_be_there_is_missed)
{
    REFUSED(RANKS PORT SECRET PATH ARG, "request: job= is missing; it is a number from 1 to 4294967295");
    REFUSED(JOB PORT SECRET PATH ARG, "request: ranks= is missing; it is a number from 1 to 1048576");
    REFUSED(JOB RANKS SECRET PATH ARG, "request: port= is missing; it is a number from 1 to 65535");
    REFUSED(JOB RANKS PORT PATH ARG, "request: secret= is missing; it is a text of 16 hexadecimal digits");
    REFUSED(JOB RANKS PORT SECRET ARG, "request: path= is missing; it is the path or the name of a program");
    REFUSED(JOB RANKS PORT SECRET PATH,
            "request: arg= is missing; it is an argument, the program's name first");
    REFUSED("", "request: job= is missing; it is a number from 1 to 4294967295");
}

TEST(a_second_one_of_what_comes_once_is_refused)
{
    static const char *const once[] = { "job=7",  "ranks=2", "first=0",   "size=2",
                                        "cpus=1", "port=1",  "stdin=0",   "secret=0123456789abcdef",
                                        "path=/", "cwd=/",   "program=0", NULL };
    char words[100], text[200];

    for (unsigned i = 0; once[i]; i++) {
        size_t length = strlen(once[i]), name = strcspn(once[i], "=");

        memcpy(words, once[i], length + 1);
        memcpy(words + length + 1, once[i], length + 1);
        snprintf(text, sizeof(text), "request: second %.*s=\"%s\"; %.*s= comes only once", (int)name, once[i],
                 once[i] + name + 1, (int)name, once[i]);
        refused(words, 2 * (length + 1), text, __LINE__);
    }
}

TEST(other_words_are_refused_by_name)
{
#define KNOWN                                                                             \
    "; the words are job= ranks= first= size= cpus= port= stdin= program= secret= path= " \
    "cwd= arg= env= number="
    REFUSED(FULL "nodes=4\0", "request: unknown word \"nodes=4\"" KNOWN);
    REFUSED("job\0" FULL, "request: unknown word \"job\"" KNOWN);
    REFUSED("jobs=1\0" FULL, "request: unknown word \"jobs=1\"" KNOWN);
    REFUSED("Job=1\0" FULL, "request: unknown word \"Job=1\"" KNOWN);
    REFUSED(" job=1\0" FULL, "request: unknown word \" job=1\"" KNOWN);
    REFUSED(FULL "=\0", "request: unknown word \"=\"" KNOWN);
    REFUSED(FULL "\0", "request: unknown word \"\"" KNOWN);
}

TEST(messages_are_a_short_line_of_ascii)
{
    REFUSED("a\nb\x80\x7f\x1b[2J\0", "request: unknown word \"a?b???[2J\"" KNOWN);
    REFUSED("1234567890123456789012345678901234567890123456789012345678901\0",
            "request: unknown word "
            "\"123456789012345678901234567890123456789012345678901234567890...\"" KNOWN);
    REFUSED("123456789012345678901234567890123456789012345678901234567890\0",
            "request: unknown word \"123456789012345678901234567890123456789012345678901234567890\"" KNOWN);
    CHECK(sizeof("refused ") + strlen(why.text) + 3 < LAUNCH_LINE_BYTES);
}

TEST(numbers_have_bounds)
{
    static const struct {
        const char *name;
        uint64_t low, high;
    } numbers[] = { { "job", 1, UINT32_MAX },
                    { "ranks", 1, LAUNCH_RANKS_MAX },
                    { "size", 1, LAUNCH_RANKS_MAX },
                    { "first", 0, LAUNCH_RANKS_MAX - 1 },
                    { "cpus", 1, 4095 },
                    { "port", 1, 65535 },
                    { "stdin", 0, LAUNCH_RANKS_MAX - 1 },
                    { "program", 0, 4294967296 } };
    char word[64], text[200];

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const uint64_t wrong[] = { numbers[i].low - 1, numbers[i].high + 1, UINT64_MAX };

        for (unsigned k = 0; k < 2; k++) {
            uint64_t right = k ? numbers[i].high : numbers[i].low;
            int length = snprintf(word, sizeof(word), "%s=%" PRIu64, numbers[i].name, right);

            /* It is taken: that others are missing is what is left to say. */
            CHECK_EQUAL(read_words(word, (size_t)length + 1), -EINVAL);
            CHECK_CONTAINS(why.text, " is missing");
        }
        for (unsigned k = 0; k < 3; k++) {
            int length = snprintf(word, sizeof(word), "%s=%" PRIu64, numbers[i].name, wrong[k]);

            snprintf(text, sizeof(text),
                     "request: %s=\"%" PRIu64 "\" is not a number from %" PRIu64 " to %" PRIu64,
                     numbers[i].name, wrong[k], numbers[i].low, numbers[i].high);
            refused(word, (size_t)length + 1, text, __LINE__);
        }
    }
}

TEST(what_is_no_decimal_number_is_refused)
{
    static const char *const wrong[] = { "",
                                         "0x1",
                                         "+1",
                                         "-1",
                                         " 1",
                                         "1 ",
                                         "1k",
                                         "a",
                                         "1.0",
                                         "1=",
                                         "\xb2",
                                         "18446744073709551617",
                                         "00000000000000000000000000000",
                                         NULL };
    char word[64], text[200];

    for (unsigned i = 0; wrong[i]; i++) {
        int length = snprintf(word, sizeof(word), "port=%s", wrong[i]);

        snprintf(text, sizeof(text), "request: port=\"%s\" is not a number from 1 to 65535",
                 wrong[i][0] == '\xb2' ? "?" : wrong[i]);
        refused(word, (size_t)length + 1, text, __LINE__);
    }
}

TEST(a_secret_is_sixteen_digits)
{
    CHECK_EQUAL(READ(JOB RANKS PORT PATH ARG "secret=0000000000000000\0"), 0);
    CHECK_EQUAL(request.secret, 0);
    CHECK_EQUAL(READ(JOB RANKS PORT PATH ARG "secret=FFFFffffFFFFffff\0"), 0);
    CHECK_EQUAL(request.secret, -1);
    REFUSED("secret=\0", "request: secret=\"\" is not a text of 16 hexadecimal digits");
    REFUSED("secret=012345678901234\0",
            "request: secret=\"012345678901234\" is not a text of 16 hexadecimal digits");
    REFUSED("secret=01234567890123456\0",
            "request: secret=\"01234567890123456\" is not a text of 16 hexadecimal digits");
    REFUSED("secret=012345678901234g\0",
            "request: secret=\"012345678901234g\" is not a text of 16 hexadecimal digits");
    REFUSED("secret=0x23456789012345\0",
            "request: secret=\"0x23456789012345\" is not a text of 16 hexadecimal digits");
}

TEST(texts_are_what_they_have_to_be)
{
    REFUSED("path=\0", "request: path=\"\" is not the path or the name of a program");
    REFUSED("cwd=\0", "request: cwd=\"\" is not a whole path, which begins with /");
    REFUSED("cwd=tmp/\0", "request: cwd=\"tmp/\" is not a whole path, which begins with /");
    REFUSED("env=\0", "request: env=\"\" is not a variable, NAME=VALUE");
    REFUSED("env=A\0", "request: env=\"A\" is not a variable, NAME=VALUE");
    REFUSED("env==1\0", "request: env=\"=1\" is not a variable, NAME=VALUE");
    REFUSED("number=\0", "request: number=\"\" is not the name of a variable, without =");
    REFUSED("number=A=\0", "request: number=\"A=\" is not the name of a variable, without =");
    REFUSED("number==\0", "request: number=\"=\" is not the name of a variable, without =");
}

TEST(a_program_that_is_not_sent_has_a_whole_path)
{
    REFUSED(JOB RANKS PORT SECRET ARG "path=bin/a\0",
            "request: path=\"bin/a\" does not begin with /; without program= it must");
    REFUSED(JOB RANKS PORT SECRET ARG "program=0\0path=a\0",
            "request: path=\"a\" does not begin with /; without program= it must");
    CHECK_EQUAL(READ(JOB RANKS PORT SECRET ARG "path=a\0program=1\0"), 0);
    CHECK_EQUAL(READ(FULL "program=1\0"), 0);
}

TEST(ranks_stand_within_the_job)
{
    CHECK_EQUAL(READ(FULL "first=3\0size=5\0"), 0);
    CHECK_EQUAL(READ("size=5\0first=0\0" FULL), 0);
    REFUSED(FULL "first=3\0size=4\0", "request: size=4 is too low; first=3 and ranks=2 need 5 or more");
    REFUSED(FULL "size=1\0", "request: size=1 is too low; first=0 and ranks=2 need 2 or more");
    REFUSED(FULL "first=1\0",
            "request: size=2 (not given: as ranks=) is too low; first=1 and ranks=2 need 3 or more");
    REFUSED(JOB PORT SECRET PATH ARG "ranks=1048576\0first=1048575\0size=1048576\0",
            "request: size=1048576 is too low; first=1048575 and ranks=1048576 need 2097151 or more");
    CHECK_EQUAL(READ(JOB PORT SECRET PATH ARG "ranks=1\0first=1048575\0size=1048576\0"), 0);
}

TEST(input_goes_to_any_rank_of_the_job)
{
    CHECK_EQUAL(READ(FULL "first=3\0size=9\0stdin=0\0"), 0);
    CHECK_EQUAL(request.stdin_rank, 0);
    CHECK_EQUAL(READ(FULL "stdin=8\0first=3\0size=9\0"), 0);
    CHECK_EQUAL(request.stdin_rank, 8);
    REFUSED(FULL "stdin=9\0first=3\0size=9\0",
            "request: stdin=9 is not a rank of the job; its ranks are 0 to 8");
    REFUSED(FULL "stdin=2\0", "request: stdin=2 is not a rank of the job; its ranks are 0 to 1");
}

TEST(the_last_word_ends_as_the_others_do)
{
    static const char words[] = FULL "cwd=/\0";

    for (size_t count = 1; count < sizeof(words) - 1; count++) {
        if (words[count - 1])
            refused(words, count, "request: its last word does not end with NUL", __LINE__);
    }
}

/* Reads a request with `count` times a word after the required ones. */
static int read_many(const char *word, unsigned count, const char *word_after)
{
    static const char full[] = JOB RANKS PORT SECRET PATH;
    static char words[LAUNCH_REQUEST_BYTES];
    char *at = words + sizeof(full) - 1;

    memcpy(words, full, sizeof(full) - 1);
    for (unsigned i = 0; i < count; i++)
        at = stpcpy(at, word) + 1;
    at = stpcpy(at, word_after) + 1;
    return read_words(words, (size_t)(at - words));
}

TEST(lists_have_an_end)
{
    CHECK_EQUAL(read_many("arg=", LAUNCH_ARGUMENTS_MAX - 1, "arg=last"), 0);
    CHECK_EQUAL(request.argument_count, LAUNCH_ARGUMENTS_MAX);
    CHECK_TEXT(request.arguments[LAUNCH_ARGUMENTS_MAX - 1], "last");
    CHECK(request.arguments[LAUNCH_ARGUMENTS_MAX] == NULL);
    CHECK_EQUAL(read_many("arg=", LAUNCH_ARGUMENTS_MAX, "arg=last"), -EINVAL);
    CHECK_TEXT(why.text, "request: too many arg=; at most 1024 are allowed");

    CHECK_EQUAL(read_many("number=A", LAUNCH_VARIABLES_MAX, "arg=a"), 0);
    CHECK_EQUAL(read_many("env=A=", LAUNCH_VARIABLES_MAX, "arg=a"), 0);
    CHECK_EQUAL(request.variable_count, LAUNCH_VARIABLES_MAX);
    CHECK(request.variables[LAUNCH_VARIABLES_MAX] == NULL);
    CHECK_EQUAL(read_many("env=A=", LAUNCH_VARIABLES_MAX, "number=A"), -EINVAL);
    CHECK_TEXT(why.text, "request: too many number=; at most 1024 are allowed, env= and number= together");
    CHECK_EQUAL(read_many("number=A", LAUNCH_VARIABLES_MAX, "env=A="), -EINVAL);
    CHECK_TEXT(why.text, "request: too many env=; at most 1024 are allowed, env= and number= together");
}

TEST(a_request_has_its_size_at_most)
{
    static char words[LAUNCH_REQUEST_BYTES + 1];
    static const char full[] = JOB RANKS PORT SECRET PATH "arg=";

    memcpy(words, full, sizeof(full) - 1);
    memset(words + sizeof(full) - 1, 'x', sizeof(words) - sizeof(full) - 1);
    CHECK_EQUAL(read_words(words, LAUNCH_REQUEST_BYTES), 0);
    CHECK_EQUAL(strlen(request.arguments[0]), LAUNCH_REQUEST_BYTES - sizeof(full));
    refused(words, sizeof(words), "request: 131073 bytes are too many; the limit is 131072", __LINE__);
}

static struct launch_line line;

/* Reads a copy that ends where the line ends. */
static int read_line(const char *text)
{
    static char *copy;

    free(copy);
    copy = strdup(text);
    why.text[0] = '\0';
    return launch_line_read(copy, &line, &why);
}

#define MAC "00112233445566778899aabbccddeeFF"

TEST(a_line_says_how_much_comes_for_whom_and_by_which_right)
{
    CHECK_EQUAL(read_line("launch 1 4294967295 0 0 - 0 -"), 0);
    CHECK_EQUAL(line.bytes, 1);
    CHECK_EQUAL(line.job, UINT32_MAX);
    CHECK(line.user.uid == 0 && line.user.gid == 0 && line.user.group_count == 0);
    CHECK(!line.has_ticket && line.expires_s == 0);
    CHECK_EQUAL(read_line("launch 131072 7 4294967294 100 4,4294967294,0 1800000000 " MAC), 0);
    CHECK_EQUAL(line.bytes, LAUNCH_REQUEST_BYTES);
    CHECK(line.job == 7 && line.user.uid == UINT32_MAX - 1 && line.user.gid == 100);
    CHECK_EQUAL(line.user.group_count, 3);
    CHECK(line.user.groups[0] == 4 && line.user.groups[1] == UINT32_MAX - 1 && line.user.groups[2] == 0);
    CHECK(line.has_ticket && line.expires_s == 1800000000);
    for (unsigned i = 0; i < LAUNCH_TICKET_BYTES; i++)
        CHECK_EQUAL(line.mac[i], i * 0x11);
    CHECK_EQUAL(line.sealed_bytes, strlen("7 4294967294 100 4,4294967294,0 1800000000"));
    CHECK_EQUAL(strncmp(line.sealed, "7 4294967294 100 4,4294967294,0 1800000000 ", line.sealed_bytes + 1),
                0);
}

TEST(other_lines_are_refused_by_their_words)
{
#define LINE   "is not launch BYTES JOB UID GID GROUPS EXPIRES MAC"
#define BYTES  "BYTES is not a number from 1 to 131072"
#define GROUPS "GROUPS is not -, nor 1 to 256 numbers with commas"
#define DIGITS "MAC is not 32 hexadecimal digits, nor -"
#define START  "launch 5 1 2 3 "
    static const struct {
        const char *line, *what;
    } wrong[] = { { "", LINE },
                  { "launch", LINE },
                  { "kill", LINE },
                  { "launcher 5 -", LINE },
                  { "Launch 5 -", LINE },
                  { "launch ", BYTES },
                  { "launch 5", BYTES },
                  { "launch 0 1", BYTES },
                  { "launch 131073 1", BYTES },
                  { "launch -5 1", BYTES },
                  { "launch  5 1", BYTES },
                  { "launch 99999999999999999999 1", BYTES },
                  { "launch 5 -", "JOB is not a number from 1 to 4294967295" },
                  { "launch 5 0123456789abcdef", "JOB is not a number" },
                  { "launch 5 0 ", "JOB is not a number" },
                  { "launch 5 1 4294967295 ", "UID is not a number from 0 to 4294967294" },
                  { "launch 5 1 root ", "UID is not a number" },
                  { "launch 5 1 -1 ", "UID is not a number" },
                  { "launch 5 1 2 4294967295 ", "GID is not a number from 0 to 4294967294" },
                  { "launch 5 1 2 3", "GID is not a number" },
                  { START, GROUPS },
                  { START "-", GROUPS },
                  { START "-1 ", GROUPS },
                  { START ",", GROUPS },
                  { START "1, 0 -", GROUPS },
                  { START "1,,2 0 -", GROUPS },
                  { START "1,4294967295 0 -", GROUPS },
                  { START "4 ", "EXPIRES is not a number" },
                  { START "- ", "EXPIRES is not a number" },
                  { START "- 5", "EXPIRES is not a number" },
                  { START "- 99999999999999999999 -", "EXPIRES is not a number" },
                  { START "- 5 ", DIGITS },
                  { START "- 5 --", DIGITS },
                  { START "- 5 - ", DIGITS },
                  { START "- 5 -\r", DIGITS },
                  { START "- 5  -", DIGITS },
                  { START "- 5 0123456789abcdef0123456789abcde", DIGITS },
                  { START "- 5 0123456789abcdef0123456789abcdeg", DIGITS },
                  { START "- 5 0123456789abcdef0123456789abcdef0", DIGITS } };

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQUAL(read_line(wrong[i].line), -EINVAL);
        CHECK_CONTAINS(why.text, wrong[i].what);
    }
}

TEST(a_line_has_so_many_groups_at_most)
{
    char text[2 * LAUNCH_TICKET_LINE] = "launch 131072 4294967295 4294967294 4294967294 ";

    for (unsigned i = 0; i < CREDENTIALS_GROUPS_MAX; i++)
        strcat(text, i ? ",4294967294" : "4294967294");
    char *end = text + strlen(text);
    strcpy(end, " 281474976710656 " MAC);
    CHECK_EQUAL(read_line(text), 0);
    CHECK(strlen(text) < LAUNCH_TICKET_LINE);
    CHECK_EQUAL(line.user.group_count, CREDENTIALS_GROUPS_MAX);
    strcpy(end, ",1 281474976710656 " MAC);
    CHECK_EQUAL(read_line(text), -EINVAL);
    CHECK_CONTAINS(why.text, GROUPS);
}

static const uint8_t key[KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The digits were computed by another program from the words of docs/jobs.md. */
TEST(a_ticket_is_the_hash_that_the_protocol_says)
{
    static const uint8_t expected[LAUNCH_TICKET_BYTES] = { 0xea, 0xbc, 0x3c, 0x38, 0x28, 0x84, 0x38, 0x5a,
                                                           0x7b, 0x8a, 0x68, 0xfa, 0xf4, 0xb1, 0xcc, 0x6e };
    static const char sealed[] = "7 1000 100 4,24 1800000000";
    uint8_t mac[LAUNCH_TICKET_BYTES];

    launch_ticket(mac, key, 0x0123456789abcdef, "525400000001", sealed, sizeof(sealed) - 1);
    CHECK_EQUAL(memcmp(mac, expected, sizeof(mac)), 0);
}

/* Checks a ticket of job 7 of user 1000, made for nonce 5 of node n1, valid until 1000. */
static int check(const char *id, uint64_t nonce, uint64_t now_s, const char *sealed)
{
    static const char of[] = "7 1000 100 4,24 1000";
    uint8_t mac[LAUNCH_TICKET_BYTES];
    char text[200];
    int length = snprintf(text, sizeof(text), "launch 5 %s ", sealed ? sealed : of);

    launch_ticket(mac, key, 5, "n1", of, sizeof(of) - 1);
    for (unsigned i = 0; i < sizeof(mac); i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "%02x", mac[i]);
    CHECK_EQUAL(read_line(text), 0);
    return launch_ticket_check(&line, key, nonce, id, now_s, &why);
}

TEST(a_ticket_holds_for_one_connection_node_job_and_user)
{
    static const char *const others[] = { "8 1000 100 4,24 1000", "7 1001 100 4,24 1000",
                                          "7 1000 101 4,24 1000", "7 1000 100 4 1000",
                                          "7 1000 100 - 1000",    "7 1000 100 4,24 1001" };

    CHECK_EQUAL(check("n1", 5, 1000, NULL), 0);
    CHECK_EQUAL(check("n1", 6, 1000, NULL), -EACCES);
    CHECK_CONTAINS(why.text, "the ticket is wrong: it was made with another key, or for another node, nonce, "
                             "job or user");
    CHECK_EQUAL(check("n2", 5, 1000, NULL), -EACCES);
    CHECK_EQUAL(check("", 5, 1000, NULL), -EACCES);
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        CHECK_EQUAL(check("n1", 5, 1000, others[i]), -EACCES);
        CHECK_CONTAINS(why.text, "the ticket is wrong");
    }
    CHECK_EQUAL(check("n1", 5, 1001, NULL), -EACCES);
    CHECK_TEXT(why.text, "the ticket expired 1 s ago by this node's clock; a ticket is valid for 60 s");
}

TEST(each_digit_of_a_ticket_counts)
{
    static const char sealed[] = "7 0 0 - 9";
    uint8_t mac[LAUNCH_TICKET_BYTES];

    CHECK_EQUAL(read_line("launch 5 7 0 0 - 9 " MAC), 0);
    launch_ticket(mac, key, 1, "n1", sealed, sizeof(sealed) - 1);
    for (unsigned bit = 0; bit < 8 * sizeof(mac); bit++) {
        memcpy(line.mac, mac, sizeof(mac));
        line.mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_EQUAL(launch_ticket_check(&line, key, 1, "n1", 0, &why), -EACCES);
    }
    memcpy(line.mac, mac, sizeof(mac));
    CHECK_EQUAL(launch_ticket_check(&line, key, 1, "n1", 0, &why), 0);
}

TEST(a_node_with_a_key_wants_a_ticket_and_one_without_takes_none)
{
    CHECK_EQUAL(read_line("launch 5 7 0 0 - 0 -"), 0);
    CHECK_EQUAL(launch_ticket_check(&line, NULL, 1, "n1", 9, &why), 0);
    CHECK_EQUAL(launch_ticket_check(&line, key, 1, "n1", 9, &why), -EACCES);
    CHECK_CONTAINS(why.text, "this node has a key: it needs a ticket");
    CHECK_EQUAL(read_line("launch 5 7 0 0 - 99 " MAC), 0);
    CHECK_EQUAL(launch_ticket_check(&line, NULL, 1, "n1", 9, &why), -EACCES);
    CHECK_TEXT(why.text, "this node has no key: send - as the ticket");
}

TEST(a_request_is_for_the_job_of_its_ticket)
{
    CHECK_EQUAL(read_line("launch 5 7 0 0 - 0 -"), 0);
    CHECK_EQUAL(READ(FULL), 0);
    CHECK_EQUAL(launch_job_check(&line, &request, &why), 0);
    line.job = 8;
    CHECK_EQUAL(launch_job_check(&line, &request, &why), -EACCES);
    CHECK_TEXT(why.text, "request: job=7, but its ticket is for job 8");
}

int main(void)
{
    RUN(every_word_is_kept_in_its_place);
    RUN(what_is_left_out_has_its_default);
    RUN(a_request_leaves_nothing_to_the_next);
    RUN(each_word_that_must_be_there_is_missed);
    RUN(a_second_one_of_what_comes_once_is_refused);
    RUN(other_words_are_refused_by_name);
    RUN(messages_are_a_short_line_of_ascii);
    RUN(numbers_have_bounds);
    RUN(what_is_no_decimal_number_is_refused);
    RUN(a_secret_is_sixteen_digits);
    RUN(texts_are_what_they_have_to_be);
    RUN(a_program_that_is_not_sent_has_a_whole_path);
    RUN(ranks_stand_within_the_job);
    RUN(input_goes_to_any_rank_of_the_job);
    RUN(the_last_word_ends_as_the_others_do);
    RUN(lists_have_an_end);
    RUN(a_request_has_its_size_at_most);
    RUN(a_line_says_how_much_comes_for_whom_and_by_which_right);
    RUN(other_lines_are_refused_by_their_words);
    RUN(a_line_has_so_many_groups_at_most);
    RUN(a_ticket_is_the_hash_that_the_protocol_says);
    RUN(a_ticket_holds_for_one_connection_node_job_and_user);
    RUN(each_digit_of_a_ticket_counts);
    RUN(a_node_with_a_key_wants_a_ticket_and_one_without_takes_none);
    RUN(a_request_is_for_the_job_of_its_ticket);
    return check_report("launch_request");
}
