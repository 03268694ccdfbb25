/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_process.c: system calls about a process and the system that it sees: exit, limits, uname, sysinfo,
 * getrandom; about its identity: its number, its process group and session, its users and groups
 * (credentials(7)); and about children, of which it has none (wait(2)). A rank belongs to the job's user
 * (process_credentials), leads a process group and a session of its own, and none of this can change. Calls
 * whose answer is always the same are rows of syscalls.def.
 */
#include "arch.h"
#include "fs/file.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/address.h"
#include "process/posix_timer.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "lib/version.h"

long sys_exit_group(uint64_t status)
{
    process_exit(status & 0xff);
}

long sys_uname(uint64_t buffer)
{
    struct linux_utsname name = { .system = "Linux",
                                  .node = "tacet",
                                  .release = LINUX_RELEASE,
                                  .version = "Tacet " TACET_VERSION,
                                  .machine = ARCH_MACHINE,
                                  .domain = "(none)" };

    if (node_facts.name[0])
        format_text(name.node, sizeof(name.node), "%s", node_facts.name);
    return user_write(buffer, &name, sizeof(name));
}

/* ---- Limits and facts ---- */

long sys_prlimit64(uint64_t pid, uint64_t resource, uint64_t new_limit, uint64_t old_limit)
{
    struct linux_rlimit limit, requested;

    if (new_limit && user_read(&requested, new_limit, sizeof(requested)))
        return -EFAULT;
    if ((uint32_t)pid != 0 && (uint32_t)pid != arch_process()->pid)
        return -ESRCH;
    int error = process_limit(resource, &limit, new_limit ? &requested : NULL);
    if (!error && new_limit && (uint32_t)resource == LIMIT_CPU_S)
        posix_timer_limit_set();
    return error || !old_limit ? error : user_write(old_limit, &limit, sizeof(limit));
}

long sys_sysinfo(uint64_t buffer)
{
    const struct process *process = arch_process();
    struct linux_sysinfo info = {
        .uptime_s = (int64_t)(clock_now_ns() / NS_PER_S),
        .total_memory = process->pages.total_bytes,
        .free_memory = process->pages.free_bytes,
        .processes = 1,
        .unit = 1,
    };

    return user_write(buffer, &info, sizeof(info));
}

/* Writes numbers of /dev/urandom (devices.c), which never run out, so no flag makes a difference. */
long sys_getrandom(uint64_t buffer, uint64_t bytes, uint64_t flags)
{
    enum { NONBLOCK = 1, RANDOM = 2, INSECURE = 4 };

    if (((uint32_t)flags & ~(uint32_t)(NONBLOCK | RANDOM | INSECURE)) ||
        ((flags & RANDOM) && (flags & INSECURE)))
        return -EINVAL;
    return random_write(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
}

/* ---- Numbers ---- */

/* Returns the group of a rank, or its session (getsid): both have its number. */
long sys_getpgid(uint64_t pid)
{
    if ((uint32_t)pid == 0)
        return (long)arch_process()->pid;
    return process_find((uint32_t)pid) ? (long)(uint32_t)pid : -ESRCH;
}

/* Refuses to change the group: a session's leader cannot, setpgid(2). */
long sys_setpgid(uint64_t pid, uint64_t group)
{
    if ((int32_t)group < 0)
        return -EINVAL;
    return (uint32_t)pid == 0 || (uint32_t)pid == arch_process()->pid ? -EPERM : -ESRCH;
}

/* ---- Users and groups ---- */

int ids_write(uint32_t id, uint64_t real, uint64_t effective, uint64_t saved)
{
    if (user_write(real, &id, sizeof(id)) || user_write(effective, &id, sizeof(id)))
        return -EFAULT;
    return user_write(saved, &id, sizeof(id));
}

int id_set(uint32_t id, uint64_t to)
{
    if ((uint32_t)to == UINT32_MAX)
        return -EINVAL;
    return (uint32_t)to == id ? 0 : -EPERM;
}

static bool is_unchanged(uint32_t id, uint64_t to)
{
    return (uint32_t)to == id || (uint32_t)to == UINT32_MAX;
}

int ids_set(uint32_t id, uint64_t real, uint64_t effective, uint64_t saved)
{
    return is_unchanged(id, real) && is_unchanged(id, effective) && is_unchanged(id, saved) ? 0 : -EPERM;
}

long sys_getgroups(uint64_t count, uint64_t buffer)
{
    const unsigned groups = process_credentials.group_count;

    if ((int32_t)count < 0 || ((uint32_t)count && (uint32_t)count < groups))
        return -EINVAL;
    if ((uint32_t)count && user_write(buffer, process_credentials.groups, groups * sizeof(uint32_t)))
        return -EFAULT;
    return groups;
}

long sys_setgroups(uint64_t count)
{
    const uint32_t max = 65536; /* NGROUPS_MAX */

    if (process_credentials.uid)
        return -EPERM;
    if ((uint32_t)count > max)
        return -EINVAL;
    return (uint32_t)count ? -EPERM : 0;
}

/* ---- Capabilities ---- */

/* Linux's struct __user_cap_header_struct and __user_cap_data_struct, capget(2). Version 1 has one set of 32
 * capabilities, 2 and 3 have two. */
struct capability_header {
    uint32_t version;
    int32_t pid;
};

struct capability_sets {
    uint32_t effective, permitted, inheritable;
};

#define CAPABILITIES_1 0x19980330U
#define CAPABILITIES_2 0x20071026U
#define CAPABILITIES_3 0x20080522U
#define CAPABILITIES   41 /* CAP_CHOWN up to CAP_CHECKPOINT_RESTORE */

/* Reads a header, and finds the sets that its process has: root all, others none. Returns how many; -EINVAL,
 * after telling the newest version, if it has none that is known; -EFAULT, -ESRCH. */
static int capabilities_find(uint64_t header_address, struct capability_sets sets[2])
{
    const uint64_t all = process_credentials.uid ? 0 : (1ULL << CAPABILITIES) - 1;
    const uint32_t newest = CAPABILITIES_3;
    struct capability_header header;

    if (user_read(&header, header_address, sizeof(header)))
        return -EFAULT;
    if (header.version != CAPABILITIES_1 && header.version != CAPABILITIES_2 &&
        header.version != CAPABILITIES_3)
        return user_write(header_address, &newest, sizeof(newest)) ? -EFAULT : -EINVAL;
    if (header.pid < 0)
        return -EINVAL;
    if (header.pid && !process_find((uint32_t)header.pid))
        return -ESRCH;
    sets[0] = (struct capability_sets){ (uint32_t)all, (uint32_t)all, 0 };
    sets[1] = (struct capability_sets){ (uint32_t)(all >> 32), (uint32_t)(all >> 32), 0 };
    return header.version == CAPABILITIES_1 ? 1 : 2;
}

long sys_capget(uint64_t header, uint64_t data)
{
    struct capability_sets sets[2];
    int count = capabilities_find(header, sets);

    if (!data && count != -EFAULT)
        return 0;
    return count < 0 ? count : user_write(data, sets, (uint64_t)count * sizeof(sets[0]));
}

/* Accepts the sets that the rank has: it keeps them, as it keeps its user. */
long sys_capset(uint64_t header, uint64_t data)
{
    struct capability_sets sets[2], requested[2];
    int count = capabilities_find(header, sets);

    if (count < 0)
        return count;
    if (user_read(requested, data, (uint64_t)count * sizeof(sets[0])))
        return -EFAULT;
    return memcmp(sets, requested, (uint64_t)count * sizeof(sets[0])) ? -EPERM : 0;
}

/* ---- Children ---- */

#define WAIT_NO_HANG   0x00000001U
#define WAIT_STOPPED   0x00000002U
#define WAIT_EXITED    0x00000004U
#define WAIT_CONTINUED 0x00000008U
#define WAIT_KEEP      0x01000000U
#define WAIT_CLONES    0xe0000000U /* which kinds of children */

long sys_wait4(uint64_t pid, uint64_t status, uint64_t options, uint64_t usage)
{
    (void)status, (void)usage;
    if ((uint32_t)options & ~(WAIT_NO_HANG | WAIT_STOPPED | WAIT_CONTINUED | WAIT_CLONES))
        return -EINVAL;
    return (int32_t)pid == INT32_MIN ? -ESRCH : -ECHILD;
}

long sys_waitid(uint64_t kind, uint64_t id, uint64_t info, uint64_t options, uint64_t usage)
{
    const uint32_t ends = WAIT_EXITED | WAIT_STOPPED | WAIT_CONTINUED;
    enum { ALL, PID, GROUP, DESCRIPTOR };
    FILE_REFERENCE file = (uint32_t)kind == DESCRIPTOR ? file_of(id) : NULL;

    (void)info, (void)usage;
    if (((uint32_t)options & ~(WAIT_NO_HANG | WAIT_KEEP | WAIT_CLONES | ends)) || !((uint32_t)options & ends))
        return -EINVAL;
    switch ((uint32_t)kind) {
    case ALL:
        return -ECHILD;
    case PID:
        return (int32_t)id <= 0 ? -EINVAL : -ECHILD;
    case GROUP:
        return (int32_t)id < 0 ? -EINVAL : -ECHILD;
    case DESCRIPTOR:
        if ((int32_t)id >= 0)
            return file && pidfd_process(file) ? -ECHILD : -EBADF; /* no process is a child */
        return -EINVAL;
    default:
        return -EINVAL;
    }
}
