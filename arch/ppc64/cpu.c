/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.c: what programs may use of a POWER9, and how they learn of it. Of what Linux announces there, three
 * things are absent: transactional memory, event-based branches and the counters of events, for which the
 * kernel does nothing.
 */
#include "arch.h"
#include "arch/setup.h"
#include "arch/vdso.h"
#include "lib/boot_info.h"
#include "lib/linux_abi.h"

/* AT_HWCAP: 64 and 32 bits, VMX, floating point, MMU, hardware threads, instruction caches that see stores,
 * decimal floating point, ISA 2.06, VSX, little-endian. AT_HWCAP2: ISA 2.07, DSCR, isel, TAR, VMX's
 * cryptography, ISA 3.0, floating point of 128 bits, darn. [Linux: uapi/asm/cputable.h] */
#define HWCAP      0xdc006582U
#define HWCAP2     0xaee00000U
#define HWCAP2_SCV 0x00100000U

/* Of the facility status and control register [Power ISA 3.0B III §6.2.11]. */
#define FACILITY_SCV  0x1000ULL
#define FACILITY_TAR  0x0100ULL
#define FACILITY_DSCR 0x0004ULL

static uint64_t facilities(void)
{
    uint64_t value;

    __asm__ volatile("mfspr %0, 153" : "=r"(value));
    return value;
}

void cpu_facilities_initialise(void)
{
    const struct cpu *cpu = cpu_this();
    const uint64_t node = cpu->numa_domain == NUMA_DOMAIN_NONE ? 0 : cpu->numa_domain;
    const uint64_t value = cpu->index | (node < VDSO_NODE_UNKNOWN ? node : VDSO_NODE_UNKNOWN)
                                            << VDSO_CPU_BITS;

    __asm__ volatile("mtsprg3 %0" : : "r"(value));
    __asm__ volatile("mtspr 153, %0\n\tisync"
                     :
                     : "r"(facilities() | FACILITY_SCV | FACILITY_TAR | FACILITY_DSCR));
}

/* Returns AT_HWCAP, AT_HWCAP2. scv is announced if the CPU has kept its bit. */
uint64_t arch_hwcap(unsigned word)
{
    return word == 1 ? HWCAP : HWCAP2 | ((facilities() & FACILITY_SCV) ? HWCAP2_SCV : 0);
}

/* Returns AT_…CACHEGEOMETRY: bytes of a line, and how many ways there are, 0 if the tree does not say. */
static uint64_t geometry(const struct machine_cache *cache)
{
    const uint32_t way_bytes = cache->sets * cache->line_bytes;
    const uint32_t ways = way_bytes ? cache->bytes / way_bytes : 0;

    return (cache->line_bytes & 0xffff) | (uint64_t)(ways & 0xffff) << 16;
}

unsigned arch_auxiliary(uint64_t platform, uint64_t (*entries)[2])
{
    enum {
        AT_DCACHEBSIZE = 19,
        AT_ICACHEBSIZE = 20,
        AT_UCACHEBSIZE = 21,
        AT_IGNOREPPC = 22,
        AT_L1I_CACHESIZE = 40,
        AT_L1I_CACHEGEOMETRY = 41,
        AT_L1D_CACHESIZE = 42,
        AT_L1D_CACHEGEOMETRY = 43,
        AT_L2_CACHESIZE = 44,
        AT_L2_CACHEGEOMETRY = 45,
        AT_L3_CACHESIZE = 46,
        AT_L3_CACHEGEOMETRY = 47,
    };
    const uint64_t all[][2] = {
        { AT_IGNOREPPC, AT_IGNOREPPC }, /* twice, as Linux has it */
        { AT_IGNOREPPC, AT_IGNOREPPC },
        { AT_DCACHEBSIZE, machine.data.block_bytes },
        { AT_ICACHEBSIZE, machine.instructions.block_bytes },
        { AT_UCACHEBSIZE, 0 },
        { AT_L1I_CACHESIZE, machine.instructions.bytes },
        { AT_L1I_CACHEGEOMETRY, geometry(&machine.instructions) },
        { AT_L1D_CACHESIZE, machine.data.bytes },
        { AT_L1D_CACHEGEOMETRY, geometry(&machine.data) },
        { AT_L2_CACHESIZE, 0 },
        { AT_L2_CACHEGEOMETRY, 0 },
        { AT_L3_CACHESIZE, 0 },
        { AT_L3_CACHEGEOMETRY, 0 },
        { AT_MINSIGSTKSZ, SIGNAL_FRAME_BYTES },
        { AT_BASE_PLATFORM, platform },
    };
    const unsigned count = sizeof(all) / sizeof(all[0]);

    _Static_assert(sizeof(all) / sizeof(all[0]) <= ARCH_AUXILIARY_MAX, "the loader has room");
    for (unsigned i = 0; i < count; i++) {
        entries[i][0] = all[i][0];
        entries[i][1] = all[i][1];
    }
    return count;
}

bool arch_random_strong(uint64_t *value)
{
    for (int tries = 0; tries < 10; tries++) {
        __asm__ volatile("darn %0, 1" : "=r"(*value));
        if (*value != UINT64_MAX)
            return true;
    }
    return false;
}

uint64_t arch_random(void)
{
    uint64_t value;

    return arch_random_strong(&value) ? value : cpu_ticks() * 0x9e3779b97f4a7c15ULL;
}
