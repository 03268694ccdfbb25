/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/io.h: registers of devices: in the I/O space of x86_64, ports, and in memory. Part of the contract in
 * kernel/arch.h, for drivers that another architecture may have too; the wider ports are for arch/x86_64
 * itself.
 *
 * Memory of devices is mapped uncached: the CPU keeps accesses to it in order, and stores to other memory
 * come before it [Intel SDM 3A §8.2.2, §11.3]. So it is the compiler alone that must not move anything.
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

static inline void io_write32(uintptr_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"((uint16_t)port));
}

static inline uint32_t mmio_read32(const volatile void *address)
{
    uint32_t value;

    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*(const volatile uint32_t *)address) : "memory");
    return value;
}

static inline void mmio_write32(volatile void *address, uint32_t value)
{
    __asm__ volatile("movl %1, %0" : "=m"(*(volatile uint32_t *)address) : "r"(value) : "memory");
}

/* Stops only the compiler: the CPU keeps loads in order, and stores. */
static inline void dma_barrier(void)
{
    __asm__ volatile("" : : : "memory");
}

#endif
