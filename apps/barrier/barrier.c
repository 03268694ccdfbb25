/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * barrier.c: a job with one rank on each node that computes and passes a barrier, again and again. It shows
 * the effect of noise on a whole job, not just on one node [Tsafrir05 §2] [Beckman06 §4]. The barrier is
 * dissemination over UDP (exchange.h), in the simulator `sim pattern dissemination`, so that the two can be
 * compared (docs/lockstep.md).
 *
 * The work of a phase is fixed: a number of turns of an empty loop (cycles.h), calibrated before the run.
 * Clock readings go into an array that was touched before; nothing is printed until the last iteration has
 * ended. The same ELF file runs on Tacet and on Linux.
 *
 * Data: '#' lines, then a line an iteration, ticks of the cycle counter: when its computation began, when it
 * ended, and when the barrier was passed.
 */
#define _GNU_SOURCE
#include "calibrate.h"
#include "cycles.h"
#include "exchange.h"
#include "loggp.h"
#include "memory.h"
#include "parse.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_DEFAULT 100
#define ITERATIONS_MAX     1000000
#define COMPUTE_NS_DEFAULT 1000000
#define LIMIT_NS_DEFAULT   UINT64_C(5000000000)
#define LIMIT_NS_MIN       UINT64_C(1000000)
#define FIRST_DEFAULT      "10.99.0.11"
#define PORT_DEFAULT       5100
/* How long rank 1 leaves a datagram in its card before it measures the cost to take it. */
#define LATE_NS 3000000

/* Calibration: turns of a run, and the number of runs, of which the shortest counts. */
#define TURNS 20000
#define RUNS  10

static const char usage[] =
    "usage: barrier --node K --nodes N [options]\n"
    "\n"
    "Runs node K of a job of N nodes: computes and passes a barrier with the others, again and again.\n"
    "\n"
    "  --node K          number of this node, from 1 on\n"
    "  --nodes N         number of nodes, 2 to 64\n"
    "  --iterations I    number of iterations (default 100)\n"
    "  --compute TIME    computation before each barrier: 500us, 1ms, or ns without a unit (default 1ms)\n"
    "  --at TICKS        begin when the cycle counter shows this, for nodes that share a clock\n"
    "  --poll            wait by polling, as MPI libraries do, and not in the kernel\n"
    "  --loggp           instead: measure the cost of a datagram between two nodes\n"
    "  --first ADDRESS   address of node 1; those of the others follow it (default 10.99.0.11)\n"
    "  --port PORT       UDP port (default 5100)\n"
    "  --limit TIME      longest wait for another node (default 5s)\n"
    "  --help            this text\n";

static struct {
    uint64_t node, nodes, iterations, compute_ns, at_ticks, port, limit_ns;
    struct in_addr first;
    bool loggp, poll;
} given = {
    .iterations = ITERATIONS_DEFAULT,
    .compute_ns = COMPUTE_NS_DEFAULT,
    .port = PORT_DEFAULT,
    .limit_ns = LIMIT_NS_DEFAULT,
};

enum option_code {
    NODE = 1,
    NODES,
    ITERATIONS,
    COMPUTE,
    AT,
    LOGGP,
    POLL,
    FIRST,
    PORT,
    LIMIT,
    HELP,
};

static const struct option options[] = {
    { "node", required_argument, NULL, NODE },
    { "nodes", required_argument, NULL, NODES },
    { "iterations", required_argument, NULL, ITERATIONS },
    { "compute", required_argument, NULL, COMPUTE },
    { "at", required_argument, NULL, AT },
    { "loggp", no_argument, NULL, LOGGP },
    { "poll", no_argument, NULL, POLL },
    { "first", required_argument, NULL, FIRST },
    { "port", required_argument, NULL, PORT },
    { "limit", required_argument, NULL, LIMIT },
    { "help", no_argument, NULL, HELP },
    { 0 },
};

_Noreturn static void refuse(const char *option, const char *value, const char *right)
{
    fprintf(stderr, "barrier: --%s %s: %s\n", option, *value ? value : "''", right);
    exit(2);
}

/* Reads an option's value. Returns NULL, or a phrase that says which values are right. */
static const char *option_read(int code, const char *text)
{
    switch (code) {
    case NODE:
        return parse_count(text, 1, EXCHANGE_RANKS_MAX, &given.node);
    case NODES:
        return parse_count(text, 2, EXCHANGE_RANKS_MAX, &given.nodes);
    case ITERATIONS:
        return parse_count(text, 1, ITERATIONS_MAX, &given.iterations);
    case COMPUTE:
        return parse_time_ns(text, &given.compute_ns);
    case AT:
        return parse_count(text, 1, INT64_MAX, &given.at_ticks);
    case LOGGP:
        given.loggp = true;
        return NULL;
    case POLL:
        given.poll = true;
        return NULL;
    case FIRST:
        return inet_pton(AF_INET, text, &given.first) == 1 ? NULL
                                                           : "give an IPv4 address, such as 10.99.0.11";
    case PORT:
        return parse_count(text, 1, UINT16_MAX, &given.port);
    case LIMIT:
        if (parse_time_ns(text, &given.limit_ns) == NULL && given.limit_ns >= LIMIT_NS_MIN)
            return NULL;
        return "give a time of 1ms or more, such as 5s";
    default:
        return "is no option";
    }
}

static void options_read(int count, char **words)
{
    int code, which = 0;

    inet_pton(AF_INET, FIRST_DEFAULT, &given.first);
    while ((code = getopt_long(count, words, "", options, &which)) != -1) {
        const char *fault;

        if (code == HELP)
            exit(fputs(usage, stdout) < 0);
        if (code == '?')
            exit(2);
        fault = option_read(code, optarg);
        if (fault)
            refuse(options[which].name, optarg, fault);
    }
    if (optind < count) {
        fprintf(stderr, "barrier: %s: it takes options only: barrier --help lists them\n", words[optind]);
        exit(2);
    }
    if (!given.node || !given.nodes) {
        fprintf(stderr, "barrier: give --node and --nodes: barrier --help\n");
        exit(2);
    }
    if (given.node > given.nodes) {
        fprintf(stderr, "barrier: --node %" PRIu64 ": there are %" PRIu64 "\n", given.node, given.nodes);
        exit(2);
    }
    if (given.loggp && given.nodes != 2) {
        fprintf(stderr, "barrier: --loggp takes --nodes 2\n");
        exit(2);
    }
}

/* ---- The loop ---- */

/* Returns the ticks of the shortest of some runs of `turns` turns. */
static uint64_t work_ticks(uint64_t turns)
{
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < RUNS; i++) {
        const uint64_t begin = cycles_now();

        fixed_work(turns);
        const uint64_t ticks = cycles_now() - begin;
        if (ticks < shortest)
            shortest = ticks;
    }
    return shortest;
}

/* Returns how many turns last `ticks`; at least one. */
static uint64_t turns_of(double ticks)
{
    const uint64_t one = work_ticks(1), many = work_ticks(TURNS + 1);
    const double turns = (ticks - (double)one) * TURNS / (double)(many - one);

    return turns < 1 ? 1 : (uint64_t)turns;
}

/* Waits until the cycle counter shows the value of --at. */
static void wait_for_begin(void)
{
    if (given.at_ticks && cycles_now() >= given.at_ticks) {
        fprintf(stderr, "barrier: --at %" PRIu64 ": the cycle counter is past that: %" PRIu64 "; give more\n",
                given.at_ticks, cycles_now());
        exit(1);
    }
    while (cycles_now() < given.at_ticks)
        ;
}

/* Runs the iterations. `times` gets the beginning, and then the end of the computation and of the barrier of
 * each iteration. */
static void iterate(struct exchange *exchange, uint64_t *times, uint64_t turns)
{
    *times = cycles_now();
    for (uint64_t i = 0; i < given.iterations; i++) {
        fixed_work(turns);
        *++times = cycles_now();
        exchange_barrier(exchange);
        *++times = cycles_now();
    }
}

static void report(const struct exchange *exchange, const uint64_t *times, double ticks_per_ns,
                   uint64_t computed_ticks)
{
    printf("# barrier: node %" PRIu64 " of %" PRIu64 "\n", given.node, given.nodes);
    printf("# Ticks per ns: %.9f\n", ticks_per_ns);
    printf("# Computation without noise [ticks]: %" PRIu64 "\n", computed_ticks);
    printf("# Begun [ns of CLOCK_MONOTONIC_RAW]: %" PRIu64 "\n", calibrate_ns_of(times[0], ticks_per_ns));
    printf("# Datagrams of others: %" PRIu64 "\n", exchange->strays);
    printf("# Computation begins, ends, barrier passed [ticks]\n");
    for (uint64_t i = 0; i < given.iterations; i++)
        printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", times[2 * i], times[2 * i + 1], times[2 * i + 2]);
}

int main(int count, char **words)
{
    static struct exchange exchange;
    struct sockaddr_in first = { .sin_family = AF_INET };
    const double ticks_per_ns = calibrate_ticks_per_ns();

    options_read(count, words);
    first.sin_addr = given.first;
    first.sin_port = htons((uint16_t)given.port);
    exchange_open(&exchange, (uint32_t)given.node - 1, (uint32_t)given.nodes, &first, given.limit_ns);
    uint64_t *times = memory_ready((2 * given.iterations + 1) * sizeof(*times));
    if (!times || !(ticks_per_ns > 0)) {
        fprintf(stderr, "barrier: there is no %s here\n", times ? "clock to measure by" : "memory");
        return 1;
    }
    if (given.loggp) {
        exchange_meet(&exchange);
        exchange.polls = given.poll;
        loggp_measure(&exchange, (uint64_t)(LATE_NS * ticks_per_ns));
        return 0;
    }
    const uint64_t turns = turns_of((double)given.compute_ns * ticks_per_ns);
    const uint64_t computed_ticks = work_ticks(turns);

    exchange_meet(&exchange);
    exchange.polls = given.poll;
    wait_for_begin();
    iterate(&exchange, times, turns);
    report(&exchange, times, ticks_per_ns, computed_ticks);
    return 0;
}
