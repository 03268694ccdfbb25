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
static char node_id[NETWORK_NODE_ID_BYTES];

static struct launcher_memory {
    struct launch_request request;
    struct launch_line line; /* refers to `text` */
    char text[LAUNCH_TICKET_LINE];
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
    say(who, "tacet-launch %u %016lx %s cpus=%u memory_mib=%lu state=%s name=%s id=%s system=Tacet-%s",
        LAUNCH_VERSION, nonce, node_keys_have_ticket() ? "ticket" : "open", arch_cpu_count(), memory_mib,
        is_busy ? "busy" : "idle", node_facts.name[0] ? node_facts.name : "-", node_id, TACET_VERSION);
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

static int ticket_check(const struct launch_line *line, uint64_t nonce, struct message *why)
{
    const uint64_t now_s = clock_wall_ns(NULL) / NS_PER_S;
    const struct node_key_pair *keys = node_keys_open();
    int error = launch_ticket_check(line, node_keys_have_ticket() ? keys->now.ticket : NULL, nonce, node_id,
                                    now_s, why);

    if (error && node_keys_have_next())
        error = launch_ticket_check(line, keys->next.ticket, nonce, node_id, now_s, why);
    node_keys_close();
    return error;
}

/* Reads the request. Returns 0, or an error with `why`. */
static int request_take(uint64_t nonce, struct message *why)
{
    struct launch_line *line = &memory->line;
    char *text = memory->text;
    int64_t got = take(text, sizeof(memory->text), '\n', REQUEST_NS);

    if (got <= 0)
        return message_set(why, got == -EAGAIN ? -ETIMEDOUT : -ECONNRESET, "no request has come");
    if (text[got - 1] != '\n')
        return message_set(why, -EINVAL, "a line of more than %u characters", LAUNCH_TICKET_LINE - 1);
    text[got - 1] = '\0';
    int error = launch_line_read(text, line, why);
    if (!error)
        error = ticket_check(line, nonce, why);
    if (error)
        return error;
    stream_trust(connection);
    got = take(memory->bytes, line->bytes, -1, REQUEST_NS);
    if (got < 0)
        return message_set(why, got == -EAGAIN ? -ETIMEDOUT : -ECONNRESET,
                           "the request's %lu bytes have not come", line->bytes);
    error = launch_request_read(memory->bytes, line->bytes, &memory->request, why);
    return error ? error : launch_job_check(line, &memory->request, why);
}

const struct credentials *launcher_user(void)
{
    return &memory->line.user;
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

static struct stream *stream_dial(struct process *process, unsigned rank, const char *kind,
                                  struct message *why)
{
    struct stream *stream;
    char line[64];
    size_t bytes =
        format_text(line, sizeof(line), "stream %016lx %u %s\n", memory->request.secret, rank, kind);
    int error =
        stream_open(process, &stream, tacetrun_address, memory->request.port, clock_now_ns() + STREAM_NS);

    if (!error && stream_write(stream, line, bytes, 0) != (int64_t)bytes) {
        stream_end(stream, true);
        error = -ECONNRESET;
    }
    if (error)
        message_set(why, error, "its connection for std%s to tacetrun's port %u has failed (error %d)", kind,
                    memory->request.port, -error);
    return error ? NULL : stream;
}

static struct file *stream_file(struct process *process, unsigned rank, const char *kind, struct message *why)
{
    struct stream *stream = stream_dial(process, rank, kind, why);
    struct file *file = stream ? file_allocate(process) : NULL;

    if (!stream)
        return NULL;
    if (file) {
        inet_stream_adopt(file, process, stream);
        return file;
    }
    message_set(why, -ENOMEM, "no memory for its streams");
    stream_end(stream, true);
    return NULL;
}

int launcher_streams_open(struct process *process, unsigned local, struct message *why)
{
    const unsigned rank = memory->request.first + local;
    struct file *out = stream_file(process, rank, "out", why);
    struct file *err = out ? stream_file(process, rank, "err", why) : NULL;

    if (!err && out)
        file_put(out);
    if (!err)
        return -EIO;
    if (rank == memory->request.stdin_rank)
        file_install_at(process, out, 0, false);
    else
        file_open_null(process);
    file_install_at(process, out, 1, false);
    file_install_at(process, err, 2, false);
    file_put(out);
    file_put(err);
    return 0;
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
