/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dhcp_option.c: see dhcp_option.h.
 */
#include "net/dhcp_option.h"
#include "lib/kstring.h"
#include "net/address_option.h"
#include <stddef.h>

#define POINTER      0xc0 /* of a label's length: the rest of the name stands elsewhere */
#define DOMAIN_BYTES 254

uint8_t *option_part_add(struct option_parts *parts, unsigned bytes)
{
    uint8_t *place = parts->bytes + parts->used;

    parts->is_too_long |= bytes > sizeof(parts->bytes) - parts->used;
    if (parts->is_too_long)
        return NULL;
    parts->used += bytes;
    return place;
}

unsigned dhcp_routes_read(const struct option_parts *value, struct route *routes, unsigned limit)
{
    const uint8_t *at = value->bytes, *end = at + value->used;
    unsigned count = 0;

    while (!value->is_too_long && at < end) {
        const unsigned bits = *at++, octets = (bits + 7) / 8;
        struct route route = { .mask = bits ? __builtin_bswap32(UINT32_MAX << ((32 - bits) & 31)) : 0 };

        if (bits > 32 || (size_t)(end - at) < octets + sizeof(route.gateway))
            return 0;
        memcpy(&route.net, at, octets);
        memcpy(&route.gateway, at + octets, sizeof(route.gateway));
        route.net &= route.mask;
        at += octets + sizeof(route.gateway);
        if (count < limit)
            routes[count++] = route;
    }
    return value->is_too_long ? 0 : count;
}

/* Reads the name that begins at *at, and moves *at past it. A pointer leads to before where the name, or the
 * last pointer's target, begins: so a name ends. Returns its bytes; 0 if it is malformed. */
static unsigned name_read(const struct option_parts *value, unsigned *at, char name[DOMAIN_BYTES])
{
    unsigned from = *at, begin = *at, used = 0;
    bool has_jumped = false;

    while (from < value->used && value->bytes[from]) {
        const unsigned length = value->bytes[from++];

        if ((length & POINTER) == POINTER) {
            const unsigned target =
                (length & ~(unsigned)POINTER) << 8 | (from < value->used ? value->bytes[from] : 0);

            if (!has_jumped)
                *at = from + 1;
            if (from >= value->used || target >= begin)
                return 0;
            has_jumped = true;
            from = begin = target;
            continue;
        }
        if (length & POINTER || length > value->used - from || used + 1 + length >= DOMAIN_BYTES)
            return 0;
        if (used)
            name[used++] = '.';
        memcpy(name + used, value->bytes + from, length);
        used += length;
        from += length;
    }
    if (!has_jumped)
        *at = from + 1;
    return from < value->used && domain_is_valid(name, used) ? used : 0;
}

unsigned dhcp_search_read(const struct option_parts *value, char *text, unsigned room)
{
    unsigned at = 0, used = 0, count = 0, bytes;
    char name[DOMAIN_BYTES];

    text[0] = '\0';
    while (!value->is_too_long && at < value->used && (bytes = name_read(value, &at, name)) &&
           used + bytes + 2 <= room) {
        if (count++)
            text[used++] = ' ';
        memcpy(text + used, name, bytes);
        used += bytes;
        text[used] = '\0';
    }
    return count;
}

const struct route *route_find(const struct route *routes, unsigned count, uint32_t address)
{
    const struct route *found = NULL;

    for (const struct route *route = routes; route < routes + count; route++)
        if ((address & route->mask) == route->net &&
            (!found || address_mask_bits(route->mask) > address_mask_bits(found->mask)))
            found = route;
    return found;
}
