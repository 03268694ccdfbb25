/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interfaces.c: prints what the C library, by netlink, and ioctl say of the interfaces.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void print(const char *what, const char *name, const struct sockaddr *address)
{
    char text[INET_ADDRSTRLEN];

    if (address && address->sa_family == AF_INET)
        printf("%s %s %s\n", what, name,
               inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text,
                         sizeof(text)));
}

static void ask(int descriptor, const char *name)
{
    static const struct {
        const char *what;
        unsigned long request;
    } questions[] = {
        { "SIOCGIFADDR", SIOCGIFADDR },
        { "SIOCGIFNETMASK", SIOCGIFNETMASK },
        { "SIOCGIFBRDADDR", SIOCGIFBRDADDR },
    };
    struct ifreq request;

    for (unsigned i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
        if (ioctl(descriptor, (int)questions[i].request, &request) == 0)
            print(questions[i].what, name, &request.ifr_addr);
    }
    if (ioctl(descriptor, SIOCGIFMTU, &request) == 0)
        printf("SIOCGIFMTU %s %d\n", name, request.ifr_mtu);
}

int main(void)
{
    struct ifaddrs *all;
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

    if (descriptor < 0 || getifaddrs(&all)) {
        perror("interfaces");
        return 1;
    }
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        print("address", one->ifa_name, one->ifa_addr);
        print("mask", one->ifa_name, one->ifa_netmask);
    }
    freeifaddrs(all);
    for (unsigned index = 1; index < 8; index++) {
        char name[IF_NAMESIZE];

        if (!if_indextoname(index, name))
            continue;
        printf("index %s %u %u\n", name, index, if_nametoindex(name));
        ask(descriptor, name);
    }
    close(descriptor);
    return 0;
}
