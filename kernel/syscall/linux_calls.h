/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linux_calls.h: constants and structures of Linux's user interface that only system calls use, the same on
 * every architecture; arch/linux_abi.h adds those that differ. Source: as of lib/linux_abi.h.
 */
#ifndef TACET_LINUX_CALLS_H
#define TACET_LINUX_CALLS_H

#include "fs/linux_files.h"
#include "lib/linux_abi.h"
#include "time/clock_page.h"
#include "time/timespec.h"

/* Files */
#define DIRECTORY_READ_MAX 65536 /* most bytes of one getdents64 */

#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_NO_AUTOMOUNT     0x800
#define AT_EMPTY_PATH       0x1000
#define AT_EACCESS          0x200 /* of faccessat */
#define AT_REMOVEDIR        0x200 /* of unlinkat */
#define AT_SYMLINK_FOLLOW   0x400

#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2

#define FALLOC_KEEP_SIZE  1
#define FALLOC_PUNCH_HOLE 2

#define CLOSE_RANGE_UNSHARE 2
#define CLOSE_RANGE_CLOEXEC 4

#define MFD_CLOEXEC       1
#define MFD_ALLOW_SEALING 2
#define MFD_NOEXEC_SEAL   8
#define MFD_EXEC          16
#define MFD_NAME_MAX      249

#define ACCESS_EXECUTE 1
#define ACCESS_WRITE   2

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_GETLK         5
#define F_SETLK         6
#define F_SETLKW        7
#define F_OFD_GETLK     36
#define F_OFD_SETLK     37
#define F_OFD_SETLKW    38
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ    1031
#define F_GETPIPE_SZ    1032
#define F_ADD_SEALS     1033
#define F_GET_SEALS     1034

#define F_SEAL_SEAL 1

struct linux_flock {
    int16_t type, whence;
    int32_t padding;
    int64_t start, bytes;
    int32_t pid, padding2;
};

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

#define EPOLL_CTL_ADD  1
#define EPOLL_CTL_DEL  2
#define EPOLL_CTL_MOD  3
#define EPOLLEXCLUSIVE (1U << 28)
#define EPOLLONESHOT   (1U << 30)
#define EPOLLET        (1U << 31)
#define EPOLL_EVENTS   0xffffU

#define UTIME_NOW  0x3fffffff
#define UTIME_OMIT 0x3ffffffe

#define STATFS_TMPFS     0x01021994
#define STATFS_RAMFS     0x858458f6
#define STATFS_PROC      0x9fa0
#define STATFS_SYS       0x62656572
#define STATFS_READ_ONLY 1
#define STATFS_VALID     0x20

struct linux_statfs {
    int64_t type, block_bytes, blocks, free_blocks, available_blocks, files, free_files;
    int32_t identity[2];
    int64_t name_bytes, fragment_bytes, flags, spare[4];
};

/* Sockets */
struct linux_msghdr {
    uint64_t name;
    uint32_t name_bytes, padding;
    uint64_t parts, part_count, control, control_bytes;
    uint32_t flags, padding2;
};

#define STATX_BASIC    0x7ff
#define STATX_RESERVED 0x80000000u

struct linux_statx {
    uint32_t mask, block_size;
    uint64_t attributes;
    uint32_t links, user, group;
    uint16_t mode, spare0;
    uint64_t inode, size, blocks, attributes_mask;
    /* Linux's have 32 bits of nanoseconds and 32 reserved ones, 0: the same on a little-endian machine. */
    struct linux_timespec access, birth, change, modify;
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
#define PROT_WRITE 2
#define PROT_EXEC  4
#define PROT_ALL   7 /* with PROT_READ */
#define PROT_SEM   8

#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03
#define MAP_TYPE            0x0f
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_STACK           0x20000
#define MAP_HUGETLB         0x40000
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_HUGE_SHIFT      26
#define MAP_HUGE_MASK       63

#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED   2

#define MS_ASYNC      1
#define MS_INVALIDATE 2
#define MS_SYNC       4

#define MLOCK_ONFAULT 1U

#define MEMBARRIER_QUERY                      0
#define MEMBARRIER_PRIVATE_EXPEDITED          8
#define MEMBARRIER_REGISTER_PRIVATE_EXPEDITED 16

#define MADV_DONTNEED        4
#define MADV_FREE            8
#define MADV_REMOVE          9
#define MADV_DONTNEED_LOCKED 24
#define MADV_LAST            25

/* Process */
struct linux_utsname {
    char system[65], node[65], release[65], version[65], machine[65], domain[65];
};

struct linux_sysinfo {
    int64_t uptime_s;
    uint64_t loads[3], total_memory, free_memory, shared_memory, buffer_memory, total_swap, free_swap;
    uint16_t processes, padding[3];
    uint64_t total_high, free_high;
    uint32_t unit, padding2;
};

/* Time */
#define US_PER_S 1000000

/* Clocks of CPU time are negative numbers: the complement of a pid or tid (0: the caller's), then these
 * bits. */
#define CPU_CLOCK_ID_SHIFT  3
#define CPU_CLOCK_OF_THREAD 4
#define CPU_CLOCK_KIND      3
#define CPU_CLOCK_USER      1
#define CPU_CLOCK_SCHEDULED 2 /* as kind 0: user and system time */
#define CLOCK_OF_DEVICE     3 /* the last three bits of a clock that a descriptor stands for */
#define CLOCK_LAST_BITS     7

/* Returns the negative number of a clock of CPU time that has another one, too, else the number itself. */
static inline uint64_t cpu_clock_number(uint64_t clock)
{
    if ((uint32_t)clock != CLOCK_ID_PROCESS_CPU && (uint32_t)clock != CLOCK_ID_THREAD_CPU)
        return clock;
    return ~0ULL << CPU_CLOCK_ID_SHIFT | CPU_CLOCK_SCHEDULED |
           ((uint32_t)clock == CLOCK_ID_THREAD_CPU ? CPU_CLOCK_OF_THREAD : 0);
}

/* Returns the pid or tid whose clock it is; 0: the caller's. */
static inline uint32_t cpu_clock_id(uint64_t clock)
{
    return (uint32_t) ~((int32_t)clock >> CPU_CLOCK_ID_SHIFT);
}

struct linux_timeval {
    int64_t seconds, microseconds;
};

static inline struct linux_timespec timespec_of(uint64_t ns)
{
    return (struct linux_timespec){ (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };
}

static inline struct linux_timeval timeval_of(uint64_t ns)
{
    return (struct linux_timeval){ (int64_t)(ns / 1000 / US_PER_S), (int64_t)(ns / 1000 % US_PER_S) };
}

/* The state of CLOCK_REALTIME. Times are in µs, frequencies in 2^-16 ppm. */
struct linux_timex {
    uint32_t modes;
    int64_t offset, frequency, error_max, error;
    int32_t status;
    int64_t constant, precision, tolerance;
    struct linux_timeval time;
    int64_t tick, pulses[3];
    int32_t shift;
    int64_t more_pulses[5];
    int32_t tai, unused[11];
};

struct linux_itimerval {
    struct linux_timeval interval, value;
};

struct linux_itimerspec {
    struct linux_timespec interval, value;
};

/* Writes a timer's setting to the program as a struct itimerspec. -EFAULT. sys_timer.c */
struct timer_setting;
int setting_write(uint64_t buffer, const struct timer_setting *setting);

/* Signals */
#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SIGEV_SIGNAL    0
#define SIGEV_NONE      1
#define SIGEV_THREAD_ID 4

struct linux_sigevent {
    uint64_t value;
    int32_t signal, notify, tid, padding[11];
};

/* Threads */
#define FUTEX_WAIT            0
#define FUTEX_WAKE            1
#define FUTEX_REQUEUE         3
#define FUTEX_CMP_REQUEUE     4
#define FUTEX_WAKE_OP         5
#define FUTEX_LOCK_PI         6
#define FUTEX_UNLOCK_PI       7
#define FUTEX_TRYLOCK_PI      8
#define FUTEX_WAIT_BITSET     9
#define FUTEX_WAKE_BITSET     10
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI  12
#define FUTEX_LOCK_PI2        13
#define FUTEX_PRIVATE_FLAG    128
#define FUTEX_CLOCK_REALTIME  256
#define FUTEX_COMMANDS        0xfffffe7fU /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */

#define CLONE_VM             0x00000100ULL
#define CLONE_FS             0x00000200ULL
#define CLONE_FILES          0x00000400ULL
#define CLONE_SIGHAND        0x00000800ULL
#define CLONE_THREAD         0x00010000ULL
#define CLONE_SYSVSEM        0x00040000ULL
#define CLONE_SETTLS         0x00080000ULL
#define CLONE_PARENT_SETTID  0x00100000ULL
#define CLONE_CHILD_CLEARTID 0x00200000ULL
#define CLONE_DETACHED       0x00400000ULL
#define CLONE_CHILD_SETTID   0x01000000ULL

#endif
