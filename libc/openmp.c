/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmp.c: the functions that GCC's OpenMP runtime, libgomp.a, needs from glibc and that musl lacks, so that
 * Debian's compiled library works with musl. Everything else that it uses has the same names, sizes and
 * numbers in both on x86_64. ports/musl/fetch.sh adds this file to a copy of the library, in which
 * pthread_create is renamed openmp_pthread_create.
 *
 * __sysconf is only another name. The other two functions bind threads to CPUs: if the environment asks for
 * places (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), libgomp binds each thread through its creation
 * attributes. musl's attributes have no CPUs. libgomp sets them just before it creates the thread, so they
 * are stored here until then, and the thread binds itself first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a new thread needs to bind itself and then run. */
struct beginning {
    void *(*run)(void *);
    void *argument;
    size_t bytes;
    cpu_set_t cpus[];
};

static _Thread_local struct {
    const pthread_attr_t *attributes;
    size_t bytes;
    const cpu_set_t *cpus;
} bound;

long __sysconf(int name);
int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const cpu_set_t *cpus);
int openmp_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

long __sysconf(int name)
{
    return sysconf(name);
}

int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const cpu_set_t *cpus)
{
    bound.attributes = attributes;
    bound.bytes = bytes;
    bound.cpus = cpus;
    return 0;
}

static void *begin(void *passed)
{
    struct beginning *beginning = passed;
    void *(*run)(void *) = beginning->run;
    void *argument = beginning->argument;

    /* If the system refuses the place, the thread runs unbound. */
    pthread_setaffinity_np(pthread_self(), beginning->bytes, beginning->cpus);
    free(beginning);
    return run(argument);
}

int openmp_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    struct beginning *beginning;
    int error;

    if (!attributes || bound.attributes != attributes)
        return pthread_create(thread, attributes, run, argument);
    bound.attributes = NULL;
    beginning = malloc(sizeof *beginning + bound.bytes);
    if (!beginning)
        return EAGAIN;
    beginning->run = run;
    beginning->argument = argument;
    beginning->bytes = bound.bytes;
    memcpy(beginning->cpus, bound.cpus, bound.bytes);
    error = pthread_create(thread, attributes, begin, beginning);
    if (error)
        free(beginning);
    return error;
}
