/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c: see json.h.
 */
#include "service/lib/json.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_print(struct json *json, const char *format, ...)
{
    size_t left = json->room - json->length;
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(json->text + json->length, left, format, arguments);
    va_end(arguments);
    if (bytes < 0 || (size_t)bytes >= left) {
        json->text[json->length] = '\0';
        json->is_full = true;
        return;
    }
    json->length += (size_t)bytes;
}

void json_string(struct json *json, const char *string)
{
    json_print(json, "\"");
    for (; *string; string++) {
        unsigned char byte = (unsigned char)*string;

        if (byte == '"' || byte == '\\')
            json_print(json, "\\%c", byte);
        else if (byte < ' ' || byte > '~')
            json_print(json, "\\u%04x", byte);
        else
            json_print(json, "%c", byte);
    }
    json_print(json, "\"");
}

void json_error(struct json *json, const char *error)
{
    json_print(json, "{\"error\": ");
    json_string(json, error);
    json_print(json, "}\n");
}

void json_cut(struct json *json, size_t length)
{
    json->length = length;
    json->text[length] = '\0';
    json->is_full = false;
}

static const char *space_skip(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static const char *string_end(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
            text++;
    return *text ? text + 1 : text;
}

const char *json_end(const char *value)
{
    unsigned depth = 0;

    if (*value == '"')
        return string_end(value);
    if (*value != '{' && *value != '[')
        return value + strcspn(value, ",]} \t\r\n");
    do {
        if (*value == '"') {
            value = string_end(value);
            continue;
        }
        depth += *value == '{' || *value == '[';
        depth -= *value == '}' || *value == ']';
        value++;
    } while (depth && *value);
    return value;
}

const char *json_value(const char *name)
{
    const char *at = space_skip(string_end(name));

    return *at == ':' ? space_skip(at + 1) : at;
}

const char *json_name_first(const char *object)
{
    if (*object != '{')
        return NULL;
    object = space_skip(object + 1);
    return *object == '"' ? object : NULL;
}

const char *json_name_next(const char *name)
{
    const char *at = space_skip(json_end(json_value(name)));

    at = *at == ',' ? space_skip(at + 1) : at;
    return *at == '"' ? at : NULL;
}

const char *json_member(const char *object, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = json_name_first(object); at; at = json_name_next(at))
        if (strncmp(at + 1, name, length) == 0 && at[length + 1] == '"')
            return json_value(at);
    return NULL;
}

const char *json_first(const char *list)
{
    if (!list || *list != '[')
        return NULL;
    list = space_skip(list + 1);
    return *list && *list != ']' ? list : NULL;
}

const char *json_next(const char *element)
{
    element = space_skip(json_end(element));
    return *element == ',' ? space_skip(element + 1) : NULL;
}

static unsigned code_of(const char *digits)
{
    unsigned code = 0;

    return sscanf(digits, "%4x", &code) == 1 && code < 0x80 ? code : '?';
}

void json_text(const char *value, char *text, size_t room)
{
    const char *end = json_end(value);
    bool is_string = *value == '"';

    if (is_string) {
        value++;
        end -= end > value && end[-1] == '"';
    }
    while (value < end && room > 1) {
        if (is_string && *value == '\\' && value + 1 < end) {
            bool is_code = value[1] == 'u' && end - value >= 6;

            *text++ = is_code ? (char)code_of(value + 2) : value[1];
            value += is_code ? 6 : 2;
        } else {
            *text++ = *value++;
        }
        room--;
    }
    *text = '\0';
}

uint64_t json_number(const char *object, const char *name)
{
    const char *value = json_member(object, name);

    return value ? strtoull(value, NULL, 10) : 0;
}

const char *json_member_text(const char *object, const char *name, char *text, size_t room)
{
    const char *value = json_member(object, name);

    *text = '\0';
    if (value)
        json_text(value, text, room);
    return text;
}
