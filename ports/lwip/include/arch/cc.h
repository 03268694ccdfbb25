/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cc.h: the compiler and the kernel, as lwIP wants them described (its doc/sys_arch.txt). Everything that it
 * calls here is declared in kernel/net/memory.h and kernel/net/network.h.
 */
#ifndef TACET_LWIP_CC_H
#define TACET_LWIP_CC_H

#include "lib/checksum.h"
#include "net/memory.h"
#include "net/network.h"
#include <limits.h>
#include <stdint.h>

typedef long ssize_t;
#ifndef SSIZE_MAX
#define SSIZE_MAX LONG_MAX
#endif

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_CTYPE_H    1
#define LWIP_NO_UNISTD_H   1

/* lwIP prints nothing: what it would print is counted or seen elsewhere, and its assertions are compiled
 * out. */
#define LWIP_NOASSERT           1
#define LWIP_PLATFORM_ASSERT(x) ((void)0)
#define LWIP_PLATFORM_DIAG(x)   ((void)0)

#define LWIP_RAND() network_random()

#ifdef LOCKCHECK /* its copies count as the kernel's own: it runs with the network's lock */
#include "smp/lock_work.h"
#define MEMCPY(to, from, bytes) (lock_work_add(bytes), memcpy(to, from, bytes))
#endif

#endif
