/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: the program that beats time for a cluster [Betti09 §III]: it broadcasts heartbeats (beats.c)
 * onto an Ethernet interface at multiples of their period, knows the nodes that answer, and changes the rate
 * or sends commands when conductorctl asks for it. It is one thread, with SCHED_FIFO and locked memory if the
 * system allows them. A beat's deadline is absolute, so that a late beat does not shift the next one.
 */
#include "service/conductor/access.h"
#include "service/conductor/admissions.h"
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/control.h"
#include "service/lib/key_file.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PRIORITY         50 /* priority under SCHED_FIFO */
#define RATE_DEFAULT     "10"
#define ANSWER_EVERY_MAX 1000

struct conductor conductor; /* large: zeros, so that the program's file need not hold it */

static volatile sig_atomic_t ended, reload_is_due;

static void on_signal(int number)
{
    if (number == SIGHUP)
        reload_is_due = 1;
    else
        ended = 1;
}

uint64_t conductor_now_ns(void)
{
    return timeline_conductor_ns(&conductor.timeline, clock_read_ns(CLOCK_BOOTTIME));
}

/* ---- The timer of beats ---- */

void beat_timer_set(void)
{
    struct itimerspec when = { 0 };

    if (conductor.timeline.period_ns) {
        uint64_t ns = timeline_boottime_ns(&conductor.timeline, conductor.timeline.due_ns);

        when.it_value.tv_sec = (time_t)(ns / SECOND_NS);
        when.it_value.tv_nsec = (long)(ns % SECOND_NS);
    }
    timerfd_settime(conductor.polls[POLL_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void timer_look(void)
{
    uint64_t expirations;

    if (read(conductor.polls[POLL_TIMER].fd, &expirations, sizeof(expirations)) >= 0)
        beat_due(); /* if read fails, the rate has changed since */
}

/* ---- The program ---- */

static const char usage[] =
    "usage: conductor --interface NAME --key FILE [--rate HZ] [--answer-every N] [--nodes N]\n"
    "                 [--state FOLDER] [--socket PATH] [--group GROUP] [--operators GROUP]\n"
    "                 [--identity FILE [--trust-first]]\n"
    "\n"
    "Broadcasts heartbeats (NETTICK, EtherType 0x88cb) onto an Ethernet interface.\n"
    "  --interface NAME  sends beats to this interface, on the network of the nodes\n"
    "  --key FILE        a file of 32 hexadecimal digits, of which nodes' keys are made\n"
    "  --identity FILE   a file of 64 hexadecimal digits, the secret of the conductor's public key: nodes\n"
    "                    get their keys from it (conductorctl keys)\n"
    "  --trust-first     admits nodes that ask for keys from an Ethernet address that is not in use\n"
    "  --rate HZ         beats a second, 1/60 to 1000, or 0 for none yet (default: " RATE_DEFAULT ")\n"
    "  --answer-every N  nodes answer every Nth beat, 1 to 1000, or 0 for none (default: one a second)\n"
    "  --nodes N         number of nodes: a command waits for N nodes, even if fewer have answered yet\n"
    "  --state FOLDER    keeps what outlives a restart there: the last epoch, the jobs that run,\n"
    "                    and the nodes that may have keys\n"
    "                    (default: $STATE_DIRECTORY; without it, nothing is kept)\n"
    "  --socket PATH     the Unix socket for conductorctl (default: " CONTROL_SOCKET ")\n"
    "  --group GROUP     whose members may run jobs (default: only root)\n"
    "  --operators GROUP whose members may command all nodes and jobs (default: only root)\n";

static const char *identity_path, *group_name, *operators_name, *rate_text = RATE_DEFAULT;
static uint32_t answer_every_given = UINT32_MAX;
static bool trusts_first;

static const struct option_row option_rows[] = {
    { "interface", 0, OPTION_TEXT, .value = &conductor.interface },
    { "key", 0, OPTION_TEXT, .value = &conductor.key_path },
    { "identity", 0, OPTION_TEXT, .value = &identity_path },
    { "trust-first", 0, OPTION_FLAG, .value = &trusts_first },
    { "rate", 0, OPTION_TEXT, .value = &rate_text },
    { "answer-every", 0, OPTION_NUMBER, .value = &answer_every_given, .max = ANSWER_EVERY_MAX },
    { "nodes", 0, OPTION_NUMBER, .value = &conductor.nodes_expected, .max = REGISTRY_NODES_MAX },
    { "state", 0, OPTION_TEXT, .value = &conductor.state_folder },
    { "socket", 0, OPTION_TEXT, .value = &conductor.socket_path },
    { "group", 0, OPTION_TEXT, .value = &group_name },
    { "operators", 0, OPTION_TEXT, .value = &operators_name },
    { 0 },
};
static const struct options options = { .rows = option_rows, .usage = usage, .failed = 1 };

static void identity_read(void)
{
    uint8_t secret[IDENTITY_BYTES];
    const char *why = identity_path ? key_file_load_identity(identity_path, secret) : NULL;

    if (why)
        give_up(STATUS_WRONG, "the identity %s: %s", identity_path, why);
    if (trusts_first && !identity_path)
        options_wrong("--trust-first needs --identity FILE");
    keys_start(identity_path ? secret : NULL, trusts_first);
    wipe(secret, sizeof(secret));
}

static void prepare(char **words)
{
    const char *what;

    conductor.socket_path = CONTROL_SOCKET;
    conductor.state_folder = getenv("STATE_DIRECTORY"); /* of systemd */
    const int end = options_read(&options, words, 1);
    if (!conductor.interface || !conductor.key_path || words[end])
        options_wrong("it takes --interface NAME and --key FILE");
    conductor.answer_every = answer_every_given == UINT32_MAX ? -1 : (int)answer_every_given;
    key_file_read(conductor.key_path, conductor.master, STATUS_WRONG);
    beats_key_make(conductor.key, conductor.master);
    identity_read();
    access_operators_set(operators_name);
    if (group_name && !*group_name) /* a setting that is left out */
        group_name = NULL;
    const gid_t group = group_name ? access_group("group", group_name) : 0;
    if (wire_open(&conductor.wire, conductor.interface, &what))
        give_up(STATUS_WRONG, "interface %s: %s: %s", conductor.interface, what, strerror(errno));
    conductor.polls[POLL_LISTENER].fd = control_listen(conductor.socket_path);
    if (conductor.polls[POLL_LISTENER].fd < 0)
        give_up(STATUS_WRONG, "socket %s: %s", conductor.socket_path, control_listen_error());
    if (group_name && control_share(conductor.socket_path, group))
        give_up(STATUS_WRONG, "--group %s: socket %s: %s", group_name, conductor.socket_path,
                strerror(errno));
    conductor.polls[POLL_WIRE].fd = conductor.wire.socket;
    conductor.polls[POLL_TIMER].fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    timeline_start(&conductor.timeline);
    jobs_start();
    epoch_start();
    leases_start();
    admissions_start();
    conductor.polls[POLL_CLIENTS].fd = clients_start();
    if (conductor.polls[POLL_CLIENTS].fd < 0)
        give_up(STATUS_WRONG, "epoll: %s", strerror(errno));
    if (!rate_set(rate_text))
        give_up(STATUS_WRONG, "--rate %s: a rate is 0, or from 1/60 to 1000 beats a second", rate_text);
}

/* Returns how long poll may wait, ms; -1: without a limit. */
static int timeout_ms(void)
{
    const int all[] = { orders_timeout_ms(), pages_timeout_ms(), leases_timeout_ms(),
                        admissions_timeout_ms() };
    int first = -1;

    if (keys_are_due())
        return 0;
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] >= 0 && (first < 0 || all[i] < first))
            first = all[i];
    return first;
}

/* Serves until a signal comes. Beats come first: a due beat waits at most for one request, or for
 * ANSWERS_PER_LOOP frames. */
static void loop(void)
{
    struct pollfd *polls = conductor.polls;

    for (unsigned i = 0; i < POLL_COUNT; i++)
        polls[i].events = POLLIN;
    while (!ended) {
        if (poll(polls, POLL_COUNT, timeout_ms()) < 0)
            continue; /* a signal */
        timer_look();
        if (polls[POLL_WIRE].revents)
            answers_take();
        if (polls[POLL_CLIENTS].revents)
            clients_serve();
        if (polls[POLL_LISTENER].revents & POLLIN)
            client_accept();
        if (reload_is_due) {
            reload_is_due = 0;
            orders_rotate();
        }
        orders_settle();
        pages_settle();
        keys_settle();
        leases_settle();
        admissions_settle();
    }
}

int main(int count, char **words)
{
    const struct sched_param priority = { .sched_priority = PRIORITY };
    struct sigaction action = { .sa_handler = on_signal };

    say_begin("conductor", NULL);
    (void)count; /* NULL ends the words */
    prepare(words);
    say_begin("conductor", say_without_waiting);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    conductor.is_fifo = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    conductor.is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    printf("conductor: beats on %s%s%s; conductorctl --socket %s\n", conductor.interface,
           conductor.is_fifo ? "" : "; no right to real-time priority, so beats may be late",
           conductor.is_locked ? "" : "; its memory cannot be locked, so beats may be late",
           conductor.socket_path);
    fflush(stdout);
    loop();
    beats_end();
    admissions_end();
    control_end(conductor.socket_path);
    return 0;
}
