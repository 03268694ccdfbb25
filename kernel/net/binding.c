/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * binding.c: which sockets hold which local ports (connection.h). A balanced tree by port and address; those
 * that share both by SO_REUSEADDR are in a chain at one node of the tree. The caller holds the network's
 * lock.
 *
 * Ports are shared as on Linux: different addresses of a port may be held at once, but "any" conflicts with
 * each. With SO_REUSEADDR on both sides any two may share, also two datagram sockets (multicast), but not two
 * listeners. With SO_REUSEPORT on both sides any two may, at most SHARERS_MAX: each peer's connections and
 * datagrams go to one of them. [man 7 socket]
 */
#include "lib/errno.h"
#include "net/connection.h"
#include "net/network.h"
#include "net/size.h"
#include <stddef.h>

#define PORT_FIRST  32768 /* of the ports that are chosen, as Linux's ip_local_port_range */
#define PORT_COUNT  28232
#define SHARERS_MAX 1024
#define PORT_TRIES  256 /* with one port in twenty free, all of them fail twice in a million */

struct binding_tree tcp_bindings, udp_bindings;

static uint64_t key_of(uint32_t address, uint16_t port)
{
    return (uint64_t)port << 32 | address;
}

static struct binding *at_or_above(const struct binding_tree *tree, uint64_t key)
{
    return avl_above(tree->root, key);
}

struct binding *binding_find(const struct binding_tree *tree, uint32_t address, uint16_t port)
{
    struct binding *binding = at_or_above(tree, key_of(address, port));

    return binding && binding->node.key == key_of(address, port) ? binding : NULL;
}

/* Returns whether a binding cannot share with one of those from `with` on. */
static bool conflicts(const struct binding_tree *tree, const struct binding *with,
                      const struct binding *binding)
{
    for (unsigned count = 0; with; with = with->same) {
        const bool listens = tree == &tcp_bindings && with->open;

        if (with == binding || (with->shares && binding->shares && count++ < SHARERS_MAX))
            continue;
        if (!with->reuse || !binding->reuse || listens || count++ >= SHARERS_MAX)
            return true;
    }
    return false;
}

/* Returns whether the port is taken. Only holders of the same address or of "any" can conflict. "Any" itself
 * meets all addresses, and the first conflict is enough. */
static bool is_taken(const struct binding_tree *tree, const struct binding *binding)
{
    if (binding->address)
        return conflicts(tree, binding_find(tree, 0, binding->port), binding) ||
               conflicts(tree, binding_find(tree, binding->address, binding->port), binding);
    for (struct binding *other = at_or_above(tree, key_of(0, binding->port));
         other && other->port == binding->port; other = at_or_above(tree, other->node.key + 1))
        if (conflicts(tree, other, binding))
            return true;
    return tree == &tcp_bindings && !binding->reuse && !binding->shares && !binding->is_held &&
           connection_uses_port(binding->port);
}

static void insert(struct binding_tree *tree, struct binding *binding)
{
    struct binding *head = binding_find(tree, binding->address, binding->port);

    binding->node.key = key_of(binding->address, binding->port);
    binding->same = NULL;
    binding->before = head;
    binding->is_held = true;
    if (head) {
        binding->same = head->same;
        if (binding->same)
            binding->same->before = binding;
        head->same = binding;
    } else {
        avl_insert(&tree->root, &binding->node, NULL);
    }
}

int binding_hold(struct binding_tree *tree, struct binding *binding)
{
    bool any_port = binding->port == 0;

    for (unsigned tries = 0; tries < (any_port ? PORT_TRIES : 1); tries++) {
        if (any_port)
            binding->port = size_16(PORT_FIRST + network_random() % PORT_COUNT);
        /* A chosen port is shared with no other socket, whatever their options. */
        struct binding alone = *binding;
        alone.reuse = binding->reuse && !any_port;
        alone.shares = binding->shares && !any_port;
        if (!is_taken(tree, &alone)) {
            insert(tree, binding);
            return 0;
        }
    }
    if (any_port)
        binding->port = 0;
    return -EADDRINUSE;
}

int binding_open(struct binding_tree *tree, struct binding *binding)
{
    binding->open = !is_taken(tree, binding);
    return binding->open ? 0 : -EADDRINUSE;
}

struct binding *binding_choose(struct binding *first, const struct connection_ends *ends)
{
    unsigned sharers = 0;

    while (first && !first->open)
        first = first->same;
    if (!first || !first->shares)
        return first;
    for (const struct binding *binding = first; binding; binding = binding->same)
        sharers += binding->open && binding->shares;
    uint64_t place = (connection_key(ends) * 0x9e3779b97f4a7c15ULL >> 32) % sharers;
    while (!(first->open && first->shares) || place-- > 0)
        first = first->same;
    return first;
}

void binding_release(struct binding_tree *tree, struct binding *binding)
{
    if (!binding->is_held)
        return;
    binding->is_held = false;
    if (binding->same)
        binding->same->before = binding->before;
    if (binding->before) {
        binding->before->same = binding->same;
        return;
    }
    avl_remove(&tree->root, &binding->node, NULL);
    if (binding->same) {
        binding->same->node.key = binding->node.key;
        avl_insert(&tree->root, &binding->same->node, NULL);
    }
}
