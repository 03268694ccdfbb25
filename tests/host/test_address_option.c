/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_address_option.c: `ip=`, hardware addresses, which addresses and names a node can have.
 */
#include "check.h"
#include "lib/errno.h"
#include "net/address_option.h"

static struct address_option option;
static struct message why;

static uint32_t ip(const char *text)
{
    uint32_t address = 0;

    CHECK(address_parse(text, text + strlen(text), &address));
    return address;
}

TEST(an_address_comes_with_its_net_router_server_and_name)
{
    CHECK_EQUAL(address_option_parse("10.9.0.7/24,10.9.0.1,10.9.0.53,node-7.cluster", &option, &why), 0);
    CHECK_EQUAL(option.kind, ADDRESS_STATIC);
    CHECK_EQUAL(option.address, ip("10.9.0.7"));
    CHECK_EQUAL(option.mask, ip("255.255.255.0"));
    CHECK_EQUAL(option.gateway, ip("10.9.0.1"));
    CHECK_EQUAL(option.name_server, ip("10.9.0.53"));
    CHECK_TEXT(option.name, "node-7.cluster");
}

TEST(what_is_left_out_is_none)
{
    CHECK_EQUAL(address_option_parse("10.9.0.7/8,,,name", &option, &why), 0);
    CHECK_EQUAL(option.gateway, 0);
    CHECK_EQUAL(option.name_server, 0);
    CHECK_TEXT(option.name, "name");
    CHECK_EQUAL(address_option_parse("dhcp", &option, &why), 0);
    CHECK_EQUAL(option.kind, ADDRESS_DHCP);
    CHECK_EQUAL(address_option_parse("off", &option, &why), 0);
    CHECK_EQUAL(option.kind, ADDRESS_OFF);
}

TEST(what_is_no_address_is_refused)
{
    static const char *const texts[] = {
        "",
        "DHCP",
        "10.9.0.7",
        "10.9.0.7/",
        "10.9.0.7/0",
        "10.9.0.7/33",
        "10.9.0/24",
        "10.9.0.256/24",
        "10.9..7/24",
        "10.9.0.7.1/24",
        "10.9.0.7/24x",
        "0.0.0.7/24",
        "127.0.0.1/8",
        "224.0.0.1/8",
        "10.9.0.0/24",
        "10.9.0.255/24",
        "10.9.0.7/24,x",
        "10.9.0.7/24,1.2.3",
        "10.9.0.7/24,,9",
        "10.9.0.7/24,,,-a",
        "10.9.0.7/24,,,a b",
        "1e1.9.0.7/24",
        "10.9.0.0007/24",
    };

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK_EQUAL(address_option_parse(texts[i], &option, &why), -EINVAL);
}

TEST(a_name_is_as_long_as_linux_has_them)
{
    char text[128] = "10.9.0.7/24,,,";

    memset(text + 14, 'n', HOST_NAME_BYTES - 1);
    CHECK_EQUAL(address_option_parse(text, &option, &why), 0);
    text[14 + HOST_NAME_BYTES - 1] = 'n';
    CHECK_EQUAL(address_option_parse(text, &option, &why), -EINVAL);
}

TEST(hardware_addresses_are_read_as_people_and_pxe_write_them)
{
    static const uint8_t expected[6] = { 0x52, 0x54, 0, 0x12, 0xab, 0x56 };
    uint8_t address[6];

    CHECK(hardware_address_parse("52:54:00:12:aB:56", address) && memcmp(address, expected, 6) == 0);
    CHECK(hardware_address_parse("01-52-54-00-12-ab-56", address) && memcmp(address, expected, 6) == 0);
    CHECK(!hardware_address_parse("52:54:00:12:ab", address));
    CHECK(!hardware_address_parse("52:54:00:12:ab:5g", address));
    CHECK(!hardware_address_parse("52.54.00.12.ab.56", address));
    CHECK(!hardware_address_parse("01:52:54:00:12:ab:56", address));
}

int main(void)
{
    RUN(an_address_comes_with_its_net_router_server_and_name);
    RUN(what_is_left_out_is_none);
    RUN(what_is_no_address_is_refused);
    RUN(a_name_is_as_long_as_linux_has_them);
    RUN(hardware_addresses_are_read_as_people_and_pxe_write_them);
    return check_report("address_option");
}
