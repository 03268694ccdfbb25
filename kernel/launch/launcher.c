/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launcher.c: see launcher.h. Owns the listener and the connection of the present job.
 *
 * Lines go into a ring that has room for the ends of all ranks of a node, so that ranks do not wait for
 * tacetrun. While a job runs, one CPU at a time handles what tacetrun sends; the others only count that there
 * is more (`events`).
 */
#include "launch/launcher.h"
#include "arch.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "fs/file.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/version.h"
#include "mm/page.h"
#include "net/address.h"
#include "net/inet.h"
#include "net/network.h"
#include "net/stream.h"
#include "process/process.h"
#include "process/schedule.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timer.h"

#define ROOM_BYTES   (64 * 1024U)    /* room of a connection in either direction */
#define REQUEST_NS   (5 * NS_PER_S)  /* time limit for a request, once the node has greeted */
#define PROGRAM_NS   (30 * NS_PER_S) /* time limit for each part of a program */
#define PROGRAM_PART (1024 * 1024U)
#define STREAM_NS    (10 * NS_PER_S) /* time limit for a rank's connection to tacetrun */
#define LINE_NS      NS_PER_S        /* time limit for a line, if tacetrun reads none */
#define PART_NS      (5 * NS_PER_S)  /* time limit for tacetrun to end a connection that the node has ended */
#define KILL_TEXT    "kill"

static bool is_on;
static uint16_t port = LAUNCH_PORT;
static uint64_t memory_mib;

static struct launcher_memory {
    struct launch_request request;
    char bytes[LAUNCH_REQUEST_BYTES];
} * memory;

_Static_assert(sizeof(struct launcher_memory) <= LAUNCHER_BYTES, "it has that much");

static struct stream *listener, *connection; /* NULL: there is no request */
static uint32_t tacetrun_address;

void (*launcher_kill_hook)(void);

static uint32_t events; /* events that are not handled yet */
static bool is_alone;
static char heard[LAUNCH_LINE_BYTES]; /* what has come of a line that has not ended */
static unsigned heard_bytes;

int launcher_configure(const struct command_line *line, struct message *why)
{
    static const char *const of_programs[] = { "app",     "argv0",          "prefix",     "ranks",
                                               "service", "service_memory", "stdin_bytes" };
    const char *text = command_line_option(line, "launch");
    uint64_t number = LAUNCH_PORT;

    is_on = text != NULL;
    if (!is_on)
        return 0;
    if (*text && option_value(OPTION_NUMBER, "launch", text, 1, UINT16_MAX, &number, why))
        return -EINVAL;
    for (unsigned i = 0; i < sizeof(of_programs) / sizeof(of_programs[0]); i++)
        if (command_line_option(line, of_programs[i]))
            return message_set(why, -EINVAL, "%s= says what the node runs; with launch, tacetrun says that",
                               of_programs[i]);
    if (line->argument_count)
        return message_set(why, -EINVAL, "no arguments after -- with launch: they come from tacetrun");
    port = (uint16_t)number;
    return 0;
}

bool launcher_is_on(void)
{
    return is_on;
}

int launcher_start(void *given, uint64_t mib, struct message *why)
{
    memory = given;
    memory_mib = mib;
    if (!network_has_device())
        return message_set(why, -ENODEV, "launch: jobs need a network card, and this node has none");
    int error = stream_listen_kernel(&listener, port, ROOM_BYTES);
    if (error)
        return message_set(why, error, "launch: cannot listen at port %u", port);
    kernel_print("launch: the node waits for jobs at port %u\n", port);
    return 0;
}

/* ---- Lines ---- */

__attribute__((format(printf, 2, 3))) static void say(struct stream *to, const char *format, ...)
{
    const uint64_t deadline_ns = clock_now_ns() + LINE_NS;
    char line[LAUNCH_LINE_BYTES];
    va_list arguments;
    size_t done = 0;
    int64_t put;

    va_start(arguments, format);
    size_t bytes = format_va(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    bytes = smaller(bytes, sizeof(line) - 2);
    line[bytes++] = '\n';
    do {
        put = stream_write(to, line + done, bytes - done, 0);
        done += put > 0 ? (size_t)put : 0;
        if (put == -EAGAIN) /* another CPU is writing a line, or the ring is full */
            crosscall_serve();
    } while (done < bytes && (put > 0 || (put == -EAGAIN && clock_now_ns() < deadline_ns)));
}

static void greet(struct stream *who, uint64_t nonce, bool is_busy)
{
    say(who, "tacet-launch %u %016lx %s cpus=%u memory_mib=%lu state=%s name=%s system=Tacet-%s",
        LAUNCH_VERSION, nonce, nettick_key() ? "ticket" : "open", arch_cpu_count(), memory_mib,
        is_busy ? "busy" : "idle", node_facts.name[0] ? node_facts.name : "-", TACET_VERSION);
}

/* ---- Between jobs ---- */

static void wait_expire(struct smart_timer *timer, uint64_t now_ns)
{
    (void)timer; /* its interrupt has ended timer_idle: that is all it is for */
    (void)now_ns;
}

void launcher_rest(uint64_t deadline_ns)
{
    static struct smart_timer timer = { .expire = wait_expire };

    if (network_poll())
        return;
    if (deadline_ns != WAIT_FOREVER)
        timer_start(&timer, deadline_ns, latency_bound_default_ns);
    timer_idle();
    timer_cancel(&timer);
}

void launcher_rests(bool begins)
{
    schedule_idle_hook(begins);
}

/* Reads bytes up to `end` inclusive, or `count` bytes if `end` is negative. Returns their number or an error:
 * -EAGAIN if time is up, -ECONNRESET if the connection has ended. */
static int64_t take(char *to, uint64_t count, int end, uint64_t within_ns)
{
    uint64_t got = 0, deadline_ns = clock_now_ns() + within_ns;

    while (got < count && !(end >= 0 && got && to[got - 1] == end)) {
        int64_t part = stream_read(connection, to + got, end < 0 ? count - got : 1, 0);

        if (part == -EAGAIN && clock_now_ns() < deadline_ns) {
            launcher_rest(deadline_ns);
            continue;
        }
        if (part <= 0)
            return part ? part : -ECONNRESET;
        got += (uint64_t)part;
    }
    return (int64_t)got;
}

static void connection_end(bool abort)
{
    stream_end(connection, abort);
    connection = NULL;
}

/* Ends the connection after the last line. Takes what tacetrun still sends: a closed connection would answer
 * that with a reset, which would overtake the last line. */
static void connection_part(void)
{
    const uint64_t deadline_ns = clock_now_ns() + PART_NS;
    char rest[256];
    int64_t got = 1;

    (void)stream_shutdown(connection, false, true); /* fails only if the connection has ended */
    while ((got > 0 || got == -EAGAIN) && clock_now_ns() < deadline_ns) {
        got = stream_read(connection, rest, sizeof(rest), 0);
        if (got == -EAGAIN)
            launcher_rest(deadline_ns);
    }
    connection_end(false);
}

void launcher_refuse(const char *why)
{
    kernel_print("launch: refused: %s\n", why);
    say(connection, "refused %s", why);
    connection_part();
}

static void connection_await(void)
{
    while (!(connection = stream_accept(listener)))
        launcher_rest(WAIT_FOREVER);
    tacetrun_address = stream_peer_address(connection);
}

/* Reads the request. Returns 0, or an error with `why`. */
static int request_take(uint64_t nonce, struct message *why)
{
    char line[LAUNCH_LINE_BYTES];
    bool has_ticket;
    uint64_t ticket;
    size_t bytes;
    int64_t got = take(line, sizeof(line), '\n', REQUEST_NS);

    if (got <= 0)
        return message_set(why, got == -EAGAIN ? -ETIMEDOUT : -ECONNRESET, "no request has come");
    if (line[got - 1] != '\n')
        return message_set(why, -EINVAL, "a line of more than %u characters", LAUNCH_LINE_BYTES - 1);
    line[got - 1] = '\0';
    int error = launch_line_read(line, &bytes, &has_ticket, &ticket, why);
    if (error)
        return error;
    if (nettick_key() && (!has_ticket || ticket != launch_ticket(nettick_key(), nonce)))
        return message_set(why, -EACCES, "the ticket is not that of the conductor's key");
    stream_trust(connection);
    got = take(memory->bytes, bytes, -1, REQUEST_NS);
    if (got < 0)
        return message_set(why, got == -EAGAIN ? -ETIMEDOUT : -ECONNRESET,
                           "the request's %lu bytes have not come", bytes);
    return launch_request_read(memory->bytes, bytes, &memory->request, why);
}

const struct launch_request *launcher_wait(void)
{
    struct message why;

    for (;;) {
        connection_await();
        uint64_t nonce = arch_random();
        greet(connection, nonce, false);
        int error = request_take(nonce, &why);
        if (!error)
            return &memory->request;
        if (error == -ECONNRESET) /* a client that has only read the greeting */
            connection_end(true);
        else
            launcher_refuse(why.text);
    }
}

int launcher_receive(void *to, uint64_t bytes)
{
    char *at = to;

    for (uint64_t part; bytes; bytes -= part, at += part) {
        part = smaller(bytes, PROGRAM_PART);
        if (take(at, part, -1, PROGRAM_NS) != (int64_t)part)
            return -EIO;
    }
    return 0;
}

/* ---- While a job runs ---- */

/* Handles what tacetrun has sent, and the end of its connection. */
static void connection_serve(void)
{
    int64_t got;

    while (!is_alone && (got = stream_read(connection, heard + heard_bytes, 1, 0)) != -EAGAIN) {
        const bool is_whole = got > 0 && heard[heard_bytes] == '\n';

        heard_bytes += got > 0 && !is_whole;
        if (got > 0 && !is_whole && heard_bytes < sizeof(heard))
            continue;
        const bool is_kill =
            is_whole && heard_bytes == strlen(KILL_TEXT) && memcmp(heard, KILL_TEXT, heard_bytes) == 0;
        if (!is_kill) {
            if (got > 0)
                kernel_print("launch: tacetrun may only say " KILL_TEXT " now; the job is ended\n");
            is_alone = true;
        }
        heard_bytes = 0;
        launcher_kill_hook();
    }
}

static void visitors_serve(void)
{
    struct stream *visitor;

    while ((visitor = stream_accept(listener))) {
        greet(visitor, 0, true);
        stream_end(visitor, false);
    }
}

static void changed(void)
{
    uint32_t seen = __atomic_add_fetch(&events, 1, __ATOMIC_ACQ_REL);

    if (seen != 1)
        return; /* the CPU in the loop below repeats it */
    do {
        connection_serve();
        visitors_serve();
    } while ((seen = __atomic_sub_fetch(&events, seen, __ATOMIC_ACQ_REL)));
}

void launcher_begin(void)
{
    stream_watch_hook = changed;
    is_alone = false;
    heard_bytes = 0;
    say(connection, "started");
    stream_watch(connection, true);
    stream_watch(listener, true);
    changed(); /* for what has come before */
}

/* A rank's streams, in the order of their descriptors, from 1 on. */
static const char *const stream_kinds[] = { "out", "err", "pmi" };

#define STREAMS (sizeof(stream_kinds) / sizeof(stream_kinds[0]))

static int streams_begin(struct process *process, struct stream *streams[STREAMS], struct message *why)
{
    for (unsigned i = 0; i < STREAMS; i++) {
        int error = stream_open_begin(process, &streams[i], tacetrun_address, memory->request.port);

        if (!error)
            continue;
        while (i-- > 0)
            stream_end(streams[i], true);
        return message_set(why, error, "cannot connect its streams to tacetrun (error %d)", -error);
    }
    return 0;
}

/* Says on each stream, as soon as it is connected, what it is for. */
static int streams_say(struct stream *const streams[STREAMS], unsigned rank, struct message *why)
{
    const uint64_t deadline_ns = clock_now_ns() + STREAM_NS;
    char line[64];

    for (unsigned i = 0, said = 0; said != (1U << STREAMS) - 1; i = (i + 1) % STREAMS) {
        if (said & 1U << i)
            continue;
        const size_t bytes = format_text(line, sizeof(line), "stream %016lx %u %s\n", memory->request.secret,
                                         rank, stream_kinds[i]);
        int64_t put = stream_write(streams[i], line, bytes, 0);
        if (put == (int64_t)bytes)
            said |= 1U << i;
        else if (put == -EAGAIN && clock_now_ns() < deadline_ns)
            (void)stream_wait(streams[i], true, clock_now_ns()); /* serves the network once */
        else
            return message_set(why, -EIO, "its connection for %s to tacetrun's port %u has failed (error %d)",
                               stream_kinds[i], memory->request.port, put == -EAGAIN ? ETIMEDOUT : (int)-put);
    }
    return 0;
}

/* Makes a stream the rank's descriptor. Ends it if there is no memory. */
static int stream_give(struct process *process, struct stream *stream, unsigned descriptor, bool is_input,
                       struct message *why)
{
    struct file *file = file_allocate(process);

    if (!file) {
        stream_end(stream, true);
        return message_set(why, -ENOMEM, "no memory for its streams");
    }
    inet_stream_adopt(file, process, stream);
    if (is_input)
        file_install_at(process, file, 0, false);
    file_install_at(process, file, descriptor, false);
    file_put(file);
    return 0;
}

int launcher_streams_open(struct process *process, unsigned local, struct message *why)
{
    const unsigned rank = memory->request.first + local;
    const bool has_input = rank == memory->request.stdin_rank;
    struct stream *streams[STREAMS];
    unsigned given = 0;
    int error = streams_begin(process, streams, why);

    if (error)
        return error;
    error = streams_say(streams, rank, why);
    if (!has_input)
        file_open_null(process);
    for (; !error && given < STREAMS; given++)
        error = stream_give(process, streams[given], given + 1, has_input && given == 0, why);
    while (error && given < STREAMS)
        stream_end(streams[given++], true);
    return error;
}

void launcher_rank_ended(unsigned local, unsigned status)
{
    say(connection, "rank %u %u", memory->request.first + local, status);
}

void launcher_rank_failed(unsigned local, const char *why)
{
    kernel_print("launch: rank %u: %s\n", memory->request.first + local, why);
    say(connection, "refused rank %u: %s", memory->request.first + local, why);
}

/* ---- The end of a job ---- */

bool launcher_is_alone(void)
{
    return __atomic_load_n(&is_alone, __ATOMIC_RELAXED);
}

void launcher_watch_end(void)
{
    stream_watch(connection, false);
    stream_watch(listener, false);
    while (__atomic_load_n(&events, __ATOMIC_ACQUIRE)) /* another CPU still handles them */
        crosscall_serve();
}

void launcher_end(unsigned status)
{
    say(connection, "end %u", status);
    connection_part();
}
