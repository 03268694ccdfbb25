/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visited.c: takes connections at TCP port 7000 and reads nothing of them, or with "close" closes each at
 * once, until a datagram comes to UDP port 7777. Then it prints what the node counts of its network.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bound(int type, unsigned short port)
{
    const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
    const int descriptor = socket(AF_INET, type, 0);

    if (descriptor < 0 || bind(descriptor, (const void *)&any, sizeof(any))) {
        perror("visited");
        _exit(1);
    }
    return descriptor;
}

int main(int count, char **arguments)
{
    const int closes = count > 1 && strcmp(arguments[1], "close") == 0;
    struct pollfd both[] = { { bound(SOCK_STREAM, 7000), POLLIN, 0 },
                             { bound(SOCK_DGRAM, 7777), POLLIN, 0 } };
    unsigned taken = 0;
    char text[4096];

    if (listen(both[0].fd, 64))
        return 1;
    while (poll(both, 2, -1) > 0 && !both[1].revents) {
        const int visitor = accept(both[0].fd, NULL, NULL);

        taken += visitor >= 0;
        if (visitor >= 0 && closes)
            close(visitor);
    }
    printf("taken %u\n", taken);
    FILE *file = fopen("/proc/tacet/network", "r");
    if (!file)
        return 1;
    size_t bytes = fread(text, 1, sizeof(text), file);
    return fwrite(text, 1, bytes, stdout) == bytes ? 0 : 1;
}
