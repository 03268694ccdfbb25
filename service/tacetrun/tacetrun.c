/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacetrun.c: runs a program on nodes of a cluster (docs/jobs.md): the job from start to end, and what ends
 * it early: a time limit, a rank, a node, or the user. The exit status is the highest of the ranks', or one
 * of status.h.
 */
#include "service/tacetrun/tacetrun.h"
#include "service/lib/input.h"
#include "service/lib/json.h"
#include "service/lib/key_file.h"
#include "service/lib/output.h"
#include "service/lib/peer.h"
#include "service/lib/process.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_SIGNALED 128 /* and the signal's number, for a rank that a signal has ended */
#define ENDS_SHOWN      8   /* messages about ranks that end with a status other than 0 */
#define DESCRIPTORS_OWN 32

struct run run = { .status = -1, .program = -1 };

/* ---- What ends a job early ---- */

/* Kills the ranks through the nodes' connections. */
static void nodes_kill_now(void)
{
    if (!run.kill_ns)
        run.has_noted = false;
    run.kill_ns = run.kill_ns ? run.kill_ns : run.now_ns;
    nodes_kill();
}

static void kill_answered(void *context, const char *answer)
{
    char error[128];

    (void)context;
    if (answer && !json_member(answer, "error"))
        return;
    json_member_text(answer ? answer : "", "error", error, sizeof(error));
    if (!run.kill_ns)
        say("the conductor cannot kill the job: %s; killing it through the network",
            answer ? error : "no answer");
    nodes_kill_now();
}

/* Kills the ranks by a command at the next beat, which also reaches programs that only compute. */
static void conductor_kill(void)
{
    char request[64];

    if (!conductor_is_there() || !run.job || run.command_ns)
        return;
    run.command_ns = run.now_ns;
    snprintf(request, sizeof(request), "one-way kill job %u", run.job);
    conductor_request(request, kill_answered, NULL);
}

/* Marks the job as ending early with this status. Returns false if it has been marked before: the first
 * reason counts. */
static bool run_end_early(int status)
{
    if (run.is_killed)
        return false;
    run.is_killed = true;
    run.status = status;
    input_stop();
    return true;
}

void run_kill(int status, const char *format, ...)
{
    va_list arguments;

    if (!run_end_early(status))
        return;
    va_start(arguments, format);
    say_va(format, arguments);
    va_end(arguments);
    if (run.phase < PHASE_RUN)
        exit(status);
    nodes_kill_now();
    if (nodes.open)
        conductor_kill();
}

/* Returns the highest status of the ranks that have ended. */
static int ranks_status(void)
{
    int status = 0;

    for (uint32_t i = 0; i < run.size; i++)
        status = run.ranks[i].status > status ? run.ranks[i].status : status;
    return status;
}

static _Noreturn void run_leave(void)
{
    char names[256];

    if (nodes.open)
        say("leaving, but job %u has not ended on %s", run.job, nodes_open_names(names, sizeof(names)));
    if (run.phase >= PHASE_RUN && nodes_have_ended())
        lease_end(); /* else the conductor ends the job where it has not ended */
    exit(run.status >= 0 ? run.status : ranks_status());
}

/* Says how a rank has ended, as srun does: a signal by its name. */
static void rank_end_say(uint32_t number, int status, const char *more)
{
    const int number_of_signal = status - STATUS_SIGNALED;
    const char *node = node_of_rank(number)->name, *name = sigabbrev_np(number_of_signal);

    if (name)
        say("rank %u on %s: %s (SIG%s, status %d)%s", number, node, strsignal(number_of_signal), name, status,
            more);
    else
        say("rank %u on %s has ended with status %d%s", number, node, status, more);
}

void run_rank_ended(uint32_t number, int status)
{
    static uint32_t shown;
    struct rank *rank = &run.ranks[number];

    rank->status = (int16_t)status;
    run.ended_count++;
    run.first_end_ns = run.first_end_ns ? run.first_end_ns : run.now_ns;
    if (run.is_killed)
        return;
    if (status && shown++ < ENDS_SHOWN)
        rank_end_say(number, status, shown == ENDS_SHOWN ? "; further ones are not shown" : "");
    if (status && run.plan.kills_on_bad_exit)
        run_kill(status, "killing the other ranks (--kill-on-bad-exit)");
    else if (pmi_has_begun(number) && run.ended_count < run.size)
        run_kill(status ? status : 1, "rank %u on %s has ended before PMI's finalize: killing the others",
                 number, node_of_rank(number)->name);
}

/* ---- The user ---- */

static void interrupted_first(int number)
{
    bool is_soft = number == SIGINT && conductor_is_there() && nodes_are_running();

    if (run.phase < PHASE_RUN) {
        say("interrupted: no job was started");
        exit(STATUS_SIGNALED + number);
    }
    if (run.phase == PHASE_FINISH || !run_end_early(STATUS_SIGNALED + number)) {
        run_leave();
    } else if (is_soft) {
        say("interrupted: the conductor kills job %u at the next beat; press Ctrl-C again to kill it through "
            "the network",
            run.job);
        conductor_kill();
    } else {
        say("interrupted: killing job %u; press Ctrl-C again to leave without waiting", run.job);
        nodes_kill_now();
        conductor_kill();
    }
}

/* Handles a signal: the first one kills the job at the next beat, the second one through the network, and the
 * third one ends tacetrun. */
static void signal_ready(struct watch *watch, uint32_t events)
{
    struct signalfd_siginfo signal;

    (void)events;
    if (read(watch->fd, &signal, sizeof(signal)) != sizeof(signal))
        return;
    if (run.interrupts++ == 0) {
        interrupted_first((int)signal.ssi_signo);
    } else if (!run.kill_ns) {
        say("interrupted again: killing the job through the network; press Ctrl-C again to leave");
        nodes_kill_now();
    } else {
        run_leave();
    }
}

/* ---- Time ---- */

/* Handles a killed job that does not end: kills it through the network, too, ENDING_NOTE_S after the
 * conductor was told, tells the user after a further ENDING_NOTE_S, and ends tacetrun --within after the
 * nodes were told. */
static void ending_tick(void)
{
    const uint64_t since_ns = run.kill_ns ? run.kill_ns : run.command_ns;
    char names[256];

    if (!since_ns || !nodes.open)
        return;
    if (run.kill_ns)
        nodes_kill(); /* nodes that could not be told before */
    if (!run.has_noted && run.now_ns - since_ns > ENDING_NOTE_S * SECOND_NS) {
        run.has_noted = true;
        say("the job has not ended after %u s on %s: %s", ENDING_NOTE_S,
            nodes_open_names(names, sizeof(names)),
            run.kill_ns ? "while its program only computes, a node obeys only beats; boot it with nettick=irq"
                        : "killing it through the network, too; conductorctl nodes says whether beats reach "
                          "them");
        if (!run.kill_ns)
            nodes_kill_now();
    }
    if (run.kill_ns && run.now_ns - run.kill_ns > run.plan.within_ns)
        run_leave();
}

static void limits_tick(void)
{
    const struct plan *plan = &run.plan;

    if (plan->time_ns && run.now_ns - run.launched_ns > plan->time_ns)
        run_kill(STATUS_TIME, "the time limit of %" PRIu64 " s has passed (--time): killing job %u",
                 plan->time_ns / SECOND_NS, run.job);
    if (plan->wait_ns && run.first_end_ns && run.ended_count < run.size &&
        run.now_ns - run.first_end_ns > plan->wait_ns)
        run_kill(-1, "%" PRIu64 " s have passed since the first rank ended (--wait): killing the other %u",
                 plan->wait_ns / SECOND_NS, run.size - run.ended_count);
}

static void tick(void)
{
    input_tick();
    if (run.phase == PHASE_RUN)
        nodes_tick();
    streams_tick();
    pmi_tick();
    conductor_tick();
    if (run.phase == PHASE_RUN)
        limits_tick();
    ending_tick();
}

/* ---- From start to end ---- */

static void job_numbered(uint32_t job)
{
    if (run.is_killed)
        return;
    run.job = job;
    while (!run.job)
        if (getrandom(&run.job, sizeof(run.job), 0) < 0)
            give_up(STATUS_FAILED, "cannot get random numbers: %s", strerror(errno));
    pmi_prepare();
    run.launched_ns = run.now_ns;
    nodes_begin();
}

void run_launch(void)
{
    const rlim_t needed = (rlim_t)run.size * STREAM_KINDS + nodes.count + DESCRIPTORS_OWN;

    descriptors_need(run.size, needed);
    streams_reserve(needed);
    run.phase = PHASE_RUN;
    run.launched_ns = run.now_ns;
    lease_begin(job_numbered);
}

/* Returns whether all output of the ranks has come: all streams have ended, or nothing has been ready to read
 * for LAST_OUTPUT_NS. When a node has reported its end, its output is already in this machine's memory. The
 * time limit is for streams of dead nodes, which never end. */
static bool output_is_complete(bool is_quiet)
{
    bool have_come = run.stream_counts[STREAM_OUT] == run.size && run.stream_counts[STREAM_ERR] == run.size;
    bool is_all_there = (have_come || (run.is_killed && !newcomers_are_there())) && !streams_count();

    if (!is_quiet || !output_is_written())
        run.heard_ns = run.now_ns;
    return is_all_there || run.now_ns - run.heard_ns > LAST_OUTPUT_NS;
}

/* Moves to the next phase if the job has ended. `is_quiet`: no descriptor was ready in this turn. */
static void phase_next(bool is_quiet)
{
    if (run.phase == PHASE_RUN && !nodes.open) {
        run.phase = PHASE_FINISH;
        run.heard_ns = run.finish_ns = run.now_ns;
        input_stop();
    }
    if (run.phase != PHASE_FINISH || !output_is_complete(is_quiet))
        return;
    streams_end();
    if (!streams_count() && output_is_written())
        run_leave();
}

static void output_failed(int status, const char *why)
{
    run_kill(status, "%s", why);
}

/* Opens the program's file if it is to be sent. */
static void program_open(void)
{
    const char *path = run.plan.program[0];
    struct stat status;

    if (!run.plan.is_sent)
        return;
    run.program = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (run.program < 0 || fstat(run.program, &status))
        give_up(STATUS_FAILED, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || (uint64_t)status.st_size > LAUNCH_PROGRAM_MAX)
        give_up(STATUS_FAILED, "cannot send %s: not a regular file of 1 byte to 4 GiB", path);
    run.program_bytes = (uint64_t)status.st_size;
}

static void prepare(char **words)
{
    struct rlimit limit;

    descriptors_prepare(STATUS_FAILED, &limit);
    plan_read(words);
    if (event_loop_open(&run.loop))
        give_up(STATUS_FAILED, "epoll: %s", strerror(errno));
    run.now_ns = clock_now_ns();
    output_open(
        &(struct output){ .loop = &run.loop, .is_labelled = run.plan.is_labelled, .failed = output_failed });
    signals_take(&run.loop, signal_ready, false);
    if (run.plan.key_file)
        key_file_read(run.plan.key_file, run.key, STATUS_FAILED);
    if (getrandom(&run.secret, sizeof(run.secret), 0) != sizeof(run.secret))
        give_up(STATUS_FAILED, "cannot get random numbers: %s", strerror(errno));
    if (credentials_own(&run.user))
        give_up(STATUS_FAILED, "you are in more than %d groups", CREDENTIALS_GROUPS_MAX);
    program_open();
    run.conductor_error = conductor_find() ? 0 : errno;
    if (run.conductor_error && run.plan.needs_conductor)
        give_up(STATUS_FAILED, "no conductor at %s: %s", run.plan.conductor, strerror(run.conductor_error));
    streams_listen();
}

int main(int count, char **words)
{
    uint64_t tick_ns = 0;

    (void)count; /* NULL ends the words */
    say_begin("tacetrun", NULL);
    prepare(words);
    names_find(nodes_connect);
    for (;;) {
        bool is_quiet = !event_loop_turn(&run.loop, TICK_MS);

        run.now_ns = clock_now_ns();
        if (run.now_ns >= tick_ns) {
            tick_ns = run.now_ns + TICK_MS * 1000000;
            tick();
        }
        if (run.phase == PHASE_GREET)
            nodes_tick(); /* starts the job as soon as possible */
        phase_next(is_quiet);
    }
}
