/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_option.c: see address_option.h.
 */
#include "net/address_option.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

/* Reads a decimal number from *at up to `end`, of three digits at most. Returns -1 if there is none, or if it
 * is above `highest`. */
static int number(const char **at, const char *end, int highest)
{
    int value = 0;
    const char *first = *at;

    for (; *at < end && **at >= '0' && **at <= '9' && *at - first < 3; ++*at)
        value = value * 10 + (**at - '0');
    return *at == first || value > highest ? -1 : value;
}

bool address_parse(const char *text, const char *end, uint32_t *out)
{
    uint8_t bytes[4];

    for (unsigned i = 0; i < 4; i++) {
        int value = number(&text, end, 255);

        if (value < 0 || (i < 3 && (text == end || *text++ != '.')))
            return false;
        bytes[i] = (uint8_t)value;
    }
    memcpy(out, bytes, sizeof(*out));
    return text == end;
}

bool address_is_usable(uint32_t address, uint32_t mask)
{
    /* In the host's byte order an address's first number is the highest. */
    uint32_t host = __builtin_bswap32(address), host_bits = ~__builtin_bswap32(mask);

    return host >> 24 != 0 && host >> 24 != 127 && host >> 24 < 224 &&
           (host_bits <= 1 || ((host & host_bits) != 0 && (host & host_bits) != host_bits));
}

unsigned address_mask_bits(uint32_t mask)
{
    return mask ? 32U - (unsigned)__builtin_ctz(__builtin_bswap32(mask)) : 0;
}

bool domain_is_valid(const char *name, uint64_t bytes)
{
    if (bytes == 0)
        return false;
    for (uint64_t i = 0; i < bytes; i++) {
        char c = name[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (i && (c == '-' || c == '.' || c == '_'))))
            return false;
    }
    return true;
}

bool host_name_is_valid(const char *name, uint64_t bytes)
{
    return bytes < HOST_NAME_BYTES && domain_is_valid(name, bytes);
}

const char *option_part_end(const char *text, char after)
{
    while (*text && *text != after)
        text++;
    return text;
}

static int wrong(struct message *why, const char *text, const char *what)
{
    return message_set(why, -EINVAL,
                       "ip=%s: %s; use dhcp, off, or ADDRESS/BITS[,GATEWAY][,NAMESERVER][,NAME], as "
                       "ip=10.0.0.2/24,10.0.0.1",
                       text, what);
}

static int static_parse(const char *text, struct address_option *out, struct message *why)
{
    const char *end = option_part_end(text, ','), *slash = option_part_end(text, '/'), *at;
    uint32_t *const fields[] = { &out->gateway, &out->name_server };

    at = slash + 1;
    int bits = slash < end ? number(&at, end, 32) : -1;
    if (!address_parse(text, slash, &out->address) || bits < 1 || at != end)
        return wrong(why, text, "it does not begin with ADDRESS/BITS");
    out->mask = __builtin_bswap32(UINT32_MAX << (32 - bits));
    if (!address_is_usable(out->address, out->mask))
        return wrong(why, text, "no node can have this address");
    for (unsigned i = 0; i < 2 && *end; i++) {
        at = end + 1;
        end = option_part_end(at, ',');
        if (at < end && !address_parse(at, end, fields[i]))
            return wrong(why, text,
                         i ? "the name server is not an address" : "the gateway is not an address");
    }
    if (!*end)
        return 0;
    at = end + 1;
    if (*at && !host_name_is_valid(at, strlen(at)))
        return wrong(why, text, "the name is not a valid host name");
    memcpy(out->name, at, strlen(at) + 1);
    return 0;
}

int address_option_parse(const char *text, struct address_option *out, struct message *why)
{
    *out = (struct address_option){ .kind = ADDRESS_STATIC };
    if (strcmp(text, "dhcp") == 0)
        out->kind = ADDRESS_DHCP;
    else if (strcmp(text, "off") == 0)
        out->kind = ADDRESS_OFF;
    else
        return static_parse(text, out, why);
    return 0;
}

bool hardware_address_parse(const char *text, uint8_t out[6])
{
    if (strlen(text) == 20 && strncmp(text, "01-", 3) == 0)
        text += 3;
    if (strlen(text) != 17)
        return false;
    for (unsigned i = 0; i < 6; i++, text += 3) {
        unsigned high = hexadecimal_digit(text[0]), low = hexadecimal_digit(text[1]);

        if (high > 15 || low > 15 || (i < 5 && text[2] != ':' && text[2] != '-'))
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
