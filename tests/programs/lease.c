/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c: sends a datagram every 100 ms until that fails because the node has no address any longer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(7777) };
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

    inet_pton(AF_INET, "10.9.0.1", &peer.sin_addr);
    for (unsigned i = 0; i < 300; i++) {
        if (sendto(descriptor, "x", 1, 0, (const void *)&peer, sizeof(peer)) < 0 && errno == ENETUNREACH)
            return 0;
        usleep(100000);
    }
    puts("lease: datagrams are sent still");
    return 1;
}
