/* SPDX-License-Identifier: BSD-2-Clause */
/* numa.c: policies and places of memory on a machine with one NUMA node. */
#include "conform.h"

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL };
enum { NODE = 1, ADDRESS = 2, ALLOWED = 4 };
enum { STRICT = 1, MOVE = 2 };

static unsigned long first = 1, other = 1UL << 63, none, mask[16];
static int mode;

/* Sets a policy and prints what is read back. */
static void policy(const char *what, int set, unsigned long *nodes)
{
    char line[96];

    result(what, sys(SYS_set_mempolicy, set, nodes, 65));
    mode = -1;
    memset(mask, 0xff, sizeof(mask));
    snprintf(line, sizeof(line), "%s, read back", what);
    result(line, sys(SYS_get_mempolicy, &mode, mask, 1024, 0, 0));
    snprintf(line, sizeof(line), "%s, mode", what);
    result(line, mode);
    snprintf(line, sizeof(line), "%s, nodes", what);
    result(line, (long)mask[0]);
    snprintf(line, sizeof(line), "%s, the mask's end is zero", what);
    holds(line, mask[1] == 0 && mask[15] == 0);
}

static void policies(void)
{
    policy("at first", DEFAULT, NULL);
    policy("prefer node 0", PREFERRED, &first);
    policy("bind to node 0", BIND, &first);
    policy("local", LOCAL, NULL);
    policy("prefer no node", PREFERRED, &none);
    result("node in use without interleaving", sys(SYS_get_mempolicy, &mode, 0, 0, 0, NODE));
    policy("interleave", INTERLEAVE, &first);
    result("next node of it", sys(SYS_get_mempolicy, &mode, 0, 0, 0, NODE));
    result("that is", mode);
    result("bind to a node that is not there", sys(SYS_set_mempolicy, BIND, &other, 65));
    result("bind to no node", sys(SYS_set_mempolicy, BIND, &none, 65));
    result("default with a node", sys(SYS_set_mempolicy, DEFAULT, &first, 65));
    result("no such policy", sys(SYS_set_mempolicy, 99, &first, 65));
    result("both kinds of nodes", sys(SYS_set_mempolicy, BIND | 0xc000, &first, 65));
    result("a mask nowhere", sys(SYS_set_mempolicy, BIND, NOWHERE, 65));
    policy("default again", DEFAULT, NULL);
}

static void queries(char *page, char *hole)
{
    result("allowed", sys(SYS_get_mempolicy, 0, mask, 1024, 0, ALLOWED));
    result("allowed nodes", (long)mask[0]);
    result("node of a page", sys(SYS_get_mempolicy, &mode, 0, 0, page, NODE | ADDRESS));
    result("it is", mode);
    result("node of a hole", sys(SYS_get_mempolicy, &mode, 0, 0, hole, NODE | ADDRESS));
    result("policy of a hole", sys(SYS_get_mempolicy, &mode, 0, 0, hole, ADDRESS));
    result("policy of a page", sys(SYS_get_mempolicy, &mode, 0, 0, page, ADDRESS));
    result("its mode", mode);
    result("an address without its flag", sys(SYS_get_mempolicy, &mode, 0, 0, page, 0));
    result("allowed nodes of an address", sys(SYS_get_mempolicy, &mode, 0, 0, page, ALLOWED | ADDRESS));
    result("no such flag", sys(SYS_get_mempolicy, &mode, 0, 0, 0, 8));
    result("a mask of no bits", sys(SYS_get_mempolicy, &mode, mask, 0, 0, 0));
    result("a mask of one node", sys(SYS_get_mempolicy, &mode, mask, 2, 0, 0));
    result("a mode nowhere", sys(SYS_get_mempolicy, NOWHERE, 0, 0, 0, 0));
}

static void ranges(char *page, char *hole)
{
    result("bind a page", sys(SYS_mbind, page, PAGE, BIND, &first, 65, 0));
    result("strictly", sys(SYS_mbind, page, PAGE, BIND, &first, 65, STRICT | MOVE));
    result("its home", sys(SYS_set_mempolicy_home_node, page, PAGE, 0, 0));
    result("a home elsewhere", sys(SYS_set_mempolicy_home_node, page, PAGE, 63, 0));
    result("a home with a flag", sys(SYS_set_mempolicy_home_node, page, PAGE, 0, 1));
    result("bind a hole", sys(SYS_mbind, hole, PAGE, BIND, &first, 65, 0));
    result("bind nothing", sys(SYS_mbind, page, 0, BIND, &first, 65, 0));
    result("bind from within a page", sys(SYS_mbind, page + 1, PAGE, BIND, &first, 65, 0));
    result("bind elsewhere", sys(SYS_mbind, page, PAGE, BIND, &other, 65, 0));
    result("no such flag of mbind", sys(SYS_mbind, page, PAGE, BIND, &first, 65, 16));
    result("to the default", sys(SYS_mbind, page, PAGE, DEFAULT, NULL, 0, STRICT));
}

static void places(char *page, char *hole)
{
    void *pages[2] = { page, hole };
    int nodes[2] = { 0, 0 }, status[2] = { 99, 99 };

    result("places", sys(SYS_move_pages, 0, 2, pages, 0, status, 0));
    result("of the page", status[0]);
    result("of the hole", status[1]);
    result("move a page to its node", sys(SYS_move_pages, 0, 1, pages, nodes, status, MOVE));
    result("moved to", status[0]);
    nodes[0] = 63;
    result("move it to no node", sys(SYS_move_pages, 0, 1, pages, nodes, status, MOVE));
    result("move nothing", sys(SYS_move_pages, 0, 0, pages, 0, status, 0));
    result("no such flag of move_pages", sys(SYS_move_pages, 0, 1, pages, 0, status, 1));
    result("pages nowhere", sys(SYS_move_pages, 0, 1, NOWHERE, 0, status, 0));
    result("statuses nowhere", sys(SYS_move_pages, 0, 1, pages, 0, NOWHERE, 0));
    result("of no process", sys(SYS_move_pages, 4000000, 1, pages, 0, status, 0));
    result("migrate to the same node", sys(SYS_migrate_pages, 0, 65, &first, &first));
    result("migrate to no node", sys(SYS_migrate_pages, 0, 65, &first, &other));
}

CONFORM(numa)
{
    unsigned cpu, node = 99;
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *hole = page + PAGE;

    page[0] = 1;
    munmap(hole, PAGE);
    policies();
    queries(page, hole);
    ranges(page, hole);
    places(page, hole);
    result("getcpu", sys(SYS_getcpu, &cpu, &node, 0));
    result("its node", node);
}
