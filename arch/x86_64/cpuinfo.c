/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpuinfo.c: the machine as /proc/cpuinfo, /proc/interrupts and the topology's files describe it, in Linux's
 * words. All CPUs are taken to be alike: what CPUID says here holds for the others. [Intel SDM 2A CPUID; 3A
 * §9.9]
 */
#include "arch.h"
#include "arch/setup.h"
#include "time/clock_event.h"
#include "lib/format.h"

#define TOPOLOGY_EXTENSIONS (1U << 22) /* of AMD's CPUs */
#define VENDOR_AMD          0x69746e65 /* "enti" */

/* Linux's names of feature bits, from bit 0 up; "-" for a bit without a name, or one that programs cannot use
 * on Tacet. */
static const char features_1d[] = "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 "
                                  "pn clflush - dts acpi mmx fxsr sse sse2 ss ht tm ia64 pbe";
static const char features_1c[] =
    "pni pclmulqdq dtes64 - ds_cpl vmx smx est tm2 ssse3 cid sdbg fma cx16 xtpr pdcm - "
    "pcid dca sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave - avx "
    "f16c rdrand hypervisor";
static const char features_7b[] =
    "- tsc_adjust sgx bmi1 hle avx2 - smep bmi2 erms invpcid rtm cqm - mpx rdt_a "
    "avx512f avx512dq rdseed adx smap avx512ifma - clflushopt clwb intel_pt avx512pf "
    "avx512er avx512cd sha_ni avx512bw avx512vl";
static const char features_7c[] = "- avx512vbmi umip - - - avx512_vbmi2 - gfni vaes vpclmulqdq avx512_vnni "
                                  "avx512_bitalg - avx512_vpopcntdq - - - - - - - rdpid";
static const char features_8d[] =
    "- - - - - - - - - - - syscall - - - - - - - mp nx - mmxext - - fxsr_opt pdpe1gb "
    "rdtscp - lm 3dnowext 3dnow";
static const char features_8c[] =
    "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw "
    "ibs xop skinit wdt - lwp fma4";

/* Writes the names whose bits are set, each followed by a blank. */
static void features_describe(struct text_sink *sink, const char *names, uint32_t bits)
{
    for (unsigned bit = 0; *names; bit++) {
        size_t length = 0;

        while (names[length] && names[length] != ' ')
            length++;
        if ((bits >> bit & 1) && names[0] != '-')
            sink_print(sink, "%.*s ", (int)length, names);
        names += length + (names[length] == ' ');
    }
}

static void all_features_describe(struct text_sink *sink)
{
    uint32_t extended = cpuid(0x80000000, 0).a;
    struct cpuid_result one = cpuid(1, 0), seven = { 0 }, eight = { 0 };

    if (cpu_features.basic_leaves >= 7)
        seven = cpuid(7, 0);
    if (extended >= 0x80000001)
        eight = cpuid(0x80000001, 0);
    features_describe(sink, features_1d, one.d);
    features_describe(sink, features_8d, eight.d);
    features_describe(sink, features_1c, one.c);
    features_describe(sink, features_8c, eight.c);
    features_describe(sink, features_7b, seven.b);
    features_describe(sink, features_7c, seven.c);
    if (cpu_features.invariant_tsc)
        sink->add(sink, "constant_tsc nonstop_tsc ");
}

static void name_describe(struct text_sink *sink)
{
    struct cpuid_result zero = cpuid(0, 0);
    uint32_t vendor[3] = { zero.b, zero.d, zero.c }, signature = cpuid(1, 0).a;
    uint32_t family = signature >> 8 & 15, model = signature >> 4 & 15;
    char brand[CPU_BRAND_BYTES];

    cpu_brand(brand);
    if (family == 6 || family == 15)
        model |= signature >> 12 & 0xf0;
    if (family == 15)
        family += signature >> 20 & 255;
    sink_print(sink, "vendor_id\t: %.12s\ncpu family\t: %u\nmodel\t\t: %u\n", (const char *)vendor, family,
               model);
    sink_print(sink, "model name\t: %s\nstepping\t: %u\n", brand, signature & 15);
}

void arch_cpuinfo_describe(unsigned cpu, struct text_sink *sink)
{
    uint32_t extended = cpuid(0x80000000, 0).a;
    uint32_t sizes = extended >= 0x80000008 ? cpuid(0x80000008, 0).a : 0x3024,
             line = cpuid(1, 0).b >> 5 & 0x7f8;
    uint64_t khz = arch_clock_hz() / 1000;

    name_describe(sink);
    sink_print(sink, "cpu MHz\t\t: %lu.%03lu\napicid\t\t: %u\nfpu\t\t: yes\nfpu_exception\t: yes\n",
               khz / 1000, khz % 1000, cpu_area(cpu)->apic_id);
    sink_print(sink, "cpuid level\t: %u\nwp\t\t: yes\nflags\t\t: ", cpu_features.basic_leaves);
    all_features_describe(sink);
    sink_print(sink, "\nbogomips\t: %lu.%02lu\nclflush size\t: %u\ncache_alignment\t: %u\n", khz / 500,
               khz / 5 % 100, line, line);
    sink_print(sink, "address sizes\t: %u bits physical, %u bits virtual\npower management:\n", sizes & 255,
               sizes >> 8 & 255);
}

/* Describes a cache as AMD's older leaves do: L1 data and instructions, L2, L3 of the package; false if there
 * is none. [AMD APM 3 §E.4.4] */
static bool amd_cache(unsigned cpu, unsigned index, struct cpu_cache *cache)
{
    static const uint8_t ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128 };
    const struct cpuid_result near = cpuid(0x80000005, 0), far = cpuid(0x80000006, 0);
    const uint32_t words[] = { near.c, near.d, far.c, far.d }, word = index < 4 ? words[index] : 0;
    const uint32_t kib[] = { word >> 24, word >> 24, word >> 16, (word >> 18) * 512 };

    *cache = (struct cpu_cache){ .kind = index < 2 ? CACHE_DATA + index : CACHE_UNIFIED,
                                 .level = index < 2 ? 1 : index,
                                 .line_bytes = word & 255,
                                 .ways = index < 2 ? word >> 16 & 255 : ways[word >> 12 & 15],
                                 .id = cpu_area(cpu)->apic_id >> cpu_features.thread_bits };
    if (index > 3 || !cache->line_bytes || !cache->ways)
        return false;
    cache->bytes = kib[index] * 1024;
    cache->sets = cache->bytes / cache->line_bytes / cache->ways;
    if (index == 3)
        cache->id = arch_cpu_place(cpu).package;
    return true;
}

/* Reads the leaf that newer CPUs have. [Intel SDM 2A CPUID 04H; AMD APM 3 §E.4.15: under another number] */
bool arch_cpu_cache(unsigned cpu, unsigned index, struct cpu_cache *cache)
{
    const uint32_t extended = cpuid(0x80000000, 0).a, vendor = cpuid(0, 0).d;
    struct cpuid_result leaf = { 0 };

    if (extended >= 0x8000001d && (cpuid(0x80000001, 0).c & TOPOLOGY_EXTENSIONS))
        leaf = cpuid(0x8000001d, index);
    else if (vendor == VENDOR_AMD && extended >= 0x80000006)
        return amd_cache(cpu, index, cache);
    else if (cpu_features.basic_leaves >= 4)
        leaf = cpuid(4, index);
    const uint32_t sharing = leaf.a >> 14 & 0xfff; /* one less than the most APIC ids that share it */
    *cache =
        (struct cpu_cache){ .kind = leaf.a & 31,
                            .level = leaf.a >> 5 & 7,
                            .line_bytes = (leaf.b & 0xfff) + 1,
                            .ways = (leaf.b >> 22) + 1,
                            .sets = leaf.c + 1,
                            .id = cpu_area(cpu)->apic_id >> (sharing ? 32 - __builtin_clz(sharing) : 0) };
    cache->bytes = cache->line_bytes * ((leaf.b >> 12 & 0x3ff) + 1) * cache->ways * cache->sets;
    return cache->kind;
}

struct cpu_place arch_cpu_place(unsigned cpu)
{
    uint32_t id = cpu_area(cpu)->apic_id, core_bits = cpu_features.core_bits;

    if (core_bits == 0)
        return (struct cpu_place){ 0, id };
    return (struct cpu_place){ id >> core_bits, (id & ((1U << core_bits) - 1)) >> cpu_features.thread_bits };
}
