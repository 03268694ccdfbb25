/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_numa.c: system calls about the NUMA nodes of memory, as set_mempolicy(2), mbind(2), move_pages(2). The
 * memory that a rank may use is its slice, so the nodes that Linux would allow it are those of the slice
 * (fs/nodes.h), and pages stay where they are. MPOL_BIND is accepted if it is kept: for a thread by all nodes
 * of the slice, for a range by where its pages are. Other policies are preferences, accepted as on Linux.
 */
#include "arch.h"
#include "fs/nodes.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "smp/crosscall.h"
#include "syscall/syscall.h"

enum { POLICY_DEFAULT, POLICY_PREFERRED, POLICY_BIND, POLICY_INTERLEAVE, POLICY_LOCAL, POLICY_COUNT = 6 };
#define POLICY_FLAGS   0xe000U /* of these: */
#define NODES_STATIC   0x8000U
#define NODES_RELATIVE 0x4000U

enum { QUERY_NODE = 1, QUERY_ADDRESS = 2, QUERY_ALLOWED = 4 }; /* MPOL_F_ */
enum { MOVE_STRICT = 1, MOVE_OWN = 2, MOVE_ALL = 4 };          /* MPOL_MF_ */

static uint64_t nodes_allowed(void)
{
    return nodes_of(arch_process()->slice);
}

/* Reads a mask, of which `count` less one is the number of bits. Nodes that cannot exist are ignored, as
 * Linux ignores those that do not. */
static int nodes_read(uint64_t address, uint64_t count, uint64_t *nodes)
{
    *nodes = 0;
    if (!address || count == 1)
        return 0;
    if (count - 1 > 8 * ARCH_PAGE)
        return -EINVAL;
    if (user_read(nodes, address, sizeof(*nodes)))
        return -EFAULT;
    if (count - 1 < NODES_MAX)
        *nodes &= (1ULL << (count - 1)) - 1;
    return 0;
}

static int nodes_write(uint64_t address, uint64_t count, uint64_t nodes)
{
    const uint64_t bytes = (count - 1 + 63) / 64 * 8;

    if (bytes > ARCH_PAGE)
        return -EINVAL;
    if (user_write(address, &nodes, smaller(bytes, sizeof(nodes))))
        return -EFAULT;
    return bytes > sizeof(nodes) ? user_clear(address + sizeof(nodes), bytes - sizeof(nodes)) : 0;
}

/* Reads the nodes of a policy, checks it and completes it: the nodes become those of them that are allowed.
 */
static int policy_read(uint64_t mask, uint64_t count, uint32_t *policy, uint64_t *nodes)
{
    int error = nodes_read(mask, count, nodes);
    const uint32_t flags = *policy & POLICY_FLAGS, both = NODES_STATIC | NODES_RELATIVE;
    const uint64_t allowed = nodes_allowed();
    uint32_t kind = *policy & ~POLICY_FLAGS;

    if (error)
        return error;
    if (kind >= POLICY_COUNT || (flags & both) == both || ((flags & ~both) && kind != POLICY_BIND))
        return -EINVAL;
    if (kind == POLICY_DEFAULT)
        return *nodes ? -EINVAL : 0;
    if (kind == POLICY_PREFERRED && !*nodes)
        *policy = kind = POLICY_LOCAL;
    if (kind == POLICY_LOCAL)
        return *nodes || flags ? -EINVAL : 0;
    *nodes = *nodes && (flags & NODES_RELATIVE) ? allowed : *nodes & allowed;
    return *nodes ? 0 : -EINVAL;
}

/* Returns whether a policy promises that memory is in some of the slice's nodes only. */
static bool is_narrow(uint32_t policy, uint64_t nodes)
{
    return (policy & ~POLICY_FLAGS) == POLICY_BIND && nodes != nodes_allowed();
}

/* Checks a range, whose length is rounded up to pages. */
static int range_check(uint64_t start, uint64_t *bytes)
{
    if (start % ARCH_PAGE)
        return -EINVAL;
    *bytes = page_up(*bytes);
    if (start + *bytes < start)
        return -EINVAL;
    return !*bytes || vm_covered(&arch_process()->vm, start, *bytes) ? 0 : -EFAULT;
}

/* Counts the pages of a range that are in none of these nodes. */
static uint64_t pages_elsewhere(uint64_t start, uint64_t end, uint64_t nodes)
{
    uint64_t pages[NODES_MAX] = { 0 }, elsewhere = 0;

    if (!(nodes_known() & ~nodes))
        return 0;
    node_pages(&arch_process()->vm, start, end, pages);
    for (unsigned node = 0; node < NODES_MAX; node++)
        elsewhere += nodes >> node & 1 ? 0 : pages[node];
    return elsewhere;
}

/* ---- Policies ---- */

long sys_set_mempolicy(uint64_t policy, uint64_t mask, uint64_t count)
{
    struct thread *thread = arch_thread();
    uint32_t checked = (uint32_t)policy;
    uint64_t nodes;
    int error = policy_read(mask, count, &checked, &nodes);

    if (error || is_narrow(checked, nodes))
        return error ? error : -EINVAL; /* the next pages may come from all nodes of the slice */
    thread->memory_policy = checked;
    thread->memory_nodes = nodes;
    return 0;
}

/* Answers which node an address is in, or from which the thread's next pages come if they are interleaved. */
static int node_query(uint64_t address, uint64_t flags)
{
    const struct thread *thread = arch_thread();
    int node;

    if (!(flags & QUERY_ADDRESS))
        return (thread->memory_policy & ~POLICY_FLAGS) == POLICY_INTERLEAVE
                   ? __builtin_ctzll(thread->memory_nodes)
                   : -EINVAL;
    node = node_of_address(&arch_process()->vm, address);
    return node < 0 ? -EFAULT : node;
}

/* Answers for an address that it has the default policy: ranges have none of their own. */
long sys_get_mempolicy(uint64_t policy_address, uint64_t mask, uint64_t count, uint64_t address,
                       uint64_t flags)
{
    const struct thread *thread = arch_thread();
    int32_t answer =
        flags & (QUERY_ADDRESS | QUERY_ALLOWED) ? POLICY_DEFAULT : (int32_t)thread->memory_policy;
    uint64_t nodes = flags & QUERY_ADDRESS ? 0 : thread->memory_nodes;
    struct vm_area area;

    if ((flags & ~7ULL) || (mask && count < NODES_MAX && nodes_known() >> count))
        return -EINVAL;
    if (flags & QUERY_ALLOWED ? flags & (QUERY_NODE | QUERY_ADDRESS) : address && !(flags & QUERY_ADDRESS))
        return -EINVAL;
    if (flags & QUERY_ALLOWED)
        nodes = nodes_allowed();
    if ((flags & QUERY_ADDRESS) && !vm_find(&arch_process()->vm, address, &area))
        return -EFAULT;
    if (flags & QUERY_NODE)
        answer = node_query(address, flags);
    if (answer < 0)
        return answer;
    if (policy_address && user_write(policy_address, &answer, sizeof(answer)))
        return -EFAULT;
    return mask ? nodes_write(mask, count, nodes) : 0;
}

long sys_mbind(uint64_t start, uint64_t bytes, uint64_t policy, uint64_t mask, uint64_t count, uint64_t flags)
{
    uint32_t checked = (uint32_t)policy;
    uint64_t nodes;
    int error = policy_read(mask, count, &checked, &nodes);

    flags = (uint32_t)flags;
    if (!error && (flags & ~7ULL))
        error = -EINVAL;
    if (!error && (flags & MOVE_ALL) && process_credentials.uid)
        error = -EPERM;
    if (!error)
        error = range_check(start, &bytes);
    if (error || !nodes || !(flags & MOVE_STRICT || is_narrow(checked, nodes)))
        return error;
    return pages_elsewhere(start, start + bytes, nodes) ? -EIO : 0;
}

long sys_set_mempolicy_home_node(uint64_t start, uint64_t bytes, uint64_t node, uint64_t flags)
{
    if (flags || node >= NODES_MAX || !(nodes_allowed() >> node & 1))
        return -EINVAL;
    return range_check(start, &bytes);
}

/* ---- Where pages are ---- */

static int process_check(uint64_t pid)
{
    if ((uint32_t)pid == 0 || (uint32_t)pid == arch_process()->pid)
        return 0;
    return process_find((uint32_t)pid) ? -EPERM : -ESRCH;
}

static int node_check(int32_t node)
{
    if (node < 0 || node >= NODES_MAX || !(nodes_known() >> node & 1))
        return -ENODEV;
    return nodes_allowed() >> node & 1 ? 0 : -EACCES;
}

/* Returns the node of a page, or why it has none. */
static int32_t page_status(uint64_t address)
{
    struct vm_area area;
    int node = node_of_address(&arch_process()->vm, address);

    return node < 0 && !vm_find(&arch_process()->vm, address, &area) ? -EFAULT : node;
}

/* Moves nothing: a page that should be in another node than it is stays, as if that had no memory left. */
long sys_move_pages(uint64_t pid, uint64_t count, uint64_t pages, uint64_t nodes, uint64_t statuses,
                    uint64_t flags)
{
    const bool is_root = !process_credentials.uid;
    int error = process_check(pid);
    long stay = 0;

    flags = (uint32_t)flags;
    if (flags & ~(uint64_t)(MOVE_OWN | MOVE_ALL))
        return -EINVAL;
    if ((flags & MOVE_ALL) && !is_root)
        return -EPERM;
    for (uint64_t i = 0; i < count && !error; i++) {
        uint64_t address;
        int32_t node = -1, status;

        if (user_read(&address, pages + 8 * i, 8) || (nodes && user_read(&node, nodes + 4 * i, 4)))
            return -EFAULT;
        error = nodes ? node_check(node) : 0;
        status = page_status(address);
        if (nodes && status >= 0 && status != node) {
            status = -ENOMEM;
            stay++;
        }
        if (!error && user_write(statuses + 4 * i, &status, 4))
            error = -EFAULT;
        crosscall_serve();
    }
    return error ? error : stay;
}

long sys_migrate_pages(uint64_t pid, uint64_t count, uint64_t from, uint64_t to)
{
    struct vm *vm = &arch_process()->vm;
    uint64_t old, new, stay = 0;
    struct vm_area area = { .end = 0 };
    int error = nodes_read(from, count, &old);

    if (!error)
        error = nodes_read(to, count, &new);
    if (!error)
        error = process_check(pid);
    if (!error && !(new &nodes_allowed()))
        error = -EINVAL;
    while (!error && (old & ~new &nodes_known()) && vm_next(vm, area.end, &area))
        stay += pages_elsewhere(area.start, area.end, ~old | new);
    return error ? error : (long)stay;
}
