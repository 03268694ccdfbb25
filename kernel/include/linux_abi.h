/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_abi.h: constants and structures of Linux's user interface that are the same on every architecture;
 * arch/linux_abi.h adds those that are not. Source: Linux's include/uapi headers and man pages 2 (facts of
 * the interface).
 */
#ifndef TACET_LINUX_ABI_H
#define TACET_LINUX_ABI_H

#include "arch/linux_abi.h"
#include "file_mode.h"

/* Files */
#define O_ACCMODE  3
#define O_RDONLY   0
#define O_WRONLY   1
#define O_RDWR     2
#define O_CREAT    0100
#define O_EXCL     0200
#define O_TRUNC    01000
#define O_APPEND   02000
#define O_NONBLOCK 04000
#define O_CLOEXEC  02000000
#define O_PATH     010000000

#define AT_FDCWD            (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_NO_AUTOMOUNT     0x800
#define AT_EMPTY_PATH       0x1000

#define ACCESS_WRITE 2

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_DUPFD_CLOEXEC 1030

#define IOV_MAX        1024
#define READ_WRITE_MAX 0x7ffff000ULL /* what one read or write moves at most */

struct linux_iovec {
    uint64_t base, bytes;
};

struct linux_statx_time {
    int64_t seconds;
    uint32_t nanoseconds;
    int32_t reserved;
};

#define STATX_BASIC 0x7ff

struct linux_statx {
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, spare0;
    uint64_t inode, size, blocks, attributes_mask;
    struct linux_statx_time access, birth, change, modify;
    uint32_t represented_major, represented_minor, device_major, device_minor;
    uint64_t mount, spare[13];
};

struct linux_dirent { /* followed by the name, NUL-terminated, and padding to 8 bytes */
    uint64_t inode;
    int64_t next;
    uint16_t record_bytes;
    uint8_t type;
} __attribute__((packed));

/* Memory */
#define PROT_ALL   7
#define PROT_READ  1
#define PROT_WRITE 2
#define PROT_EXEC  4

#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03
#define MAP_TYPE            0x0f
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_FIXED_NOREPLACE 0x100000

#define MREMAP_MAYMOVE 1

#define MADV_DONTNEED        4
#define MADV_DONTNEED_LOCKED 24
#define MADV_LAST            25

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
    AT_RANDOM = 25,
    AT_HWCAP2 = 26,
    AT_EXECFN = 31,
    AT_SYSINFO_EHDR = 33,
};

/* Process */
struct linux_utsname {
    char system[65], node[65], release[65], version[65], machine[65], domain[65];
};

struct linux_timespec {
    int64_t seconds, nanoseconds;
};

struct linux_timeval {
    int64_t seconds, microseconds;
};

struct linux_rlimit {
    uint64_t soft, hard;
};
#define RLIM_INFINITY UINT64_MAX

struct linux_sysinfo {
    int64_t uptime_s;
    uint64_t loads[3], total_memory, free_memory, shared_memory, buffer_memory, total_swap, free_swap;
    uint16_t processes, padding;
    uint64_t total_high, free_high;
    uint32_t unit;
};

struct linux_sigaction {
    uint64_t handler, flags, restorer, mask;
};
#define SIG_DFL 0
#define SIG_IGN 1

#define FUTEX_WAIT           0
#define FUTEX_WAKE           1
#define FUTEX_WAIT_BITSET    9
#define FUTEX_WAKE_BITSET    10
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_COMMANDS       127 /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */

#endif
