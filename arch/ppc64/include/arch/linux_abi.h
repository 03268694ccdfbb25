/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/linux_abi.h: the parts of Linux's user interface whose layout or numbers differ between architectures,
 * for ppc64. Source: Linux's include/uapi/asm-generic and arch/powerpc/include/uapi/asm headers (facts of the
 * interface).
 */
#ifndef ARCH_LINUX_ABI_H
#define ARCH_LINUX_ABI_H

#include <stdint.h>

#define O_DIRECTORY 0x4000
#define O_NOFOLLOW  0x8000
#define O_LARGEFILE 0x10000

#define TCGETS     0x402c7413
#define TCSETS     0x802c7414 /* and the next two */
#define TIOCGPGRP  0x40047477
#define TIOCGWINSZ 0x40087468
#define TIOCOUTQ   0x40047473
#define FIONREAD   0x4004667f
#define FIONBIO    0x8004667e
#define FIONCLEX   0x20006602
#define FIOCLEX    0x20006601

/* A terminal's modes. */
#define ICRNL   0x100
#define IXON    0x200
#define OPOST   1
#define ONLCR   2
#define B115200 0x11
#define CS8     0x300
#define CREAD   0x800
#define ISIG    0x80
#define ICANON  0x100
#define ECHO    8
#define ECHOE   2
#define ECHOK   4
#define ECHOCTL 0x40
#define ECHOKE  1
#define IEXTEN  0x400

#define MAP_32BIT   0          /* there is none */
#define MAP_VALID   0xfc17ffff /* what MAP_SHARED_VALIDATE lets pass */
#define MMAP_RIGHTS 0xfULL     /* what mmap lets pass: PROT_ALL, PROT_SEM */

#define MCL_ONFAULT 0x8000
#define MCL_ALL     0xe000 /* with MCL_CURRENT and MCL_FUTURE */

#define MINSIGSTKSZ              8192
#define SIGNAL_RESTORER_REQUIRED 0 /* handlers return through the vDSO */

#define SO_PASSCRED     20
#define SO_PEERCRED     21
#define SO_RCVLOWAT     16
#define SO_RCVTIMEO     18
#define SO_SNDTIMEO     19
#define SO_RCVTIMEO_NEW 66
#define SO_SNDTIMEO_NEW 67

#define ARCH_PLATFORM "power9"  /* AT_PLATFORM */
#define ARCH_MACHINE  "ppc64le" /* uname's */

#define CPUINFO_HAS_PLACES 0 /* nothing in /proc/cpuinfo says where a CPU is */

/* What TCGETS fills: struct termios of the kernel's interface. */
struct linux_termios {
    uint32_t input, output, control, local;
    uint8_t characters[19];
    uint8_t line;
    uint32_t input_speed, output_speed;
};

/* Parts of the status of System V's objects (ipc/linux_ipc.h). */
struct linux_segment_facts {
    int64_t attached_s, detached_s, changed_s;
    uint64_t bytes;
};

struct linux_semaphore_times {
    int64_t operated_s, changed_s;
};

struct linux_epoll_event {
    uint32_t events;
    uint64_t data;
};

#endif
