/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.S: the kernel's first instructions, and the way into the firmware and back.
 *
 * The boot loader (SLOF; GRUB) starts the kernel in real mode, big-endian or little-endian, with r3 and r4:
 * address and bytes of an initrd, or 0; r5: the firmware's client interface. The image is linked where the
 * direct map has it, and runs there in real mode too, which ignores the four highest bits of an address.
 * The client interface is 32-bit big-endian code [IEEE 1275, PowerPC binding].
 */
#include "arch/assembler.inc"

    .section .boot, "ax"
    .globl boot_entry
boot_entry:
    ENDIAN_FIX
    mfmsr r11 /* 64-bit, which the firmware's clients are not */
    li r10, 1
    rldimi r11, r10, 63, 0
    mtmsrd r11
    isync
    LOAD_ADDRESS r12, boot_at_link_address
    mtctr r12
    bctr

    .text
boot_at_link_address:
    LOAD_ADDRESS r2, .TOC.
    LOAD_ADDRESS r13, boot_cpu
    addis r1, r13, BOOT_STACK@ha
    addi r1, r1, BOOT_STACK@l
    addis r13, r13, CPU_MIDDLE_AT@ha
    addi r13, r13, CPU_MIDDLE_AT@l
    mtsprg0 r13
    li r0, 0
    std r0, 0(r1)
    bl arch_start
    trap

/* RTAS starts a further CPU here, in real mode, in either byte order, with r3: its place in further_cpus
 * [PAPR §7.3.8]. There it takes the address of its area, which real mode is not known to reach: so the area
 * is not touched before translation is on. A CPU that finds none has come too late. */
    .globl further_entry
further_entry:
    ENDIAN_FIX
    LOAD_ADDRESS r4, further_cpus
    clrldi r4, r4, 4
    sldi r3, r3, 3
    li r5, 0
1:  ldarx r13, r3, r4
    stdcx. r5, r3, r4
    bne 1b
    cmpdi r13, 0
2:  or 31, 31, 31 /* lets the core's other threads run */
    beq 2b
    isync
    li r3, PROCESS_NONE_NUMBER
    mtspr 48, r3 /* PIDR */
    LOAD_ADDRESS r2, .TOC.
    or 2, 2, 2
    addis r1, r13, BOOT_STACK@ha
    addi r1, r1, BOOT_STACK@l
    mr r3, r13
    addis r13, r13, CPU_MIDDLE_AT@ha
    addi r13, r13, CPU_MIDDLE_AT@l
    mtsprg0 r13
    LOAD_ADDRESS r4, further_at_link_address
    lis r5, FURTHER_MSR >> 16
    ori r5, r5, FURTHER_MSR & 0xffff
    li r6, 1 /* 64-bit */
    rldimi r5, r6, 63, 0
    mtsrr0 r4
    mtsrr1 r5
    rfid
further_at_link_address:
    li r0, 0
    std r0, 0(r1)
    bl arch_start_further
    trap

/* uint64_t firmware_enter(uint32_t arguments, uint32_t base, uint32_t entry): calls the client interface, or
 * RTAS, which takes its base. The firmware keeps the low halves of the preserved registers; the machine state
 * is ours again afterwards. The stack may lie where neither it nor real mode reaches. One CPU at a time. */
    .globl firmware_enter
firmware_enter:
    mflr r0
    std r0, 16(r1)
    stdu r1, -FIRMWARE_FRAME(r1)
    std r2, 32(r1)
    mfcr r0
    std r0, 40(r1)
    REGISTERS_STORE 13, 31, 48, r1
    LOAD_ADDRESS r8, firmware_kept
    mfmsr r6
    std r6, 8(r8)
    std r1, 0(r8)
    clrldi r7, r6, 1 /* 32-bit */
    rldicr r7, r7, 0, 62 /* big-endian */
    li r9, 0
    ori r9, r9, MSR_EE | MSR_IR | MSR_DR | MSR_RI
    andc r7, r7, r9
    LOAD_ADDRESS r8, 1f
    clrldi r8, r8, 32
    mtlr r8
    clrldi r1, r1, 32
    mtsrr0 r5
    mtsrr1 r7
    rfid
1:  ENDIAN_FIX
    LOAD_ADDRESS r4, firmware_kept
    clrldi r4, r4, 4
    ld r1, 0(r4)
    ld r6, 8(r4)
    LOAD_ADDRESS r8, 2f
    mtsrr0 r8
    mtsrr1 r6
    rfid
2:
    REGISTERS_LOAD 13, 31, 48, r1
    ld r0, 40(r1)
    mtcr r0
    ld r2, 32(r1)
    addi r1, r1, FIRMWARE_FRAME
    ld r0, 16(r1)
    mtlr r0
    blr

/* int64_t hypercall(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *out):
 * r3 is the status; *out gets r4 of the answer and the next three, if out is not NULL. */
    .globl hypercall
hypercall:
    std r8, -8(r1)
    sc 1
    ld r9, -8(r1)
    cmpdi r9, 0
    beqlr
    std r4, 0(r9)
    std r5, 8(r9)
    std r6, 16(r9)
    std r7, 24(r9)
    blr

/* int64_t hypercall_five(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e) */
    .globl hypercall_five
hypercall_five:
    sc 1
    blr

    .bss
    .balign 16
firmware_kept: /* the stack pointer, the machine state */
    .skip 16
