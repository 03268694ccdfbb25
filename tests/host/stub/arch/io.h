/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/io.h: replaces x86_64's header of that name in host tests: ports and registers in memory are functions
 * of the test.
 */
#ifndef ARCH_IO_H
#define ARCH_IO_H

#include <stdint.h>

void io_write8(uintptr_t port, uint8_t value);
void io_write16(uintptr_t port, uint16_t value);
uint8_t io_read8(uintptr_t port);
uint16_t io_read16(uintptr_t port);
uint32_t mmio_read32(const volatile void *address);
void mmio_write32(volatile void *address, uint32_t value);

static inline void dma_barrier(void)
{
}

#endif
