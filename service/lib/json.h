/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h: as much of JSON (RFC 8259) as conductor and conductorctl say to each other: a writer into a buffer,
 * and a reader of single members. Pure C; the reader ends at the text's NUL whatever stands before it.
 */
#ifndef TACET_SERVICE_JSON_H
#define TACET_SERVICE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *text; /* NUL-terminated */
    size_t room, length;
    bool is_full; /* something had no room, and none of it stands there */
};

/* Appends as printf; what has no room is left out whole. */
__attribute__((format(printf, 2, 3))) void json_print(struct json *json, const char *format, ...);

/* Appends a string with its quotes, and escapes what has to be. */
void json_string(struct json *json, const char *string);

/* Appends the answer that something is wrong: {"error": …}, a line. */
void json_error(struct json *json, const char *error);

/* Drops what was appended since the text was that long. */
void json_cut(struct json *json, size_t length);

/* Where the value of a member of this object begins, or NULL. */
const char *json_member(const char *object, const char *name);

/* The number that a member is, 0 where there is none. */
uint64_t json_number(const char *object, const char *name);

/* A member as json_text has it, "" where there is none. Returns `text`. */
const char *json_member_text(const char *object, const char *name, char *text, size_t room);

/* The members of an object one after another: where a name stands, and its value; NULL after the last. */
const char *json_name_first(const char *object);
const char *json_name_next(const char *name);
const char *json_value(const char *name);

/* The first element of a list, and the one after another; NULL where there is none. */
const char *json_first(const char *list);
const char *json_next(const char *element);

/* Where a value ends. */
const char *json_end(const char *value);

/* A value as text: a string without quotes and escapes, anything else as it stands, cut to the room. */
void json_text(const char *value, char *text, size_t room);

#endif
