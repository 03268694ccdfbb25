/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpuinfo.c: /proc/cpuinfo as Linux writes it on a pseries: lines on each CPU, and after the last one lines
 * on the machine.
 */
#include "arch.h"
#include "arch/setup.h"
#include "lib/format.h"

#define VERSION_LOGICAL 0x0f000000U /* the number of an architecture's level, not of a chip */

static void machine_describe(struct text_sink *sink)
{
    sink_print(sink, "\ntimebase\t: %lu\nplatform\t: pSeries\nmodel\t\t: %s\n", machine.timebase_hz,
               machine.model);
    sink_print(sink, "machine\t\t: CHRP %s\nMMU\t\t: Radix\n", machine.model);
}

/* Writes a CPU's lines. The device tree has the level that the CPU keeps to, PVR the chip. */
void arch_cpuinfo_describe(unsigned cpu, struct text_sink *sink)
{
    const bool is_logical = (machine.version & 0xff000000U) == VERSION_LOGICAL;
    uint32_t version;

    __asm__("mfspr %0, 287" : "=r"(version));
    sink_print(sink, "cpu\t\t: POWER9 (%s), altivec supported\n", is_logical ? "architected" : "raw");
    sink_print(sink, "clock\t\t: %lu.%06luMHz\n", machine.clock_hz / 1000000, machine.clock_hz % 1000000);
    sink_print(sink, "revision\t: %u.%u (pvr %04x %04x)\n", version >> 8 & 0xf, version & 0xff, version >> 16,
               version & 0xffff);
    if (cpu + 1 == arch_cpu_count())
        machine_describe(sink);
}
