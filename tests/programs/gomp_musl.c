/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gomp_musl.c: the two functions of glibc's that GCC's OpenMP runtime, libgomp.a, asks for and musl has not,
 * so that the one which Debian compiled links with musl. All else that it uses has the same names, sizes and
 * numbers in both on x86_64. Threads are bound to their CPUs by the node.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

long __sysconf(int name);
int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const void *cpus);

long __sysconf(int name)
{
    return sysconf(name);
}

/* Only called where the environment asks for places (OMP_PROC_BIND, GOMP_CPU_AFFINITY); then libgomp says
 * that it cannot. */
int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const void *cpus)
{
    return attributes && bytes && cpus ? ENOTSUP : EINVAL;
}
