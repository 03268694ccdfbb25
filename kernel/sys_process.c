/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_process.c: system calls about the process itself: identity, signals, CPUs, limits, the end.
 */
#include "arch.h"
#include "clock.h"
#include "clockevent.h"
#include "console.h"
#include "errno.h"
#include "kstring.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"
#include "version.h"

long sys_getpid(void)
{
    return (long)arch_process()->pid;
}

long sys_gettid(void)
{
    return (long)arch_process()->pid;
}

long sys_getppid(void)
{
    return 0;
}

long sys_getuid(void)
{
    return 0;
}

long sys_geteuid(void)
{
    return 0;
}

long sys_getgid(void)
{
    return 0;
}

long sys_getegid(void)
{
    return 0;
}

long sys_exit(uint64_t status)
{
    process_exit(status & 0xff);
}

long sys_exit_group(uint64_t status)
{
    process_exit(status & 0xff);
}

long sys_uname(uint64_t buffer)
{
    struct linux_utsname name = {
        .system = "Linux", .node = "tacet", .domain = "(none)", .machine = ARCH_PLATFORM
    };

    format_text(name.release, sizeof(name.release), "%s", LINUX_RELEASE);
    format_text(name.version, sizeof(name.version), "Tacet %s", TACET_VERSION);
    return user_write(buffer, &name, sizeof(name));
}

/* ---- Signals: there is nobody to send one but the program itself, and no handler to run ---- */

long sys_rt_sigaction(uint64_t number, uint64_t new_action, uint64_t old_action, uint64_t set_bytes)
{
    uint32_t signal = (uint32_t)number;
    struct process *process = arch_process();
    struct linux_sigaction action;

    if (signal == 0 || signal > SIGNAL_COUNT || set_bytes != 8)
        return -EINVAL;

    uint64_t bit = 1ULL << (signal - 1);
    struct linux_sigaction old = { .handler = process->signals_ignored & bit ? SIG_IGN : SIG_DFL };

    if (new_action) {
        if (user_read(&action, new_action, sizeof(action)))
            return -EFAULT;
        if (signal == SIGNAL_KILL || signal == SIGNAL_STOP)
            return -EINVAL;
        if (action.handler != SIG_DFL && action.handler != SIG_IGN)
            return syscall_refuse("rt_sigaction",
                                  "signals are not delivered to handlers; the default action holds");
    }
    if (old_action && user_write(old_action, &old, sizeof(old)))
        return -EFAULT;
    if (new_action && action.handler == SIG_IGN) {
        process->signals_ignored |= bit;
        process->signals_pending &= ~bit;
    } else if (new_action) {
        process->signals_ignored &= ~bit;
    }
    return 0;
}

long sys_rt_sigprocmask(uint64_t what, uint64_t new_set, uint64_t old_set, uint64_t set_bytes)
{
    uint32_t how = (uint32_t)what;
    struct process *process = arch_process();
    uint64_t old = process->signal_mask, set = 0;

    if (set_bytes != 8)
        return -EINVAL;
    if (new_set && user_read(&set, new_set, sizeof(set)))
        return -EFAULT;
    if (new_set && how > 2)
        return -EINVAL;
    if (old_set && user_write(old_set, &old, sizeof(old)))
        return -EFAULT;
    if (new_set) {
        set = how == 0 ? old | set : how == 1 ? old & ~set : set;
        process->signal_mask = set & ~(1ULL << (SIGNAL_KILL - 1) | 1ULL << (SIGNAL_STOP - 1));

        uint64_t due = process->signals_pending & ~process->signal_mask;
        if (due)
            process_kill(__builtin_ctzll(due) + 1);
    }
    return 0;
}

static long signal_self(uint64_t number)
{
    uint32_t signal = (uint32_t)number;
    struct process *process = arch_process();

    if (signal > SIGNAL_COUNT)
        return -EINVAL;
    if (signal == 0 || (process->signals_ignored & 1ULL << (signal - 1)) ||
        signal_ignored_by_default((int)signal))
        return 0;
    if (process->signal_mask & 1ULL << (signal - 1)) {
        /* C libraries block all signals around raise and abort, and mean them to arrive afterwards. */
        process->signals_pending |= 1ULL << (signal - 1);
        return 0;
    }
    process_kill((int)signal);
}

long sys_kill(uint64_t pid, uint64_t signal)
{
    int64_t target = (int32_t)pid;

    if (target != (int64_t)arch_process()->pid && target != 0 && target != -1)
        return -ESRCH;
    return signal_self(signal);
}

long sys_tkill(uint64_t thread, uint64_t signal)
{
    return (uint32_t)thread == arch_process()->pid ? signal_self(signal) : -ESRCH;
}

long sys_tgkill(uint64_t group, uint64_t thread, uint64_t signal)
{
    return (uint32_t)group == arch_process()->pid && (uint32_t)thread == (uint32_t)group ? signal_self(signal)
                                                                                         : -ESRCH;
}

/* ---- Threads: what C libraries set up for the first one ---- */

long sys_arch_prctl(uint64_t code, uint64_t address)
{
    return arch_thread_pointer_call(code, address);
}

long sys_set_tid_address(uint64_t address)
{
    arch_process()->clear_tid_address = address;
    return (long)arch_process()->pid;
}

long sys_set_robust_list(uint64_t head, uint64_t bytes)
{
    if (bytes != 24)
        return -EINVAL;
    arch_process()->robust_list = head;
    return 0;
}

long sys_prctl(uint64_t operation, uint64_t argument, uint64_t a2, uint64_t a3, uint64_t a4)
{
    enum { SET_NAME = 15, GET_NAME = 16, SET_TIMERSLACK = 29, GET_TIMERSLACK = 30 };
    struct process *process = arch_process();
    char name[PROCESS_NAME_BYTES] =
        ""; /* all of it is shown by GET_NAME: nothing of the stack's may stay behind a short name */
    int64_t length;

    (void)a2, (void)a3, (void)a4;
    switch ((uint32_t)operation) {
    case SET_NAME:
        length = user_read_string(name, argument, sizeof(name));
        if (length == -EFAULT)
            return -EFAULT;
        name[sizeof(name) - 1] = 0;
        memcpy(process->name, name, sizeof(name));
        return 0;
    case SET_TIMERSLACK: /* 0 restores the default, 1 ns is exact */
        process->latency_bound_ns = argument ? argument : latency_bound_default_ns();
        return 0;
    case GET_TIMERSLACK:
        return (long)process->latency_bound_ns;
    case GET_NAME:
        return user_write(argument, process->name, sizeof(process->name));
    default:
        return -EINVAL;
    }
}

/* ---- CPUs ---- */

long sys_sched_yield(void)
{
    return 0;
}

uint64_t process_cpus(void)
{
    return 1ULL << arch_cpu_index();
}

long sys_sched_getaffinity(uint64_t pid, uint64_t bytes, uint64_t mask)
{
    uint64_t cpus = process_cpus();

    if ((uint32_t)pid != 0 && (uint32_t)pid != arch_process()->pid)
        return -ESRCH;
    if (bytes < sizeof(cpus) || bytes % sizeof(cpus))
        return -EINVAL;
    return user_write(mask, &cpus, sizeof(cpus)) ? -EFAULT : (long)sizeof(cpus);
}

long sys_sched_setaffinity(uint64_t pid, uint64_t bytes, uint64_t mask)
{
    uint64_t cpus = 0;

    if ((uint32_t)pid != 0 && (uint32_t)pid != arch_process()->pid)
        return -ESRCH;
    if (user_read(&cpus, mask, bytes < sizeof(cpus) ? bytes : sizeof(cpus)))
        return -EFAULT;
    return cpus & process_cpus() ? 0 : -EINVAL;
}

long sys_getcpu(uint64_t cpu_address, uint64_t node_address, uint64_t cache)
{
    uint32_t cpu = arch_cpu_index(), node = arch_cpu_node(cpu);

    (void)cache; /* unused by Linux since 2.6.24 */
    if (node == NUMA_NODE_NONE)
        node = 0;
    if (cpu_address && user_write(cpu_address, &cpu, sizeof(cpu)))
        return -EFAULT;
    if (node_address && user_write(node_address, &node, sizeof(node)))
        return -EFAULT;
    return 0;
}

/* ---- Limits and facts ---- */

int process_limit(uint64_t resource, struct linux_rlimit *limit)
{
    enum { DATA = 2, STACK = 3, CORE = 4, PROCESSES = 6, FILES = 7, ADDRESS_SPACE = 9, COUNT = 16 };
    const struct process *process = arch_process();
    uint64_t value = RLIM_INFINITY;

    if ((uint32_t)resource >= COUNT)
        return -EINVAL;
    switch ((uint32_t)resource) {
    case STACK:
        value = process->stack_high - process->stack_low;
        break;
    case CORE:
        value = 0;
        break;
    case PROCESSES:
        value = 1;
        break;
    case FILES:
        value = FILE_DESCRIPTORS_MAX;
        break;
    default:
        break;
    }
    *limit = (struct linux_rlimit){ value, value };
    return 0;
}

long sys_prlimit64(uint64_t pid, uint64_t resource, uint64_t new_limit, uint64_t old_limit)
{
    struct linux_rlimit limit, wanted;
    int error;

    if ((uint32_t)pid != 0 && (uint32_t)pid != arch_process()->pid)
        return -ESRCH;
    error = process_limit(resource, &limit);
    if (error)
        return error;
    if (new_limit) {
        if (user_read(&wanted, new_limit, sizeof(wanted)))
            return -EFAULT;
        if (wanted.soft != limit.soft)
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

long sys_getrandom(uint64_t buffer, uint64_t bytes, uint64_t flags)
{
    if ((uint32_t)flags & ~7U)
        return -EINVAL;
    if (bytes > 32 << 20)
        bytes = 32 << 20; /* as Linux: at most so much in one call */
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t value = arch_random();

        if (user_write(buffer + done, &value, bytes - done < sizeof(value) ? bytes - done : sizeof(value)))
            return done ? (long)done : -EFAULT;
    }
    return (long)bytes;
}
