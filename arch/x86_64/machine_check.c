/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine_check.c: the registers in which a CPU reports errors of the hardware: banks of four, a control, a
 * status, an address and a further word.
 *
 * MCG_CAP counts up to 255 banks, but only 32 have registers from 400h on: 480h is the first of VMX. (AMD's
 * further ones are elsewhere, from C0002000h on, and are not used here.) A hypervisor may count banks that it
 * does not have: every access may fault, and then the bank is left out. On the CPU that it runs on,
 * interrupts off.
 *
 * Sources: Intel SDM 3B §16.3 (registers), §16.3.2.1 (bank 0 of the first family 6), §16.8 (initialisation),
 * 4 table 2-2; AMD APM 2 §9.3.
 */
#include "arch.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "mm/page.h"

#define MSR_MCG_CAPABILITY 0x179
#define MSR_MCG_STATUS     0x17a
#define MSR_MCG_CONTROL    0x17b
#define MSR_BANK(number)   (0x400 + 4 * (number))
#define BANK_CONTROL       0
#define BANK_STATUS        1
#define BANK_ADDRESS       2

#define MCG_BANKS           0xff
#define MCG_CONTROL_PRESENT (1ULL << 8)
#define STATUS_VALID        (1ULL << 63)
#define STATUS_HAS_ADDRESS  (1ULL << 58)

/* Returns how many banks this CPU counts; 0 if it has none. */
static unsigned banks_counted(uint64_t *capability)
{
    *capability = 0;
    if (cpu_features.machine_check)
        msr_try_read(MSR_MCG_CAPABILITY, capability); /* which stays 0 without the register */
    return *capability & MCG_BANKS;
}

/* Prints the error that a bank holds, if it does, after a headline unless there was one. Returns false if
 * there is no such bank. */
static bool bank_print(unsigned bank, bool *headed)
{
    uint64_t status, address;

    if (msr_try_read(MSR_BANK(bank) + BANK_STATUS, &status))
        return false;
    if (!(status & STATUS_VALID))
        return true;
    if (!*headed)
        kernel_print("machine check: CPU %u has errors from before this boot; logged here and cleared\n",
                     arch_cpu_index());
    *headed = true;
    /* Each line at once: other CPUs print, too. */
    if ((status & STATUS_HAS_ADDRESS) && !msr_try_read(MSR_BANK(bank) + BANK_ADDRESS, &address))
        kernel_print("  bank %u status %016lx address %016lx\n", bank, status, address);
    else
        kernel_print("  bank %u status %016lx\n", bank, status);
    return true;
}

/* Returns whether a bank's control is the firmware's: bank 0 of Intel's family 6 before model 1Ah. */
static bool bank_control_is_firmwares(unsigned bank)
{
    struct cpuid_result zero = cpuid(0, 0);
    uint32_t signature = cpuid(1, 0).a;
    uint32_t family = signature >> 8 & 15, model = (signature >> 4 & 15) | (signature >> 12 & 0xf0);

    return bank == 0 && zero.b == 0x756e6547 /* "Genu" */ && family == 6 && model < 0x1a;
}

/* Enables a bank. Returns false if there is no such bank. */
static bool bank_enable(unsigned bank)
{
    if (!bank_control_is_firmwares(bank) && msr_try_write(MSR_BANK(bank) + BANK_CONTROL, UINT64_MAX))
        return false;
    return !msr_try_write(MSR_BANK(bank) + BANK_STATUS, 0);
}

void machine_checks_enable(void)
{
    uint64_t capability;
    unsigned counted = banks_counted(&capability), enabled = 0;
    const uint64_t banks = smaller(counted, MACHINE_CHECK_BANKS_MAX);
    bool headed = false;

    if (counted == 0)
        return;
    if (capability & MCG_CONTROL_PRESENT)
        msr_try_write(MSR_MCG_CONTROL, UINT64_MAX); /* a CPU that lacks it all the same does not need it */
    for (unsigned bank = 0; bank < banks; bank++)
        enabled += bank_print(bank, &headed) && bank_enable(bank);
    msr_try_write(MSR_MCG_STATUS, 0); /* with "in progress" left set, the next error would reset the node */
    if (enabled < counted)
        kernel_print("machine check: CPU %u counts %u banks, and has registers for %u; errors of the others "
                     "are not seen\n",
                     arch_cpu_index(), counted, enabled);
}

void machine_checks_print(void)
{
    uint64_t capability, status = 0;
    bool headed = true; /* the caller has said what this is */
    const uint64_t banks = smaller(banks_counted(&capability), MACHINE_CHECK_BANKS_MAX);

    if (banks)
        msr_try_read(MSR_MCG_STATUS, &status);
    kernel_print("  global status %016lx\n", status);
    for (unsigned bank = 0; bank < banks; bank++)
        bank_print(bank, &headed);
}
