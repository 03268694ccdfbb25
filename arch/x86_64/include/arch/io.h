/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/io.h: registers in the I/O space of x86_64: ports. Part of the contract in kernel/arch.h, for drivers
 * that another architecture may have too; the wider ones are for arch/x86_64 itself.
 */
#ifndef ARCH_IO_H
#define ARCH_IO_H

#include <stdint.h>

static inline void io_write8(uintptr_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"((uint16_t)port));
}

static inline void io_write16(uintptr_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"((uint16_t)port));
}

static inline uint8_t io_read8(uintptr_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"((uint16_t)port));
    return value;
}

static inline uint16_t io_read16(uintptr_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"((uint16_t)port));
    return value;
}

static inline uint32_t io_read32(uintptr_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"((uint16_t)port));
    return value;
}

#endif
