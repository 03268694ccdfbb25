/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscall_entry.S: sc and scv 0.
 *
 * Linux's conventions on powerpc: number in r0, arguments in r3 to r8, result in r3. For sc an error is its
 * positive number there and the summary overflow bit of CR0; for scv it is the negative one. r0, r4 to r12,
 * CTR, XER and CR0 are lost, for scv all of CR but CR2 to CR4, and LR, too. C functions preserve r14 to r31,
 * so the entry saves only the others, into the struct trap_frame at the top of the thread's kernel stack:
 *
 *      kernel_stack -> struct trap_frame, then the frame of this code [ELF V2 ABI §2.2.2]      r1 -> this
 *
 * scv leaves its return address in LR and the machine state in CTR [Power ISA 3.0B III §6.5.26]; it also
 * leaves interrupts on: trap_entry handles one that comes before they are off here.
 *
 * Each entry subtracts the time base from the CPU's kernel_ticks, each exit adds it: so the time in the
 * kernel is counted without a tick [Tsafrir05 §4.2]. Interrupts stay off until the program runs again: the
 * kernel is never preempted. MSR.RI stays off, too: it only says that what must stop the node anyway cannot
 * be recovered from.
 *
 * Registers that are lost come back with what was the program's anyway, or zero: nothing of the kernel's but
 * the time and, in CTR, the address of the call's handler.
 *
 * The slow return, for what is to be done before the program runs again (a signal, the end of the thread),
 * is one word of the frame, which arch_request_slow_return() sets: then call_return_slow completes the frame,
 * calls thread_slow_return() by way of C, and ends as all other interrupts do.
 */
#include "arch/assembler.inc"

#define FRAME(field) (FRAME_MIN + (field))
#define GPR(number)  FRAME(8 * (number))

    .text
/* Everything up to the call. r9 is changed. */
    .macro ENTRY_BEGIN vector
    mr r12, r13
    mfsprg0 r13
    mr r10, r1
    ld r1, CPU_CALL_STACK(r13)
    std r0, GPR(0)(r1)
    std r10, GPR(1)(r1)
    std r2, GPR(2)(r1)
    REGISTERS_STORE 3, 8, GPR(3), r1
    std r12, GPR(13)(r1)
    .if \vector == VECTOR_CALL
    mflr r9
    mfsrr0 r10
    mfsrr1 r11
    std r9, FRAME(FRAME_LINK)(r1)
    .else
    mflr r10
    mfctr r11
    std r10, FRAME(FRAME_LINK)(r1)
    .endif
    mfcr r12
    std r10, FRAME(FRAME_INSTRUCTION)(r1)
    std r11, FRAME(FRAME_MSR)(r1)
    std r12, FRAME(FRAME_CONDITION)(r1)
    mftb r10
    ld r11, CPU_KERNEL_TICKS(r13)
    ld r12, CPU_SYSTEM_CALLS(r13)
    subf r11, r10, r11
    addi r12, r12, 1
    std r11, CPU_KERNEL_TICKS(r13)
    std r12, CPU_SYSTEM_CALLS(r13)
    ld r2, CPU_TABLE_OF_KERNEL(r13)
    ld r9, CPU_CALLS(r13)
    cmpldi r0, SYSCALL_SLOTS
    sldi r10, r0, 3
    bge 1f
    ldx r12, r9, r10
2:  mtctr r12
    bctrl
    .endm

/* For numbers beyond the table. */
    .macro ENTRY_UNKNOWN
1:  ld r12, CPU_CALL_UNKNOWN(r13)
    b 2b
    .endm

/* The way back, up to what the two conventions do alike. Rare cases go to 3: the word that asks for the
 * slow return, which is 0 or negative, is then in r0. */
    .macro RETURN_BEGIN
    lwa r0, FRAME(FRAME_RETURNS_SLOWLY)(r1)
    mftb r4
    ld r5, CPU_KERNEL_TICKS(r13)
    or. r10, r0, r3
    ld r6, FRAME(FRAME_CONDITION)(r1)
    ld r7, FRAME(FRAME_LINK)(r1)
    ld r8, FRAME(FRAME_INSTRUCTION)(r1)
    ld r9, FRAME(FRAME_MSR)(r1)
    add r5, r5, r4
    .endm

    .macro RETURN_END
    std r5, CPU_KERNEL_TICKS(r13)
    mtcr r6
    li r11, 0
    li r12, 0
    ld r2, GPR(2)(r1)
    ld r13, GPR(13)(r1)
    ld r1, GPR(1)(r1)
    .endm

    .balign 128
    .globl syscall_entry
syscall_entry:
    ENTRY_BEGIN VECTOR_CALL
    RETURN_BEGIN
    rlwinm r6, r6, 0, 4, 2 /* no summary overflow */
    blt- 3f
4:  mtlr r7
    mtsrr0 r8
    mtsrr1 r9
    RETURN_END
    rfid
3:  cmpdi r0, 0
    cmpdi cr1, r3, -4095
    li r5, VECTOR_CALL
    blt call_return_slow
    ld r5, CPU_KERNEL_TICKS(r13)
    add r5, r5, r4
    blt cr1, 4b
    neg r3, r3
    li r10, 0
    oris r6, r6, SUMMARY_OVERFLOW >> 16
    b 4b
    ENTRY_UNKNOWN

    .balign 128
    .globl syscall_entry_vectored
syscall_entry_vectored:
    li r9, 0
    mtmsrd r9, 1 /* no interrupts */
    .if . - syscall_entry_vectored != VECTORED_OPEN_BYTES
    .error "trap_entry takes two instructions for open to interrupts"
    .endif
    ENTRY_BEGIN VECTOR_CALL_VECTORED
    RETURN_BEGIN
    blt- 3f
4:  mtlr r8
    mtctr r9
    RETURN_END
    .machine push
    .machine power9
    rfscv
    .machine pop
3:  cmpdi r0, 0
    bge 4b
    li r5, VECTOR_CALL_VECTORED
    b call_return_slow
    ENTRY_UNKNOWN

/* r5: the vector */
call_return_slow:
    REGISTERS_STORE 14, 31, GPR(14), r1
    mr r4, r3
    addi r3, r1, FRAME_MIN
    bl system_call_return /* (struct trap_frame *, long result, uint32_t vector) */
    addi r3, r1, FRAME_MIN
    b frame_enter

/* void syscall_hole(void)
 * In the unused slots of the table: passes the call's number, which is still in r0, to
 * long syscall_unknown(uint64_t number). */
    .globl syscall_hole
syscall_hole:
    mr r3, r0
    LOAD_ADDRESS r12, syscall_unknown
    mtctr r12
    bctr

/* long sys_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t tls, uint64_t child_tid)
 * C functions may move r14 to r31 anywhere, but here they still hold the program's values: completes the
 * call's frame, and passes it to long thread_clone(flags, stack, parent_tid, child_tid, tls, kept). */
    .globl sys_clone
sys_clone:
    ld r9, CPU_KERNEL_STACK(r13)
    addi r8, r9, -FRAME_BYTES
    REGISTERS_STORE 14, 31, 8 * 14, r8
    mr r9, r6
    mr r6, r7
    mr r7, r9
    LOAD_ADDRESS r12, thread_clone
    mtctr r12
    bctr

/* In all slots of the table that a CPU uses while the flight log's class of system calls is on
 * (arch_system_calls_log): the same call with an event before and after it. */
    .globl call_logged
call_logged:
    mflr r12
    std r12, 16(r1)
    stdu r1, -(FRAME_MIN + 16)(r1)
    std r0, FRAME_MIN(r1)
    mr r4, r3
    mr r3, r0
    bl klog_system_call /* (uint64_t number, uint64_t argument) */
    ld r9, CPU_KERNEL_STACK(r13)
    ld r0, FRAME_MIN(r1)
    REGISTERS_LOAD 3, 8, -FRAME_BYTES + 8 * 3, r9
    LOAD_ADDRESS r12, syscall_hole
    cmpldi r0, SYSCALL_SLOTS
    bge 1f
    LOAD_ADDRESS r10, syscall_table
    sldi r11, r0, 3
    ldx r12, r10, r11
1:  mtctr r12
    bctrl
    mr r4, r3
    std r3, FRAME_MIN + 8(r1)
    ld r3, FRAME_MIN(r1)
    bl klog_system_call_end /* (uint64_t number, uint64_t result) */
    ld r3, FRAME_MIN + 8(r1)
    addi r1, r1, FRAME_MIN + 16
    ld r12, 16(r1)
    mtlr r12
    blr
