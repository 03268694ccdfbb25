/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpirun.c: tacet-mpirun runs a program as several ranks on this machine: the job from start to end, and what
 * ends it early: a rank, a time limit, or the user. No process of the job is left at the end: this process
 * adopts the processes that ranks have started (descendants.h), asks all to end by a signal, and kills the
 * rest two seconds later.
 *
 * Exit status: 0, that of the rank which ended the job, or one of mpirun.h and status.h.
 */
#include "service/mpirun/mpirun.h"
#include "service/lib/descendants.h"
#include "service/lib/input.h"
#include "service/lib/output.h"
#include "service/lib/process.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS             100             /* time between checks of time limits */
#define KILL_NS             (2 * SECOND_NS) /* from the signal that asks to end to SIGKILL */
#define LAST_NS             SECOND_NS /* time from the last rank's end to the signal for processes left */
#define DESCRIPTORS_OWN     32
#define DESCRIPTORS_OF_RANK 3

struct run run = { .descriptors = { 0 } };

/* Why and how the job ends early. */
static struct end {
    enum reason reason; /* REASON_NONE: it does not end early */
    uint32_t rank;
    int status;
    char text[512];
    bool is_said; /* the message is out: further reasons are ignored */
    int signal;   /* sent to ask the ranks to end */
} end = { .reason = REASON_NONE, .signal = SIGTERM };

static uint64_t asked_ns;    /* when all were asked to end; 0: not yet */
static uint64_t finished_ns; /* when the last rank ended; 0: not yet */
static bool is_killing;      /* SIGKILL is sent to all processes at each tick */
static unsigned interrupts;

/* ---- What ends a job early ---- */

void run_end(enum reason reason, uint32_t rank, int status, const char *format, ...)
{
    bool is_same_rank = end.reason == REASON_ABORT && rank == end.rank; /* its end follows from its abort */
    va_list arguments;

    if (end.is_said || reason >= end.reason || (is_same_rank && reason == REASON_SIGNAL))
        return;
    end.reason = reason;
    end.rank = rank;
    end.status = status;
    va_start(arguments, format);
    vsnprintf(end.text, sizeof(end.text), format, arguments);
    va_end(arguments);
}

static void all_ask(int number)
{
    asked_ns = run.now_ns;
    descendants_signal(number);
    if (number != SIGKILL)
        descendants_signal(SIGCONT); /* wakes stopped processes */
}

/* Ends the job early if there is a reason. Called at the end of a turn, when all its reasons are known. */
static void end_take(void)
{
    if (end.reason == REASON_NONE || end.is_said)
        return;
    end.is_said = true;
    say("%s", end.text);
    input_stop();
    all_ask(end.signal);
}

/* ---- Ranks that end ---- */

static void rank_ended(uint32_t number, int status)
{
    struct rank *rank = &run.ranks[number];
    const pid_t pid = rank->pid;

    rank->pid = 0;
    rank->has_ended = true;
    run.ended_count++;
    pmi_server_drain(&run.pmi, number); /* its last request may be finalize or abort */
    if (WIFSIGNALED(status))
        run_end(REASON_SIGNAL, number, 128 + WTERMSIG(status),
                "rank %u (process %d) was killed by signal %d (%s); the job ends", number, (int)pid,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        run_end(REASON_STATUS, number, WEXITSTATUS(status),
                "rank %u (process %d) has ended with exit status %d; the job ends", number, (int)pid,
                WEXITSTATUS(status));
    else if (run.pmi.ranks[number].is_in_pmi)
        run_end(REASON_NO_FINALIZE, number, STATUS_NOT_CLEAN,
                "rank %u (process %d) has ended without MPI_Finalize; the job ends", number, (int)pid);
}

static void children_reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (uint32_t i = 0; i < run.plan.ranks; i++)
            if (run.ranks[i].pid == pid) {
                rank_ended(i, status);
                break;
            }
}

/* Ends the job if ranks wait in a barrier for a rank that has ended. */
static void barrier_look(void)
{
    for (uint32_t i = 0; run.pmi.barrier_count && run.ended_count && i < run.plan.ranks; i++)
        if (run.ranks[i].has_ended) {
            run_end(REASON_STUCK, i, STATUS_NOT_CLEAN,
                    "rank %u has ended %s, and %u others wait for it in PMI's barrier; the job ends", i,
                    run.pmi.ranks[i].is_finished ? "after MPI_Finalize" : "without MPI_Init",
                    run.pmi.barrier_count);
            return;
        }
}

/* ---- Callbacks of the PMI server ---- */

static void client_refused(uint32_t rank, const char *why)
{
    run_end(REASON_PMI, rank, STATUS_NOT_CLEAN,
            "rank %u (process %d) violates the PMI protocol: %s; the job ends", rank,
            (int)run.ranks[rank].pid, why);
}

static void put_refused(uint32_t rank, const char *why)
{
    say("rank %u: PMI put failed: %s", rank, why);
}

static void rank_aborted(uint32_t rank, uint32_t code)
{
    run_end(REASON_ABORT, rank, code & 0xff ? (int)(code & 0xff) : 1,
            "rank %u aborts the job with exit code %d (MPI_Abort)", rank, (int)code);
}

static const struct pmi_server_calls pmi_calls = { .refused = client_refused,
                                                   .put_refused = put_refused,
                                                   .aborted = rank_aborted };

static void output_failed(int status, const char *why)
{
    run_end(REASON_TOLD, PMI_RANK_NONE, status, "%s; the job ends", why);
}

/* ---- Signals ---- */

/* Handles a signal: passes the first one on, kills the job at the second one, and ends at the third one. */
static void interrupted(int number)
{
    interrupts++;
    if (interrupts == 1 && !end.is_said) {
        end.signal = number;
        run_end(REASON_TOLD, PMI_RANK_NONE, 128 + number,
                "%s: the job ends; interrupt again to kill it at once",
                number == SIGINT ? "interrupted" : strsignal(number));
    } else if (interrupts <= 2) {
        is_killing = true;
    } else {
        descendants_signal(SIGKILL);
        exit(128 + number);
    }
}

static void signal_ready(struct watch *watch, uint32_t events)
{
    struct signalfd_siginfo signal;

    (void)events;
    /* SIGCHLD needs no action here: children_reap runs after each turn. */
    while (read(watch->fd, &signal, sizeof(signal)) == sizeof(signal))
        if (signal.ssi_signo != SIGCHLD)
            interrupted((int)signal.ssi_signo);
}

/* ---- Time ---- */

static bool child_is_no_rank(pid_t pid)
{
    (void)pid;
    return false;
}

/* Returns whether all ranks and their processes have ended. Sets finished_ns when the last rank has:
 * processes that are left have LAST_NS to end before tick asks them to. */
static bool job_has_ended(void)
{
    if (run.ended_count < run.plan.ranks)
        return false;
    finished_ns = finished_ns ? finished_ns : run.now_ns;
    return !descendants_others(child_is_no_rank);
}

static void tick(void)
{
    const uint64_t limit_ns = run.plan.timeout_ns;
    static uint64_t begin_ns;

    begin_ns = begin_ns ? begin_ns : run.now_ns;
    if (limit_ns && run.now_ns - begin_ns > limit_ns && !finished_ns)
        run_end(REASON_TOLD, PMI_RANK_NONE, STATUS_TIME,
                "the time limit of %" PRIu64 " s has passed (--timeout); the job ends", limit_ns / SECOND_NS);
    if (finished_ns && !asked_ns && run.now_ns - finished_ns > LAST_NS)
        all_ask(SIGTERM);
    is_killing |= asked_ns && run.now_ns - asked_ns > KILL_NS;
    if (is_killing)
        descendants_signal(SIGKILL);
    input_tick();
}

/* ---- From start to end ---- */

/* Places the ranks on nodes in blocks; if they do not divide evenly, the first nodes have one rank more. */
static void ranks_place(void)
{
    const struct plan *plan = &run.plan;
    uint32_t each = plan->ranks / plan->nodes, more = plan->ranks % plan->nodes, number = 0;

    for (uint32_t node = 0; node < plan->nodes; node++)
        for (uint32_t local = 0; local < each + (node < more); local++)
            run.ranks[number++].local = local;
    number = 0;
    for (unsigned i = 0; i < plan->program_count; i++)
        for (uint32_t j = 0; j < plan->programs[i].ranks; j++, number++) {
            run.ranks[number].program = &plan->programs[i];
            run.pmi.ranks[number].appnum = i;
        }
}

static void prepare(int count, char **words)
{
    char store_name[32];
    struct message why;

    descriptors_prepare(STATUS_FAILED, &run.descriptors);
    launch_cpus_find(&run.cpus);
    run.plan.stdin_rank = 0;
    plan_read(count, words, run.cpus.count);
    descriptors_need(run.plan.ranks, (rlim_t)run.plan.ranks * DESCRIPTORS_OF_RANK + DESCRIPTORS_OWN);
    if (event_loop_open(&run.loop))
        give_up(STATUS_FAILED, "cannot make an event loop: %s", strerror(errno));
    if (descendants_adopt())
        give_up(STATUS_FAILED, "cannot use /proc: %s", strerror(errno));
    run.now_ns = clock_now_ns();
    output_open(
        &(struct output){ .loop = &run.loop, .is_labelled = run.plan.is_labelled, .failed = output_failed });
    signals_take(&run.loop, signal_ready, true);
    run.pmi = (struct pmi_server){ .loop = &run.loop, .calls = &pmi_calls };
    run.ranks = calloc(run.plan.ranks, sizeof(run.ranks[0]));
    snprintf(store_name, sizeof(store_name), "job_%d", (int)getpid());
    if (!run.ranks || pmi_server_open(&run.pmi, store_name, run.plan.nodes, run.plan.ranks, &why))
        give_up(STATUS_FAILED, "no memory for %u ranks", run.plan.ranks);
    ranks_place();
}

/* Starts all ranks. If one cannot be started, kills the others and ends the program. */
static void ranks_start(void)
{
    for (uint32_t i = 0; i < run.plan.ranks; i++) {
        const int status = rank_start(i);

        if (!status)
            continue;
        do
            descendants_signal(SIGKILL);
        while (waitpid(-1, NULL, 0) > 0);
        exit(status);
    }
}

int main(int count, char **words)
{
    uint64_t tick_ns = 0;

    say_begin("tacet-mpirun", NULL);
    prepare(count, words);
    ranks_start();
    for (;;) {
        event_loop_turn(&run.loop, TICK_MS);
        run.now_ns = clock_now_ns();
        children_reap();
        barrier_look();
        if (run.now_ns >= tick_ns) {
            tick_ns = run.now_ns + TICK_MS * 1000000;
            tick();
        }
        end_take();
        if (!job_has_ended())
            continue;
        streams_end();
        if ((!streams_count() && output_is_written()) || interrupts > 1)
            return end.reason == REASON_NONE ? 0 : end.status;
    }
}
