/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmp.c: what GCC's OpenMP runtime, libgomp.a, asks of glibc and musl has not, so that the library which
 * Debian compiled serves programs with musl. All else that it uses has the same names, sizes and numbers in
 * both on x86_64. ports/musl/fetch.sh puts this into a copy of the library, in which pthread_create is called
 * openmp_pthread_create.
 *
 * __sysconf is but a name. The other two are a feature: where the environment asks for places
 * (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), libgomp binds each thread by the attributes that it is
 * created with. musl's attributes hold no CPUs. libgomp sets them just before it creates the thread, so they
 * are kept here until then, and the thread binds itself before it does anything else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A thread that binds itself first. */
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

    /* A place that the node or the machine refuses leaves it unbound: it computes all the same. */
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
