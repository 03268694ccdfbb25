/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/io.h: registers of devices in memory, part of the contract in kernel/arch.h. Storage that is caching
 * inhibited and guarded is accessed in order among itself; sync and eieio order it with other memory [Power
 * ISA 3.0B II §1.7]. The sync after a store keeps it before the store that releases a lock, too, which lwsync
 * does not: so two CPUs' stores come to the device in the order in which they held the lock.
 */
#ifndef ARCH_IO_H
#define ARCH_IO_H

#include <stdint.h>

static inline uint32_t mmio_read32(const volatile void *address)
{
    uint32_t value;

    __asm__ volatile("lwz %0, 0(%1)\n\ttwi 0, %0, 0\n\tisync" : "=r"(value) : "b"(address) : "memory");
    return value;
}

static inline void mmio_write32(volatile void *address, uint32_t value)
{
    __asm__ volatile("sync" : : : "memory");
    *(volatile uint32_t *)address = value;
    __asm__ volatile("sync" : : : "memory");
}

static inline void dma_barrier(void)
{
    __asm__ volatile("lwsync" : : : "memory");
}

static inline void io_write8(uintptr_t port, uint8_t value)
{
    __asm__ volatile("sync" : : : "memory");
    *(volatile uint8_t *)port = value;
    __asm__ volatile("sync" : : : "memory");
}

static inline uint8_t io_read8(uintptr_t port)
{
    return *(volatile uint8_t *)port;
}

#endif
