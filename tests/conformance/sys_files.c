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
    line("/proc/sys/vm/overcommit_memory");
    line("/proc/sys/kernel/ostype");
}
