/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_abi.h: constants and structures of Linux's user interface that several rooms use, the same on every
 * architecture. fs/linux_files.h adds those of files, syscall/linux_calls.h those of single system calls, and
 * arch/linux_abi.h those that differ between architectures. Source: Linux's include/uapi headers and man
 * pages 2 (facts of the interface).
 */
#ifndef TACET_LINUX_ABI_H
#define TACET_LINUX_ABI_H

#include <stdint.h>

/* Auxiliary vector */
enum {
    AT_NULL = 0,
    AT_PHDR = 3,
    AT_PHENT = 4,
    AT_PHNUM = 5,
    AT_PAGESZ = 6,
    AT_BASE = 7,
    AT_FLAGS = 8,
    AT_ENTRY = 9,
    AT_UID = 11,
    AT_EUID = 12,
    AT_GID = 13,
    AT_EGID = 14,
    AT_PLATFORM = 15,
    AT_HWCAP = 16,
    AT_CLKTCK = 17,
    AT_SECURE = 23,
    AT_BASE_PLATFORM = 24,
    AT_RANDOM = 25,
    AT_HWCAP2 = 26,
    AT_EXECFN = 31,
    AT_SYSINFO_EHDR = 33,
    AT_MINSIGSTKSZ = 51,
};

/* Time and processes */
struct linux_stat {
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint32_t mode;
    uint32_t user, group;
    uint32_t padding;
    uint64_t represented_device;
    int64_t size;
    int64_t block_size;
    int64_t blocks; /* of 512 bytes */
    uint64_t access_s, access_ns, modify_s, modify_ns, change_s, change_ns;
    int64_t unused[3];
};

struct linux_timespec {
    int64_t seconds, nanoseconds;
};

struct linux_rlimit {
    uint64_t soft, hard;
};
#define RLIM_INFINITY UINT64_MAX
#define RLIMIT_CPU    0

struct linux_sigaction {
    uint64_t handler, flags, restorer, mask;
};
#define SIG_DFL 0
#define SIG_IGN 1

#define SA_NOCLDSTOP 0x00000001ULL
#define SA_NOCLDWAIT 0x00000002ULL
#define SA_SIGINFO   0x00000004ULL
#define SA_RESTORER  0x04000000ULL
#define SA_ONSTACK   0x08000000ULL
#define SA_RESTART   0x10000000ULL
#define SA_NODEFER   0x40000000ULL
#define SA_RESETHAND 0x80000000ULL
#define SA_KNOWN                                                                                     \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_RESTORER | SA_ONSTACK | SA_RESTART | SA_NODEFER | \
     SA_RESETHAND)

#define SS_ONSTACK    1U
#define SS_DISABLE    2U
#define SS_AUTODISARM (1U << 31)

/* What a signal carries, and a siginfo_t, which begins with that. */
struct signal_info {
    int32_t signal, error, code, padding;
    union {
        struct {
            uint32_t pid, uid;
            uint64_t value; /* of sigqueue */
        } sender;
        struct {
            int32_t id, overrun;
            uint64_t value;
        } timer;
        struct {
            uint64_t address, zero;
        } fault;
    };
};

struct linux_siginfo {
    struct signal_info info;
    uint64_t zeros[12];
};

/* A robust lock's word */
#define FUTEX_TID_MASK   0x3fffffffU
#define FUTEX_OWNER_DIED 0x40000000U
#define FUTEX_WAITERS    0x80000000U

#endif
