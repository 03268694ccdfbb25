/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/io.h for tests: a device that the test simulates.
 */
#ifndef ARCH_IO_H
#define ARCH_IO_H

#include <stdint.h>

void io_write8(uintptr_t port, uint8_t value);
uint8_t io_read8(uintptr_t port);

#endif
