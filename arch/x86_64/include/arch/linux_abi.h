/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/linux_abi.h: the parts of Linux's user interface whose layout or numbers differ between architectures,
 * for x86_64. Source: Linux's include/uapi/asm-generic and arch/x86/include/uapi/asm headers (facts of the
 * interface).
 */
#ifndef ARCH_LINUX_ABI_H
#define ARCH_LINUX_ABI_H

#include <stdint.h>

#define O_DIRECTORY 0x10000
#define O_NOFOLLOW  0x20000
#define O_LARGEFILE 0x8000

#define TCGETS     0x5401
#define TCSETS     0x5402 /* and the next two */
#define TIOCGPGRP  0x540f
#define TIOCGWINSZ 0x5413
#define TIOCOUTQ   0x5411
#define FIONREAD   0x541b
#define FIONBIO    0x5421
#define FIONCLEX   0x5450
#define FIOCLEX    0x5451

/* A terminal's modes. */
#define ICRNL   0x100
#define IXON    0x400
#define OPOST   1
#define ONLCR   4
#define B115200 0x1002
#define CS8     0x30
#define CREAD   0x80
#define ISIG    1
#define ICANON  2
#define ECHO    8
#define ECHOE   0x10
#define ECHOK   0x20
#define ECHOCTL 0x200
#define ECHOKE  0x800
#define IEXTEN  0x8000

#define MAP_32BIT   0x40
#define MAP_VALID   0xfc17ff7f /* what MAP_SHARED_VALIDATE lets pass */
#define MMAP_RIGHTS UINT64_MAX /* what mmap lets pass */

#define MCL_ONFAULT 4
#define MCL_ALL     7 /* with MCL_CURRENT and MCL_FUTURE */

#define MINSIGSTKSZ              2048
#define SIGNAL_RESTORER_REQUIRED 1 /* a handler returns to its action's sa_restorer */

#define SO_PASSCRED     16
#define SO_PEERCRED     17
#define SO_RCVLOWAT     18
#define SO_RCVTIMEO     20
#define SO_SNDTIMEO     21
#define SO_RCVTIMEO_NEW 66
#define SO_SNDTIMEO_NEW 67

#define ARCH_PLATFORM "x86_64" /* AT_PLATFORM */
#define ARCH_MACHINE  "x86_64" /* uname's */

#define CPUINFO_HAS_PLACES 1 /* /proc/cpuinfo says in which package and core a CPU is */

/* What TCGETS fills: struct termios of the kernel's interface. */
struct linux_termios {
    uint32_t input, output, control, local;
    uint8_t line;
    uint8_t characters[19];
};

/* Parts of the status of System V's objects (ipc/linux_ipc.h). */
struct linux_segment_facts {
    uint64_t bytes;
    int64_t attached_s, detached_s, changed_s;
};

struct linux_semaphore_times {
    int64_t operated_s, unused, changed_s, unused2;
};

struct linux_epoll_event {
    uint32_t events;
    uint64_t data;
} __attribute__((packed));

#endif
