/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * balance.c: the page in which the ranks of a core meet, and their priorities. balance.h documents it.
 */
#define _GNU_SOURCE
#include "balance.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PRIORITIES /* a test defines its own */
#define PRIORITIES "/proc/tacet/priorities"
#endif
#define SIBLINGS "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list"

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

unsigned balance_core_of(unsigned cpu)
{
    char path[sizeof(SIBLINGS) + 16];
    unsigned lowest;

    snprintf(path, sizeof(path), SIBLINGS, cpu);
    FILE *file = fopen(path, "re");
    if (!file)
        return cpu;
    if (fscanf(file, "%u", &lowest) != 1) /* a rising list */
        lowest = cpu;
    fclose(file);
    return lowest;
}

/* ---- The page ---- */

static bool path_of(const char *name, char path[BALANCE_NAME_MAX + 16])
{
    const size_t bytes = strlen(name);

    if (!bytes || bytes >= BALANCE_NAME_MAX || strchr(name, '/'))
        return false;
    snprintf(path, BALANCE_NAME_MAX + 16, "/balance.%s", name);
    return true;
}

/* Returns whether the page has its size; otherwise sets EAGAIN, as the rank that made it sets it next. */
static bool is_whole(int file)
{
    struct stat status;

    if (fstat(file, &status))
        return false;
    errno = EAGAIN;
    return status.st_size >= (off_t)sizeof(struct balance_page);
}

static struct balance_page *page_map(const char *name, bool join)
{
    char path[BALANCE_NAME_MAX + 16];

    if (!path_of(name, path)) {
        errno = EINVAL;
        return NULL;
    }
    int file = shm_open(path, join ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    void *page = MAP_FAILED;
    if (join ? !ftruncate(file, sizeof(struct balance_page)) : is_whole(file))
        page = mmap(NULL, sizeof(struct balance_page), join ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                    file, 0);
    const int error = errno;
    close(file);
    errno = error;
    return page == MAP_FAILED ? NULL : page;
}

const struct balance_page *balance_page_open(const char *name)
{
    return page_map(name, false);
}

/* Returns the core's place; takes a free one if it has none. Returns NULL if there are too many cores. */
static struct balance_place *place_of(struct balance_page *page, unsigned core)
{
    for (unsigned i = 0; i < BALANCE_CORES_MAX; i++) {
        uint32_t found = 0;

        if (__atomic_compare_exchange_n(&page->places[i].core, &found, core + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            found == core + 1)
            return &page->places[i];
    }
    return NULL;
}

/* Takes the next number in a place; false if the place is full. */
static bool place_join(struct balance_place *place, uint32_t *number)
{
    *number = __atomic_load_n(&place->joined, __ATOMIC_ACQUIRE);
    do
        if (*number >= BALANCE_SIBLINGS_MAX)
            return false;
    while (!__atomic_compare_exchange_n(&place->joined, number, *number + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    return true;
}

/* ---- Priorities ---- */

static bool priority_write(int file, unsigned priority)
{
    const char digit = (char)('0' + priority);

    return write(file, &digit, 1) == 1;
}

/* Opens the kernel's file, and gives the thread the priority with which the heuristic begins. Returns a
 * negative number if there are no priorities. */
static int priorities_open(unsigned priority)
{
    int file = open(PRIORITIES, O_WRONLY | O_CLOEXEC);

    if (file >= 0 && !priority_write(file, priority)) {
        close(file);
        return -1;
    }
    return file;
}

static void priority_take(struct balance *balance)
{
    const unsigned priority = balance->place->state.siblings[balance->number].priority;

    if (priority == balance->figures->priority || !balance_has_priorities(balance))
        return;
    if (priority_write(balance->priorities, priority))
        __atomic_store_n(&balance->figures->priority, priority, __ATOMIC_RELAXED);
}

/* ---- Ranks ---- */

static bool rules_make_sense(const struct balance_rules *rules)
{
    return rules->low < rules->high && rules->high <= 1000 && rules->history <= 1000 && rules->gain <= 1000 &&
           rules->lowest >= 1 && rules->lowest <= rules->highest && rules->highest <= 6;
}

static void rank_begin(struct balance *balance, unsigned cpu)
{
    struct balance_figures *figures = &balance->place->figures[balance->number];

    balance->priorities = priorities_open(balance->rules.lowest);
    balance->figures = figures;
    balance->place->state.siblings[balance->number] =
        (struct balance_sibling){ .priority = balance->rules.lowest };
    *figures = (struct balance_figures){
        .thread = (uint32_t)syscall(SYS_gettid),
        .cpu = cpu,
        .priority = balance->priorities < 0 ? 0 : balance->rules.lowest,
    };
}

int balance_join(struct balance *balance, const char *name, const struct balance_rules *rules)
{
    const int cpu = sched_getcpu();

    memset(balance, 0, sizeof(*balance));
    balance->rules = rules ? *rules : balance_rules_default;
    if (!rules_make_sense(&balance->rules))
        return -EINVAL;
    balance->page = page_map(name, true);
    if (!balance->page)
        return -errno;
    snprintf(balance->name, sizeof(balance->name), "%s", name);
    __atomic_add_fetch(&balance->page->joined, 1, __ATOMIC_ACQ_REL);
    balance->priorities = -1;
    balance->place = place_of(balance->page, balance_core_of(cpu < 0 ? 0 : (unsigned)cpu));
    if (!balance->place || !place_join(balance->place, &balance->number)) {
        balance->place = NULL;
        balance_leave(balance);
        return -ENOSPC;
    }
    rank_begin(balance, cpu < 0 ? 0 : (unsigned)cpu);
    return 0;
}

bool balance_has_priorities(const struct balance *balance)
{
    return balance->priorities >= 0;
}

void balance_iteration_begin(struct balance *balance)
{
    balance->began_ns = now_ns();
}

/* Decides for the core. Called by the last of its ranks to arrive, so no other rank touches the place. If
 * ranks take turns on a CPU, another rank may have read the clock later. */
static void place_decide(struct balance *balance, struct balance_place *place)
{
    uint64_t last_ns = 0;

    for (unsigned i = 0; i < place->joined; i++)
        if (place->arrived_ns[i] > last_ns)
            last_ns = place->arrived_ns[i];
    place->state.count = place->joined;
    for (unsigned i = 0; i < place->joined; i++)
        balance_add(&place->state.siblings[i],
                    (struct balance_times){ place->running_ns[i], last_ns - place->arrived_ns[i] });
    if (balance_has_priorities(balance) && balance_decide(&place->state, &balance->rules))
        place->steps++;
    __atomic_store_n(&place->arrived, 0, __ATOMIC_RELEASE);
}

void balance_wait_begin(struct balance *balance)
{
    struct balance_place *place = balance->place;

    balance->arrived_ns = now_ns();
    place->running_ns[balance->number] = balance->arrived_ns - balance->began_ns;
    place->arrived_ns[balance->number] = balance->arrived_ns;
    if (__atomic_add_fetch(&place->arrived, 1, __ATOMIC_ACQ_REL) == place->joined)
        place_decide(balance, place);
}

void balance_wait_end(struct balance *balance)
{
    struct balance_figures *figures = balance->figures;

    figures->last =
        (struct balance_times){ balance->arrived_ns - balance->began_ns, now_ns() - balance->arrived_ns };
    figures->sum.running_ns += figures->last.running_ns;
    figures->sum.waiting_ns += figures->last.waiting_ns;
    __atomic_store_n(&figures->iterations, figures->iterations + 1, __ATOMIC_RELEASE);
    priority_take(balance);
    balance_iteration_begin(balance);
}

void balance_page_remove(const char *name)
{
    char path[BALANCE_NAME_MAX + 16];

    if (path_of(name, path))
        shm_unlink(path);
}

void balance_leave(struct balance *balance)
{
    if (balance_has_priorities(balance)) {
        if (balance->figures->priority != balance->rules.lowest) /* else it disturbs the core's next ranks */
            priority_write(balance->priorities, balance->rules.lowest);
        close(balance->priorities);
    }
    if (balance->place)
        __atomic_sub_fetch(&balance->place->joined, 1, __ATOMIC_ACQ_REL);
    if (!__atomic_sub_fetch(&balance->page->joined, 1, __ATOMIC_ACQ_REL))
        balance_page_remove(balance->name);
    munmap(balance->page, sizeof(*balance->page));
}
