/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dhcp_option.c: routes and search lists of DHCP, also in parts, cut at each byte, and with pointers
 * that lead nowhere or round in a circle.
 */
#include "check.h"
#include "net/address_option.h"
#include "net/dhcp_option.h"

static struct option_parts value;
static struct route routes[3];
static char text[64];

static uint32_t ip(const char *written)
{
    uint32_t address = 0;

    CHECK(address_parse(written, written + strlen(written), &address));
    return address;
}

static void part(const char *bytes, unsigned count)
{
    uint8_t *place = option_part_add(&value, count);

    if (CHECK(place))
        memcpy(place, bytes, count);
}

#define GIVEN(bytes)                        \
    do {                                    \
        value = (struct option_parts){ 0 }; \
        part(bytes, sizeof(bytes) - 1);     \
    } while (0)

#define ROUTES                 \
    "\x10\x0a\x32\x0a\x63\0\1" \
    "\0\x0a\x63\0\2"           \
    "\x20\x0a\x07\x07\x07\0\0\0\0"

TEST(routes_are_read_with_masks_of_any_length)
{
    GIVEN(ROUTES);
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), 3);
    CHECK_EQUAL(routes[0].net, ip("10.50.0.0"));
    CHECK_EQUAL(routes[0].mask, ip("255.255.0.0"));
    CHECK_EQUAL(routes[0].gateway, ip("10.99.0.1"));
    CHECK_EQUAL(routes[1].mask, 0);
    CHECK_EQUAL(routes[1].gateway, ip("10.99.0.2"));
    CHECK_EQUAL(routes[2].mask, UINT32_MAX);
    CHECK_EQUAL(routes[2].gateway, 0);
    CHECK_EQUAL(route_find(routes, 3, ip("10.50.7.7"))->gateway, ip("10.99.0.1"));
    CHECK_EQUAL(route_find(routes, 3, ip("10.51.7.7"))->gateway, ip("10.99.0.2"));
    CHECK(route_find(routes, 3, ip("10.7.7.7")) == &routes[2]);
    CHECK(!route_find(routes, 1, ip("10.51.7.7")));
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 1), 1);
}

TEST(bits_beyond_a_routes_mask_mean_nothing)
{
    GIVEN("\x09\x0a\xff\x0a\x63\0\1");
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), 1);
    CHECK_EQUAL(routes[0].net, ip("10.128.0.0"));
}

TEST(routes_that_are_cut_are_none)
{
    for (unsigned bytes = 0; bytes < sizeof(ROUTES) - 1; bytes++) {
        value = (struct option_parts){ 0 };
        part(ROUTES, bytes);
        CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), bytes == 7 ? 1 : bytes == 12 ? 2 : 0);
    }
    GIVEN("\x21\x0a\x32\0\0\0\x0a\x63\0\1");
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), 0);
}

TEST(an_option_in_parts_is_one)
{
    value = (struct option_parts){ 0 };
    part(ROUTES, 3);
    part(&ROUTES[3], sizeof(ROUTES) - 4);
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), 3);
    for (unsigned i = 0; i < 2; i++)
        option_part_add(&value, 255);
    CHECK(value.is_too_long);
    CHECK(!option_part_add(&value, 1));
    CHECK_EQUAL(dhcp_routes_read(&value, routes, 3), 0);
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
}

#define SEARCH "\7cluster\7example\0\3sub\xc0\0\4more\xc0\x11"

TEST(a_search_list_is_read_with_its_pointers)
{
    GIVEN(SEARCH);
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 3);
    CHECK_TEXT(text, "cluster.example sub.cluster.example more.sub.cluster.example");
    CHECK_EQUAL(dhcp_search_read(&value, text, 40), 2);
    CHECK_TEXT(text, "cluster.example sub.cluster.example");
}

TEST(a_search_list_that_is_cut_has_the_names_before)
{
    for (unsigned bytes = 0; bytes < sizeof(SEARCH) - 1; bytes++) {
        value = (struct option_parts){ 0 };
        part(SEARCH, bytes);
        CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), (bytes >= 17) + (bytes >= 23));
    }
}

TEST(pointers_lead_back_only)
{
    GIVEN("\xc0\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    GIVEN("\1a\xc0\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    GIVEN("\1a\xc0\4\1b\xc0\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    GIVEN("\1a\0\1b\xc0\x03");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 1);
    CHECK_TEXT(text, "a");
    GIVEN("\x40"
          "a\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
}

TEST(names_that_are_none_are_not_kept)
{
    GIVEN("\3a b\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    GIVEN("\4a\nna\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    GIVEN("\0");
    CHECK_EQUAL(dhcp_search_read(&value, text, sizeof(text)), 0);
    CHECK_TEXT(text, "");
}

int main(void)
{
    RUN(routes_are_read_with_masks_of_any_length);
    RUN(bits_beyond_a_routes_mask_mean_nothing);
    RUN(routes_that_are_cut_are_none);
    RUN(an_option_in_parts_is_one);
    RUN(a_search_list_is_read_with_its_pointers);
    RUN(a_search_list_that_is_cut_has_the_names_before);
    RUN(pointers_lead_back_only);
    RUN(names_that_are_none_are_not_kept);
    return check_report("dhcp_option");
}
