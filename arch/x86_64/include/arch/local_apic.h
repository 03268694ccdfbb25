/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/local_apic.h: each CPU's own interrupt controller: silence, interrupts between CPUs, the one-shot
 * timer.
 */
#ifndef ARCH_LOCAL_APIC_H
#define ARCH_LOCAL_APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Masks the two 8259 controllers and every local vector of this CPU; switches to x2APIC if the CPU has it;
 * acknowledges what firmware has left in service. Once a CPU. */
void interrupts_silence(void);

bool local_apic_present(void);
const char *local_apic_mode(void); /* "xAPIC", "x2APIC", or "none" */
uint32_t local_apic_id(void);
uint32_t local_apic_id_max(void); /* the highest id that local_apic_send reaches */
void local_apic_acknowledge(void);

/* Sends an interrupt with the vector `command` to another CPU, or with LOCAL_APIC_OTHERS to all others that
 * run, with LOCAL_APIC_ALL to this one, too; or starts one up [Intel SDM 3A §9.4.4.1, §10.6.1]: INIT, then
 * STARTUP | the page number (of 4 KiB, below 1 MiB) where it begins in real mode. */
#define LOCAL_APIC_ALL     (2U << 18)
#define LOCAL_APIC_OTHERS  (3U << 18)
#define LOCAL_APIC_INIT    (5U << 8)
#define LOCAL_APIC_STARTUP (6U << 8)
void local_apic_send(uint32_t apic_id, uint32_t command);

/* The timer: one interrupt with `vector` after `count` ticks (> 0), none with LOCAL_APIC_MASKED; a count of 0
 * stops it. clock.c measures the ticks' rate. */
#define LOCAL_APIC_MASKED (1U << 16)
void local_apic_timer_start(uint32_t vector, uint32_t count);
uint32_t local_apic_timer_left(void);
/* Starts the timer in TSC-deadline mode: one interrupt when the TSC reaches the value; 0 stops it. */
void local_apic_deadline_set(uint8_t vector, uint64_t ticks);

#endif
