/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.c: text from values (format.h).
 *
 * A conversion is read into a struct, its argument fetched at full width, and printed as three parts: sign or
 * prefix, padding, digits. Source: C11 §7.21.6.1, integers and strings only. Unlike glibc's, %s prints
 * "(null)" cut at the precision. Any context, early start-up included; owns nothing.
 */
#include "lib/format.h"
#include "lib/kstring.h"
#include <stdbool.h>
#include <stdint.h>

/* Where the text goes; what lies beyond the buffer is only counted. */
struct sink {
    char *buffer;
    size_t bytes;
    size_t length;
};

struct conversion {
    bool left, zero, alternate;
    int width;
    int precision; /* -1: none given */
    bool is_long;  /* an integer argument has eight bytes, else four */
    char kind;
};

static void put(struct sink *sink, char byte)
{
    if (sink->length < sink->bytes)
        sink->buffer[sink->length] = byte;
    sink->length++;
}

static void put_repeated(struct sink *sink, char byte, size_t count)
{
    while (count-- > 0)
        put(sink, byte);
}

static void put_bytes(struct sink *sink, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(sink, text[i]);
}

static const char *read_flags(const char *at, struct conversion *conversion)
{
    for (; *at == '-' || *at == '0' || *at == '#'; at++) {
        conversion->left |= *at == '-';
        conversion->zero |= *at == '0';
        conversion->alternate |= *at == '#';
    }
    return at;
}

/* Reads a number or '*'; saturates instead of overflowing. */
static const char *read_number(const char *at, va_list *arguments, int *number)
{
    if (*at == '*') {
        *number = va_arg(*arguments, int);
        return at + 1;
    }
    for (*number = 0; *at >= '0' && *at <= '9'; at++) {
        int digit = *at - '0';

        *number = *number > (INT32_MAX - digit) / 10 ? INT32_MAX : *number * 10 + digit;
    }
    return at;
}

/* Reads the length. Both architectures are LP64: long, long long and size_t have eight bytes. */
static const char *read_length(const char *at, struct conversion *conversion)
{
    conversion->is_long = *at == 'l' || *at == 'z';
    if (at[0] == 'l' && at[1] == 'l')
        at++;
    return conversion->is_long ? at + 1 : at;
}
_Static_assert(sizeof(long) == 8 && sizeof(long long) == 8 && sizeof(size_t) == 8, "see read_length");

/* Reads what follows a '%'; returns what follows the conversion's letter. */
static const char *read_conversion(const char *at, va_list *arguments, struct conversion *conversion)
{
    *conversion = (struct conversion){ .precision = -1 };
    at = read_flags(at, conversion);
    at = read_number(at, arguments, &conversion->width);
    if (conversion->width < 0) {
        conversion->left = true;
        conversion->width = conversion->width == INT32_MIN ? INT32_MAX : -conversion->width;
    }
    if (*at == '.') {
        at = read_number(at + 1, arguments, &conversion->precision);
        if (conversion->precision < 0)
            conversion->precision = -1;
    }
    at = read_length(at, conversion);
    conversion->kind = *at;
    return *at ? at + 1 : at;
}

static uint64_t fetch_unsigned(va_list *arguments, const struct conversion *conversion)
{
    return conversion->is_long ? va_arg(*arguments, uint64_t) : va_arg(*arguments, unsigned);
}

/* Prints a prefix ("-", "0x", …), zeros and text, padded to the width. */
static void put_padded(struct sink *sink, const struct conversion *conversion, const char *prefix,
                       size_t zeros, const char *text, size_t count)
{
    size_t prefix_length = strlen(prefix), length = prefix_length + zeros + count;
    size_t width = (size_t)conversion->width, padding = width > length ? width - length : 0;

    put_repeated(sink, ' ', conversion->left ? 0 : padding);
    put_bytes(sink, prefix, prefix_length);
    put_repeated(sink, '0', zeros);
    put_bytes(sink, text, count);
    put_repeated(sink, ' ', conversion->left ? padding : 0);
}

/* Prints a prefix, then zeros up to precision or width, then digits. */
static void put_integer(struct sink *sink, const struct conversion *conversion, const char *prefix,
                        uintmax_t value, unsigned base)
{
    const char *alphabet = conversion->kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[sizeof(uintmax_t) * 8 / 3 + 1];
    size_t count = 0, zeros = 0, prefix_length = strlen(prefix), width = (size_t)conversion->width;

    for (uintmax_t rest = value; rest > 0; rest /= base)
        digits[sizeof(digits) - ++count] = alphabet[rest % base];
    if (conversion->precision >= 0)
        zeros = (size_t)conversion->precision > count ? (size_t)conversion->precision - count : 0;
    else if (conversion->zero && !conversion->left)
        zeros = width > prefix_length + count ? width - prefix_length - count : 0;
    if (count + zeros == 0 && conversion->precision < 0)
        zeros = 1;
    put_padded(sink, conversion, prefix, zeros, digits + sizeof(digits) - count, count);
}

static void put_string(struct sink *sink, const struct conversion *conversion, const char *text)
{
    size_t limit = conversion->precision < 0 ? SIZE_MAX : (size_t)conversion->precision;

    if (!text)
        text = "(null)";
    put_padded(sink, conversion, "", 0, text, strnlen(text, limit));
}

/* Prints one conversion. Returns false if it is not one of ours. */
static bool put_conversion(struct sink *sink, const struct conversion *conversion, va_list *arguments)
{
    const char *prefix;
    uint64_t value;
    int64_t number;
    char byte;

    switch (conversion->kind) {
    case 'd':
        number = conversion->is_long ? va_arg(*arguments, int64_t) : va_arg(*arguments, int);
        put_integer(sink, conversion, number < 0 ? "-" : "",
                    number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
        return true;
    case 'u':
    case 'o':
        put_integer(sink, conversion, "", fetch_unsigned(arguments, conversion),
                    conversion->kind == 'o' ? 8 : 10);
        return true;
    case 'x':
    case 'X':
        value = fetch_unsigned(arguments, conversion);
        prefix = conversion->kind == 'X' ? "0X" : "0x";
        put_integer(sink, conversion, conversion->alternate && value ? prefix : "", value, 16);
        return true;
    case 'c':
        byte = (char)va_arg(*arguments, int);
        put_padded(sink, conversion, "", 0, &byte, 1);
        return true;
    case 's':
        put_string(sink, conversion, va_arg(*arguments, const char *));
        return true;
    case '%':
        put(sink, '%');
        return true;
    default:
        return false;
    }
}

size_t format_va(char *buffer, size_t bytes, const char *format, va_list list)
{
    struct sink sink = { buffer, bytes, 0 };
    struct conversion conversion;
    va_list arguments; /* a copy, whose address can be handed on; a parameter's cannot */

    va_copy(arguments, list);
    while (*format) {
        if (*format != '%') {
            put(&sink, *format++);
            continue;
        }
        const char *end = read_conversion(format + 1, &arguments, &conversion);
        if (!put_conversion(&sink, &conversion, &arguments))
            put_bytes(&sink, format, (size_t)(end - format));
        format = end;
    }
    va_end(arguments);
    if (bytes > 0)
        buffer[sink.length < bytes ? sink.length : bytes - 1] = '\0';
    return sink.length;
}

size_t format_text(char *buffer, size_t bytes, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    size_t length = format_va(buffer, bytes, format, list);
    va_end(list);
    return length;
}

int message_set(struct message *why, int error, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    format_va(why->text, sizeof(why->text), format, list);
    va_end(list);
    return error;
}

void sink_print(struct text_sink *sink, const char *format, ...)
{
    char text[SINK_PRINT_BYTES];
    va_list list;

    va_start(list, format);
    format_va(text, sizeof(text), format, list);
    va_end(list);
    sink->add(sink, text);
}
