/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/interrupts.h: interrupts from other CPUs and from devices. A PAPR machine has one of two controllers:
 * XIVE (xive.c), whose registers the kernel itself reads and writes, or XICS (xics.c), which is reached by
 * the hypervisor's calls. Each fills a struct interrupt_controller; interrupts.c has what both have alike.
 *
 * Either one gives a CPU a single source that other CPUs trigger. What a trigger is for stands in the area of
 * the CPU that gets it (struct cpu), and is stored before: so triggers that come together count once.
 */
#ifndef ARCH_INTERRUPTS_H
#define ARCH_INTERRUPTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct page_pool;

/* Numbers in the counters (tacet.h) and in the flight log: those of x86_64, so that programs find what they
 * know. */
enum interrupt_number {
    INTERRUPT_IPI = 0xf0,   /* from another CPU (arch_ipi_send) */
    INTERRUPT_TIMER = 0xf1, /* the decrementer */
    INTERRUPT_INPUT = 0xf2, /* a device has input (arch_input_route) */
    INTERRUPT_BEAT = 0xf4,  /* a heartbeat, passed on (arch_beat_send) */
    INTERRUPT_RANGE = 0xf5, /* the decrementer has come to its end: it was set as far as it can wait */
    INTERRUPT_SPURIOUS = 255
};

struct interrupt_controller {
    const char *name;
    uint64_t cpu_bytes; /* bytes of the kernel's pool for each CPU */

    /* Called on the first CPU: `initialise` once, and then `prepare` for each CPU, the first one included,
     * before that CPU starts. Return 0, or what the hypervisor answers. `prepare` may be called again for an
     * area. */
    int64_t (*initialise)(void);
    int64_t (*prepare)(struct cpu *cpu, struct page_pool *pool);

    /* On the CPU itself, interrupts off: from now on it takes interrupts, or none any more. */
    void (*open)(void);
    void (*close)(void);

    /* Interrupts a CPU, itself included, and calls interrupt_arrived there. */
    void (*send)(const struct cpu *cpu);

    /* After an external interrupt: calls interrupt_arrived for what has come, and acknowledges it. False if
     * nothing has. */
    bool (*serve)(void);

    /* A device's source interrupts this CPU alone from now on. One source is routed at a time. */
    bool (*route)(uint32_t source, const struct cpu *cpu);

    /* A source that has been routed interrupts no CPU while it is muted; what comes then may be dropped. */
    void (*mute)(uint32_t source, bool muted);
};

extern const struct interrupt_controller xive, xics;
extern const struct interrupt_controller *interrupt_controller; /* the one that the machine has */

void interrupt_arrived(enum interrupt_number number);

/* Counts and logs an interrupt on this CPU. */
void interrupt_note(enum interrupt_number number);

/* Finds the controller, and prepares the first CPU; stops the node if there is none that the kernel knows.
 */
void interrupts_initialise(struct page_pool *pool);
bool interrupts_prepare(struct cpu *cpu, struct page_pool *pool);
uint64_t interrupts_cpu_bytes(void);
void interrupts_close(void);

/* Serves an external interrupt. */
void interrupts_serve(void);

/* Mutes a device's source, or lets it interrupt again. */
void interrupts_mute(uint32_t source, bool muted);

#endif
