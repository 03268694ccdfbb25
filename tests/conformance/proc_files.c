/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_files.c: pseudo files that programs read: there, readable, of the shape that they have on Linux. */
#include "conform.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* The whole of a pseudo file, with a NUL after it; its bytes, or an errno. */
static long whole(const char *path, char *to, size_t room)
{
    long file = sys(SYS_open, path, O_RDONLY), got, sum = 0;

    if (file < 0)
        return file;
    while ((got = sys(SYS_read, file, to + sum, room - 1 - (size_t)sum)) > 0)
        sum += got;
    to[sum] = 0;
    sys(SYS_close, file);
    return sum;
}

static void has(const char *path, const char *words)
{
    static char content[1 << 18];
    char what[128];
    long bytes = whole(path, content, sizeof(content));

    snprintf(what, sizeof(what), "%s has \"%s\"", path, words);
    for (char *c = what; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    holds(what, bytes > 0 && strstr(content, words));
}

/* Makes two sockets members of the group 239.1.2.3 on the loopback interface. */
static void join_group(void)
{
    const struct ip_mreq request = { { htonl(0xef010203) }, { htonl(INADDR_LOOPBACK) } };

    long joined = 0;

    for (int i = 0; i < 2; i++)
        joined |= sys(SYS_setsockopt, sys(SYS_socket, AF_INET, SOCK_DGRAM, 0), IPPROTO_IP, IP_ADD_MEMBERSHIP,
                      &request, sizeof(request));
    result("a group joined", joined);
}

CONFORM(proc_files)
{
    char bytes[4096];
    struct stat status;
    unsigned long a, b;
    double up, idle;
    int number;

    has("/proc/meminfo", "MemTotal:");
    has("/proc/meminfo", "MemAvailable:");
    has("/proc/cpuinfo", "processor\t: 3\n");
    has("/proc/cpuinfo", "flags\t\t: ");
    has("/proc/self/status", "\nThreads:\t");
    has("/proc/self/status", "VmRSS:\t");
    has("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    has("/proc/self/maps", "[stack]");
    has("/proc/self/maps", " r-xp ");
    has("/proc/stat", "cpu3 ");
    has("/proc/stat", "\nbtime ");
    has("/proc/version", "Linux version ");
    has("/proc/mounts", " /tmp ");
    has("/proc/filesystems", "tmpfs");
    has("/proc/self/smaps", "\nRss: ");
    has("/proc/self/smaps", "\nPrivate_Dirty: ");
    has("/proc/self/smaps_rollup", "[rollup]\nRss: ");
    has("/proc/self/numa_maps", " default ");
    has("/proc/self/numa_maps", " N0=");
    has("/proc/self/mountinfo", " / / r");
    has("/proc/self/sched", "se.sum_exec_runtime");
    has("/proc/self/status", "Mems_allowed_list:\t0\n");
    has("/proc/self/io", "write_bytes: ");
    has("/proc/net/tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid");
    has("/proc/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n");
    has("/proc/net/sockstat", "sockets: used ");
    has("/proc/net/igmp", "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n1\tlo        : ");
    has("/proc/net/igmp", "\n\t\t\t\t010000E0     1 0:00000000\t\t0\n");
    join_group();
    has("/proc/net/igmp", "\n\t\t\t\t030201EF     2 0:00000000\t\t0\n");
    has("/proc/vmstat", "nr_free_pages ");
    has("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:");
    has("/sys/devices/system/node/node0/meminfo", "Node 0 MemFree:");
    has("/sys/kernel/mm/transparent_hugepage/enabled", "always");
    holds("/proc/uptime", whole("/proc/uptime", bytes, sizeof(bytes)) > 0 &&
                              sscanf(bytes, "%lf %lf", &up, &idle) == 2 && up < 3600);
    holds("/proc/loadavg",
          whole("/proc/loadavg", bytes, sizeof(bytes)) > 0 && sscanf(bytes, "%lf", &up) == 1);
    holds("/proc/self/statm", whole("/proc/self/statm", bytes, sizeof(bytes)) > 0 &&
                                  sscanf(bytes, "%lu %lu", &a, &b) == 2 && a >= b && b > 0);
    holds("/proc/self/stat", whole("/proc/self/stat", bytes, sizeof(bytes)) > 0 &&
                                 sscanf(bytes, "%d (", &number) == 1 && number == sys(SYS_getpid));
    result("/proc/self/comm", (whole("/proc/self/comm", bytes, sizeof(bytes)), strchr(bytes, '\n') != NULL));
    holds("/proc/self/cmdline ends with a NUL",
          (a = (unsigned long)whole("/proc/self/cmdline", bytes, sizeof(bytes))) > 1 && bytes[a - 1] == 0);
    holds("/proc/self/fd/0 is a link", sys(SYS_readlink, "/proc/self/fd/0", bytes, sizeof(bytes)) > 0);
    result("/proc/self/fd/0 opened", sys(SYS_open, "/proc/self/fd/0", O_RDONLY));
    result("/proc/self is a folder", sys(SYS_stat, "/proc/self", &status) == 0 && S_ISDIR(status.st_mode));
    holds("/proc/PID is one",
          (snprintf(bytes, sizeof(bytes), "/proc/%ld", sys(SYS_getpid)), sys(SYS_stat, bytes, &status) == 0));
    result("/proc/4000000", sys(SYS_stat, "/proc/4000000", &status));
    result("/proc cannot have a new file", sys(SYS_open, "/proc/new", O_WRONLY | O_CREAT, 0644));
}
