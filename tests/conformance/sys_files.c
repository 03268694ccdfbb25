/* SPDX-License-Identifier: BSD-2-Clause */
/* sys_files.c: CPUs and memory nodes as programs and OpenMP's runtime look for them. */
#include "conform.h"

static void line(const char *path)
{
    char content[256] = "";
    long file = sys(SYS_open, path, O_RDONLY);

    if (file < 0) {
        result(path, file);
        return;
    }
    sys(SYS_read, file, content, sizeof(content) - 1);
    content[strcspn(content, "\n")] = 0;
    text(path, content);
}

CONFORM(sys_files)
{
    line("/sys/devices/system/cpu/online");
    line("/sys/devices/system/cpu/possible");
    line("/sys/devices/system/cpu/present");
    line("/sys/devices/system/node/online");
    line("/sys/devices/system/node/node0/cpulist");
    line("/sys/devices/system/cpu/cpu1/topology/physical_package_id");
    line("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list");
    line("/sys/devices/system/cpu/cpu4/topology/core_id");
    line("/sys/devices/system/cpu/cpu1/topology/core_cpus");
    line("/sys/devices/system/cpu/cpu1/topology/core_cpus_list");
    line("/sys/devices/system/cpu/cpu2/topology/package_cpus");
    line("/sys/devices/system/cpu/cpu2/topology/package_cpus_list");
    line("/sys/devices/system/cpu/cpu2/topology/core_siblings");
    line("/sys/devices/system/cpu/cpu2/topology/core_siblings_list");
    line("/sys/devices/system/cpu/cpu3/topology/thread_siblings");
    line("/sys/devices/system/cpu/cpu3/cache/index0/type");
    line("/sys/devices/system/cpu/cpu3/cache/index0/level");
    line("/sys/devices/system/cpu/cpu3/cache/index0/size");
    line("/sys/devices/system/cpu/cpu3/cache/index0/coherency_line_size");
    line("/sys/devices/system/cpu/cpu3/cache/index0/number_of_sets");
    line("/sys/devices/system/cpu/cpu3/cache/index0/ways_of_associativity");
    line("/sys/devices/system/cpu/cpu3/cache/index0/shared_cpu_list");
    line("/sys/devices/system/cpu/cpu3/cache/index0/shared_cpu_map");
    line("/sys/devices/system/cpu/cpu3/cache/index2/type");
    line("/sys/devices/system/cpu/cpu3/cache/index2/size");
    line("/sys/devices/system/cpu/cpu3/cache/index3/size");
    line("/sys/devices/system/cpu/cpu3/cache/index3/shared_cpu_list");
    line("/sys/devices/system/cpu/cpu3/cache/index4/size");
    line("/sys/devices/system/node/node0/cpumap");
    line("/sys/devices/system/node/node0/distance");
    line("/sys/devices/system/node/node1/distance");
    line("/sys/class/net/lo/address");
    line("/sys/class/net/lo/ifindex");
    line("/sys/class/net/lo/type");
    line("/sys/class/net/none/mtu");
    line("/proc/sys/net/core/somaxconn");
    line("/proc/sys/net/ipv4/ip_local_port_range");
    line("/proc/self/oom_score_adj");
    line("/proc/self/uid_map");
    line("/proc/swaps");
    line("/proc/sys/vm/overcommit_memory");
    line("/proc/sys/kernel/ostype");
}
