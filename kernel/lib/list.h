/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h: a doubly linked list whose links stand in its members. A list that is all zero is empty; a member
 * is in at most one list. The owner of the list locks it.
 *
 *      struct waiter { struct list_link link; … };         the link comes first
 *      for (struct waiter *waiter = (void *)list.first; waiter; waiter = (void *)waiter->link.next)
 *
 * LIST_EACH (smp/lock_work.h) goes through one with a lock held.
 */
#ifndef TACET_LIST_H
#define TACET_LIST_H

#include <stddef.h>

struct list_link {
    struct list_link *next, *previous;
};

struct list {
    struct list_link *first, *last;
};

/* In a kernel that checks itself (make kernel LOCKCHECK=1) a broken list, tree (avl.h) or queue faults. */
#ifdef LOCKCHECK
#define SELF_CHECK(holds) ((holds) ? (void)0 : __builtin_trap())
#else
#define SELF_CHECK(holds) ((void)0)
#endif

/* The structure whose member `field` is the link. */
#define LIST_OWNER(of_link, type, field) ((struct type *)((char *)(of_link)-offsetof(struct type, field)))

/* Inserts before `next`, a member; NULL: at the end. */
static inline void list_insert(struct list *list, struct list_link *link, struct list_link *next)
{
    link->next = next;
    link->previous = next ? next->previous : list->last;
    SELF_CHECK((link->previous ? link->previous->next : list->first) == next);
    *(link->previous ? &link->previous->next : &list->first) = link;
    *(next ? &next->previous : &list->last) = link;
}

static inline void list_append(struct list *list, struct list_link *link)
{
    list_insert(list, link, NULL);
}

static inline void list_remove(struct list *list, struct list_link *link)
{
    SELF_CHECK((link->previous ? link->previous->next : list->first) == link);
    SELF_CHECK((link->next ? link->next->previous : list->last) == link);
    *(link->previous ? &link->previous->next : &list->first) = link->next;
    *(link->next ? &link->next->previous : &list->last) = link->previous;
}

#endif
