// SPDX-License-Identifier: BSD-2-Clause
//
// goal_lexer.hpp: words and numbers of GOAL text. Zero bytes follow the text, so that reading beyond the last
// character is safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sim {

class GoalLexer {
public:
    static constexpr std::size_t ZEROS = 16; // after the text

    GoalLexer(const char *first, const char *last) : at(first), end(last)
    {
    }

    // Continues at a later place in the text.
    void go_to(const char *place)
    {
        at = place;
    }

    const char *position() const
    {
        return at;
    }

    bool done() const
    {
        return at >= end;
    }

    char next() const
    {
        return *at;
    }

    // Skips blanks, line ends and comments, mostly none or one. Returns false if a comment does not end.
    bool skip_space()
    {
        at += *at == ' ' || *at == '\n';
        if (*at > '/')
            return true;
        for (;;) {
            while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
                at++;
            if (*at != '/')
                return true;
            if (at[1] == '/') {
                const void *line_end = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
                at = line_end ? static_cast<const char *>(line_end) : end;
            } else if (at[1] == '*') {
                const std::string_view rest(at + 2, static_cast<std::size_t>(end - at - 2));
                const std::size_t close = rest.find("*/");
                if (close == std::string_view::npos)
                    return false;
                at += close + 4;
            } else {
                return true;
            }
        }
    }

    bool take(char c)
    {
        if (*at != c)
            return false;
        at++;
        return true;
    }

    // Reads the word [a-zA-Z_][a-zA-Z0-9_]* here; it may be empty.
    std::string_view word()
    {
        const char *const first = at;

        if (is_letter(*at))
            do
                at++;
            while (is_letter(*at) || is_digit(*at));
        return {first, static_cast<std::size_t>(at - first)};
    }

    // Reads the decimal number here. Returns false if there is none or it is above `limit`.
    bool number(std::uint64_t limit, std::uint64_t &value)
    {
        if (!is_digit(*at))
            return false;
        value = 0;
        for (; is_digit(*at); at++) {
            const auto digit = static_cast<std::uint64_t>(*at - '0');
            if (value > (UINT64_MAX - digit) / 10)
                return false;
            value = value * 10 + digit;
        }
        return value <= limit;
    }

    // Returns the text here for a message: up to the next blank, printable.
    std::string seen() const
    {
        std::string text;

        if (at >= end)
            return "the end of the file";
        for (const char *c = at;
             c < end && text.size() < 40 && *c != ' ' && *c != '\n' && *c != '\r' && *c != '\t'; c++)
            text += *c > ' ' && *c <= '~' ? *c : '?';
        return text.empty() ? "the end of the line" : '"' + text + '"';
    }

    // Reads a number of up to nine digits without a leading zero. Returns what follows it, or null. Reads
    // digits one by one: eight at once without a branch are slower, as processors predict how many there are.
    static const char *short_number(const char *from, std::uint32_t &value)
    {
        std::uint32_t number = 0, digit;
        const char *c = from;

        for (; (digit = static_cast<unsigned char>(*c) - '0') <= 9; c++)
            number = number * 10 + digit;
        value = number;
        const std::ptrdiff_t digits = c - from;
        return digits == 1 || (digits > 1 && digits <= 9 && *from != '0') ? c : nullptr;
    }

    // Returns whether `text` is at a place.
    template <std::size_t Size> static bool stands(const char *place, const char (&text)[Size])
    {
        static_assert(Size - 1 <= ZEROS);
        return std::memcmp(place, text, Size - 1) == 0;
    }

    static bool is_letter(char c)
    {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }

    static bool is_digit(char c)
    {
        return c >= '0' && c <= '9';
    }

private:
    const char *at;
    const char *end;
};

} // namespace sim
