/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_format.c: kernel/lib/format.c compared with libc's snprintf.
 */
#include "check.h"
#include "lib/format.h"
#include <limits.h>

static uint64_t seed = 2;

/* Both texts for the same arguments, which are evaluated twice; the format is not a literal on purpose. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#define COMPARE(format, ...)                                                                           \
    do {                                                                                               \
        char ours[200], theirs[200];                                                                   \
        size_t room = check_random(&seed) % 5 ? sizeof(ours) : check_random(&seed) % 12;               \
        memset(ours, '~', sizeof(ours));                                                               \
        memset(theirs, '~', sizeof(theirs));                                                           \
        size_t our_length = format_text(ours, room, format, __VA_ARGS__);                              \
        int their_length = snprintf(theirs, room, format, __VA_ARGS__);                                \
        if (!CHECK_EQUAL(our_length, their_length) || !CHECK(memcmp(ours, theirs, sizeof(ours)) == 0)) \
            fprintf(stderr, "    format \"%s\": \"%.*s\", libc \"%.*s\"\n", format, (int)room, ours,   \
                    (int)room, theirs);                                                                \
    } while (0)

static void append(char *text, const char *more)
{
    strcat(text, more);
}

/* Makes random flags, width and precision, without those that C leaves undefined for `kind`. */
static void random_prefix(char *format, char kind)
{
    static const char *const numbers[] = { "", "", "", "1", "2", "7", "12", "30" };
    bool is_hexadecimal = strchr("xX", kind) != NULL;

    strcpy(format, "<%");
    for (int i = 0; i < 3; i++) {
        switch (check_random(&seed) % 6) {
        case 0:
            append(format, "-");
            break;
        case 1:
            append(format, strchr("cs", kind) ? "" : "0");
            break;
        case 2:
            append(format, is_hexadecimal ? "#" : "");
            break;
        default:
            break;
        }
    }
    append(format, numbers[check_random(&seed) % 8]);
    if (kind != 'c' && check_random(&seed) % 3 == 0) {
        append(format, ".");
        append(format, numbers[check_random(&seed) % 8]);
    }
}

static uint64_t random_value(void)
{
    static const uint64_t corners[] = {
        0,     1,     7,     8,       127,      128,      255,       256,
        32767, 32768, 65535, INT_MAX, UINT_MAX, LONG_MAX, ULONG_MAX, 1UL << 63,
    };

    if (check_random(&seed) % 3 == 0)
        return corners[check_random(&seed) % (sizeof(corners) / sizeof(corners[0]))];
    return check_random(&seed) >> (check_random(&seed) % 64);
}

TEST(integers_equal_libc_in_every_length_and_flag)
{
    static const char *const lengths[] = { "", "l", "ll", "z" };
    static const char kinds[] = "duoxX";
    char format[64];

    for (int round = 0; round < 200000; round++) {
        char kind = kinds[check_random(&seed) % 5];
        unsigned length = check_random(&seed) % 4;
        uint64_t value = random_value();

        random_prefix(format, kind);
        append(format, lengths[length]);
        strncat(format, &kind, 1);
        append(format, ">");
        if (length == 0)
            COMPARE(format, (int)value);
        else
            COMPARE(format, value);
    }
}

TEST(strings_and_characters_equal_libc)
{
    char format[64], text[32];

    for (int round = 0; round < 50000; round++) {
        size_t length = check_random(&seed) % sizeof(text);

        memset(text, 'a', length);
        text[length < sizeof(text) ? length : 0] = '\0';
        random_prefix(format, 's');
        append(format, "s>");
        COMPARE(format, text);
        random_prefix(format, 'c');
        append(format, "c>");
        int byte = (int)(check_random(&seed) % 256);
        COMPARE(format, byte);
    }
}

TEST(stars_take_width_and_precision_from_the_arguments)
{
    for (int width = -12; width <= 12; width++) {
        for (int precision = -3; precision <= 12; precision++) {
            COMPARE("<%*d>", width, 42);
            COMPARE("<%0*d>", width, -42);
            COMPARE("<%.*x>", precision, 42);
            COMPARE("<%*.*s>", width, precision, "several");
        }
    }
}

TEST(several_conversions_keep_their_order)
{
    COMPARE("%d%%%s/%c|%lx %u", -1, "two", '3', 4UL, 5u);
    COMPARE("%d %d %d %d %d %d %d %d %d %s", 1, 2, 3, 4, 5, 6, 7, 8, 9, "ten");
}

TEST(unknown_conversions_stand_as_they_are)
{
    char text[64];

    format_text(text, sizeof(text), "a %5.1f b %n c %y %+d %i %hd %p %d", 7);
    CHECK_TEXT(text, "a %5.1f b %n c %y %+d %i %hd %p 7");
    format_text(text, sizeof(text), "50 %");
    CHECK_TEXT(text, "50 %");
    format_text(text, sizeof(text), "%-08l");
    CHECK_TEXT(text, "%-08l");
}

TEST(null_string_is_named)
{
    char text[32];
    const char *volatile none = NULL;

    format_text(text, sizeof(text), "<%8s>", none);
    CHECK_TEXT(text, "<  (null)>");
}

TEST(nothing_is_written_into_no_room)
{
    char text[2] = "~";

    CHECK_EQUAL(format_text(NULL, 0, "%d", 12345), 5);
    CHECK_EQUAL(format_text(text, 1, "%d", 12345), 5);
    CHECK_TEXT(text, "");
}

TEST(messages_are_cut_at_their_size_and_answer_the_error)
{
    struct message why;
    char text[600];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    CHECK_EQUAL(message_set(&why, -22, "%s", text), -22);
    CHECK_EQUAL(strlen(why.text), sizeof(why.text) - 1);
}

int main(void)
{
    RUN(integers_equal_libc_in_every_length_and_flag);
    RUN(strings_and_characters_equal_libc);
    RUN(stars_take_width_and_precision_from_the_arguments);
    RUN(several_conversions_keep_their_order);
    RUN(unknown_conversions_stand_as_they_are);
    RUN(null_string_is_named);
    RUN(nothing_is_written_into_no_room);
    RUN(messages_are_cut_at_their_size_and_answer_the_error);
    return check_report("format");
}
