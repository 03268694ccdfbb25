/* SPDX-License-Identifier: BSD-2-Clause */
/* arch_prctl.c: the thread's pointer registers. */
#include "tests/conformance/conform.h"

CONFORM(arch_prctl)
{
    unsigned long fs = 0, gs = 1;

    result("ARCH_GET_FS", sys(SYS_arch_prctl, 0x1003, &fs));
    holds("is the C library's thread", fs != 0 && *(unsigned long *)fs == fs);
    result("ARCH_SET_GS", sys(SYS_arch_prctl, 0x1001, 0x12345678));
    result("ARCH_GET_GS", sys(SYS_arch_prctl, 0x1004, &gs));
    holds("is what was set", gs == 0x12345678);
    result("ARCH_SET_GS to the kernel's half", sys(SYS_arch_prctl, 0x1001, KERNEL_SIDE));
    result("ARCH_SET_FS to the kernel's half", sys(SYS_arch_prctl, 0x1002, KERNEL_SIDE));
    result("ARCH_GET_FS to nobody's memory", sys(SYS_arch_prctl, 0x1003, NOWHERE));
    result("no such request", sys(SYS_arch_prctl, 0x1fff, 0));
    sys(SYS_arch_prctl, 0x1001, 0);
}
