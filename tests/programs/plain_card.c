/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain_card.c: on Linux, switches off what the card eth0 and the stack do to put many segments into one
 * (TSO, GSO, GRO; checksums by the card), as ethtool -K does, and executes PROGRAM:
 *
 *   plain_card PROGRAM [ARGUMENTS...]
 *
 * Numbers of the commands: Linux, include/uapi/linux/ethtool.h.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define IOCTL_ETHTOOL      0x8946
#define SET_RECEIVE_SUMS   0x15
#define SET_TRANSMIT_SUMS  0x17
#define SET_SCATTER_GATHER 0x19
#define SET_TSO            0x1f
#define SET_GSO            0x24
#define SET_GRO            0x2c

int main(int argc, char **argv)
{
    const uint32_t off[] = { SET_TSO,           SET_GSO,         SET_GRO, SET_SCATTER_GATHER,
                             SET_TRANSMIT_SUMS, SET_RECEIVE_SUMS };
    int control = socket(AF_INET, SOCK_DGRAM, 0);

    if (argc < 2 || control < 0) {
        fprintf(stderr, "usage: plain_card PROGRAM [ARGUMENTS...]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        uint32_t command[2] = { off[i], 0 };
        struct ifreq request = { .ifr_data = (char *)command };

        strcpy(request.ifr_name, "eth0");
        if (ioctl(control, IOCTL_ETHTOOL, &request) != 0)
            perror("plain_card: a feature stays on");
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
