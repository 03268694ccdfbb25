/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firmware.c: see firmware.h. On the first CPU, in real mode, before kernel_start(); firmware_call at any
 * time.
 */
#include "arch/firmware.h"
#include "arch.h"
#include "lib/bytes.h"
#include "lib/kstring.h"
#include "mm/page.h"

static uint32_t entry;

uint64_t firmware_enter(uint32_t arguments, uint32_t base, uint32_t at);

static uint32_t swapped(uint32_t value)
{
    return __builtin_bswap32(value);
}

static uint32_t cell_of(const void *pointer)
{
    return (uint32_t)arch_physical_of(pointer);
}

uint32_t firmware_call(uint32_t at, uint32_t base, uint32_t first, unsigned count, const uint32_t *in,
                       unsigned answers, uint32_t *out)
{
    static uint32_t cells[3 + FIRMWARE_CELLS];

    cells[0] = swapped(first);
    cells[1] = swapped(count);
    cells[2] = swapped(answers);
    for (unsigned i = 0; i < count; i++)
        cells[3 + i] = swapped(in[i]);
    for (unsigned i = 0; i < answers; i++)
        cells[3 + count + i] = swapped(UINT32_MAX);
    const uint32_t result = (uint32_t)firmware_enter(cell_of(cells), base, at);
    for (unsigned i = 0; i < answers; i++)
        out[i] = swapped(cells[3 + count + i]);
    return result;
}

/* Invokes a service of the client interface. 0, or -1 if there is no such service. */
static int call(const char *service, unsigned count, const uint32_t *in, unsigned answers, uint32_t *out)
{
    return firmware_call(entry, 0, cell_of(service), count, in, answers, out) == UINT32_MAX ? -1 : 0;
}

static uint32_t call1(const char *service, uint32_t argument)
{
    uint32_t out = UINT32_MAX;

    call(service, 1, &argument, 1, &out);
    return out;
}

void firmware_start(uint64_t at)
{
    entry = (uint32_t)at;
}

static firmware_node node_or_none(uint32_t answer)
{
    return answer == UINT32_MAX ? 0 : answer;
}

firmware_node firmware_find(const char *path)
{
    return node_or_none(call1("finddevice", cell_of(path)));
}

firmware_node firmware_child(firmware_node node)
{
    return node_or_none(call1("child", node));
}

firmware_node firmware_peer(firmware_node node)
{
    return node_or_none(call1("peer", node));
}

firmware_node firmware_package(uint32_t instance)
{
    return node_or_none(call1("instance-to-package", instance));
}

int firmware_property(firmware_node node, const char *name, void *to, unsigned room)
{
    const uint32_t in[] = { node, cell_of(name), cell_of(to), room };
    uint32_t length = UINT32_MAX;

    if (call("getprop", 4, in, 1, &length) || length == UINT32_MAX)
        return -1;
    return length > INT32_MAX ? INT32_MAX : (int)length;
}

/* Option vectors [LoPAPR §B.6.2.3]: after the CPUs, each with the number of its bytes less one. */
static const uint8_t options[] = {
    0xff,   0xff, 0x00, 0x00, 0x00, 0x4e,
    0x00,   0x00, /* POWER9: mask and value of the version register */
    0xff,   0xff, 0xff, 0xff, 0x0f, 0x00,
    0x00,   0x05, /* any CPU of Power ISA 3.0 */
    0x00,   0x00, 0x00, 0x00, 0xff, 0xff,
    0xff,   0xff,       /* the last one */
    6 - 1,              /* vectors */
    2 - 1,  0x00, 0x00, /* 1: of ISA 2 and 3 below */
    1 - 1,  0x00,       /* 2: real mode: as it is */
    2 - 1,  0x00, 0xc0, /* 3: floating point, VMX */
    2 - 1,  0x00, 0x00, /* 4 */
    26 - 1,             /* 5 */
    0x00,   0x20, 0x00, 0x00, 0x80, 0x00,
    0x00,   0x00, /* bytes 2: memory in blocks; 5: associativity, form 1 */
    0x00,   0x00, 0x04, 0x00, 0x00, 0x00,
    0x00,   0x00,                         /* 9: CPUs at most */
    0x00,   0x00, 0x00, 0x00, 0x00, 0x80, /* 17 …; 22: the blocks' second form */
    0x40,                                 /* 23: XIVE's exploitation */
    0x40,                                 /* 24: radix */
    0x00,   0x40,                         /* 26: guest translation shootdown (GTSE) */
    1 - 1,  0x00                          /* 6 */
};

/* Of vector 5, the byte with the interrupt controller: its highest two bits are 0 for XICS, 1 for XIVE, which
 * these options ask for, and, of a machine, 2 for either. The tree says in pairs of bytes what the machine
 * has. */
#define CONTROLLER_BYTE 23
#define CONTROLLER_AT   (sizeof(options) - 6)
#define CONTROLLER_BITS 0xc0

/* Returns whether the machine has only XICS: if it is asked for XIVE then, it may refuse to start. */
static bool has_xics_alone(void)
{
    uint8_t pairs[32];
    const int bytes =
        firmware_property(firmware_find("/chosen"), "ibm,arch-vec-5-platform-support", pairs, sizeof(pairs));

    for (int at = 0; at + 2 <= bytes && at + 2 <= (int)sizeof(pairs); at += 2)
        if (pairs[at] == CONTROLLER_BYTE)
            return !(pairs[at + 1] & CONTROLLER_BITS);
    return false;
}

int firmware_negotiate(void)
{
    static uint8_t copy[sizeof(options)];
    const uint32_t root = call1("open", cell_of("/"));
    uint32_t in[] = { cell_of("ibm,client-architecture-support"), root, cell_of(copy) }, out[2] = { 1, 1 };

    memcpy(copy, options, sizeof(copy));
    if (has_xics_alone())
        copy[CONTROLLER_AT] &= (uint8_t)~CONTROLLER_BITS;
    if (root == 0 || root == UINT32_MAX)
        return -1;
    if (call("call-method", 3, in, 2, out) || out[0])
        return -1;
    return (int)out[1];
}

uint32_t firmware_rtas_start(uint32_t base)
{
    const uint32_t node = call1("open", cell_of("/rtas"));
    const uint32_t in[] = { cell_of("instantiate-rtas"), node, base };
    uint32_t out[2] = { 1, 0 };

    if (node == 0 || node == UINT32_MAX || call("call-method", 3, in, 2, out) || out[0])
        return 0;
    return out[1];
}

void firmware_quiesce(void)
{
    call("quiesce", 0, NULL, 0, NULL);
}
