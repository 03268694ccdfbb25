// SPDX-License-Identifier: BSD-2-Clause
//
// time.cpp: reads and writes exact decimal numbers; see time.hpp.
#include "time.hpp"

namespace sim {

std::int64_t decimal(std::string_view text, unsigned digits, std::int64_t limit, const std::string &what)
{
    const auto refuse = [&](const char *why) -> InputError {
        std::string shown(text.substr(0, 40));
        for (char &c : shown)
            if (c < ' ' || c > '~')
                c = '?';
        return InputError(what + ": \"" + shown + "\" " + why);
    };
    __int128 value = 0;
    unsigned decimals = 0;
    bool point = false;
    bool any = false;

    for (const char c : text) {
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            any = true;
            if (point && decimals == digits) {
                if (c != '0')
                    throw refuse(("has more than " + std::to_string(digits) + " decimals").c_str());
                continue;
            }
            decimals += point;
            value = value * 10 + (c - '0');
            if (value > limit)
                throw refuse("is too large");
        } else {
            throw refuse("is not a non-negative decimal number");
        }
    }
    if (!any)
        throw refuse("is not a non-negative decimal number");
    for (; decimals < digits; decimals++) {
        value *= 10;
        if (value > limit)
            throw refuse("is too large");
    }
    return static_cast<std::int64_t>(value);
}

std::string nanoseconds(Time time)
{
    std::string text = std::to_string(time / PS_PER_NS);
    Time rest = time % PS_PER_NS;

    if (rest) {
        text += '.';
        for (Time unit = PS_PER_NS / 10; rest; unit /= 10) {
            text += static_cast<char>('0' + rest / unit);
            rest %= unit;
        }
    }
    return text;
}

} // namespace sim
