/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_launch_writer.c: what tacetrun writes, a node reads: requests at random, there and back, and into
 * rooms that are too small.
 */
#include "check.h"
#include "service/tacetrun/launch_writer.h"

static uint64_t seed = 11;

static uint32_t random_below(uint64_t limit)
{
    return (uint32_t)(check_random(&seed) % limit);
}

/* Returns a number from 1 to `limit`, near an end of it or anywhere. */
static uint32_t random_up_to(uint32_t limit)
{
    uint32_t near = random_below(limit < 3 ? limit : 3);

    switch (random_below(3)) {
    case 0:
        return 1 + near;
    case 1:
        return limit - near;
    default:
        return 1 + random_below(limit);
    }
}

/* ---- Requests at random ---- */

/* Their texts. */
static char texts[1 << 20];
static size_t texts_used;

/* Adds up to `length` of any bytes but NUL and `without`, and a NUL. */
static void random_bytes(uint32_t length, char without)
{
    for (uint32_t i = random_below(length + 1); i > 0; i--) {
        char byte = (char)(1 + random_below(255));

        if (byte != without)
            texts[texts_used++] = byte;
    }
    texts[texts_used] = '\0';
}

/* Returns a text that begins with `start`. */
static const char *random_text(const char *start, uint32_t length, char without)
{
    char *text = texts + texts_used;

    texts_used += (size_t)sprintf(text, "%s", start);
    random_bytes(length, without);
    texts_used++;
    return text;
}

static const char *random_variable(void)
{
    const char *text = random_text("N", 5, '=');

    texts[texts_used - 1] = '=';
    random_bytes(30, '\0');
    texts_used++;
    return text;
}

static unsigned random_count(unsigned limit)
{
    return random_below(20) ? random_below(6) : limit - random_below(2);
}

static void random_lists(struct launch_request *request)
{
    request->argument_count = 1 + random_count(LAUNCH_ARGUMENTS_MAX - 1);
    request->variable_count = random_count(LAUNCH_VARIABLES_MAX);
    request->number_count = LAUNCH_VARIABLES_MAX - request->variable_count;
    if (request->number_count > 6 && random_below(10))
        request->number_count = random_below(6);
    for (unsigned i = 0; i < request->argument_count; i++)
        request->arguments[i] = random_text("", 30, '\0');
    for (unsigned i = 0; i < request->variable_count; i++)
        request->variables[i] = random_variable();
    for (unsigned i = 0; i < request->number_count; i++)
        request->numbers[i] = random_text("N", 10, '=');
}

/* Makes a request that fits in any case. */
static void random_request(struct launch_request *request)
{
    memset(request, 0, sizeof(*request));
    texts_used = 0;
    request->job = random_up_to(UINT32_MAX);
    request->size = random_up_to(LAUNCH_RANKS_MAX);
    request->ranks = random_up_to(request->size);
    request->first = random_up_to(request->size - request->ranks + 1) - 1;
    request->cpus = random_below(2) ? random_up_to(LAUNCH_CPUS_MAX) : 0;
    request->port = (uint16_t)random_up_to(UINT16_MAX);
    request->secret = check_random(&seed) >> random_below(64);
    request->stdin_rank = random_below(2) ? random_up_to(request->size) - 1 : LAUNCH_RANK_NONE;
    request->program_bytes = random_below(2) ? 1 + check_random(&seed) % LAUNCH_PROGRAM_MAX : 0;
    request->path = random_text(request->program_bytes ? "p" : "/", 100, '\0');
    request->directory = random_below(2) ? random_text("/", 100, '\0') : NULL;
    random_lists(request);
}

/* ---- There and back ---- */

static void check_list(const char *const *left, const char *const *right, unsigned left_count,
                       unsigned right_count)
{
    if (!CHECK_EQUAL(left_count, right_count))
        return;
    for (unsigned i = 0; i < left_count; i++)
        CHECK_TEXT(left[i], right[i]);
    CHECK(left[left_count] == NULL);
}

static void check_same(const struct launch_request *read, const struct launch_request *request)
{
    CHECK_EQUAL(read->job, request->job);
    CHECK_EQUAL(read->ranks, request->ranks);
    CHECK_EQUAL(read->first, request->first);
    CHECK_EQUAL(read->size, request->size);
    CHECK_EQUAL(read->cpus, request->cpus);
    CHECK_EQUAL(read->port, request->port);
    CHECK_EQUAL(read->secret, request->secret);
    CHECK_EQUAL(read->stdin_rank, request->stdin_rank);
    CHECK_EQUAL(read->program_bytes, request->program_bytes);
    CHECK_TEXT(read->path, request->path);
    CHECK_EQUAL(!read->directory, !request->directory);
    if (request->directory)
        CHECK_TEXT(read->directory, request->directory);
    check_list(read->arguments, request->arguments, read->argument_count, request->argument_count);
    check_list(read->variables, request->variables, read->variable_count, request->variable_count);
    check_list(read->numbers, request->numbers, read->number_count, request->number_count);
}

TEST(what_is_written_is_read_as_it_was_meant)
{
    static char bytes[LAUNCH_REQUEST_BYTES];
    static struct launch_request request, read;
    struct message why;

    for (unsigned round = 0; round < 2000; round++) {
        random_request(&request);
        size_t count = launch_request_write(&request, bytes, sizeof(bytes));

        CHECK(count > 0);
        why.text[0] = '\0';
        CHECK_EQUAL(launch_request_read(bytes, count, &read, &why), 0);
        CHECK_TEXT(why.text, "");
        check_same(&read, &request);
    }
}

TEST(a_room_that_is_too_small_is_not_overrun)
{
    static char bytes[LAUNCH_REQUEST_BYTES];
    static struct launch_request request;

    for (unsigned round = 0; round < 50; round++) {
        random_request(&request);
        size_t count = launch_request_write(&request, bytes, sizeof(bytes));

        for (unsigned i = 0; i < 100; i++) {
            size_t room = i < 2 ? count - i : random_below(count);
            char *exact = malloc(room + !room);

            CHECK_EQUAL(launch_request_write(&request, exact, room), room < count ? 0 : count);
            CHECK(room < count || memcmp(exact, bytes, count) == 0);
            free(exact);
        }
    }
}

TEST(more_than_a_request_has_is_not_written)
{
    static char bytes[2 * LAUNCH_REQUEST_BYTES], argument[LAUNCH_REQUEST_BYTES + 1];
    static struct launch_request request, read;
    struct message why;
    size_t length = LAUNCH_REQUEST_BYTES;

    random_request(&request);
    request.variable_count = request.number_count = 0;
    request.argument_count = 1;
    request.arguments[0] = "";
    request.arguments[1] = NULL;
    length -= launch_request_write(&request, bytes, sizeof(bytes));
    memset(argument, 'x', sizeof(argument) - 1);
    request.arguments[0] = argument;
    argument[length] = '\0';
    CHECK_EQUAL(launch_request_write(&request, bytes, sizeof(bytes)), LAUNCH_REQUEST_BYTES);
    CHECK_EQUAL(launch_request_read(bytes, LAUNCH_REQUEST_BYTES, &read, &why), 0);
    CHECK_TEXT(read.arguments[0], argument);
    argument[length] = 'x';
    argument[length + 1] = '\0';
    CHECK_EQUAL(launch_request_write(&request, bytes, sizeof(bytes)), 0);
}

TEST(words_stand_as_they_are_documented)
{
    static char bytes[LAUNCH_REQUEST_BYTES];
    static const char full[] =
        "job=7\0ranks=2\0first=3\0size=9\0cpus=4\0port=4000\0secret=00000000000000ff\0stdin=8\0path=a\0"
        "program=5\0cwd=/x\0arg=a\0arg=\0env=A=1\0number=N";
    static const char bare[] =
        "job=7\0ranks=1\0first=0\0size=1\0port=4000\0secret=00000000000000ff\0path=/a\0"
        "arg=a";
    static struct launch_request request = { .job = 7,
                                             .ranks = 2,
                                             .first = 3,
                                             .size = 9,
                                             .cpus = 4,
                                             .port = 4000,
                                             .secret = 255,
                                             .stdin_rank = 8,
                                             .path = "a",
                                             .program_bytes = 5,
                                             .directory = "/x",
                                             .argument_count = 2,
                                             .arguments = { "a", "" },
                                             .variable_count = 1,
                                             .variables = { "A=1" },
                                             .number_count = 1,
                                             .numbers = { "N" } };

    CHECK_EQUAL(launch_request_write(&request, bytes, sizeof(bytes)), sizeof(full));
    CHECK_EQUAL(memcmp(bytes, full, sizeof(full)), 0);
    request = (struct launch_request){ .job = 7,
                                       .ranks = 1,
                                       .size = 1,
                                       .port = 4000,
                                       .secret = 255,
                                       .stdin_rank = LAUNCH_RANK_NONE,
                                       .path = "/a",
                                       .argument_count = 1,
                                       .arguments = { "a" } };
    CHECK_EQUAL(launch_request_write(&request, bytes, sizeof(bytes)), sizeof(bare));
    CHECK_EQUAL(memcmp(bytes, bare, sizeof(bare)), 0);
}

int main(void)
{
    RUN(what_is_written_is_read_as_it_was_meant);
    RUN(a_room_that_is_too_small_is_not_overrun);
    RUN(more_than_a_request_has_is_not_written);
    RUN(words_stand_as_they_are_documented);
    return check_report("launch_writer");
}
