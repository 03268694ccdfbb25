/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c: the one job of a Linux node (launchd.h), in stages:
 *
 *      RECEIVING   reads the request, then the program, if it is sent, into a file in memory
 *      DIALLING    makes three connections to tacetrun for each rank
 *      STARTING    forks all ranks. A pipe closes when the last rank runs its program; a rank that cannot
 *                  writes the reason into the pipe. "started" is not sent before, so the job can be refused
 *      RUNNING     reports each rank's end
 *      ENDING      kills the processes that are left, until there are none
 *      DRAINING    waits until tacetrun's side has acknowledged all that the ranks have written
 *
 * This process keeps the ranks' output streams open, too, to see what is acknowledged. So it has to end them:
 * a stream ends when its rank has ended and no process is left but ranks. PMI's stream is the rank's alone.
 */
#include "service/launchd/launchd.h"
#include "service/lib/descendants.h"
#include "service/lib/say.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_LIMIT_NS 10000000000ULL /* limit of a request, and of each further piece of a program */
#define DIAL_LIMIT_NS    10000000000ULL
#define START_LIMIT_NS   60000000000ULL /* a slow file server may have the program */
#define DRAIN_LIMIT_NS   10000000000ULL /* time limit for the last output of a job that was killed */
#define KILL_EVERY_NS    10000000ULL
#define DRAIN_EVERY_NS   5000000ULL
#define KILLED_STATUS    128

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* Linux 6.3 */
#endif

enum stage { IDLE, RECEIVING, DIALLING, STARTING, RUNNING, ENDING, DRAINING };

struct stream {
    struct watch watch; /* its socket, -1 if closed; watched until it is dialled */
    uint32_t rank;      /* its number in the job */
    const char *kind;   /* for its first line */
    bool is_dialled;
};

struct rank {
    pid_t pid;
    struct stream out, err, pmi;
    bool has_ended, is_told, is_shut;
    unsigned status;
};

static struct job {
    enum stage stage;
    struct client *client; /* NULL: its connection is closed */
    char why[512];         /* why the job has failed; "": it has not */
    uint64_t limit_ns;     /* when RECEIVING, DIALLING, STARTING or DRAINING times out; UINT64_MAX: never */
    char bytes[LAUNCH_REQUEST_BYTES];
    size_t bytes_due, bytes_here;
    struct launch_line line; /* its texts are not kept */
    struct launch_request request;
    int program; /* the file in memory; -1: no program is sent */
    uint64_t program_here;
    char directory[64];    /* made for the job; "": the request names another */
    struct watch problems; /* the pipe's reading end */
    struct rank *ranks;
    unsigned ranks_running;
    bool is_killed;           /* by tacetrun, the conductor, or because it has failed */
    bool children_have_ended; /* since streams were last checked */
} job = { .program = -1, .problems.fd = -1 };

/* What the conductor has stopped: the job of this number; 0: the node while it has no job. */
static struct {
    bool is_set;
    uint32_t job;
} stopped;

bool job_is_over(void)
{
    return job.stage == IDLE;
}

unsigned job_ranks(void)
{
    return job.ranks_running;
}

uint32_t job_number(void)
{
    return job.stage == IDLE ? 0 : job.line.job;
}

uint32_t job_user(void)
{
    return job.line.user.uid;
}

bool job_is_stopped(void)
{
    return stopped.is_set && stopped.job == job_number();
}

/* ---- The job's end ---- */

static void close_set(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void streams_close(void)
{
    for (unsigned i = 0; job.ranks && i < job.request.ranks; i++) {
        watch_close(&job.ranks[i].out.watch);
        watch_close(&job.ranks[i].err.watch);
        watch_close(&job.ranks[i].pmi.watch);
    }
}

/* Goes from any stage to ENDING; ranks' ends are no longer reported. */
static void job_abandon(void)
{
    job.is_killed = true;
    watch_close(&job.problems);
    close_set(&job.program);
    streams_close();
    job.stage = ENDING;
}

/* Keeps the reason. job_end sends it only when the job has ended, so that a tacetrun that asks again does not
 * find the node busy. */
void job_fail(const char *format, ...)
{
    va_list arguments;

    if (job.stage == IDLE || job.why[0] || !job.client)
        return;
    va_start(arguments, format);
    vsnprintf(job.why, sizeof(job.why), format, arguments);
    va_end(arguments);
    say("job %u refused: %s", job.request.job, job.why);
    job_abandon();
}

void job_lost(void)
{
    if (!job.client)
        return;
    say("job %u: the connection to tacetrun is closed; killed", job.request.job);
    job.client = NULL;
    job_abandon();
}

void job_kill(void)
{
    stopped.is_set = false;
    if (job.stage == DRAINING)
        job.limit_ns = clock_now_ns() + DRAIN_LIMIT_NS;
    else if (job.stage == RUNNING)
        job.is_killed = true;
    else if (job.stage != ENDING)
        job_fail("killed before it had started");
}

void job_stop(bool stop)
{
    stopped.is_set = stop;
    stopped.job = job_number();
    if (job.stage >= STARTING)
        descendants_signal(stop ? SIGSTOP : SIGCONT);
}

/* Kills all processes of the job that it finds. */
static void processes_kill(void)
{
    if (!cgroup_kill())
        descendants_signal(SIGKILL);
}

static unsigned worst_status(void)
{
    unsigned worst = 0;

    for (unsigned i = 0; i < job.request.ranks; i++)
        worst = job.ranks[i].status > worst ? job.ranks[i].status : worst;
    return worst;
}

/* Tells tacetrun the end, and frees what the job had. */
static void job_end(void)
{
    struct client *client = job.client;

    if (job.why[0]) {
        client_refuse(client, "%s", job.why);
    } else if (client) {
        say("job %u has ended with status %u", job.request.job, worst_status());
        client_say(client, "end %u", worst_status());
        client_finish(client);
    }
    streams_close();
    watch_close(&job.problems);
    close_set(&job.program);
    cgroup_remove();
    if (job.directory[0])
        rmdir(job.directory); /* if the job has left files, it stays */
    job.directory[0] = '\0';
    free(job.ranks);
    job.ranks = NULL;
    job.ranks_running = 0;
    job.client = NULL;
    job.stage = IDLE;
}

/* ---- Request and program ---- */

bool job_take(struct client *client, const struct launch_line *line)
{
    if (job.stage != IDLE)
        return false;
    job.stage = RECEIVING;
    job.client = client;
    job.limit_ns = clock_now_ns() + REQUEST_LIMIT_NS;
    job.line = *line;
    job.bytes_due = line->bytes;
    job.bytes_here = 0;
    job.program_here = 0;
    job.is_killed = false;
    job.why[0] = '\0';
    memset(&job.request, 0, sizeof(job.request));
    return true;
}

/* Returns how many MiB programs can use; 2^54 - 1 if Linux does not say. */
static uint64_t memory_available_mib(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    uint64_t kib = UINT64_MAX;
    char line[128];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib >> 10;
}

/* Makes the file in memory for the program. Returns false if it cannot; the job has failed then. */
static bool program_open(void)
{
    const uint64_t mib = (job.request.program_bytes >> 20) + 1, free_mib = memory_available_mib();
    const char *name = strrchr(job.request.path, '/') ? strrchr(job.request.path, '/') + 1 : job.request.path;
    char shown[200];

    if (mib > free_mib) {
        job_fail("the program has %" PRIu64 " MiB, but this node has only %" PRIu64 " MiB of memory left",
                 mib, free_mib);
        return false;
    }
    snprintf(shown, sizeof(shown), "%.199s", name);
    job.program = memfd_create(shown, MFD_CLOEXEC | MFD_EXEC);
    if (job.program < 0 && errno == EINVAL) /* an older Linux */
        job.program = memfd_create(shown, MFD_CLOEXEC);
    if (job.program < 0)
        job_fail("cannot make a file in memory for the program: %s", strerror(errno));
    return job.program >= 0;
}

static void job_dial(void);

static void program_complete(void)
{
    char path[64];

    if (job.request.program_bytes) {
        fchmod(job.program, 0555); /* of a file in memory this does not fail */
        /* Linux does not run a file that is open for writing. */
        snprintf(path, sizeof(path), "/proc/self/fd/%d", job.program);
        const int readable = open(path, O_RDONLY | O_CLOEXEC);

        close_set(&job.program);
        job.program = readable;
        if (readable < 0) {
            job_fail("cannot open the program that was sent: %s", strerror(errno));
            return;
        }
    }
    job_dial();
}

/* Fails the job if this process cannot become its user. */
static bool user_check(void)
{
    const uint32_t uid = job.line.user.uid, own = geteuid();

    if (own == 0 || uid == own)
        return true;
    job_fail(
        "user %u: this node's tacet-launchd runs as user %u, and without root it runs jobs only as itself",
        uid, own);
    return false;
}

static void request_complete(void)
{
    const struct launch_request *request = &job.request;
    struct message why;

    if (launch_request_read(job.bytes, job.bytes_here, &job.request, &why) ||
        launch_job_check(&job.line, &job.request, &why)) {
        job_fail("%s", why.text);
        return;
    }
    if (!user_check())
        return;
    const uint64_t cpus = (uint64_t)request->ranks * (request->cpus ? request->cpus : 1);
    if (cpus > launchd.cpus.count) {
        job_fail("%u ranks of %u CPUs each: this node has %u CPUs", request->ranks,
                 request->cpus ? request->cpus : 1, launchd.cpus.count);
        return;
    }
    if (request->program_bytes && !program_open())
        return;
    if (!request->program_bytes)
        program_complete();
}

static size_t program_feed(const char *bytes, size_t count)
{
    const uint64_t missing = job.request.program_bytes - job.program_here;
    const ssize_t written = write(job.program, bytes, count < missing ? count : (size_t)missing);

    if (written <= 0) {
        job_fail("cannot store the program that is sent: %s", strerror(errno));
        return count;
    }
    job.program_here += (uint64_t)written;
    job.limit_ns = clock_now_ns() + REQUEST_LIMIT_NS;
    if (job.program_here == job.request.program_bytes)
        program_complete();
    return (size_t)written;
}

size_t job_feed(const char *bytes, size_t count)
{
    if (job.stage != RECEIVING)
        return 0;
    if (job.bytes_here == job.bytes_due)
        return program_feed(bytes, count);
    const size_t missing = job.bytes_due - job.bytes_here, taken = count < missing ? count : missing;
    memcpy(job.bytes + job.bytes_here, bytes, taken);
    job.bytes_here += taken;
    if (job.bytes_here == job.bytes_due)
        request_complete();
    return taken;
}

/* ---- Streams ---- */

static void stream_ready(struct watch *watch, uint32_t events);

/* Begins to connect a stream to tacetrun; stream_ready is called when this has succeeded or failed. Returns
 * false, with errno, if it cannot begin. */
static bool stream_open(struct stream *stream, uint32_t rank, const char *kind)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(job.request.port),
                                    .sin_addr = client_address(job.client) };

    stream->rank = rank;
    stream->kind = kind;
    stream->watch.ready = stream_ready;
    stream->watch.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return stream->watch.fd >= 0 &&
           (connect(stream->watch.fd, (const struct sockaddr *)&to, sizeof(to)) == 0 ||
            errno == EINPROGRESS) &&
           watch_try(&launchd.loop, &stream->watch, EPOLLOUT) == 0;
}

static void streams_failed(int error)
{
    const struct in_addr to = client_address(job.client);

    job_fail("a stream to %s, port %u: %s", inet_ntoa(to), job.request.port, strerror(error));
}

static void job_dial(void)
{
    const unsigned count = job.request.ranks;

    job.stage = DIALLING;
    job.limit_ns = clock_now_ns() + DIAL_LIMIT_NS;
    job.ranks = calloc(count, sizeof(*job.ranks));
    if (!job.ranks) {
        job_fail("no memory for %u ranks", count);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        job.ranks[i].out.watch.fd = job.ranks[i].err.watch.fd = job.ranks[i].pmi.watch.fd = -1;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t number = job.request.first + i;
        struct rank *rank = &job.ranks[i];

        if (!stream_open(&rank->out, number, "out") || !stream_open(&rank->err, number, "err") ||
            !stream_open(&rank->pmi, number, "pmi")) {
            streams_failed(errno);
            return;
        }
    }
}

/* Sends a connected stream's first line, which names its rank. Makes the socket blocking again for the rank.
 * Fails the job if the connection has failed. */
static void stream_ready(struct watch *watch, uint32_t events)
{
    struct stream *stream = (struct stream *)watch;
    int error = 0;
    socklen_t bytes = sizeof(error);

    (void)events; /* SO_ERROR says more */
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) || error) {
        streams_failed(error ? error : errno);
        return;
    }
    watch_drop(watch);
    if (stream->kind[0] == 'p') /* requests and answers: none waits for an acknowledgement */
        setsockopt(watch->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    if (fcntl(watch->fd, F_SETFL, 0) || dprintf(watch->fd, "stream %016" PRIx64 " %u %s\n",
                                                job.request.secret, stream->rank, stream->kind) < 0) {
        streams_failed(errno);
        return;
    }
    stream->is_dialled = true;
}

/* ---- Ranks ---- */

static void problems_ready(struct watch *watch, uint32_t events)
{
    char why[512];

    (void)events; /* read says more */
    const ssize_t bytes = read(watch->fd, why, sizeof(why) - 1);
    if (bytes < 0)
        return;
    if (bytes > 0) {
        why[bytes] = '\0';
        job_fail("%s", why);
        return;
    }
    watch_close(&job.problems);
    close_set(&job.program);
    job.stage = RUNNING;
    say("job %u: %s, ranks %u to %u of %u", job.request.job, job.request.path, job.request.first,
        job.request.first + job.request.ranks - 1, job.request.size);
    client_say(job.client, "started");
}

/* Makes what the job's processes need: a folder of its user, if the request names none, and the control
 * group. Returns false if that fails; the job has failed then. */
static bool place_make(void)
{
    const struct credentials *user = &job.line.user;

    if (!job.request.directory) {
        snprintf(job.directory, sizeof(job.directory), JOB_FOLDERS "/" JOB_FOLDER "XXXXXX", job.request.job,
                 (int)getpid());
        setfsgid(user->gid); /* without root these two change nothing */
        setfsuid(user->uid);
        if (!mkdtemp(job.directory))
            job_fail("cannot make the working directory %s: %s", job.directory, strerror(errno));
        setfsuid(geteuid());
        setfsgid(getegid());
    }
    if (job.why[0])
        return false;
    if (!cgroup_make(job.request.job))
        job_fail("cannot make the job's control group: %s", strerror(errno));
    return !job.why[0];
}

static void job_fork(void)
{
    const pid_t parent = getpid();
    int ends[2];

    job.stage = STARTING;
    job.limit_ns = clock_now_ns() + START_LIMIT_NS;
    stopped.is_set = false; /* a new job runs, even after stop */
    if (!place_make())
        return;
    if (pipe2(ends, O_CLOEXEC)) {
        job_fail("cannot make a pipe: %s", strerror(errno));
        return;
    }
    job.problems = (struct watch){ .fd = ends[0], .ready = problems_ready };
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (watch_try(&launchd.loop, &job.problems, EPOLLIN))
        job_fail("cannot watch a pipe: %s", strerror(errno));
    for (unsigned i = 0; i < job.request.ranks && job.stage == STARTING; i++) {
        struct rank *rank = &job.ranks[i];
        const struct launch_rank start = { .request = &job.request,
                                           .user = &job.line.user,
                                           .directory =
                                               job.request.directory ? job.request.directory : job.directory,
                                           .local = i,
                                           .out = rank->out.watch.fd,
                                           .err = rank->err.watch.fd,
                                           .pmi = rank->pmi.watch.fd,
                                           .program = job.program,
                                           .problems = ends[1] };

        rank->pid = fork();
        if (rank->pid == 0)
            launch_rank_run(&start, parent);
        else if (rank->pid < 0)
            job_fail("rank %u: cannot fork: %s", job.request.first + i, strerror(errno));
        else
            job.ranks_running++;
        watch_close(&rank->pmi.watch);
    }
    close(ends[1]);
}

static struct rank *rank_of(pid_t pid)
{
    for (unsigned i = 0; job.ranks && i < job.request.ranks; i++)
        if (job.ranks[i].pid == pid && !job.ranks[i].has_ended)
            return &job.ranks[i];
    return NULL;
}

static bool is_rank(pid_t pid)
{
    return rank_of(pid) != NULL;
}

void job_children_ended(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct rank *rank = rank_of(pid);

        job.children_have_ended = true;
        if (!rank)
            continue; /* a rank's orphan, which this process has adopted */
        rank->has_ended = true;
        rank->status =
            WIFSIGNALED(status) ? KILLED_STATUS + (unsigned)WTERMSIG(status) : (unsigned)WEXITSTATUS(status);
        job.ranks_running--;
    }
}

/* ---- Stages ---- */

static void dialling_turn(void)
{
    bool all = true;

    for (unsigned i = 0; i < job.request.ranks; i++)
        all &= job.ranks[i].out.is_dialled && job.ranks[i].err.is_dialled && job.ranks[i].pmi.is_dialled;
    if (all)
        job_fork();
}

static void rank_shut(struct rank *rank)
{
    rank->is_shut = true;
    shutdown(rank->out.watch.fd, SHUT_WR);
    shutdown(rank->err.watch.fd, SHUT_WR);
}

static void ranks_tell(void)
{
    for (unsigned i = 0; i < job.request.ranks; i++) {
        struct rank *rank = &job.ranks[i];

        if (!rank->has_ended || rank->is_told)
            continue;
        rank->is_told = true;
        client_say(job.client, "rank %u %u", job.request.first + i, rank->status);
    }
}

static void running_turn(void)
{
    ranks_tell();
    if (job.ranks_running == 0) {
        job.stage = ENDING;
        return;
    }
    if (!job.children_have_ended)
        return;
    job.children_have_ended = false;
    if (descendants_others(is_rank))
        return;
    for (unsigned i = 0; i < job.request.ranks; i++)
        if (job.ranks[i].has_ended && !job.ranks[i].is_shut)
            rank_shut(&job.ranks[i]);
}

static void ending_turn(void)
{
    processes_kill();
    job_children_ended();
    turn_by(clock_now_ns() + KILL_EVERY_NS);
    if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
        return;
    if (!job.client || job.why[0]) {
        job_end();
        return;
    }
    for (unsigned i = 0; i < job.request.ranks; i++)
        rank_shut(&job.ranks[i]);
    job.stage = DRAINING;
    job.limit_ns = job.is_killed ? clock_now_ns() + DRAIN_LIMIT_NS : UINT64_MAX;
}

/* Returns whether tacetrun's side has acknowledged the end of a stream, and so all of it, or the connection
 * is lost. */
static bool is_drained(const struct stream *stream)
{
    struct tcp_info info = { 0 };
    socklen_t bytes = sizeof(info);

    if (getsockopt(stream->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &bytes))
        return true;
    return info.tcpi_state == TCP_FIN_WAIT2 || info.tcpi_state == TCP_TIME_WAIT ||
           info.tcpi_state == TCP_CLOSE;
}

static void draining_turn(void)
{
    bool all = clock_now_ns() >= job.limit_ns;

    for (unsigned i = 0; i < job.request.ranks; i++) {
        const bool one = is_drained(&job.ranks[i].out) && is_drained(&job.ranks[i].err);

        if (!one && !all) {
            turn_by(clock_now_ns() + DRAIN_EVERY_NS);
            return;
        }
    }
    job_end();
}

/* Fails the job if its stage has lasted too long. */
static void limit_check(void)
{
    if (job.stage != RECEIVING && job.stage != DIALLING && job.stage != STARTING)
        return;
    if (job.stage == STARTING && job_is_stopped())
        job.limit_ns = clock_now_ns() + START_LIMIT_NS;
    if (clock_now_ns() < job.limit_ns) {
        turn_by(job.limit_ns);
        return;
    }
    job_fail("%s", job.stage == RECEIVING  ? "the request or the program has not come: nothing for 10 s"
                   : job.stage == DIALLING ? "cannot connect to tacetrun's port for streams within 10 s"
                                           : "the program has not started within 60 s");
}

void job_turn(void)
{
    const enum stage before = job.stage;

    limit_check();
    if (job.stage == DIALLING)
        dialling_turn();
    if (job.stage == RUNNING && job.is_killed) {
        processes_kill();
        turn_by(clock_now_ns() + KILL_EVERY_NS);
    }
    if (job.stage == RUNNING)
        running_turn();
    if (job.stage == ENDING)
        ending_turn();
    if (job.stage == DRAINING)
        draining_turn();
    if (job.stage != before)
        turn_by(clock_now_ns()); /* to send lines and do the next stage */
}
