/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_machine_check.c: a CPU whose machine-check registers are the test's, some of which are not there; what
 * would be a fault in the kernel fails the test.
 */
#include "arch.h"
#include "arch/setup.h"
#include "check.h"
#include "debug/console.h"
#include "lib/errno.h"
#include <stdarg.h>

#define MCG_CAPABILITY 0x179
#define MCG_STATUS     0x17a
#define MCG_CONTROL    0x17b
#define BANK(number)   (0x400u + 4 * (number))
#define MSRS           0x1000
#define VALID          (1ULL << 63)
#define HAS_ADDRESS    (1ULL << 58)

uintptr_t arena_origin;
uint32_t arena_cpu;

struct cpu_features cpu_features;
static uint64_t values[MSRS];
static bool there[MSRS], written[MSRS];
static uint32_t signature;
static char printed[8192];

struct cpuid_result cpuid(uint32_t leaf, uint32_t subleaf)
{
    (void)subleaf;
    return leaf == 0 ? (struct cpuid_result){ 1, 0x756e6547, 0x6c65746e, 0x49656e69 } /* "GenuineIntel" */
                     : (struct cpuid_result){ .a = signature };
}

int msr_try_read(uint32_t msr, uint64_t *value)
{
    if (msr >= MSRS || !there[msr])
        return -EFAULT;
    *value = values[msr];
    return 0;
}

int msr_try_write(uint32_t msr, uint64_t value)
{
    if (msr >= MSRS || !there[msr])
        return -EFAULT;
    values[msr] = value;
    written[msr] = true;
    return 0;
}

void kernel_print(const char *format, ...)
{
    size_t used = strlen(printed);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(printed + used, sizeof(printed) - used, format, arguments);
    va_end(arguments);
}

/* Begins with a CPU that counts `counted` banks, of which `banks` have registers. */
static void begin(unsigned counted, unsigned banks)
{
    memset(values, 0, sizeof(values));
    memset(there, 0, sizeof(there));
    memset(written, 0, sizeof(written));
    printed[0] = '\0';
    signature = 0x50654; /* a Skylake-X */
    cpu_features = (struct cpu_features){ .machine_check = true };
    there[MCG_CAPABILITY] = there[MCG_STATUS] = true;
    values[MCG_CAPABILITY] = counted;
    for (unsigned msr = BANK(0); msr < BANK(banks); msr++)
        there[msr] = true;
}

TEST(each_bank_is_enabled_and_cleared)
{
    begin(10, 10);
    values[MCG_STATUS] = 4;
    machine_checks_enable();
    for (unsigned bank = 0; bank < 10; bank++) {
        CHECK(values[BANK(bank)] == UINT64_MAX);
        CHECK(written[BANK(bank) + 1]);
    }
    CHECK_EQUAL(values[MCG_STATUS], 0);
    CHECK_EQUAL(printed[0], '\0');
    CHECK(!written[MCG_CONTROL]);
}

TEST(a_count_of_255_touches_no_register_beyond_the_banks)
{
    begin(255, (MSRS - 0x400) / 4); /* whose numbers lead to other registers, all of which are there */
    machine_checks_enable();
    machine_checks_print();
    for (unsigned msr = 0x480; msr < MSRS; msr++)
        CHECK(!written[msr]);
    CHECK_EQUAL(values[BANK(31)], -1);
    CHECK_CONTAINS(printed,
                   "CPU 0 counts 255 banks, and has registers for 32; errors of the others are not seen\n");
}

TEST(banks_that_are_counted_and_not_there_are_left_out)
{
    begin(255, 5);
    machine_checks_enable();
    CHECK_CONTAINS(printed, "CPU 0 counts 255 banks, and has registers for 5; ");
    begin(10, 0);
    machine_checks_enable();
    CHECK_CONTAINS(printed, "CPU 0 counts 10 banks, and has registers for 0; ");
    begin(10, 10);
    there[BANK(3)] = there[BANK(4) + 1] = false;
    machine_checks_enable();
    CHECK_CONTAINS(printed, "counts 10 banks, and has registers for 8; ");
    CHECK_EQUAL(values[BANK(9)], -1);
}

TEST(errors_from_before_the_boot_are_logged_and_cleared)
{
    begin(10, 10);
    arena_cpu = 3;
    values[BANK(4) + 1] = VALID | HAS_ADDRESS | 0x135;
    values[BANK(4) + 2] = 0x12345000;
    values[BANK(7) + 1] = VALID | 1;
    machine_checks_enable();
    arena_cpu = 0;
    CHECK(strcmp(printed, "machine check: CPU 3 has errors from before this boot; logged here and cleared\n"
                          "  bank 4 status 8400000000000135 address 0000000012345000\n"
                          "  bank 7 status 8000000000000001\n") == 0);
    CHECK_EQUAL(values[BANK(4) + 1], 0);
    CHECK_EQUAL(values[BANK(7) + 1], 0);
}

TEST(an_error_is_printed_with_what_registers_there_are)
{
    begin(2, 2);
    values[MCG_STATUS] = 5;
    values[BANK(1) + 1] = VALID | HAS_ADDRESS;
    there[BANK(1) + 2] = false;
    machine_checks_print();
    CHECK(strcmp(printed, "  global status 0000000000000005\n  bank 1 status 8400000000000000\n") == 0);
}

TEST(the_control_of_bank_0_is_left_to_the_firmware_where_it_has_it)
{
    begin(6, 6);
    signature = 0x6fb; /* a Core 2 */
    machine_checks_enable();
    CHECK(!written[BANK(0)] && written[BANK(0) + 1] && written[BANK(1)]);
    begin(6, 6);
    signature = 0x106a5; /* a Nehalem, model 1Ah */
    machine_checks_enable();
    CHECK(written[BANK(0)]);
}

TEST(the_global_control_is_written_where_it_is_there)
{
    begin(1 << 8 | 2, 2);
    there[MCG_CONTROL] = true;
    machine_checks_enable();
    CHECK_EQUAL(values[MCG_CONTROL], -1);
    begin(1 << 8 | 2, 2); /* and promised where it is not */
    machine_checks_enable();
    CHECK_EQUAL(values[BANK(1)], -1);
}

TEST(without_machine_checks_nothing_is_touched)
{
    begin(10, 10);
    cpu_features.machine_check = false;
    machine_checks_enable();
    machine_checks_print();
    for (unsigned msr = 0; msr < MSRS; msr++)
        CHECK(!written[msr]);
    CHECK(strcmp(printed, "  global status 0000000000000000\n") == 0);
    begin(10, 10);
    there[MCG_CAPABILITY] = false;
    machine_checks_enable();
    CHECK(!written[BANK(0)]);
}

int main(void)
{
    RUN(each_bank_is_enabled_and_cleared);
    RUN(a_count_of_255_touches_no_register_beyond_the_banks);
    RUN(banks_that_are_counted_and_not_there_are_left_out);
    RUN(errors_from_before_the_boot_are_logged_and_cleared);
    RUN(an_error_is_printed_with_what_registers_there_are);
    RUN(the_control_of_bank_0_is_left_to_the_firmware_where_it_has_it);
    RUN(the_global_control_is_written_where_it_is_there);
    RUN(without_machine_checks_nothing_is_touched);
    return check_report("machine_check");
}
