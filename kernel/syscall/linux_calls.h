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

enum { RENAME_NOREPLACE = 1, RENAME_EXCHANGE = 2 };
enum { FALLOC_KEEP_SIZE = 1, FALLOC_PUNCH_HOLE = 2 };
enum { CLOSE_RANGE_UNSHARE = 2, CLOSE_RANGE_CLOEXEC = 4 };
enum { ACCESS_EXECUTE = 1, ACCESS_WRITE = 2 };

enum { MFD_CLOEXEC = 1, MFD_ALLOW_SEALING = 2, MFD_NOEXEC_SEAL = 8, MFD_EXEC = 16 };
#define MFD_NAME_MAX 249

/* Commands of fcntl */
enum { F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW };
enum { F_OFD_GETLK = 36, F_OFD_SETLK, F_OFD_SETLKW };
enum { F_DUPFD_CLOEXEC = 1030, F_SETPIPE_SZ, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS };
#define F_SEAL_SEAL 1

struct linux_flock {
    int16_t type, whence;
    int32_t padding;
    int64_t start, bytes;
    int32_t pid, padding2;
};

enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };

enum { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL, EPOLL_CTL_MOD };
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
enum { PROT_WRITE = 2, PROT_EXEC = 4, PROT_ALL = 7 /* with PROT_READ */, PROT_SEM = 8 };

enum { MAP_SHARED = 1, MAP_PRIVATE, MAP_SHARED_VALIDATE, MAP_TYPE = 15 };
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_STACK           0x20000
#define MAP_HUGETLB         0x40000
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_HUGE_SHIFT      26
#define MAP_HUGE_MASK       63

enum { MREMAP_MAYMOVE = 1, MREMAP_FIXED = 2 };

enum { MS_ASYNC = 1, MS_INVALIDATE = 2, MS_SYNC = 4 };

#define MLOCK_ONFAULT 1U

enum { MEMBARRIER_QUERY, MEMBARRIER_PRIVATE_EXPEDITED = 8, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 16 };

enum { MADV_DONTNEED = 4, MADV_FREE = 8, MADV_REMOVE = 9, MADV_DONTNEED_LOCKED = 24, MADV_LAST = 25 };

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
enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
enum { SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD_ID = 4 };

struct linux_sigevent {
    uint64_t value;
    int32_t signal, notify, tid, padding[11];
};

/* Threads */
enum { FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP };
enum { FUTEX_LOCK_PI = 6, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET };
enum { FUTEX_WAIT_REQUEUE_PI = 11, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI2 };
#define FUTEX_PRIVATE_FLAG   128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_COMMANDS       0xfffffe7fU /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */

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
