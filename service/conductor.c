/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: the program that beats time for a cluster [Betti09 §III]: it broadcasts heartbeats
 * (beat_frame.h) onto an Ethernet interface at multiples of their period, and changes their rate when
 * conductorctl asks for it. One thread, of SCHED_FIFO and in locked memory where the system lets it; a beat's
 * deadline is absolute, so that no beat shifts the next one.
 *
 * A beat whose time has gone by while the machine did something else is left out, and counted: beats never
 * come in a burst. The last beat before a rest of them says so (its period is zero).
 */
#include "beat/beat_frame.h"
#include "service/control.h"
#include "service/key_file.h"
#include "service/timeline.h"
#include "service/wire.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
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

#define NS_PER_S     1000000000ULL
#define PRIORITY     50 /* of SCHED_FIFO */
#define CLIENTS_MAX  8
#define RATE_DEFAULT "10"
#define RATE_MAX_HZ  1000.0
#define RATE_MIN_HZ  (1.0 / 60)

enum { POLL_TIMER, POLL_LISTENER, POLL_CLIENTS, POLL_COUNT = POLL_CLIENTS + CLIENTS_MAX };

static struct conductor {
    const char *interface, *socket_path;
    struct wire wire;
    uint8_t key[SIPHASH_KEY_BYTES];
    struct timeline timeline;
    uint64_t sequence;
    bool is_last; /* the beat that is due tells nodes that none follows */
    struct pollfd polls[POLL_COUNT];
    bool is_fifo, is_locked;
    uint64_t sent, failed, left_out, late_max_ns, late_sum_ns;
    int last_error;
} conductor = { .socket_path = CONTROL_SOCKET };

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

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- Beats ---- */

static void timer_set(void)
{
    struct itimerspec when = { 0 };

    if (conductor.timeline.period_ns) {
        uint64_t ns = timeline_monotonic_ns(&conductor.timeline, conductor.timeline.due_ns);

        when.it_value.tv_sec = (time_t)(ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(ns % NS_PER_S);
    }
    timerfd_settime(conductor.polls[POLL_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void beat_send(void)
{
    struct timeline *timeline = &conductor.timeline;
    uint64_t now = timeline_conductor_ns(timeline, monotonic_ns());
    uint64_t late = now - timeline->due_ns;
    struct beat beat = {
        .epoch = timeline->epoch_ns,
        .sequence = ++conductor.sequence,
        .time_ns = timeline->due_ns,
        .period_ns = conductor.is_last ? 0 : timeline->period_ns,
        .late_ns = late < UINT32_MAX ? (uint32_t)late : UINT32_MAX,
        .tai_utc_s = timeline_tai_utc_s(timeline),
    };
    uint8_t payload[BEAT_BYTES_MAX];
    size_t bytes = beat_encode(&beat, conductor.key, payload, sizeof(payload));

    if (wire_send(&conductor.wire, payload, bytes)) {
        conductor.failed++;
        conductor.last_error = errno;
    } else {
        conductor.sent++;
    }
    conductor.late_sum_ns += late;
    if (late > conductor.late_max_ns)
        conductor.late_max_ns = late;
}

static void beat_due(void)
{
    uint64_t expirations, now;

    if (read(conductor.polls[POLL_TIMER].fd, &expirations, sizeof(expirations)) < 0)
        return; /* the rate has changed meanwhile */
    now = timeline_conductor_ns(&conductor.timeline, monotonic_ns());
    if (!conductor.timeline.period_ns || now < conductor.timeline.due_ns)
        return;
    beat_send();
    conductor.left_out +=
        timeline_advance(&conductor.timeline, timeline_conductor_ns(&conductor.timeline, monotonic_ns()));
    if (conductor.is_last) {
        conductor.is_last = false;
        timeline_period_set(&conductor.timeline, 0, 0);
    }
    timer_set();
}

/* False where the text is no rate. */
static bool rate_set(const char *text)
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
    timeline_period_set(&conductor.timeline, (uint64_t)(1e9 / hz + 0.5),
                        timeline_conductor_ns(&conductor.timeline, monotonic_ns()));
    timer_set();
    return true;
}

/* ---- Requests ---- */

static int status_write(char *answer, size_t bytes)
{
    uint64_t beats = conductor.sent + conductor.failed;
    const struct timeline *timeline = &conductor.timeline;

    return snprintf(answer, bytes,
                    "{\"interface\": \"%s\", \"epoch\": %" PRIu64 ", \"sequence\": %" PRIu64
                    ", \"period_ns\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"failed\": %" PRIu64
                    ", \"left_out\": %" PRIu64 ", \"late_max_ns\": %" PRIu64 ", \"late_mean_ns\": %" PRIu64
                    ", \"realtime\": %s, \"memory_locked\": %s, \"last_error\": \"%s\"}\n",
                    conductor.interface, timeline->epoch_ns, conductor.sequence,
                    conductor.is_last ? 0 : timeline->period_ns, conductor.sent, conductor.failed,
                    conductor.left_out, conductor.late_max_ns, beats ? conductor.late_sum_ns / beats : 0,
                    conductor.is_fifo ? "true" : "false", conductor.is_locked ? "true" : "false",
                    conductor.last_error ? strerror(conductor.last_error) : "");
}

static int request_answer(const char *request, char *answer, size_t bytes)
{
    if (strcmp(request, "status") == 0)
        return status_write(answer, bytes);
    if (strncmp(request, "rate ", 5) == 0 && rate_set(request + 5))
        return status_write(answer, bytes);
    if (strncmp(request, "rate ", 5) == 0)
        return snprintf(answer, bytes, "{\"error\": \"a rate is 0, or from 1/60 to 1000 beats a second\"}\n");
    return snprintf(answer, bytes, "{\"error\": \"there are the requests: status, rate HZ\"}\n");
}

static void client_close(struct pollfd *client)
{
    close(client->fd);
    client->fd = -1;
    conductor.polls[POLL_LISTENER].events = POLLIN;
}

static void client_serve(struct pollfd *client)
{
    char request[CONTROL_REQUEST_BYTES], answer[CONTROL_ANSWER_BYTES];
    ssize_t bytes = recv(client->fd, request, sizeof(request) - 1, MSG_DONTWAIT);

    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        client_close(client);
        return;
    }
    request[bytes] = '\0';
    request[strcspn(request, "\n")] = '\0';
    int length = request_answer(request, answer, sizeof(answer));
    if (send(client->fd, answer, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) != length)
        client_close(client);
}

/* While all places are taken others wait in the socket's queue. */
static void client_accept(void)
{
    struct pollfd *place = NULL;

    for (struct pollfd *client = &conductor.polls[POLL_CLIENTS]; client < conductor.polls + POLL_COUNT;
         client++)
        if (client->fd < 0 && !place)
            place = client;
    if (!place) {
        conductor.polls[POLL_LISTENER].events = 0;
        return;
    }
    place->fd = accept4(conductor.polls[POLL_LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* ---- The program ---- */

static const char usage[] =
    "usage: conductor --interface NAME --key FILE [--rate HZ] [--socket PATH]\n"
    "\n"
    "Broadcasts heartbeats (NETTICK, EtherType 0x88cb) onto an Ethernet interface.\n"
    "  --interface NAME  where: the network that nodes take beats from\n"
    "  --key FILE        32 hexadecimal digits, which the nodes have too\n"
    "  --rate HZ         beats a second, 1/60 to 1000, or 0 for none yet (default: " RATE_DEFAULT ")\n"
    "  --socket PATH     where conductorctl reaches it (default: " CONTROL_SOCKET ")\n";

static void prepare(int count, char **words)
{
    static const struct option options[] = { { "interface", required_argument, NULL, 'i' },
                                             { "key", required_argument, NULL, 'k' },
                                             { "rate", required_argument, NULL, 'r' },
                                             { "socket", required_argument, NULL, 's' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    const char *key = NULL, *rate = RATE_DEFAULT, *what;
    char why[256];
    int option;

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
    if (wire_open(&conductor.wire, conductor.interface, &what))
        give_up("interface %s: %s: %s", conductor.interface, what, strerror(errno));
    conductor.polls[POLL_LISTENER].fd = control_listen(conductor.socket_path);
    if (conductor.polls[POLL_LISTENER].fd < 0)
        give_up("socket %s: %s", conductor.socket_path,
                errno == EADDRINUSE ? "another conductor listens there" : strerror(errno));
    conductor.polls[POLL_TIMER].fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timeline_start(&conductor.timeline);
    if (!rate_set(rate))
        give_up("--rate %s: a rate is 0, or from 1/60 to 1000 beats a second", rate);
}

static void loop(void)
{
    struct pollfd *polls = conductor.polls;

    for (unsigned i = 0; i < POLL_COUNT; i++) {
        polls[i].events = POLLIN;
        if (i >= POLL_CLIENTS)
            polls[i].fd = -1;
    }
    while (!ended) {
        if (poll(polls, POLL_COUNT, -1) < 0)
            continue; /* a signal */
        if (polls[POLL_TIMER].revents)
            beat_due();
        for (unsigned i = POLL_CLIENTS; i < POLL_COUNT; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                client_serve(&polls[i]);
        if (polls[POLL_LISTENER].revents & POLLIN)
            client_accept();
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
