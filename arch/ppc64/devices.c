/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devices.c: the functions of kernel/arch.h for devices that this architecture does not have: there is no
 * PCI, so no network card has registers, a line, or sends messages; and there is no keyboard.
 */
#include "arch.h"
#include <stddef.h>

bool arch_key_pressed(void)
{
    return false;
}

unsigned arch_pci_segments(const struct arch_pci_segment **segments)
{
    *segments = NULL;
    return 0;
}

uint32_t arch_pci_read(uint32_t function, unsigned offset)
{
    (void)function;
    (void)offset;
    return UINT32_MAX;
}

void arch_pci_write(uint32_t function, unsigned offset, uint32_t value)
{
    (void)function;
    (void)offset;
    (void)value;
}

bool arch_message_interrupt(unsigned cpu, uint64_t *address, uint32_t *data)
{
    (void)cpu;
    (void)address;
    (void)data;
    return false;
}

uint32_t arch_line_find(void (*raise)(void *context, bool on), void *context)
{
    (void)raise;
    (void)context;
    return ARCH_LINE_NONE;
}

bool arch_line_route(uint32_t line, unsigned cpu)
{
    (void)line;
    (void)cpu;
    return false;
}

void arch_line_mask(uint32_t line)
{
    (void)line;
}
