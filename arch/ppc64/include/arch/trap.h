/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/trap.h: what the entry code (vectors.S) leaves on the stack for trap_handle.
 */
#ifndef ARCH_TRAP_H
#define ARCH_TRAP_H

#include <stdint.h>

struct trap_frame {
    uint64_t gpr[32];
    uint64_t instruction, msr; /* SRR0, SRR1 */
    uint64_t link, counter, xer;
    uint64_t condition;       /* the condition register, in the low word */
    uint64_t address, status; /* DAR, DSISR */
    uint64_t priority;        /* PPR: of the hardware thread */
    uint32_t vector;          /* stored as a whole word, with: */
    int32_t returns_slowly;   /* a system call: 0, or -1: by thread_slow_return */
    uint64_t argument;        /* first argument of a system call; the result replaces it */
    uint64_t unused;          /* the size is a multiple of 16 */
};

#define FRAME_MIN_BYTES 32 /* of a function that calls others [ELF V2 ABI §2.2.2] */

_Static_assert(sizeof(struct trap_frame) % 16 == 0, "stacks stay aligned");

#define MSR_PROBLEM (1ULL << 14) /* the program's state */

#define MSR_FLOAT_0 (1ULL << 11) /* FE0, FE1 */
#define MSR_FLOAT_1 (1ULL << 8)

/* Interrupts [Power ISA 3.0B III §6.5], by the address of their vector. */
enum trap_vector {
    TRAP_RESET = 0x100,
    TRAP_MACHINE_CHECK = 0x200,
    TRAP_DATA = 0x300,
    TRAP_DATA_SEGMENT = 0x380,
    TRAP_INSTRUCTION = 0x400,
    TRAP_INSTRUCTION_SEGMENT = 0x480,
    TRAP_EXTERNAL = 0x500,
    TRAP_ALIGNMENT = 0x600,
    TRAP_PROGRAM = 0x700,
    TRAP_NO_FLOATING_POINT = 0x800,
    TRAP_DECREMENTER = 0x900,
    TRAP_DOORBELL = 0xa00,
    TRAP_SYSTEM_CALL = 0xc00,
    TRAP_TRACE = 0xd00,
    TRAP_PERFORMANCE = 0xf00,
    TRAP_NO_VMX = 0xf20,
    TRAP_NO_VSX = 0xf40,
    TRAP_NO_FACILITY = 0xf60,
    TRAP_SYSTEM_CALL_VECTORED = 0x3000,
};

/* Where scv 0 comes in with translation on: its offset in the direct map [Power ISA 3.0B III §6.5.26]. The
 * other levels come in above it, 32 bytes for each. */
#define VECTORED_AT 0x3000
#define VECTORS_AT  0x4000 /* all other vectors */

#define SUMMARY_OVERFLOW 0x10000000ULL /* in CR0 */

#define PRIORITY_MEDIUM (4ULL << 50) /* PPR */

static inline uint64_t priority_get(void)
{
    uint64_t value;

    __asm__ volatile("mfspr %0, 896" : "=r"(value));
    return value;
}

static inline void priority_put(uint64_t value)
{
    __asm__ volatile("mtspr 896, %0" : : "r"(value));
}

#define VECTORS_NON_JAVA 0x10000U /* of the VSCR: denormalised numbers are zero */

/* Registers of a program's thread that the kernel does not use, as vector_state_save stores them. */
struct vector_state {
    uint64_t scalar[32][2];                /* VSR 0 to 31; the second half is a floating point register */
    uint64_t vector[32][2];                /* VSR 32 to 63: VMX */
    uint64_t floating_status, vector_mask; /* FPSCR, VRSAVE */
    uint64_t vector_status[2];             /* VSCR, in the low word */
    uint64_t target, stream_control;       /* TAR, DSCR */
} __attribute__((aligned(16)));

void vector_state_save(struct vector_state *state);
void vector_state_restore(const struct vector_state *state);

/* The registers of a thread that no CPU runs. */
struct arch_context {
    uint64_t stack;        /* r1 in the kernel, at what stack_switch has stored */
    uint64_t kernel_stack; /* the top of the thread's own kernel stack */
    uint64_t priority;     /* PPR, as it was when the thread left a CPU last, or set it by a call */
    struct trap_frame frame;
    struct vector_state vectors;
};

/* Copies the vectors to where the CPU looks for them: physical 0 on, and 0x4000 on for an address space with
 * translation (AIL 3). */
void vectors_install(void);
void trap_handle(struct trap_frame *frame);
uint32_t vector_status(void); /* FPSCR */

/* On the stack, from stack_switch on: registers that C functions preserve. */
#define SWITCH_BYTES 192

#endif
