/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.c: waits for a datagram while the node idles, then prints the node's network counters.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#define PORT 7777

int main(void)
{
    const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    char text[4096];
    size_t bytes;

    if (descriptor < 0 || bind(descriptor, (const void *)&any, sizeof(any)) ||
        recv(descriptor, text, sizeof(text), 0) < 0) {
        perror("network");
        return 1;
    }
    FILE *file = fopen("/proc/tacet/network", "r");
    if (!file)
        return 1;
    bytes = fread(text, 1, sizeof(text), file);
    return fwrite(text, 1, bytes, stdout) == bytes ? 0 : 1;
}
