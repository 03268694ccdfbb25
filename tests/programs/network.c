/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.c: sleeps for so many seconds while the node idles, then prints what it counts of its network.
 *
 *     network SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    FILE *file;
    int c;

    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    file = fopen("/proc/tacet/network", "r");
    if (!file)
        return 1;
    while ((c = getc(file)) != EOF)
        putchar(c);
    return 0;
}
