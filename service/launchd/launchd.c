/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchd.c: the program tacet-launchd, which runs jobs of tacetrun on a Linux node (docs/jobs.md). It is
 * linked statically so that it runs in an initramfs too; it needs /proc. Its parts: launchd.h.
 */
#include "service/launchd/launchd.h"
#include "service/lib/descendants.h"
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
#define END_LIMIT_NS 5000000000ULL /* how long a job may take to end when this program ends */

#define MEMORY_PRIORITY (-900)

struct launchd launchd;

static void listener_ready(struct watch *watch, uint32_t events);

static struct watch listener = { .fd = -1, .ready = listener_ready };
static bool is_ending;
static uint64_t turn_by_ns = UINT64_MAX;

static const char usage[] =
    "usage: tacet-launchd [--port PORT] [--key FILE] [--name NAME] [--address ADDRESS] [--beats INTERFACE]\n"
    "                     [--conductor-key KEY]\n"
    "\n"
    "Runs jobs of tacetrun on this Linux node, one at a time.\n"
    "  --port PORT        listens at this TCP port, 1 to 65535; 0: a free one (default: 35019)\n"
    "  --key FILE         the node's keys (conductorctl key); without it, which root may not do, any\n"
    "                     host can run jobs here\n"
    "  --name NAME        the node's name, at most 31 characters (default: the host's name)\n"
    "  --address ADDRESS  the IPv4 address to listen at and to tell the conductor (default: all)\n"
    "  --conductor-key KEY the conductor's public key (conductorctl keys): gets the node's keys from it\n"
    "  --beats INTERFACE  takes the conductor's beats from this interface and answers them; needs --key\n"
    "                     or --conductor-key\n";

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
            give_up(STATUS_WRONG, "cannot read the host's name: %s; give one with --name NAME",
                    strerror(errno));
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
        give_up(STATUS_WRONG, "cannot listen at port %u: %s", port, strerror(errno));
    watch_set(&launchd.loop, &listener, EPOLLIN);
    say_begin("tacet-launchd", say_without_waiting);
    const char *why = cgroup_find();
    say("%s takes jobs at port %u, on %u CPUs%s%s%s", launchd.name, ntohs(here.sin_port), launchd.cpus.count,
        launchd.has_key ? "" : "; without --key any host can run jobs here",
        why ? "; jobs have no control group and are ended by a search of /proc: " : "", why ? why : "");
}

static uint32_t port = LAUNCH_PORT;
static const char *key_path, *name_given, *address_given, *beats_interface, *conductor_key;

static const struct option_row option_rows[] = {
    { "port", 0, OPTION_NUMBER, .value = &port, .max = UINT16_MAX },
    { "key", 0, OPTION_TEXT, .value = &key_path },
    { "conductor-key", 0, OPTION_TEXT, .value = &conductor_key },
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
        options_wrong("unexpected word: %s", words[end]);
    if (key_path && conductor_key)
        give_up(STATUS_WRONG, "--key and --conductor-key: give one of them");
    if (conductor_key && !beats_interface)
        give_up(STATUS_WRONG, "--conductor-key needs the interface to the conductor: --beats INTERFACE");
    if (beats_interface && !key_path && !conductor_key)
        give_up(STATUS_WRONG, "--beats needs the node's keys: --key FILE, or --conductor-key KEY");
    name_set(name_given);
    address_set(address_given);
    if (geteuid() == 0 && !key_path && !conductor_key)
        give_up(STATUS_WRONG, "as root it needs the node's keys, --key FILE: without them any host could run "
                              "programs as root here");
    if (key_path)
        keys_from_file(key_path);
    else if (conductor_key)
        keys_from_conductor(conductor_key);
    strcpy(launchd.id, launchd.name);
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
    fclose(file); /* if this fails, the priorities stay equal */
}

/* Lowers this process's oom_score_adj: if memory runs out, Linux kills a rank, not this process, which has to
 * report it. */
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

    (void)events; /* reads until nothing is left */
    while (read(watch->fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            job_children_ended();
        else if (info.ssi_signo == SIGHUP && key_path)
            keys_reload();
        else
            is_ending = true;
    }
}

static void listener_ready(struct watch *watch, uint32_t events)
{
    (void)events; /* accept says if there is a connection */
    clients_accept(watch->fd);
}

static void turn(void)
{
    job_turn();
    clients_turn();
    keys_turn();
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
        give_up(STATUS_WRONG, "cannot adopt orphans of ranks: it needs /proc, and Linux 3.4 or later");
    if (getrandom(&(char){ 0 }, 1, 0) != 1) /* for nonces; waits for seeds, about a second after boot */
        give_up(STATUS_WRONG, "getrandom: %s", strerror(errno));
    (void)count; /* NULL ends the words */
    prepare(words);
    while (!is_ending)
        turn();
    watch_close(&listener);
    job_fail("the node's tacet-launchd was stopped");
    const uint64_t limit_ns = clock_now_ns() + END_LIMIT_NS;
    while (!job_is_over() && clock_now_ns() < limit_ns) {
        turn_by(limit_ns);
        turn();
    }
    clients_turn(); /* sends the last lines */
    return 0;
}
