/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_json.c: what conductor and conductorctl say to each other: any name comes through, an answer that has
 * no room left stays JSON, and text that is none is read to its end and no further.
 */
#include "check.h"
#include "service/lib/json.h"
#include <string.h>

TEST(any_name_comes_through)
{
    char text[512], read[64];
    struct json json = { .text = text, .room = sizeof(text) };
    const char name[] = "a\"b\\c]}{[,:\x1b u0041";

    json_print(&json, "{\"before\": [1, {\"x\": \"]\"}], \"name\": ");
    json_string(&json, name);
    json_print(&json, ", \"after\": -5}");
    json_text(json_member(text, "name"), read, sizeof(read));
    CHECK_TEXT(read, name);
    json_text(json_member(text, "after"), read, sizeof(read));
    CHECK_TEXT(read, "-5");
    json_text(json_member(text, "name"), read, 3);
    CHECK_TEXT(read, "a\"");
    CHECK(json_member(text, "x") == NULL);
}

TEST(members_and_elements_come_one_after_another)
{
    const char *text = "{\"a\": 1, \"list\": [{\"n\": 1}, [2], \"3\", 4], \"b\": \"\", \"empty\": []}";
    const char *names[] = { "a", "list", "b", "empty" };
    unsigned count = 0;
    char name[8];

    for (const char *at = json_name_first(text); at; at = json_name_next(at)) {
        json_text(at, name, sizeof(name));
        CHECK_TEXT(name, count < 4 ? names[count] : NULL);
        count++;
    }
    CHECK_EQUAL(count, 4);
    count = 0;
    for (const char *at = json_first(json_member(text, "list")); at; at = json_next(at))
        count++;
    CHECK_EQUAL(count, 4);
    CHECK(json_first(json_member(text, "empty")) == NULL);
    CHECK(json_first(NULL) == NULL);
}

TEST(what_has_no_room_is_left_out_whole)
{
    char text[8];
    struct json json = { .text = text, .room = sizeof(text) };

    json_print(&json, "%s", "1234");
    json_print(&json, "%s", "5678");
    CHECK(json.is_full);
    CHECK_TEXT(text, "1234");
    json_cut(&json, 2);
    json_print(&json, "%s", "]");
    CHECK_TEXT(text, "12]");
    CHECK(!json.is_full);
}

/* Each beginning of a text, in memory of that size: a reader that goes on is seen by the sanitizer. */
TEST(text_that_ends_early_is_read_to_its_end)
{
    const char whole[] = "{\"a\": \"x\\\"y\\u0041\", \"list\": [{\"n\": 1}, \"\\\\\"], \"b\": {\"c\": 5}}";
    char value[16];

    for (size_t bytes = 0; bytes < sizeof(whole); bytes++) {
        char *text = calloc(bytes + 1, 1);

        memcpy(text, whole, bytes);
        for (const char *at = json_name_first(text); at; at = json_name_next(at)) {
            json_text(at, value, sizeof(value));
            json_text(json_value(at), value, sizeof(value));
            for (const char *one = json_first(json_value(at)); one; one = json_next(one))
                json_text(one, value, sizeof(value));
        }
        json_member(text, "b");
        free(text);
    }
}

int main(void)
{
    RUN(any_name_comes_through);
    RUN(members_and_elements_come_one_after_another);
    RUN(what_has_no_room_is_left_out_whole);
    RUN(text_that_ends_early_is_read_to_its_end);
    return check_report("json");
}
