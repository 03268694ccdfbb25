/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h: the part of JSON (RFC 8259) that conductor and conductorctl use: a writer into a buffer, and a
 * reader of single members. Portable C. The reader stops at the text's NUL, even in malformed text.
 */
#ifndef TACET_SERVICE_JSON_H
#define TACET_SERVICE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    char *text; /* NUL-terminated */
    size_t room, length;
    bool is_full; /* a piece did not fit and was left out whole */
};

/* Appends like printf. If the result does not fit, nothing is appended and is_full is set. */
__attribute__((format(printf, 2, 3))) void json_print(struct json *json, const char *format, ...);

/* Appends a string with quotes and escapes. */
void json_string(struct json *json, const char *string);

/* Appends an error answer: the line {"error": "…"}. */
void json_error(struct json *json, const char *error);

/* Cuts the text back to `length` bytes and clears is_full. */
void json_cut(struct json *json, size_t length);

/* Returns the start of a member's value in an object; NULL if there is no such member. */
const char *json_member(const char *object, const char *name);

/* Returns a member as a number; 0 if there is no such member. */
uint64_t json_number(const char *object, const char *name);

/* Copies a member into `text` as json_text does; "" if there is no such member. Returns `text`. */
const char *json_member_text(const char *object, const char *name, char *text, size_t room);

/* Iterates over an object's members: json_name_first and _next return a name (NULL after the last),
 * json_value the value of a name. */
const char *json_name_first(const char *object);
const char *json_name_next(const char *name);
const char *json_value(const char *name);

/* Iterates over a list: returns its first element, or the element after `element`; NULL if there is none. */
const char *json_first(const char *list);
const char *json_next(const char *element);

/* Returns the end of a value. */
const char *json_end(const char *value);

/* Copies a value into `text`, cut to `room`: a string without quotes and escapes, any other value
 * unchanged. */
void json_text(const char *value, char *text, size_t room);

#endif
