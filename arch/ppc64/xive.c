/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xive.c: XIVE, the interrupt controller of POWER9, in its exploitation mode: the hypervisor sets it up,
 * and the kernel itself triggers, accepts and ends interrupts [PAPR ACR "XIVE exploitation mode"; Linux,
 * Documentation/virt/kvm/devices/xive.rst].
 *
 * A source has two bits of state, P (in service) and Q (has come again meanwhile), and pages of device
 * registers of its own: a store triggers it, loads read and change the bits. When a source in its resting
 * state is triggered, the controller puts a word into the queue of the CPU to which the source leads, and
 * raises that CPU's interrupt, if its priority allows. The queue is a ring; the highest bit of a word changes
 * with each turn, and so says which words are new. All sources have the same priority here.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "mm/page_pool.h"
#include "smp/per_cpu.h"

/* Of the CPU's own registers (TIMA), on the operating system's page. */
#define TIMA_PRIORITY     0x11  /* of the interrupts that it takes: the more urgent ones */
#define TIMA_ACCEPT       0x810 /* state and new priority; read as a half word */
#define ACCEPT_INTERRUPTS 0x8000

#define PRIORITY        6
#define PRIORITY_ALL    0xff
#define PRIORITY_CLOSED 0

/* Of a source's management page, to be loaded. */
#define SOURCE_END   0x000 /* an event that came meanwhile is raised */
#define SOURCE_RESET 0xc00 /* PQ = 00: an event that came meanwhile is dropped */
#define SOURCE_OFF   0xd00 /* PQ = 01: events are dropped; SOURCE_END leaves it so */

/* Flags of H_INT_GET_SOURCE_INFO, H_INT_SET_SOURCE_CONFIG and H_INT_SET_QUEUE_CONFIG. */
#define SOURCE_BY_CALL  8 /* its pages are reached by H_INT_ESB */
#define SOURCE_IS_LEVEL 4
#define SOURCE_SET_DATA 2
#define QUEUE_NOTIFIES  1

#define QUEUE_TURN 0x80000000U
#define DATA_IPI   0U
#define DATA_INPUT 1U /* and more, one for each device */
#define INPUTS_MAX 8
#define BUSY_TRIES 100000
#define PAGE_NONE  UINT64_MAX

/* Besides what the hypervisor answers. */
#define NO_PAGES  (-1000) /* the source has none */
#define NO_SOURCE (-1001) /* the tree names too few */
#define NO_QUEUE  (-1002) /* there is no memory for it, or it does not fit into a page */

struct source {
    uint32_t number;
    bool is_level;
    volatile uint8_t *manage, *trigger; /* NULL: by H_INT_ESB */
};

/* What a CPU has. */
struct xive_cpu {
    struct source ipi;
    uint32_t *queue;
    uint32_t position;
    uint32_t turn; /* QUEUE_TURN or 0: of the words that have been read already */
};

PER_CPU static struct xive_cpu here;

static volatile uint8_t *tima;
static struct source inputs[INPUTS_MAX];
static unsigned input_count;

static struct xive_cpu *xive_of(const struct cpu *cpu)
{
    return PER_CPU_AT(here, cpu->distance);
}

/* ---- Calls, which may have to wait for the hypervisor ---- */

static int64_t source_info(uint32_t number, uint64_t out[4])
{
    int64_t status = H_BUSY;

    for (unsigned tries = 0; status > 0 && tries < BUSY_TRIES; tries++)
        status = hypercall(H_INT_GET_SOURCE_INFO, 0, number, 0, 0, out);
    return status;
}

static int64_t call_five(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    int64_t status = H_BUSY;

    for (unsigned tries = 0; status > 0 && tries < BUSY_TRIES; tries++)
        status = hypercall_five(number, a, b, c, d, e);
    return status;
}

/* ---- Sources ---- */

static uint64_t source_load(const struct source *source, uint64_t offset)
{
    uint64_t out[4] = { 0 }, value;

    if (!source->manage) {
        hypercall(H_INT_ESB, 0, source->number, offset, 0, out);
        return out[0];
    }
    __asm__ volatile("ld %0, 0(%1)\n\ttwi 0, %0, 0\n\tisync"
                     : "=r"(value)
                     : "b"(source->manage + offset)
                     : "memory");
    return value; /* big-endian, and never used */
}

/* Leads a source to a CPU, with the word that is to come into the queue. */
static int64_t source_lead(struct source *source, uint32_t number, const struct cpu *cpu, uint32_t data)
{
    source->number = number;
    return call_five(H_INT_SET_SOURCE_CONFIG, SOURCE_SET_DATA, number, cpu->server, PRIORITY, data);
}

/* Maps the pages of a source; on the first CPU, before others start. */
static int64_t source_map(struct source *source, uint32_t number)
{
    uint64_t out[4];
    int64_t status = source_info(number, out);

    if (!status && (out[0] & SOURCE_BY_CALL))
        status = NO_PAGES;
    if (status || source->manage)
        return status;
    source->manage = arch_device_map(out[1], 1ULL << out[3]);
    source->trigger = out[2] == PAGE_NONE ? source->manage : arch_device_map(out[2], 1ULL << out[3]);
    return 0;
}

/* ---- CPUs ---- */

static int64_t xive_initialise(void)
{
    const int64_t status = call_five(H_INT_RESET, 0, 0, 0, 0, 0);

    tima = arch_device_map(machine.xive_tima, machine.xive_tima_bytes);
    return status;
}

/* Sources that the kernel may use for CPUs are named by the tree; one each. */
static int64_t xive_prepare(struct cpu *cpu, struct page_pool *pool)
{
    const uint32_t number = machine.xive_lisn_first + cpu->index;
    struct xive_cpu *of = xive_of(cpu);

    if (cpu->index >= machine.xive_lisn_count)
        return NO_SOURCE;
    if (!of->queue) {
        const uint64_t memory = page_pool_allocate(pool, ARCH_PAGE, ARCH_PAGE);

        if (memory == PAGE_POOL_NONE || machine.xive_queue_bits == 0)
            return NO_QUEUE;
        of->queue = arch_physical(memory);
    }
    arch_zero(of->queue, ARCH_PAGE);
    of->position = of->turn = 0;

    int64_t status = call_five(H_INT_SET_QUEUE_CONFIG, QUEUE_NOTIFIES, cpu->server, PRIORITY,
                               arch_physical_of(of->queue), machine.xive_queue_bits);
    if (!status)
        status = source_map(&of->ipi, number);
    if (!status)
        status = source_lead(&of->ipi, number, cpu, DATA_IPI);
    if (!status)
        source_load(&of->ipi, SOURCE_RESET);
    return status;
}

static void priority_set(uint8_t priority)
{
    __asm__ volatile("sync" : : : "memory");
    tima[TIMA_PRIORITY] = priority;
}

static void xive_open(void)
{
    priority_set(PRIORITY_ALL);
}

static void xive_close(void)
{
    priority_set(PRIORITY_CLOSED);
}

static void xive_send(const struct cpu *cpu)
{
    const struct source *ipi = &xive_of(cpu)->ipi;

    __asm__ volatile("sync" : : : "memory");
    *(volatile uint64_t *)ipi->trigger = 0;
}

/* ---- What has come ---- */

/* Takes the next word, without the bit of its turn; false if none is new. */
static bool queue_take(struct xive_cpu *of, uint32_t *data)
{
    const uint32_t words = (1U << machine.xive_queue_bits) / 4;
    const uint32_t word = __builtin_bswap32(__atomic_load_n(&of->queue[of->position], __ATOMIC_ACQUIRE));

    if ((word & QUEUE_TURN) == of->turn)
        return false;
    if (++of->position == words) {
        of->position = 0;
        of->turn ^= QUEUE_TURN;
    }
    *data = word & ~QUEUE_TURN;
    return true;
}

/* Serves a source that can be triggered again. Ends its turn before that: so what comes from then on triggers
 * it again. */
static void ipi_serve(const struct source *source)
{
    source_load(source, SOURCE_RESET);
    interrupt_arrived(INTERRUPT_IPI);
}

/* Serves a device. A level goes on while the device has something, so its turn ends after that. */
static void input_serve(const struct source *source)
{
    if (!source->is_level)
        source_load(source, SOURCE_END);
    interrupt_arrived(INTERRUPT_INPUT);
    if (source->is_level)
        source_load(source, SOURCE_END);
}

static bool xive_serve(void)
{
    struct xive_cpu *of = PER_CPU_HERE(here);
    uint16_t state;
    uint32_t data;
    bool any = false;

    __asm__ volatile("lhz %0, 0(%1)\n\ttwi 0, %0, 0\n\tisync"
                     : "=r"(state)
                     : "b"(tima + TIMA_ACCEPT)
                     : "memory");
    if (__builtin_bswap16(state) & ACCEPT_INTERRUPTS)
        while (queue_take(of, &data)) {
            any = true;
            if (data == DATA_IPI)
                ipi_serve(&of->ipi);
            else if (data - DATA_INPUT < input_count)
                input_serve(&inputs[data - DATA_INPUT]);
        }
    priority_set(PRIORITY_ALL);
    return any;
}

/* Routes a source, which is off until it has been routed for the first time. */
static bool xive_route(uint32_t number, const struct cpu *cpu)
{
    unsigned at = 0;
    uint64_t out[4];

    while (at < input_count && inputs[at].number != number)
        at++;
    if (at == INPUTS_MAX || source_info(number, out) ||
        source_lead(&inputs[at], number, cpu, DATA_INPUT + at))
        return false;
    if (at == input_count) {
        inputs[at].is_level = out[0] & SOURCE_IS_LEVEL;
        __atomic_store_n(&input_count, at + 1, __ATOMIC_RELEASE);
        source_load(&inputs[at], SOURCE_RESET);
    }
    return true;
}

static void xive_mute(uint32_t number, bool muted)
{
    for (unsigned at = 0; at < input_count; at++)
        if (inputs[at].number == number)
            source_load(&inputs[at], muted ? SOURCE_OFF : SOURCE_RESET);
}

const struct interrupt_controller xive = { .name = "XIVE",
                                           .cpu_bytes = ARCH_PAGE,
                                           .initialise = xive_initialise,
                                           .prepare = xive_prepare,
                                           .open = xive_open,
                                           .close = xive_close,
                                           .send = xive_send,
                                           .serve = xive_serve,
                                           .route = xive_route,
                                           .mute = xive_mute };
