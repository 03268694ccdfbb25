/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_apic.c: where the interrupts of devices go: nowhere, except that of a line on which a thread waits for
 * input, which leads to the CPU that it waits on, and the lines of network devices while a CPU idles. Owns
 * the redirection tables of all I/O APICs. Interrupts off; the callers of arch_input_route serialise their
 * calls, and so do those of the functions of lines.
 *
 * The firmware's byte code, which is not run here, says to which input the line of a PCI device leads. So the
 * device is made to raise it, while all inputs lead to this CPU: an input that has been delivered shows that
 * in its entry until it is acknowledged.
 *
 * Source: Intel 82093AA datasheet §3 (registers); ACPI 6.5 §5.2.12 (which input a line of the PC leads to);
 * Intel SDM 3A §10.11 (messages).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "net/device.h"

/* Two registers in memory, through which the others are reached. */
#define IO_SELECT 0
#define IO_WINDOW (0x10 / 4)

#define IO_VERSION       1
#define IO_INPUT(number) (0x10 + 2 * (number)) /* the low half of its entry; the high one follows */

#define INPUT_ACTIVE_LOW (1U << 13)
#define INPUT_DELIVERED  (1U << 14) /* of a level: until it is acknowledged */
#define INPUT_LEVEL      (1U << 15)
#define INPUT_MASKED     (1U << 16)
#define APIC_ID_MAX      0xfe
#define INPUTS_MAX       256
#define LINE_WAIT_HZ     5000 /* a line is raised for at most 200 us until its interrupt comes */
#define MESSAGE_ADDRESS  0xfee00000U

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
    for (unsigned i = 0; i < acpi.io_apic_count && local_apic_present(); i++) {
        io_apics[i] = arch_device_map(acpi.io_apics[i].address, 0x20);
        for (uint32_t input = 0; io_apics[i] && input < input_count(io_apics[i]); input++)
            *io_register(io_apics[i], IO_INPUT(input)) = INPUT_MASKED;
    }
}

/* Finds the I/O APIC of an input, and the input's number there; NULL if there is none. */
static volatile uint32_t *io_apic_of(uint32_t input, uint32_t *own)
{
    for (unsigned i = 0; i < acpi.io_apic_count; i++) {
        *own = input - acpi.io_apics[i].first; /* below the first: a large number */
        if (io_apics[i] && *own < input_count(io_apics[i]))
            return io_apics[i];
    }
    return NULL;
}

static bool input_route(uint32_t input, uint32_t apic_id, uint32_t entry)
{
    uint32_t own;
    volatile uint32_t *io_apic = io_apic_of(input, &own);

    if (!io_apic || apic_id > APIC_ID_MAX)
        return false;
    *io_register(io_apic, IO_INPUT(own)) = INPUT_MASKED;
    *io_register(io_apic, IO_INPUT(own) + 1) = apic_id << 24;
    *io_register(io_apic, IO_INPUT(own)) = entry;
    return true;
}

bool arch_input_route(unsigned line, unsigned cpu)
{
    const struct acpi_isa_line *isa = &acpi.isa_lines[line < ACPI_ISA_LINES ? line : 0];
    uint32_t input = isa->overridden ? isa->input : line;

    return line < ACPI_ISA_LINES && input_route(input, cpu_area(cpu)->apic_id,
                                                VECTOR_INPUT | (isa->active_low ? INPUT_ACTIVE_LOW : 0) |
                                                    (isa->level ? INPUT_LEVEL : 0));
}

/* ---- Lines of PCI ---- */

static bool is_finding; /* interrupts of lines are the finder's own */

void device_interrupt(void)
{
    if (!is_finding)
        network_device_interrupt();
}

/* Returns how PCI drives an input; 0: it leads elsewhere. */
static uint32_t line_entry(uint32_t input)
{
    for (unsigned line = 0; line < ACPI_ISA_LINES; line++) {
        const struct acpi_isa_line *isa = &acpi.isa_lines[line];

        if (input != (isa->overridden ? isa->input : line))
            continue;
        if (!isa->overridden || !isa->level)
            return 0;
        return VECTOR_DEVICE | INPUT_LEVEL | (isa->active_low ? INPUT_ACTIVE_LOW : 0);
    }
    return VECTOR_DEVICE | INPUT_LEVEL | INPUT_ACTIVE_LOW;
}

static uint32_t input_entry(uint32_t input)
{
    uint32_t own;
    volatile uint32_t *io_apic = io_apic_of(input, &own);

    return io_apic ? *io_register(io_apic, IO_INPUT(own)) : INPUT_MASKED;
}

/* Returns the end of the inputs at which this can be tried: the first one that no I/O APIC has. */
static uint32_t inputs_end(void)
{
    uint32_t input = 0, own;

    while (input < INPUTS_MAX && io_apic_of(input, &own))
        input++;
    return input;
}

/* Finds the last input that has been delivered, and how many have: boards lead a line to one of the first
 * sixteen, too. */
static uint32_t delivered_find(uint32_t end, unsigned *count)
{
    uint32_t found = ARCH_LINE_NONE;

    *count = 0;
    for (uint32_t input = 0; input < end; input++) {
        const uint32_t entry = input_entry(input);

        if ((entry & 0xff) == VECTOR_DEVICE && !(entry & INPUT_MASKED) && (entry & INPUT_DELIVERED)) {
            found = input;
            ++*count;
        }
    }
    return found;
}

static void lines_open(uint32_t end)
{
    for (uint32_t input = 0; input < end; input++)
        if (line_entry(input) && (input_entry(input) & INPUT_MASKED))
            input_route(input, local_apic_id(), line_entry(input));
}

static void lines_mask(uint32_t end)
{
    for (uint32_t input = 0; input < end; input++)
        if (line_entry(input))
            arch_line_mask(input);
    arch_interrupts_accept();
}

/* Finds a line's input. Before any line is routed: no other device may raise one then (pci_quiesce). */
uint32_t arch_line_find(void (*raise)(void *context, bool on), void *context)
{
    const uint32_t end = local_apic_present() ? inputs_end() : 0;
    const uint64_t ticks = arch_clock_hz() / LINE_WAIT_HZ;
    unsigned before, count, after;

    is_finding = true;
    lines_open(end);
    delivered_find(end, &before);
    raise(context, true);
    const uint64_t start = arch_ticks();
    uint32_t found;
    do
        found = delivered_find(end, &count);
    while (!count && arch_ticks() - start < ticks);
    raise(context, false);
    lines_mask(end);

    lines_open(end); /* now that it is lowered, nothing may come */
    delivered_find(end, &after);
    lines_mask(end);
    is_finding = false;
    return before || after ? ARCH_LINE_NONE : found;
}

bool arch_line_route(uint32_t line, unsigned cpu)
{
    return line_entry(line) && input_route(line, cpu_area(cpu)->apic_id, line_entry(line));
}

void arch_line_mask(uint32_t line)
{
    input_route(line, 0, INPUT_MASKED);
}

bool arch_message_interrupt(unsigned cpu, uint64_t *address, uint32_t *data)
{
    const uint32_t apic_id = cpu_area(cpu)->apic_id;

    *address = MESSAGE_ADDRESS | apic_id << 12;
    *data = VECTOR_DEVICE;
    return local_apic_present() && apic_id <= APIC_ID_MAX;
}
