/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_commands.c: the conductor's commands: which beats carry them, in which order, and what is no command.
 */
#include "check.h"
#include "service/conductor/commands.h"
#include <string.h>

static struct commands commands;

static void reset(void)
{
    memset(&commands, 0, sizeof(commands));
}

static int add(const char *text, bool is_acknowledged, uint64_t deadline_ns)
{
    struct command command;
    const char *why;

    CHECK_EQUAL(command_read(text, is_acknowledged, &command, &why), 0);
    command.deadline_ns = deadline_ns;
    return commands_add(&commands, &command);
}

/* Returns the numbers of the commands that the next beat carries, as text. */
static const char *beat(void)
{
    static char text[256];
    struct beat carries = { 0 };
    size_t length = 0;

    commands_put(&commands, &carries);
    *text = '\0';
    for (unsigned i = 0; i < carries.command_count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u%s", i ? " " : "",
                                   carries.commands[i].number,
                                   carries.commands[i].code & BEAT_ACKNOWLEDGE ? "a" : "");
    commands_sent(&commands, 42);
    return text;
}

TEST(a_one_way_command_goes_with_three_beats)
{
    reset();
    CHECK_EQUAL(add("stop", false, 0), 1);
    CHECK_TEXT(beat(), "1");
    CHECK_EQUAL(add("continue", false, 0), 1);
    CHECK_TEXT(beat(), "1 2");
    CHECK_TEXT(beat(), "1 2");
    CHECK_TEXT(beat(), "2");
    CHECK_TEXT(beat(), "");
}

/* Returns how many commands of users are taken, `each` of a user, the first being `uid`. */
static unsigned users_add(uint32_t uid, unsigned each, bool is_acknowledged)
{
    struct command command;
    unsigned count = 0;
    const char *why;

    CHECK_EQUAL(command_read("kill job 7", is_acknowledged, &command, &why), 0);
    command.is_user = true;
    for (unsigned i = 0; i < 100; i++) {
        command.uid = uid + i / each;
        count += !commands_refusal(&commands, &command) && commands_add(&commands, &command) >= 0;
    }
    return count;
}

TEST(users_leave_places_for_other_users_and_for_operators)
{
    reset();
    CHECK_EQUAL(users_add(1000, 100, false), 6);
    CHECK_EQUAL(users_add(1000, 100, true), 3);
    CHECK_EQUAL(users_add(1001, 1, false), 6);
    CHECK_EQUAL(users_add(1001, 1, true), 3);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQUAL(add("stop", true, 9), 0);
    CHECK_EQUAL(add("stop", true, 9), -1);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQUAL(add("stop", false, 0), 1);
    for (unsigned i = 0; i < 3; i++)
        beat();
    CHECK_EQUAL(users_add(1000, 100, false), 6);
}

TEST(acknowledged_commands_follow_one_another)
{
    reset();
    CHECK_EQUAL(add("stop", true, 9), 1);
    CHECK_EQUAL(add("continue", true, 9), 0);
    for (unsigned i = 0; i < 10; i++)
        CHECK_TEXT(beat(), "1a");
    CHECK_EQUAL(add("count", false, 0), 1);
    CHECK_TEXT(beat(), "1a 2");
    commands_answered(&commands, false);
    CHECK_TEXT(beat(), "2 3a");
    commands_answered(&commands, false);
    CHECK(commands_outstanding(&commands) == NULL);
    CHECK_TEXT(beat(), "2 3a");
    CHECK_TEXT(beat(), "3a");
    CHECK_TEXT(beat(), "");
}

TEST(a_command_that_is_dropped_is_carried_no_more)
{
    reset();
    add("stop", true, 9);
    CHECK_TEXT(beat(), "1a");
    commands_answered(&commands, true);
    CHECK_TEXT(beat(), "");
}

TEST(what_waits_has_an_end_and_a_time)
{
    struct command command;

    reset();
    CHECK_EQUAL(commands_deadline_ns(&commands), UINT64_MAX);
    add("stop", true, 900);
    for (unsigned i = 0; i < COMMANDS_WAITING_MAX; i++)
        CHECK_EQUAL(add("continue", true, 100 + i), 0);
    CHECK_EQUAL(add("continue", true, 100), -1);
    CHECK_EQUAL(commands_deadline_ns(&commands), 100);
    CHECK(!commands_expired(&commands, 99, &command));
    CHECK(commands_expired(&commands, 101, &command) && command.deadline_ns == 100);
    CHECK(commands_expired(&commands, 101, &command) && command.deadline_ns == 101);
    CHECK(!commands_expired(&commands, 101, &command));
    CHECK_EQUAL(commands_deadline_ns(&commands), 102);
}

TEST(a_beat_carries_sixteen_and_no_more)
{
    struct beat carries = { 0 };

    reset();
    for (unsigned i = 0; i < BEAT_COMMANDS_MAX; i++)
        CHECK_EQUAL(add("stop", false, 0), 1);
    CHECK_EQUAL(add("stop", false, 0), -1);
    CHECK_EQUAL(add("kill", true, 9), 0);
    commands_put(&commands, &carries);
    CHECK_EQUAL(carries.command_count, BEAT_COMMANDS_MAX);
    for (unsigned i = 0; i < COMMAND_BEATS; i++)
        beat();
    CHECK_TEXT(beat(), "17a");
}

TEST(words_become_the_bytes_of_a_command)
{
    struct command command;
    const char *why;

    CHECK_EQUAL(command_read("services 258", true, &command, &why), 0);
    CHECK_EQUAL(command.wire.code, BEAT_SERVICES | BEAT_ACKNOWLEDGE);
    CHECK(command.wire.bytes == 4 && memcmp(command.wire.body, "\0\0\1\2", 4) == 0);
    CHECK_EQUAL(command_read("services 1", true, &command, &why), 0);
    CHECK_EQUAL(command_read("services 100000", true, &command, &why), 0);
    CHECK(command.wire.bytes == 4 && memcmp(command.wire.body, "\0\1\x86\xa0", 4) == 0);
    CHECK_EQUAL(command_read("rating nettick 50", false, &command, &why), 0);
    CHECK_EQUAL(command.wire.code, BEAT_RATE);
    CHECK(command.wire.bytes == 10 && memcmp(command.wire.body, "nettick 50", 10) == 0);
    CHECK_EQUAL(command_read("kill", true, &command, &why), 0);
    CHECK_EQUAL(command.wire.bytes, 0);
    CHECK_EQUAL(command_read("stop job 4294967295", true, &command, &why), 0);
    CHECK_EQUAL(command.wire.code, BEAT_STOP | BEAT_ACKNOWLEDGE);
    CHECK(command.wire.bytes == 4 && memcmp(command.wire.body, "\377\377\377\377", 4) == 0);
    CHECK_EQUAL(command_read("continue job 258", false, &command, &why), 0);
    CHECK(command.wire.bytes == 4 && memcmp(command.wire.body, "\0\0\1\2", 4) == 0);
    CHECK_EQUAL(command_read("trace -timer", true, &command, &why), 0);
    CHECK(command.wire.bytes == 6 && memcmp(command.wire.body, "-timer", 6) == 0);
}

TEST(what_is_no_command_is_refused)
{
    static const char *const wrong[] = {
        "stop now",     "trace",           "trace timer", "trace +",
        "trace +a b",   "rating",          "rating tsc",  "rating tsc x",
        "rating tsc ",  "rating tsc 5 6",  "services",    "services -1",
        "services 1x",  "services 1e3",    "rating  5",   "services 4294967296",
        "trace +\033[", "stop job",        "stop job 0",  "kill job 4294967296",
        "kill job 1x",  "kill job 1 2",    "kill jobs 1", "continue job -1",
        "services 0",   "services 100001", "stop job  1", "kill ",
    };
    char text[100] = "trace +";
    struct command command;
    const char *why;

    for (unsigned i = 0; i + 1 < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQUAL(command_read(wrong[i], true, &command, &why), -1);
        CHECK(why != NULL);
    }
    CHECK_EQUAL(command_read("stopp", true, &command, &why), -1);
    CHECK(why == NULL);
    CHECK_EQUAL(command_read("", true, &command, &why), -1);
    memset(text + 7, 'a', 64);
    CHECK_EQUAL(command_read(text, true, &command, &why), -1);
    text[6 + 64] = '\0';
    CHECK_EQUAL(command_read(text, true, &command, &why), 0);
}

int main(void)
{
    RUN(a_one_way_command_goes_with_three_beats);
    RUN(acknowledged_commands_follow_one_another);
    RUN(users_leave_places_for_other_users_and_for_operators);
    RUN(a_command_that_is_dropped_is_carried_no_more);
    RUN(what_waits_has_an_end_and_a_time);
    RUN(a_beat_carries_sixteen_and_no_more);
    RUN(words_become_the_bytes_of_a_command);
    RUN(what_is_no_command_is_refused);
    return check_report("commands");
}
