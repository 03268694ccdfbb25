/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vector_state.c: which vector registers programs get: those that CPUID offers of x87, SSE, AVX and AVX-512,
 * as far as a thread has room for them (VECTOR_STATE_BYTES).
 *
 * The kernel is compiled without vector registers, so that the state is saved only where thread.c says. AMX
 * tiles stay off: on Linux, too, a program must request them, by a call that Tacet does not have. The first
 * CPU chooses before any console is there; vector_state_report says later what was wrong. The others must
 * have the same.
 *
 * Source: Intel SDM 1 §13.2 (CPUID leaf 0xD), §13.3 (XCR0), §13.4 (layout).
 */
#include "arch.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "lib/kstring.h"

#define XCR0_BASE   0x03ULL /* x87, SSE */
#define XCR0_AVX    0x04ULL
#define XCR0_AVX512 0xe0ULL /* its three parts */
#define XCR0_KNOWN  (XCR0_BASE | XCR0_AVX | XCR0_AVX512)
#define BYTES_MIN   (FXSAVE_BYTES + XSAVE_HEADER_BYTES)

static uint64_t offered;       /* what the first CPU offers */
static uint32_t offered_bytes; /* what it takes, by CPUID */

static uint64_t components_offered(void)
{
    uint64_t components = cpuid(0xd, 0).a & XCR0_KNOWN;

    if ((components & (XCR0_AVX | XCR0_AVX512)) != (XCR0_AVX | XCR0_AVX512))
        components &= ~XCR0_AVX512; /* its parts go together, and need AVX */
    return components;
}

/* Enables these, and returns how many bytes XSAVE writes of them. (A function of its own: tests plant other
 * answers.) */
__attribute__((noinline, noclone)) static uint32_t vector_state_try(uint64_t components)
{
    xcr0_write(components);
    return cpuid(0xd, 0).b;
}

/* Enables as much as there is room for; 0 if there is not even room for SSE. */
static uint64_t components_choose(uint32_t *bytes)
{
    static const uint64_t without[] = { 0, XCR0_AVX512, XCR0_AVX | XCR0_AVX512 };

    *bytes = offered_bytes = 0;
    if ((offered & XCR0_BASE) != XCR0_BASE)
        return 0;
    for (unsigned i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        *bytes = vector_state_try(offered & ~without[i]);
        if (i == 0)
            offered_bytes = *bytes;
        if (*bytes >= BYTES_MIN && *bytes <= VECTOR_STATE_BYTES)
            return offered & ~without[i];
    }
    return 0;
}

void vector_state_enable(unsigned cpu)
{
    const uint16_t control = 0x037f, mxcsr = 0x1f80;

    memcpy(&vector_state_initial[CONTROL_AT], &control, sizeof(control)); /* each CPU writes the same */
    memcpy(&vector_state_initial[MXCSR_AT], &mxcsr, sizeof(mxcsr));
    if (!cpu_features.xsave) {
        cpu_features.vector_bytes = FXSAVE_BYTES;
        return;
    }
    if (cpu == 0) {
        offered = components_offered();
        cpu_features.xcr0 = components_choose(&cpu_features.vector_bytes);
        return;
    }
    uint64_t here = components_offered();
    if (cpu_features.xcr0 & ~here)
        node_stop(STOP_BAD_INPUT, "CPU %u has other vector registers (%#lx by CPUID) than the first (%#lx)",
                  cpu, here, cpu_features.xcr0);
    uint32_t bytes = vector_state_try(cpu_features.xcr0);
    if (bytes != cpu_features.vector_bytes)
        node_stop(STOP_BAD_INPUT, "the vector state of CPU %u takes %u bytes by CPUID, that of the first %u",
                  cpu, bytes, cpu_features.vector_bytes);
}

void vector_state_report(void)
{
    if (!cpu_features.xsave || cpu_features.xcr0 == offered)
        return;
    if (!cpu_features.xcr0)
        node_stop(STOP_BAD_INPUT,
                  "the CPU's vector state (%#lx) takes %u bytes by CPUID, even without AVX not %u to %u",
                  offered, offered_bytes, BYTES_MIN, VECTOR_STATE_BYTES);
    kernel_print(
        "cpu: the vector state takes %u bytes by CPUID, and there is room for %u: programs go without "
        "%s\n",
        offered_bytes, VECTOR_STATE_BYTES, (cpu_features.xcr0 ^ offered) & XCR0_AVX ? "AVX" : "AVX-512");
}
