/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c: what C libraries look up in /etc when a program begins: user, group, services, protocols, the
 * host's own name, mounts.
 */
#include "promise.h"

#include <arpa/inet.h>
#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/stat.h>

/* Returns whether the first address of a name is in 127.0.0.0/8. */
static int is_loopback(const char *name, const char *service)
{
    const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;

    if (getaddrinfo(name, service, &hints, &found))
        return 0;
    return *(unsigned char *)&((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr == 127;
}

static void mounts_are_listed(void)
{
    FILE *file = setmntent("/etc/mtab", "r");
    unsigned count = 0, roots = 0;

    for (struct mntent *entry; file && (entry = getmntent(file)); count++)
        roots += !strcmp(entry->mnt_dir, "/") && hasmntopt(entry, "ro");
    if (file)
        endmntent(file);
    PROMISE(count == 6 && roots == 1, "%u mounts", count);
}

/* Compares the numbers of mountinfo with stat's. */
static void mountinfo_agrees_with_stat(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "r");
    char line[512], place[64];
    unsigned number, parent, minor, count = 0;
    struct stat status;

    for (; file && fgets(line, sizeof(line), file); count++) {
        PROMISE(sscanf(line, "%u %u 0:%u / %63s r", &number, &parent, &minor, place) == 4, "%s", line);
        PROMISE(stat(place, &status) == 0 && status.st_dev == minor, "%s: %lu", line,
                (unsigned long)status.st_dev);
    }
    PROMISE(count == 6, "%u lines", count);
}

int main(void)
{
    const struct passwd *user = getpwuid(getuid());
    const struct group *group = getgrgid(getgid());
    char name[256] = "";
    struct stat status;

    PROMISE(user && !strcmp(user->pw_name, "root") && !strcmp(user->pw_dir, "/tmp"), "root");
    PROMISE(group && !strcmp(group->gr_name, "root") && !getpwuid(1234) && !getgrnam("users"), "group");
    const struct servent *service = getservbyname("http", "tcp");
    PROMISE(service && ntohs((uint16_t)service->s_port) == 80, "http");
    service = getservbyport(htons(123), "udp");
    PROMISE(service && !strcmp(service->s_name, "ntp"), "ntp");
    const struct protoent *protocol = getprotobyname("tcp");
    PROMISE(protocol && protocol->p_proto == 6, "tcp");
    PROMISE(gethostname(name, sizeof(name)) == 0 && is_loopback(name, "https"), "own name %s", name);
    PROMISE(is_loopback("localhost", "80"), "localhost");
    PROMISE(stat("/etc/passwd", &status) == 0 && status.st_size > 10 && S_ISREG(status.st_mode), "passwd");
    mounts_are_listed();
    mountinfo_agrees_with_stat();
    return promises_kept();
}
