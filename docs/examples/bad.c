/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bad.c: goes wrong in the way that its argument names: what a node says then stands in docs/porting.md.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>

struct list {
    int value;
    struct list *next;
};

static int sum(const struct list *list)
{
    int total = 0;

    /* The last one's successor is not looked at, but the first one may be none. */
    do
        total += list->next ? list->value : 0;
    while ((list = list->next));
    return total;
}

/* Recurses `level` times. Each call takes more than a page of the stack. */
static int deep(int level)
{
    volatile char room[8000];

    room[0] = (char)level;
    return deep(level + 1) + room[0];
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    pthread_t thread;
    FILE *file;

    if (!strcmp(way, "null"))
        return sum(NULL);
    if (!strcmp(way, "stack"))
        return deep(0);
    if (!strcmp(way, "fanotify") && fanotify_init(0, 0) < 0)
        perror("fanotify_init");
    else if (!strcmp(way, "memory") && !malloc(1UL << 40))
        perror("malloc");
    else if (!strcmp(way, "write") && !(file = fopen("/data/out", "w")))
        perror("/data/out");
    else if (!strcmp(way, "thread") && (errno = pthread_create(&thread, NULL, wait_for_ever, NULL)))
        perror("pthread_create");
    else
        fprintf(stderr, "usage: bad null|stack|fanotify|memory|write|thread\n");
    return 1;
}
