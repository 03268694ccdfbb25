/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchd.c: tacet-launchd, which runs jobs of tacetrun on a Linux node (docs/jobs.md). It is linked
 * statically, so that it runs in an initramfs, and needs /proc there. See launchd.h for its parts.
 */
#include "service/launchd/launchd.h"
#include "service/lib/descendants.h"
#include "service/lib/key_file.h"
#include "service/lib/options.h"
#include "service/lib/process.h"
#include "service/lib/say.h"
#include "service/lib/tcp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_MS    1000000ULL
#define END_LIMIT_NS 5000000000ULL /* for a job, when this program is to end */

#define MEMORY_PRIORITY (-900)

struct launchd launchd;

static void listener_ready(struct watch *watch, uint32_t events);

static struct watch listener = { .fd = -1, .ready = listener_ready };
static bool is_ending;
static uint64_t turn_by_ns = UINT64_MAX;

static const char usage[] =
    "usage: tacet-launchd [--port PORT] [--key FILE] [--name NAME] [--address ADDRESS] [--beats INTERFACE]\n"
    "\n"
    "Runs jobs of tacetrun on this Linux node, one at a time.\n"
    "  --port PORT        where it listens, 1 to 65535, or 0 for a free one (default: 35019)\n"
    "  --key FILE         the conductor's key: who asks for a job has to have it, too\n"
    "  --name NAME        the node's, of 31 characters at most (default: the host's)\n"
    "  --address ADDRESS  the IPv4 address to listen at, which the conductor is told (default: all)\n"
    "  --beats INTERFACE  takes the conductor's beats there and answers them; needs --key\n";

void turn_by(uint64_t when_ns)
{
    if (when_ns < turn_by_ns)
        turn_by_ns = when_ns;
}

/* ---- Options ---- */

static void name_set(const char *name)
{
    char host[256];

    if (!name) {
        if (gethostname(host, sizeof(host)))
            give_up(STATUS_WRONG, "the host's name: %s; --name NAME", strerror(errno));
        host[sizeof(host) - 1] = '\0';
        host[strcspn(host, ".")] = '\0';
        name = host[0] && strcmp(host, "(none)") != 0 ? host : "-";
    }
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            give_up(STATUS_WRONG, "--name %s: it takes a word of printable ASCII", name);
    if (!*name || strlen(name) >= sizeof(launchd.name))
        give_up(STATUS_WRONG, "--name %s: it takes 1 to %zu characters", name, sizeof(launchd.name) - 1);
    strcpy(launchd.name, name);
}

static void address_set(const char *address)
{
    if (address && inet_pton(AF_INET, address, &launchd.address) != 1)
        give_up(STATUS_WRONG, "--address %s: it takes an IPv4 address, such as 10.0.0.7", address);
}

static void listen_at(uint16_t port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = launchd.address, .sin_port = htons(port) };

    listener.fd = tcp_listen(&here);
    if (listener.fd < 0)
        give_up(STATUS_WRONG, "port %u: %s", port, strerror(errno));
    watch_set(&launchd.loop, &listener, EPOLLIN);
    say_begin("tacet-launchd", say_without_waiting);
    say("%s takes jobs at port %u, on %u CPUs%s", launchd.name, ntohs(here.sin_port), launchd.cpus.count,
        launchd.has_key ? "" : ", from everybody: it has no key");
}

static uint32_t port = LAUNCH_PORT;
static const char *key_path, *name_given, *address_given, *beats_interface;

static const struct option_row option_rows[] = {
    { "port", 0, OPTION_NUMBER, .value = &port, .max = UINT16_MAX },
    { "key", 0, OPTION_TEXT, .value = &key_path },
    { "name", 0, OPTION_TEXT, .value = &name_given },
    { "address", 0, OPTION_TEXT, .value = &address_given },
    { "beats", 0, OPTION_TEXT, .value = &beats_interface },
    { 0 },
};
static const struct options options = { .rows = option_rows, .usage = usage, .failed = 1 };

static void prepare(char **words)
{
    const int end = options_read(&options, words, 1);
    const char *what;

    if (words[end])
        options_wrong("it takes no %s", words[end]);
    if (beats_interface && !key_path)
        give_up(STATUS_WRONG, "--beats needs the conductor's key: --key FILE");
    name_set(name_given);
    address_set(address_given);
    launchd.has_key = key_path;
    if (key_path)
        key_file_read(key_path, launchd.key, STATUS_WRONG);
    launch_cpus_find(&launchd.cpus);
    if (beats_interface && beats_open(beats_interface, &what))
        give_up(STATUS_WRONG, "--beats %s: %s: %s", beats_interface, what, strerror(errno));
    listen_at((uint16_t)port);
}

/* ---- The loop ---- */

void memory_priority_set(int priority)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "we");

    if (!file)
        return;
    fprintf(file, "%d", priority);
    fclose(file); /* where it fails, all are alike */
}

/* Where memory runs out it is a rank that ends, and not the one that has to tell of it. */
static void memory_priority_prepare(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "re");

    if (!file)
        return;
    if (fscanf(file, "%d", &launchd.memory_priority) == 1 && launchd.memory_priority > MEMORY_PRIORITY)
        memory_priority_set(MEMORY_PRIORITY);
    fclose(file);
}

static void signals_ready(struct watch *watch, uint32_t events)
{
    struct signalfd_siginfo info;

    (void)events; /* it is read until there is nothing left */
    while (read(watch->fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            job_children_ended();
        else
            is_ending = true;
    }
}

static void listener_ready(struct watch *watch, uint32_t events)
{
    (void)events; /* there is a connection, or none: accept says so */
    clients_accept(watch->fd);
}

static void turn(void)
{
    job_turn();
    clients_turn();
    const uint64_t now = clock_now_ns(), left_ns = turn_by_ns > now ? turn_by_ns - now : 0;
    const int wait_ms = turn_by_ns == UINT64_MAX ? -1 : (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS);
    turn_by_ns = UINT64_MAX;
    event_loop_turn(&launchd.loop, wait_ms);
}

int main(int count, char **words)
{
    say_begin("tacet-launchd", NULL);
    descriptors_prepare(STATUS_WRONG, &launchd.descriptors);
    if (event_loop_open(&launchd.loop))
        give_up(STATUS_WRONG, "epoll: %s", strerror(errno));
    signals_take(&launchd.loop, signals_ready, true);
    memory_priority_prepare();
    umask(022);
    if (descendants_adopt())
        give_up(STATUS_WRONG, "it needs /proc, and Linux 3.4 or later");
    if (getrandom(&(char){ 0 }, 1, 0) != 1) /* nonces; right after boot it takes a second */
        give_up(STATUS_WRONG, "getrandom: %s", strerror(errno));
    (void)count; /* NULL ends them */
    prepare(words);
    while (!is_ending)
        turn();
    watch_close(&listener);
    job_fail("the node's tacet-launchd ends");
    const uint64_t limit_ns = clock_now_ns() + END_LIMIT_NS;
    while (!job_is_over() && clock_now_ns() < limit_ns) {
        turn_by(limit_ns);
        turn();
    }
    clients_turn(); /* the last words */
    return 0;
}
