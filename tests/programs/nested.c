/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nested.c: nested functions whose address is taken: the compiler writes their code to the stack, and the
 * program's file asks for executable ones. They run on the main stack, on threads' stacks and as a handler of
 * signals; no other memory is writable and executable.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#define ROUNDS  50
#define THREADS 8
#define ALL     (PROT_READ | PROT_WRITE | PROT_EXEC)

static long sum(long (*function)(long), long count)
{
    long result = 0;

    for (long i = 1; i <= count; i++)
        result += function(i);
    return result;
}

static long scaled_sum(long factor)
{
    long calls = 0;
    long scaled(long value)
    {
        calls++;
        return value * factor;
    }
    long result = sum(scaled, 10);

    return calls == 10 ? result : -1;
}

static void *thread(void *number)
{
    for (long i = 0; i < ROUNDS; i++)
        if (scaled_sum((long)number + i) != 55 * ((long)number + i))
            return "wrong";
    return NULL;
}

static void threads_run_them(void)
{
    pthread_t threads[THREADS];
    void *wrong = NULL;

    for (int round = 0; round < 2; round++) { /* the second time on stacks that are used again */
        for (long i = 0; i < THREADS; i++)
            IS(pthread_create(&threads[i], NULL, thread, (void *)i), 0);
        for (long i = 0; i < THREADS; i++)
            PROMISE(pthread_join(threads[i], &wrong) == 0 && !wrong, "thread %ld", i);
    }
}

static void handler_is_one(void)
{
    volatile int seen = 0;
    void handler(int number)
    {
        seen = number;
    }

    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    PROMISE(seen == SIGUSR1, "%d", seen);
    signal(SIGUSR1, SIG_DFL);
}

static void no_other_memory_is_both(void)
{
    const int own = MAP_PRIVATE | MAP_ANONYMOUS;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *plain = mmap(NULL, page, PROT_READ | PROT_WRITE, own, -1, 0);
    char *stack = mmap(NULL, 4 * page, PROT_NONE, own | MAP_STACK, -1, 0);
    int file = open("/tmp/nested", O_RDWR | O_CREAT, 0600);

    FAILS((long)mmap(NULL, page, ALL, own, -1, 0), EACCES);
    FAILS(mprotect(plain, page, ALL), EACCES);
    FAILS(mprotect((void *)((unsigned long)&sum & -page), page, ALL), EACCES);
    FAILS((long)mmap(NULL, page, ALL, MAP_SHARED | MAP_STACK, file, 0), EACCES);
    FAILS((long)mmap(NULL, page, ALL, MAP_PRIVATE | MAP_STACK, file, 0), EACCES);
    IS(mprotect(stack + page, 3 * page, ALL), 0);
}

int main(void)
{
    char line[256], flags[8] = "";
    FILE *maps = fopen("/proc/self/maps", "r");

    PROMISE(scaled_sum(3) == 165, "on the main stack");
    threads_run_them();
    handler_is_one();
    no_other_memory_is_both();
    while (maps && fgets(line, sizeof(line), maps))
        if (strstr(line, "[stack]"))
            sscanf(line, "%*s %7s", flags);
    PROMISE(strcmp(flags, "rwxp") == 0, "%s", flags);
    return promises_kept();
}
