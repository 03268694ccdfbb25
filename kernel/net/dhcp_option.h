/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dhcp_option.h: DHCP's options that lwIP does not read: routes [RFC 3442], names to search [RFC 3397].
 * Portable C, host-tested. Addresses are in network byte order.
 */
#ifndef TACET_NETWORK_DHCP_OPTION_H
#define TACET_NETWORK_DHCP_OPTION_H

#include <stdbool.h>
#include <stdint.h>

/* A route; gateway 0: the net is on the link. */
struct route {
    uint32_t net, mask, gateway;
};

/* The value of an option, which may come in parts that belong together [RFC 3396]. */
#define OPTION_PARTS_BYTES 512
struct option_parts {
    uint32_t used;
    bool is_too_long; /* then the value is not used */
    uint8_t bytes[OPTION_PARTS_BYTES];
};

/* Returns where the next part of `bytes` bytes goes; NULL: there is no room. */
uint8_t *option_part_add(struct option_parts *parts, unsigned bytes);

/* Reads the classless static routes, at most `limit`. Returns their count; 0 if the value is
 * malformed: half of the routes would lead astray. */
unsigned dhcp_routes_read(const struct option_parts *value, struct route *routes, unsigned limit);

/* Reads a list of domains, compressed as in DNS [RFC 1035 §4.1.4], up to the first that is malformed, or that
 * `text` has no room for; they are separated by blanks. Returns how many there are. */
unsigned dhcp_search_read(const struct option_parts *value, char *text, unsigned room);

/* Returns the route of the longest mask to an address; NULL if none leads there. */
const struct route *route_find(const struct route *routes, unsigned count, uint32_t address);

#endif
