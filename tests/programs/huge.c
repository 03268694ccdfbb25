/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * huge.c: needs a GiB before its first instruction, more than a small node has for a rank.
 */
#include <stdio.h>

static char memory[1UL << 30];

int main(void)
{
    printf("%p\n", (void *)memory);
    return 0;
}
