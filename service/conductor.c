/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: the program that beats time for a cluster [Betti09 §III]: it broadcasts heartbeats
 * (beat_frame.h) onto an Ethernet interface at multiples of their period, knows the nodes that answer, and
 * changes the rate or sends commands when conductorctl asks for it. One thread, of SCHED_FIFO and in locked
 * memory where the system lets it; a beat's deadline is absolute, so that no beat shifts the next one.
 *
 * A beat whose time has gone by while the machine did something else is left out, and counted: beats never
 * come in a burst. The last beat before a rest of them says so (its period is zero).
 */
#include "service/conductor.h"
#include "service/control.h"
#include "service/key_file.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PRIORITY         50 /* of SCHED_FIFO */
#define RATE_DEFAULT     "10"
#define RATE_MAX_HZ      1000.0
#define RATE_MIN_HZ      (1.0 / 60)
#define GREETINGS        3 /* beats of an epoch that ask all nodes who they are */
#define ANSWER_EVERY_MAX 1000

struct conductor conductor; /* large: it has no values of its own in the program's file */

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
    (void)number;
    ended = 1;
}

__attribute__((format(printf, 1, 2))) _Noreturn static void give_up(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("conductor: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

void say(const char *format, ...)
{
    struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
    char line[256] = "conductor: ";
    size_t bytes = strlen(line);
    va_list arguments;

    if (poll(&standard_error, 1, 0) != 1 || !(standard_error.revents & POLLOUT))
        return;
    va_start(arguments, format);
    vsnprintf(line + bytes, sizeof(line) - bytes - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    dprintf(STDERR_FILENO, "%s", line);
}

static uint64_t boottime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t conductor_now_ns(void)
{
    return timeline_conductor_ns(&conductor.timeline, boottime_ns());
}

/* ---- Beats ---- */

bool is_beating(void)
{
    return conductor.timeline.period_ns && !conductor.is_last;
}

uint16_t answer_every(uint64_t sequence)
{
    uint64_t beats_a_second;

    if (conductor.answer_every >= 0 && (sequence > GREETINGS || !conductor.answer_every))
        return (uint16_t)conductor.answer_every;
    if (sequence <= GREETINGS || !conductor.timeline.period_ns)
        return 1;
    beats_a_second = (NS_PER_S + conductor.timeline.period_ns / 2) / conductor.timeline.period_ns;
    return beats_a_second ? (uint16_t)beats_a_second : 1;
}

static void timer_set(void)
{
    struct itimerspec when = { 0 };

    if (conductor.timeline.period_ns) {
        uint64_t ns = timeline_boottime_ns(&conductor.timeline, conductor.timeline.due_ns);

        when.it_value.tv_sec = (time_t)(ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(ns % NS_PER_S);
    }
    timerfd_settime(conductor.polls[POLL_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void beat_send(void)
{
    struct timeline *timeline = &conductor.timeline;
    uint64_t late = conductor_now_ns() - timeline->due_ns;
    struct beat beat = {
        .epoch = timeline->epoch_ns,
        .sequence = ++conductor.sequence,
        .time_ns = timeline->due_ns,
        .period_ns = conductor.is_last ? 0 : timeline->period_ns,
        .late_ns = late < UINT32_MAX ? (uint32_t)late : UINT32_MAX,
        .tai_utc_s = timeline_tai_utc_s(timeline),
        .answer_every = answer_every(conductor.sequence),
    };
    uint8_t payload[BEAT_BYTES_MAX];

    welcomes_put(&conductor.welcomes, &conductor.registry, conductor.key,
                 BEAT_COMMANDS_MAX - conductor.commands.carried_count, &beat);
    commands_put(&conductor.commands, &beat);
    size_t bytes = beat_encode(&beat, conductor.key, payload, sizeof(payload));

    if (wire_send(&conductor.wire, payload, bytes)) {
        conductor.failed++;
        conductor.last_error = errno;
    } else {
        conductor.sent++;
        conductor.asked += beat.answer_every && beat.sequence % beat.answer_every == 0;
        commands_sent(&conductor.commands, beat.time_ns);
    }
    conductor.late_sum_ns += late;
    if (late > conductor.late_max_ns)
        conductor.late_max_ns = late;
}

void beat_due(void)
{
    uint64_t expirations, now;

    if (read(conductor.polls[POLL_TIMER].fd, &expirations, sizeof(expirations)) < 0)
        return; /* the rate has changed meanwhile */
    now = conductor_now_ns();
    if (!conductor.timeline.period_ns || now < conductor.timeline.due_ns)
        return;
    beat_send();
    conductor.left_out += timeline_advance(&conductor.timeline, conductor_now_ns());
    if (conductor.is_last) {
        conductor.is_last = false;
        timeline_period_set(&conductor.timeline, 0, 0);
    }
    timer_set();
}

bool rate_set(const char *text)
{
    char *end;
    double hz = strtod(text, &end);

    if (end == text || *end || !(hz == 0 || (hz >= RATE_MIN_HZ && hz <= RATE_MAX_HZ)))
        return false;
    if (hz == 0) {
        conductor.is_last = conductor.timeline.period_ns != 0;
        return true;
    }
    conductor.is_last = false;
    timeline_period_set(&conductor.timeline, (uint64_t)(1e9 / hz + 0.5), conductor_now_ns());
    timer_set();
    return true;
}

/* ---- The program ---- */

static const char usage[] =
    "usage: conductor --interface NAME --key FILE [--rate HZ] [--answer-every N] [--nodes N] [--socket "
    "PATH]\n"
    "\n"
    "Broadcasts heartbeats (NETTICK, EtherType 0x88cb) onto an Ethernet interface.\n"
    "  --interface NAME  where: the network that nodes take beats from\n"
    "  --key FILE        32 hexadecimal digits, which the nodes have too\n"
    "  --rate HZ         beats a second, 1/60 to 1000, or 0 for none yet (default: " RATE_DEFAULT ")\n"
    "  --answer-every N  nodes answer every Nth beat, 1 to 1000, or 0 for none (default: one a second)\n"
    "  --nodes N         so many nodes do each command: also those that have not answered yet are waited "
    "for\n"
    "  --socket PATH     where conductorctl reaches it (default: " CONTROL_SOCKET ")\n";

/* The number of an option, from 0 on. */
static unsigned number_read(const char *option, const char *text, unsigned most, const char *unit)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end || number > most)
        give_up("--%s %s: from 0 to %u %s", option, text, most, unit);
    return (unsigned)number;
}

static void prepare(int count, char **words)
{
    static const struct option options[] = { { "interface", required_argument, NULL, 'i' },
                                             { "key", required_argument, NULL, 'k' },
                                             { "rate", required_argument, NULL, 'r' },
                                             { "answer-every", required_argument, NULL, 'a' },
                                             { "nodes", required_argument, NULL, 'n' },
                                             { "socket", required_argument, NULL, 's' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    const char *key = NULL, *rate = RATE_DEFAULT, *what;
    char why[256];
    int option;

    conductor.socket_path = CONTROL_SOCKET;
    conductor.answer_every = -1;
    while ((option = getopt_long(count, words, "", options, NULL)) != -1) {
        switch (option) {
        case 'i':
            conductor.interface = optarg;
            break;
        case 'k':
            key = optarg;
            break;
        case 'r':
            rate = optarg;
            break;
        case 'a':
            conductor.answer_every = (int)number_read("answer-every", optarg, ANSWER_EVERY_MAX, "beats");
            break;
        case 'n':
            conductor.nodes_expected = number_read("nodes", optarg, REGISTRY_NODES_MAX, "nodes");
            break;
        case 's':
            conductor.socket_path = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            exit(2); /* getopt_long has said why */
        }
    }
    if (!conductor.interface || !key || optind < count)
        give_up("it takes --interface NAME and --key FILE (conductor --help)");
    if (key_file_read(key, conductor.key, why, sizeof(why)))
        give_up("the key %s: %s", key, why);
    if (wire_open(&conductor.wire, conductor.interface, &what) ||
        (what = "answers", wire_listen(&conductor.wire)))
        give_up("interface %s: %s: %s", conductor.interface, what, strerror(errno));
    conductor.polls[POLL_LISTENER].fd = control_listen(conductor.socket_path);
    if (conductor.polls[POLL_LISTENER].fd < 0)
        give_up("socket %s: %s", conductor.socket_path,
                errno == EADDRINUSE ? "another conductor listens there" : strerror(errno));
    conductor.polls[POLL_WIRE].fd = conductor.wire.socket;
    conductor.polls[POLL_TIMER].fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    timeline_start(&conductor.timeline);
    jobs_start();
    if (!rate_set(rate))
        give_up("--rate %s: a rate is 0, or from 1/60 to 1000 beats a second", rate);
}

/* Beats first: whatever else is done, one that is due meanwhile waits for a single request, or for
 * ANSWERS_PER_LOOP answers. */
static void loop(void)
{
    struct pollfd *polls = conductor.polls;

    clients_start();
    for (unsigned i = 0; i < POLL_CLIENTS; i++)
        polls[i].events = POLLIN;
    while (!ended) {
        if (poll(polls, POLL_COUNT, orders_timeout_ms()) < 0)
            continue; /* a signal */
        beat_due();
        if (polls[POLL_WIRE].revents)
            answers_take();
        for (unsigned i = POLL_CLIENTS; i < POLL_COUNT; i++)
            if (polls[i].fd >= 0 && polls[i].revents) {
                beat_due();
                client_serve(i);
            }
        if (polls[POLL_LISTENER].revents & POLLIN)
            client_accept();
        orders_settle();
    }
}

int main(int count, char **words)
{
    const struct sched_param priority = { .sched_priority = PRIORITY };
    struct sigaction action = { .sa_handler = on_signal };

    prepare(count, words);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    conductor.is_fifo = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    conductor.is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    printf("conductor: beats on %s%s%s; conductorctl --socket %s\n", conductor.interface,
           conductor.is_fifo ? "" : "; without real-time priority: they may be late",
           conductor.is_locked ? "" : "; its memory is not locked", conductor.socket_path);
    fflush(stdout);
    loop();
    if (conductor.timeline.period_ns) { /* nodes need not wait for what does not come */
        conductor.is_last = true;
        beat_send();
    }
    unlink(conductor.socket_path);
    return 0;
}
