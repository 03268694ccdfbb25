/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_option.h: the parser of `ip=` and of hardware addresses in options. Portable C, host-tested.
 */
#ifndef TACET_NETWORK_ADDRESS_OPTION_H
#define TACET_NETWORK_ADDRESS_OPTION_H

#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

#define HOST_NAME_BYTES 65 /* Linux's __NEW_UTS_LEN, and the NUL */

enum address_kind { ADDRESS_DHCP, ADDRESS_OFF, ADDRESS_STATIC };

struct address_option {
    enum address_kind kind;
    /* Of ADDRESS_STATIC, in network byte order; 0: none. */
    uint32_t address, mask, gateway, name_server;
    char name[HOST_NAME_BYTES]; /* empty: none */
};

/* Reads dhcp, off, or ADDRESS/BITS[,GATEWAY][,NAMESERVER][,NAME]; nothing between two commas means none.
 * -EINVAL with `why`. */
int address_option_parse(const char *text, struct address_option *out, struct message *why);

/* Reads "52:54:00:12:34:56", also with '-'; an optional "01-" before it is PXE's kind of hardware. Returns
 * false for anything else. */
bool hardware_address_parse(const char *text, uint8_t out[6]);

/* Returns where a part of an option's value ends: at the first `after`, or at the NUL. */
const char *option_part_end(const char *text, char after);

/* Reads "10.0.2.15" up to `end`; returns false for anything else. */
bool address_parse(const char *text, const char *end, uint32_t *out);

/* Returns whether a node can have this address: it is not that of a network, loopback, broadcast or
 * multicast. */
bool address_is_usable(uint32_t address, uint32_t mask);

/* Returns how many bits of addresses name the net. */
unsigned address_mask_bits(uint32_t mask);

/* Returns whether a text of `bytes` bytes can be a domain's name, or a host's, which is shorter. */
bool domain_is_valid(const char *name, uint64_t bytes);
bool host_name_is_valid(const char *name, uint64_t bytes);

#endif
