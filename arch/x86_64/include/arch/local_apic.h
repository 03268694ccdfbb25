/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/local_apic.h: each CPU's own interrupt controller: silence, interrupts between CPUs, the one-shot
 * timer.
 */
#ifndef ARCH_LOCAL_APIC_H
#define ARCH_LOCAL_APIC_H

#include <stdbool.h>
#include <stdint.h>

/* Masks the two 8259 controllers and every local vector of this CPU; switches to x2APIC where the CPU has it.
 * Once a CPU. */
void interrupts_silence(void);

bool local_apic_present(void);
const char *local_apic_mode(void); /* "xAPIC", "x2APIC", or "none" */
uint32_t local_apic_id(void);
void local_apic_acknowledge(void);

/* Start-up of another CPU [Intel SDM 3A §9.4.4.1]: INIT, then the page number (of 4 KiB, below 1 MiB) where
 * it begins in real mode. */
void local_apic_send_init(uint32_t apic_id);
void local_apic_send_startup(uint32_t apic_id, uint8_t page);
void local_apic_send_interrupt(uint32_t apic_id, uint8_t vector);

/* The timer: one interrupt with `vector` after `count` ticks (> 0); 0 stops it. clock.c measures the
 * ticks' rate. */
void local_apic_timer_start(uint8_t vector, uint32_t count);
void local_apic_timer_count(uint32_t count); /* the same without interrupt, for measuring its rate */
uint32_t local_apic_timer_left(void);
/* TSC-deadline mode: one interrupt when the TSC reaches the value; 0 stops it. */
void local_apic_deadline_set(uint8_t vector, uint64_t ticks);

#endif
