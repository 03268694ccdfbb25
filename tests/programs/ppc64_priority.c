/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc64_priority.c: the hardware priority of a thread on POWER, as a program has it: `ppc64_priority WHAT`.
 * Ordinary C for Linux; tests/qemu/test_ppc64_priority.py compiles it with Debian's cross compiler.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "/proc/tacet/priorities"

/* Instructions between calls and faults may not lose it, so it is read where nothing enters the kernel. */
static unsigned priority(void)
{
    uint64_t value;

    __asm__ volatile("mfspr %0, 896" : "=r"(value));
    return (unsigned)(value >> 50) & 7;
}

static void low(void)
{
    __asm__ volatile("or 1, 1, 1");
}

static void medium_low(void)
{
    __asm__ volatile("or 6, 6, 6");
}

static void medium(void)
{
    __asm__ volatile("or 2, 2, 2");
}

/* Requests a priority by a line to the kernel's file; returns 0, or the error. */
static int priority_ask(const char *line)
{
    int file = open(FILE_NAME, O_WRONLY);
    int error = file < 0 || write(file, line, strlen(line)) < 0 ? errno : 0;

    close(file);
    return error;
}

static void lines_print(void)
{
    char text[1024];
    int file = open(FILE_NAME, O_RDONLY);
    ssize_t bytes = read(file, text, sizeof(text) - 1);

    close(file);
    printf("%.*s", (int)bytes, text);
    fflush(stdout);
}

/* Checks that the priority survives a call, a fault that the kernel resolves (the first write of a page), and
 * a sleep. */
static int kept(void)
{
    const struct timespec while_asleep = { .tv_nsec = 1000000 };
    void (*const set[])(void) = { low, medium_low, medium };
    const unsigned expected[] = { 2, 3, 4 };

    for (unsigned i = 0; i < 3; i++) {
        set[i]();
        if (priority() != expected[i])
            return 10 + (int)priority();
        getppid();
        if (priority() != expected[i])
            return 20 + (int)priority();
        nanosleep(&while_asleep, NULL);
        if (priority() != expected[i])
            return 30 + (int)priority();
    }
    return 0;
}

/* Requests priorities for which programs have no instruction; then some that are refused. */
static int asked(void)
{
    if (priority() != 4)
        return 1;
    if (priority_ask("6") || priority() != 6)
        return 2;
    lines_print();
    if (priority_ask("5\n") || priority() != 5)
        return 3;
    low(); /* from here on the program's own instruction counts */
    if (priority() != 2)
        return 4;
    lines_print();
    const char *const wrong[] = { "0", "7", "8", "", "45", "x", "-1" };
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (priority_ask(wrong[i]) != EINVAL || priority() != 2)
            return 10 + (int)i;
    return 0;
}

static unsigned seen[3];

/* Takes turns with the others, which have another one each. */
static void *turns(void *argument)
{
    static const char *const lines[] = { "2", "5", "6" };
    const unsigned number = *(const unsigned *)argument, own = (unsigned)(lines[number][0] - '0');

    if (priority() != 3) /* its parent's */
        return NULL;
    if (priority_ask(lines[number]))
        return NULL;
    for (int i = 0; i < 100; i++) {
        sched_yield();
        seen[number] += priority() == own;
    }
    return NULL;
}

/* Checks that each thread of a CPU keeps its own priority while others run. */
static int threads(void)
{
    static const unsigned numbers[] = { 0, 1, 2 };
    pthread_t thread[3];

    medium_low();
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, turns, (void *)&numbers[i]))
            return 1;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return seen[0] == 100 && seen[1] == 100 && seen[2] == 100 && priority() == 3 ? 0 : 2;
}

int main(int count, char **words)
{
    if (count != 2)
        return 64;
    return !strcmp(words[1], "kept")      ? kept()
           : !strcmp(words[1], "asked")   ? asked()
           : !strcmp(words[1], "threads") ? threads()
                                          : 64;
}
