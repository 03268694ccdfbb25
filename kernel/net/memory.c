/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c: see memory.h. The caller holds the network's lock.
 *
 * A page is cut into pieces of one class, after a head. The pages of an account and class that have a free
 * piece are in a list. A page without a piece in use returns to its pool, except one of each class: so a
 * packet that is allocated and freed again does not take the pool's lock. Anything larger is a run of pages
 * with a head of its own. The node's own accounts share one pool (enum network_own).
 */
#include "net/memory.h"
#include "arch.h"
#include "lib/kstring.h"
#include "lib/list.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "net/size.h"
#include "process/process.h"

#define HEAD_BYTES 64
#define CLASSES    8

static const uint16_t class_bytes[CLASSES] = { 64, 128, 256, 496, 576, 1008, 2016, NETWORK_PIECE_MAX };

struct network_account {
    struct page_pool *pool;
    struct list partial[CLASSES]; /* pages with a free piece */
    uint64_t bytes, limit;
    unsigned memberships;
};

struct free_piece {
    struct free_piece *next;
};

/* At the beginning of each page, or run of pages. */
struct page_head {
    struct list_link link; /* in `partial`, if a piece is free */
    struct network_account *account;
    struct free_piece *free;
    uint64_t bytes; /* length of the run */
    uint16_t class; /* CLASSES: one piece */
    uint16_t used;
};

_Static_assert(sizeof(struct page_head) <= HEAD_BYTES, "it stands before the first piece");

static struct page_pool own_pool;
static struct network_account own[NETWORK_OWN];
static struct network_account *payer = &own[NETWORK_KERNEL];

/* The share of each account, in pages. The largest datagram needs 24 pages of 4 KiB in fragments, and an
 * answer to it 17. */
static const uint8_t shares[NETWORK_OWN] = {
    [NETWORK_KERNEL] = ARCH_PAGE > 4096 ? 3 : 54,
    [NETWORK_FRAMES] = ARCH_PAGE > 4096 ? 0 : 16,
    [NETWORK_STRANGERS] = ARCH_PAGE > 4096 ? 0 : 42,
    [NETWORK_VISITORS] = ARCH_PAGE > 4096 ? 0 : 14,
};

void network_memory_start(const struct memory_range *extents, unsigned count)
{
    page_pool_initialise(&own_pool, extents, count);
    for (unsigned which = 0; which < NETWORK_OWN; which++)
        own[which] =
            (struct network_account){ .pool = &own_pool, .limit = (uint64_t)shares[which] * ARCH_PAGE };
    own[NETWORK_FRAMES].limit = UINT64_MAX;
}

struct network_account *network_account_own(enum network_own which)
{
    return &own[ARCH_PAGE > 4096 ? NETWORK_KERNEL : which];
}

struct network_account *network_account_of(struct process *process)
{
    if (!process)
        return &own[NETWORK_KERNEL];
    if (!process->network) {
        uint64_t page = page_pool_allocate(process->vm.pages, ARCH_PAGE, ARCH_PAGE);

        if (page == PAGE_POOL_NONE)
            return NULL;
        process->network = arch_physical(page);
        *process->network = (struct network_account){ .pool = process->vm.pages, .limit = UINT64_MAX };
    }
    return process->network;
}

struct network_account *network_account_use(struct network_account *account)
{
    struct network_account *before = payer;

    payer = account ? account : &own[NETWORK_KERNEL];
    return before;
}

uint64_t network_account_bytes(const struct network_account *account)
{
    return account->bytes;
}

unsigned *network_account_memberships(struct network_account *account)
{
    return &account->memberships;
}

bool network_account_is_idle(const struct network_account *account)
{
    uint64_t bytes = 0;

    for (unsigned class = 0; class < CLASSES; class ++)
        for (const struct list_link *link = account->partial[class].first; link; link = link->next) {
            const struct page_head *head = (const struct page_head *)link;

            if (head->used)
                return false;
            bytes += head->bytes;
        }
    return bytes == account->bytes;
}

static struct page_head *pages_take(uint64_t bytes, unsigned class)
{
    const bool fits = bytes <= payer->limit - payer->bytes;
    uint64_t address = fits ? page_pool_allocate(payer->pool, bytes, ARCH_PAGE) : PAGE_POOL_NONE;
    struct page_head *head;

    if (address == PAGE_POOL_NONE)
        return NULL;
    head = arch_physical(address);
    *head = (struct page_head){ .account = payer, .bytes = bytes, .class = size_16(class) };
    payer->bytes += bytes;
    return head;
}

static void pages_return(struct page_head *head)
{
    head->account->bytes -= head->bytes;
    page_pool_free(head->account->pool, arch_physical_of(head), head->bytes);
}

static struct page_head *page_cut(unsigned class)
{
    struct page_head *head = pages_take(ARCH_PAGE, class);

    if (!head)
        return NULL;
    for (uint64_t at = HEAD_BYTES; at + class_bytes[class] <= ARCH_PAGE; at += class_bytes[class]) {
        struct free_piece *piece = (void *)((char *)head + at);

        piece->next = head->free;
        head->free = piece;
    }
    list_append(&payer->partial[class], &head->link);
    return head;
}

void *network_allocate(size_t bytes)
{
    unsigned class = 0;
    struct page_head *head;

    while (class < CLASSES && bytes > class_bytes[class])
        class ++;
    if (class == CLASSES) {
        if (bytes > 1U << 30)
            return NULL;
        head = pages_take(page_up(bytes + HEAD_BYTES), CLASSES);
        return head ? (char *)head + HEAD_BYTES : NULL;
    }
    head = (struct page_head *)payer->partial[class].first;
    if (!head && !(head = page_cut(class)))
        return NULL;

    struct free_piece *piece = head->free;
    head->free = piece->next;
    head->used++;
    if (!head->free)
        list_remove(&payer->partial[class], &head->link);
    return piece;
}

void *network_allocate_array(size_t count, size_t bytes)
{
    size_t all;
    void *memory = __builtin_mul_overflow(count, bytes, &all) ? NULL : network_allocate(all);

    if (memory)
        memset(memory, 0, all);
    return memory;
}

void network_free(void *memory)
{
    struct page_head *head = (void *)page_down((uint64_t)memory);

    if (!memory)
        return;
    struct free_piece *piece = memory;
    if (head->class == CLASSES) {
        pages_return(head);
        return;
    }
    struct list *partial = &head->account->partial[head->class];
    if (!head->free)
        list_insert(partial, &head->link, partial->first);
    piece->next = head->free;
    head->free = piece;
    if (--head->used == 0 && (partial->first != &head->link || partial->last != &head->link)) {
        list_remove(partial, &head->link);
        pages_return(head);
    }
}
