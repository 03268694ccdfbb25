/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launcher.c: see launcher.h. Owns the listener, its visitors, and the connection of the present job.
 *
 * Lines go into a ring that has room for the ends of all ranks of a node, so that ranks do not wait for
 * tacetrun. One CPU at a time handles what comes (`changed`, the stream_watch_hook); the others only count
 * that there is more (`events`).
 *
 *      accepted ──► greeted ── a valid line ──► the job's connection ── its last line ──► parting ──► ended
 *         │            └── a wrong line, no line, or another visitor has the node ───────────┘
 *         └── while the node has a job: greeted as busy, and ended
 */
#include "launch/launcher.h"
#include "arch.h"
#include "beat/node_keys.h"
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
#define REQUEST_NS   (5 * NS_PER_S)  /* time limit for the launch line, and for the request */
#define PROGRAM_NS   (30 * NS_PER_S) /* time limit for each part of a program */
#define PROGRAM_PART (1024 * 1024U)
#define STREAM_NS    (10 * NS_PER_S) /* time limit for a rank's connection to tacetrun */
#define LINE_NS      NS_PER_S        /* time limit for a line, if tacetrun reads none */
#define PART_NS      (5 * NS_PER_S)  /* time limit for tacetrun to end a connection that the node has ended */
#define PLACES       (2 * STREAM_VISITORS_MAX)
#define KILL_TEXT    "kill"

static bool is_on;
static uint16_t port = LAUNCH_PORT;
static uint64_t memory_mib;
static char node_id[NETWORK_NODE_ID_BYTES];

static struct launcher_memory {
    struct launch_request request;
    struct launch_line line;       /* of the connection that has the node */
    char text[LAUNCH_TICKET_LINE]; /* what a visitor has sent */
    char bytes[LAUNCH_REQUEST_BYTES];
} * memory;

_Static_assert(sizeof(struct launcher_memory) <= LAUNCHER_BYTES, "it has that much");

static struct stream *listener, *connection; /* NULL: the node is idle */
static uint32_t tacetrun_address;

/* Connections that do not have the node. */
static struct visitor {
    struct stream *stream; /* NULL: a free place */
    uint64_t nonce, deadline_ns;
    bool is_parting; /* the node has ended its direction; what comes is dropped */
} visitors[PLACES];
static uint64_t visitors_deadline_ns; /* the earliest deadline */

void (*launcher_kill_hook)(void);

static uint32_t events; /* events that are not handled yet */
static bool is_running; /* between launcher_begin and launcher_watch_end */
static bool is_over;    /* the connection has had its last line */
static bool is_alone;
static char heard[LAUNCH_LINE_BYTES]; /* what has come of a line that has not ended */
static unsigned heard_bytes;

static void changed(void);

int launcher_configure(const struct command_line *line, struct message *why)
{
    static const char *const of_programs[] = { "app",     "argv0",          "prefix",     "ranks",
                                               "service", "service_memory", "stdin_bytes" };
    const char *text = command_line_option(line, "launch"), *digits = command_line_option(line, "ticket_key");
    uint64_t number = LAUNCH_PORT;

    is_on = text != NULL;
    if (!is_on)
        return 0;
    if (!digits && command_line_option(line, "nettick_key"))
        return message_set(why, -EINVAL,
                           "launch with nettick_key= needs ticket_key=, too (conductorctl key)");
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
    network_node_id(node_id);
    stream_watch_hook = changed;
    stream_watch(listener, true);
    kernel_print("launch: the node waits for jobs at port %u\n", port);
    return 0;
}

/* ---- Lines ---- */

/* Sends a line. Waits for room only on the job's connection. */
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
    } while (done < bytes &&
             (put > 0 || (put == -EAGAIN && to == connection && clock_now_ns() < deadline_ns)));
}

static void greet(struct stream *who, uint64_t nonce)
{
    char state[40] = "idle";

    if (connection)
        format_text(state, sizeof(state), "busy job=%u uid=%u", memory->line.job, memory->line.user.uid);
    say(who, "tacet-launch %u %016lx %s cpus=%u memory_mib=%lu state=%s name=%s id=%s system=Tacet-%s",
        LAUNCH_VERSION, nonce, node_keys_state.has_ticket ? "ticket" : "open", arch_cpu_count(), memory_mib,
        state, node_facts.name[0] ? node_facts.name : "-", node_id, TACET_VERSION);
}

/* ---- Visitors; called by `changed` ---- */

static void visitor_end(struct visitor *visitor, bool abort)
{
    stream_end(visitor->stream, abort);
    visitor->stream = NULL;
}

/* Ends the node's direction after the last line. What the visitor still sends is dropped for PART_NS: a
 * closed connection would answer that with a reset, which would overtake the last line. */
static void visitor_part(struct visitor *visitor)
{
    (void)stream_shutdown(visitor->stream, false, true); /* fails only if the connection has ended */
    visitor->is_parting = true;
    visitor->deadline_ns = clock_now_ns() + PART_NS;
}

static void visitor_refuse(struct visitor *visitor, const char *why)
{
    say(visitor->stream, "refused %s", why);
    visitor_part(visitor);
}

static int ticket_check(const struct launch_line *line, uint64_t nonce, struct message *why)
{
    const uint64_t now_s = clock_wall_ns(NULL) / NS_PER_S;
    const struct node_secrets *keys = node_keys_open();
    int error = launch_ticket_check(line, node_keys_state.has_ticket ? keys->now.ticket : NULL, nonce,
                                    node_id, now_s, why);

    if (error && node_keys_state.has_next)
        error = launch_ticket_check(line, keys->next.ticket, nonce, node_id, now_s, why);
    node_keys_close();
    return error;
}

/* Makes a visitor the one that has the node if its line, of `length` bytes, is valid. */
static void visitor_take(struct visitor *visitor, char *line, uint64_t length)
{
    struct message why;

    line[length - 1] = '\0';
    int error = launch_line_read(line, &memory->line, &why);
    if (!error)
        error = ticket_check(&memory->line, visitor->nonce, &why);
    if (error) {
        kernel_print("launch: refused: %s\n", why.text);
        visitor_refuse(visitor, why.text);
        return;
    }
    stream_read(visitor->stream, line, length, 0);
    stream_trust(visitor->stream);
    tacetrun_address = stream_peer_address(visitor->stream);
    stream_watch(visitor->stream, false); /* while its request and program come */
    connection = visitor->stream;
    visitor->stream = NULL;
}

static void visitor_serve(struct visitor *visitor, uint64_t now_ns)
{
    char *line = memory->text;
    const int64_t got = visitor->is_parting ? stream_read(visitor->stream, line, LAUNCH_TICKET_LINE, 0)
                                            : stream_peek(visitor->stream, line, LAUNCH_TICKET_LINE);
    int64_t length = 0;

    while (length < got && (!length || line[length - 1] != '\n'))
        length++;
    if (got <= 0 && got != -EAGAIN)
        visitor_end(visitor, !visitor->is_parting);
    else if (visitor->is_parting && now_ns >= visitor->deadline_ns)
        visitor_end(visitor, false);
    else if (visitor->is_parting)
        return;
    else if (connection)
        visitor_refuse(visitor, "busy: another job has begun here");
    else if (length && line[length - 1] == '\n')
        visitor_take(visitor, line, (uint64_t)length);
    else if (length == LAUNCH_TICKET_LINE)
        visitor_refuse(visitor, "the line is too long");
    else if (now_ns >= visitor->deadline_ns)
        visitor_refuse(visitor, "no request has come");
}

/* Accepts and greets a visitor. Returns false if none has come. */
static bool visitor_accept(struct visitor *visitor)
{
    visitor->stream = stream_accept(listener);
    if (!visitor->stream)
        return false;
    visitor->nonce = arch_random();
    visitor->is_parting = false;
    visitor->deadline_ns = clock_now_ns() + REQUEST_NS;
    stream_watch(visitor->stream, true);
    greet(visitor->stream, visitor->nonce);
    if (connection)
        visitor_end(visitor, false);
    return true;
}

/* Makes a visitor of the connection whose job is over; ends it if there is no place. */
static void connection_leave(void)
{
    struct visitor *visitor = visitors;

    while (visitor < visitors + PLACES - 1 && visitor->stream)
        visitor++;
    if (visitor->stream)
        visitor_end(visitor, false);
    visitor->stream = connection;
    stream_watch(connection, true);
    visitor_part(visitor);
    connection = NULL;
    is_over = false;
}

static void visitors_serve(void)
{
    bool more = true;

    visitors_deadline_ns = WAIT_FOREVER;
    if (is_over)
        connection_leave();
    for (struct visitor *visitor = visitors; visitor < visitors + PLACES; visitor++) {
        if (!visitor->stream && more)
            more = visitor_accept(visitor);
        if (visitor->stream)
            visitor_serve(visitor, clock_now_ns());
        if (visitor->stream)
            visitors_deadline_ns = smaller(visitors_deadline_ns, visitor->deadline_ns);
    }
}

/* Serves all connections on this CPU, or waits until another CPU has done so. */
static void serve(void)
{
    changed();
    while (__atomic_load_n(&events, __ATOMIC_ACQUIRE))
        crosscall_serve();
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
    if (schedule_idle_hook)
        schedule_idle_hook(begins);
}

/* Reads `count` bytes. Returns their number or an error: -EAGAIN if time is up, -ECONNRESET if the connection
 * has ended. */
static int64_t take(char *to, uint64_t count, uint64_t within_ns)
{
    uint64_t got = 0, deadline_ns = clock_now_ns() + within_ns;

    while (got < count) {
        int64_t part = stream_read(connection, to + got, count - got, 0);

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

/* Leaves the connection, after its last line, to visitors_serve. */
static void connection_part(void)
{
    is_over = true;
    serve();
}

void launcher_refuse(const char *why)
{
    kernel_print("launch: refused: %s\n", why);
    say(connection, "refused %s", why);
    connection_part();
}

/* Reads the request. Returns 0, or an error with `why`. */
static int request_take(struct message *why)
{
    const int64_t got = take(memory->bytes, memory->line.bytes, REQUEST_NS);

    if (got < 0)
        return message_set(why, got == -EAGAIN ? -ETIMEDOUT : -ECONNRESET,
                           "the request's %lu bytes have not come", memory->line.bytes);
    int error = launch_request_read(memory->bytes, memory->line.bytes, &memory->request, why);
    return error ? error : launch_job_check(&memory->line, &memory->request, why);
}

const struct credentials *launcher_user(void)
{
    return &memory->line.user;
}

const struct launch_request *launcher_wait(void)
{
    struct message why;

    for (;;) {
        serve();
        if (!connection) {
            launcher_rest(visitors_deadline_ns);
        } else if (request_take(&why)) {
            launcher_refuse(why.text);
        } else {
            return &memory->request;
        }
    }
}

int launcher_receive(void *to, uint64_t bytes)
{
    char *at = to;

    for (uint64_t part; bytes; bytes -= part, at += part) {
        part = smaller(bytes, PROGRAM_PART);
        if (take(at, part, PROGRAM_NS) != (int64_t)part)
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

static void changed(void)
{
    uint32_t seen = __atomic_add_fetch(&events, 1, __ATOMIC_ACQ_REL);

    if (seen != 1)
        return; /* the CPU in the loop below repeats it */
    do {
        if (is_running)
            connection_serve();
        visitors_serve();
    } while ((seen = __atomic_sub_fetch(&events, seen, __ATOMIC_ACQ_REL)));
    if (!is_running && arch_cpu_index())
        arch_ipi_send(0); /* it may rest */
}

void launcher_begin(void)
{
    is_alone = false;
    heard_bytes = 0;
    say(connection, "started");
    stream_watch(connection, true);
    __atomic_store_n(&is_running, true, __ATOMIC_RELEASE);
    changed(); /* for what has come before */
}

/* A rank's streams, in the order of their descriptors, from 1 on. */
enum { OUT_STREAM, ERR_STREAM, PMI_STREAM, STREAMS };
static const char *const stream_kinds[STREAMS] = { "out", "err", "pmi" };

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
    if (descriptor == 1 + ERR_STREAM)
        process->messages = file;
    else
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
        error = stream_give(process, streams[given], given + 1, has_input && given == OUT_STREAM, why);
    process->say = inet_stream_say;
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
    __atomic_store_n(&is_running, false, __ATOMIC_RELEASE);
    serve();
}

void launcher_end(unsigned status)
{
    say(connection, "end %u", status);
    connection_part();
}
