/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle_connection.c: has a TCP connection to ADDRESS PORT, computes for MS milliseconds without using it, and
 * prints how often any CPU entered the kernel meanwhile and how many frames the card eth0 received. Then it
 * uses the connection: at the stream's end the peer sends all of it back in capitals.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_NS 300000000

static uint64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static uint64_t entries(void)
{
    const struct tacet_node *node = tacet_node();
    uint64_t sum = 0;

    for (uint32_t cpu = 0; node && cpu < node->cpu_count; cpu++)
        sum += tacet_kernel_entries(cpu);
    return sum;
}

/* Returns the number of frames that eth0 has received, by Linux's /proc/net/dev (proc(5)). */
static unsigned long long frames(void)
{
    FILE *file = fopen("/proc/net/dev", "r");
    unsigned long long bytes, packets = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, " eth0: %llu %llu", &bytes, &packets) == 2)
            break;
    if (file)
        fclose(file);
    return packets;
}

/* Blocks for a moment: what is under way is received and acknowledged. */
static void settle(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    unsigned long long frames_before;
    uint64_t entries_before, entries_after, end_ms;
    char answer[32] = "";
    ssize_t length = 0, count;

    if (argc != 4 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
        fprintf(stderr, "usage: idle_connection ADDRESS PORT MS\n");
        return 2;
    }
    address.sin_port = htons((uint16_t)atoi(argv[2]));
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(connection, "before, ", 8, 0) != 8) {
        perror("idle_connection");
        return 1;
    }
    settle();
    frames_before = frames();
    end_ms = now_ms() + strtoull(argv[3], NULL, 0);
    entries_before = entries();
    while (now_ms() < end_ms)
        __asm__ volatile("" ::: "memory");
    entries_after = entries();
    if (send(connection, "after", 5, 0) != 5 || shutdown(connection, SHUT_WR) != 0)
        perror("idle_connection");
    while ((count = recv(connection, answer + length, sizeof answer - 1 - (size_t)length, 0)) > 0)
        length += count;
    settle();
    printf("entries %llu frames %llu answer %s\n", (unsigned long long)(entries_after - entries_before),
           frames() - frames_before, answer);
    return 0;
}
