/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_apic.c: where the interrupts of devices go: nowhere, but for a line on which a thread waits for input,
 * which leads to the CPU that it waits on. Owns the redirection tables of all I/O APICs. Interrupts off; the
 * callers of arch_input_route take turns.
 *
 * Source: Intel 82093AA datasheet §3 (registers); ACPI 6.5 §5.2.12 (which input a line of the PC leads to).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"

/* Two registers in memory, through which the others are reached. */
#define IO_SELECT 0
#define IO_WINDOW (0x10 / 4)

#define IO_VERSION       1
#define IO_INPUT(number) (0x10 + 2 * (number)) /* the low half of its entry; the high one follows */

#define INPUT_ACTIVE_LOW (1U << 13)
#define INPUT_LEVEL      (1U << 15)
#define INPUT_MASKED     (1U << 16)
#define APIC_ID_MAX      0xfe

static volatile uint32_t *io_apics[ACPI_IO_APICS_MAX]; /* NULL: not there, or no room to map it */

static volatile uint32_t *io_register(volatile uint32_t *io_apic, uint32_t number)
{
    io_apic[IO_SELECT] = number;
    return &io_apic[IO_WINDOW];
}

static uint32_t input_count(volatile uint32_t *io_apic)
{
    return (*io_register(io_apic, IO_VERSION) >> 16 & 0xff) + 1;
}

void io_apics_silence(void)
{
    const struct acpi_facts *facts = acpi_facts();

    for (unsigned i = 0; i < facts->io_apic_count && local_apic_present(); i++) {
        io_apics[i] = device_map(facts->io_apics[i].address, 0x20);
        for (uint32_t input = 0; io_apics[i] && input < input_count(io_apics[i]); input++)
            *io_register(io_apics[i], IO_INPUT(input)) = INPUT_MASKED;
    }
}

bool arch_input_route(unsigned line, unsigned cpu)
{
    const struct acpi_facts *facts = acpi_facts();
    const struct acpi_isa_line *isa = &facts->isa_lines[line < ACPI_ISA_LINES ? line : 0];
    uint32_t input = isa->overridden ? isa->input : line;

    for (unsigned i = 0; i < facts->io_apic_count && cpu_apic_id(cpu) <= APIC_ID_MAX && line < ACPI_ISA_LINES;
         i++) {
        uint32_t own = input - facts->io_apics[i].first; /* below the first: a large number */

        if (!io_apics[i] || own >= input_count(io_apics[i]))
            continue;
        *io_register(io_apics[i], IO_INPUT(own)) = INPUT_MASKED;
        *io_register(io_apics[i], IO_INPUT(own) + 1) = cpu_apic_id(cpu) << 24;
        *io_register(io_apics[i], IO_INPUT(own)) =
            VECTOR_INPUT | (isa->active_low ? INPUT_ACTIVE_LOW : 0) | (isa->level ? INPUT_LEVEL : 0);
        return true;
    }
    return false;
}
