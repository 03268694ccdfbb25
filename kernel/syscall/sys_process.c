/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_process.c: system calls about a process and the system that it sees: exit, limits, uname, sysinfo,
 * getrandom. Its identity is in sys_identity.c.
 */
#include "arch.h"
#include "fs/file.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "net/address.h"
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
    struct linux_utsname name = {
        .system = "Linux", .node = "tacet", .domain = "(none)", .machine = ARCH_MACHINE
    };

    if (node_facts.name[0])
        format_text(name.node, sizeof(name.node), "%s", node_facts.name);
    format_text(name.release, sizeof(name.release), "%s", LINUX_RELEASE);
    format_text(name.version, sizeof(name.version), "Tacet %s", TACET_VERSION);
    return user_write(buffer, &name, sizeof(name));
}

/* ---- Limits and facts ---- */

long sys_prlimit64(uint64_t pid, uint64_t resource, uint64_t new_limit, uint64_t old_limit)
{
    struct linux_rlimit limit, requested;
    int error;

    if ((uint32_t)pid != 0 && (uint32_t)pid != arch_process()->pid)
        return -ESRCH;
    error = process_limit(resource, &limit);
    if (error)
        return error;
    if (new_limit) {
        if (user_read(&requested, new_limit, sizeof(requested)))
            return -EFAULT;
        if (requested.soft > requested.hard)
            return -EINVAL;
        if (requested.soft != limit.soft)
            return -EPERM;
    }
    return old_limit ? user_write(old_limit, &limit, sizeof(limit)) : 0;
}

long sys_getrlimit(uint64_t resource, uint64_t buffer)
{
    struct linux_rlimit limit;
    int error = process_limit(resource, &limit);

    return error ? error : user_write(buffer, &limit, sizeof(limit));
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
