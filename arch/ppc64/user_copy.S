/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_copy.S: the only instructions of the kernel that touch a program's memory.
 *
 * Each may fault at any byte: a range check does not see guard pages and read-only pages. The table that
 * MAY_FAULT builds holds the addresses of these instructions; after a fault of one of them, trap_handle
 * continues at user_copy_fault, which returns -EFAULT from the function. Above each function stands its C
 * prototype.
 */
#include "arch/assembler.inc"

    .macro MAY_FAULT instruction:vararg
99: \instruction
    .section .user_copy_table, "a"
    .balign 8
    .quad 99b
    .text
    .endm

    .macro FUNCTION name
    .globl \name
    .type \name, @function
\name:
    .endm

    .text
FUNCTION user_copy_fault
    li r3, EFAULT_RESULT
    blr

/* long user_copy(void *to, const void *from, uint64_t bytes): 0 or -EFAULT */
FUNCTION user_copy
    srdi. r6, r5, 5
    beq 2f
    mtctr r6
1:  MAY_FAULT ld r0, 0(r4)
    MAY_FAULT ld r6, 8(r4)
    MAY_FAULT ld r7, 16(r4)
    MAY_FAULT ld r8, 24(r4)
    MAY_FAULT std r0, 0(r3)
    MAY_FAULT std r6, 8(r3)
    MAY_FAULT std r7, 16(r3)
    MAY_FAULT std r8, 24(r3)
    addi r4, r4, 32
    addi r3, r3, 32
    bdnz 1b
2:  rldicl. r6, r5, 61, 62
    beq 4f
    mtctr r6
3:  MAY_FAULT ld r0, 0(r4)
    MAY_FAULT std r0, 0(r3)
    addi r4, r4, 8
    addi r3, r3, 8
    bdnz 3b
4:  andi. r6, r5, 7
    beq 6f
    mtctr r6
5:  MAY_FAULT lbz r0, 0(r4)
    MAY_FAULT stb r0, 0(r3)
    addi r4, r4, 1
    addi r3, r3, 1
    bdnz 5b
6:  li r3, 0
    blr

/* long user_zero(void *to, uint64_t bytes): 0 or -EFAULT */
FUNCTION user_zero
    li r0, 0
    srdi. r6, r4, 3
    beq 2f
    mtctr r6
1:  MAY_FAULT std r0, 0(r3)
    addi r3, r3, 8
    bdnz 1b
2:  andi. r6, r4, 7
    beq 4f
    mtctr r6
3:  MAY_FAULT stb r0, 0(r3)
    addi r3, r3, 1
    bdnz 3b
4:  li r3, 0
    blr

/* long user_copy_string(char *to, const char *from, uint64_t bytes)
 * Length without NUL, `bytes` if there is none, or -EFAULT. */
FUNCTION user_copy_string
    mr r6, r3
    cmpdi r5, 0
    li r3, 0
    beqlr
    mtctr r5
1:  MAY_FAULT lbz r0, 0(r4)
    stb r0, 0(r6)
    cmpwi r0, 0
    beqlr
    addi r3, r3, 1
    addi r4, r4, 1
    addi r6, r6, 1
    bdnz 1b
    blr

/* long user_load_word(uint32_t *to, const uint32_t *from): 0 or -EFAULT; the word is read in one piece */
FUNCTION user_load_word
    MAY_FAULT lwz r0, 0(r4)
    stw r0, 0(r3)
    li r3, 0
    blr

/* long user_swap_word(uint32_t *at, uint32_t *expected, uint32_t desired)
 * 1 if the word was *expected and is `desired` now; 0 if it was another, which is stored in *expected; or
 * -EFAULT. In order with everything before and after. */
FUNCTION user_swap_word
    lwz r6, 0(r4)
    sync
1:  MAY_FAULT lwarx r0, 0, r3
    cmpw r0, r6
    bne 2f
    MAY_FAULT stwcx. r5, 0, r3
    bne- 1b
    sync
    li r3, 1
    blr
2:  sync
    stw r0, 0(r4)
    li r3, 0
    blr

/* void memory_zero(void *memory, uint64_t bytes): kernel memory
 * From the beginning of a cache line on, an instruction a line, which does not fetch it first [Power ISA 3.0B
 * II §4.3.2]. It needs cached memory, as all of the kernel's is. */
#define CACHE_LINE_BYTES 128
#define CACHE_LINE_SHIFT 7
FUNCTION memory_zero
    andi. r6, r3, CACHE_LINE_BYTES - 1
    bne 2f
    srdi. r6, r4, CACHE_LINE_SHIFT
    beq 2f
    mtctr r6
1:  dcbz 0, r3
    addi r3, r3, CACHE_LINE_BYTES
    bdnz 1b
    andi. r4, r4, CACHE_LINE_BYTES - 1
2:  li r0, 0
    srdi. r6, r4, 3
    beq 4f
    mtctr r6
3:  std r0, 0(r3)
    addi r3, r3, 8
    bdnz 3b
4:  andi. r6, r4, 7
    beqlr
    mtctr r6
5:  stb r0, 0(r3)
    addi r3, r3, 1
    bdnz 5b
    blr
