/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.c: see command.h. The CPU that accepts commands writes the ring's slots before it raises their
 * count. Each CPU reads the slots below that count that it has not done yet; no CPU overwrites these before.
 */
#include "beat/command.h"
#include "arch.h"
#include "beat/log_page.h"
#include "beat/node_keys.h"
#include "beat/welcome.h"
#include "debug/klog.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "smp/per_cpu.h"
#include "time/timer.h"

#define RING      16
#define FIRST_CPU 0 /* does the node's part of a command */

static struct slot {
    struct beat_command command;
    uint32_t result; /* result of the part that FIRST_CPU does */
} ring[RING];

static uint64_t accepted; /* since boot */
/* Of the conductor that beats now. */
static uint64_t epoch, epoch_began; /* `accepted` when the epoch began */
static uint32_t last_number;
static bool is_welcomed; /* a beat of this epoch has welcomed the node */

static uint64_t own_welcome;

static const struct command_job *job;

#define STOPPED (1ULL << 32)
static uint64_t stopped; /* STOPPED and the number of the job whose ranks are stopped; 0: they run */

struct command_cpu {
    uint64_t done; /* of the accepted commands */
    uint64_t system_calls, exceptions, interrupts, switches;
    uint64_t windows; /* times that the service's threads ran first */
};

PER_CPU static struct command_cpu cpus;

void commands_job_set(const struct command_job *given)
{
    __atomic_store_n(&job, given, __ATOMIC_RELEASE);
}

void commands_welcome_set(uint64_t welcome)
{
    own_welcome = welcome;
}

/* Returns how many commands all CPUs have done. */
static uint64_t all_done(void)
{
    uint64_t minimum = accepted;

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const uint64_t done = __atomic_load_n(&PER_CPU_OF(cpus, cpu)->done, __ATOMIC_ACQUIRE);

        if (done < minimum)
            minimum = done;
    }
    return minimum;
}

bool commands_accept(const struct beat *beat)
{
    const uint64_t before = accepted;

    if (beat->epoch != epoch) {
        epoch = beat->epoch;
        epoch_began = accepted;
        last_number = 0;
        is_welcomed = false;
    }
    is_welcomed = is_welcomed || welcome_is_in(beat, own_welcome);
    if (!is_welcomed)
        return false;
    const uint64_t room_until = all_done() + RING - 1; /* answers read the last one that all have done */
    for (unsigned i = 0; i < beat->command_count && accepted < room_until; i++) {
        const struct beat_command *command = &beat->commands[i];

        if (command->number <= last_number)
            continue;
        ring[accepted % RING].command = *command;
        last_number = command->number;
        __atomic_store_n(&accepted, accepted + 1, __ATOMIC_RELEASE);
    }
    return accepted != before;
}

/* ---- Doing ---- */

static void count(struct command_cpu *here)
{
    const struct tacet_counters *counters = arch_counters_here();

    here->exceptions = here->interrupts = 0;
    for (unsigned i = 0; i < TACET_EXCEPTIONS; i++)
        here->exceptions += counters->exceptions[i];
    for (unsigned i = 0; i < TACET_INTERRUPTS; i++)
        here->interrupts += counters->interrupts[i];
    here->system_calls = counters->system_calls;
    here->switches = counters->switches;
}

/* Returns how long the service's threads are to run first; 0 if the command's body is invalid. */
static uint64_t window_ns(const struct beat_command *command)
{
    const uint64_t us = command->bytes == 4 ? load_be32(command->body) : 0;

    return us <= BEAT_WINDOW_US_MAX ? us * 1000 : 0;
}

uint64_t commands_windows(unsigned cpu)
{
    return PER_CPU_OF(cpus, cpu)->windows;
}

static uint32_t job_number(const struct command_job *of_job)
{
    return of_job ? *of_job->number : 0;
}

static bool is_for_ranks(enum beat_code code)
{
    return code == BEAT_STOP || code == BEAT_CONTINUE || code == BEAT_KILL;
}

/* Returns whether a command for ranks is for this node's: for all jobs, or for the job that runs here. */
static bool is_for_job(const struct beat_command *command, const struct command_job *of_job)
{
    const uint32_t number = command->bytes == 4 ? load_be32(command->body) : 0;

    return command->bytes == 0 || (number && number == job_number(of_job));
}

static int job_do(enum beat_code code, const struct beat_command *command, const struct command_job *of_job)
{
    if (command->bytes != 0 && command->bytes != 4)
        return -EINVAL;
    if (!is_for_job(command, of_job))
        return 0;
    __atomic_store_n(&stopped, code == BEAT_STOP ? STOPPED | job_number(of_job) : 0, __ATOMIC_RELAXED);
    return 0;
}

/* Does the node's part of a command. Returns 0, 1 or a negative error. */
static int node_do(enum beat_code code, const struct beat_command *command, const struct command_job *of_job)
{
    char text[BEAT_COMMAND_BYTES + 1];

    __builtin_memcpy(text, command->body, command->bytes);
    text[command->bytes] = '\0';
    switch (code) {
    case BEAT_STOP:
    case BEAT_CONTINUE:
    case BEAT_KILL:
        return job_do(code, command, of_job);
    case BEAT_COUNT:
        return 0;
    case BEAT_TRACE:
        return klog_switch(text);
    case BEAT_RATE:
        return timer_device_rate(text);
    case BEAT_SERVICES:
        return window_ns(command) ? 0 : -EINVAL;
    case BEAT_HOLD:
        return log_pages_hold(command);
    case BEAT_PAGE:
        return log_pages_request(command);
    case BEAT_REKEY:
        return node_keys_renew();
    default:
        return -ENOSYS;
    }
}

static void command_do(struct command_cpu *here, struct slot *slot)
{
    const struct beat_command *command = &slot->command;
    const enum beat_code code = command->code & BEAT_CODE_MASK;
    const struct command_job *of_job = __atomic_load_n(&job, __ATOMIC_ACQUIRE);

    if (arch_cpu_index() == FIRST_CPU) {
        int error = node_do(code, command, of_job);
        slot->result = error < 0 ? (uint32_t)-error : 0;
        klog(command, code, slot->result);
    }
    if (code == BEAT_COUNT)
        count(here);
    else if (of_job && code == BEAT_SERVICES)
        here->windows += window_ns(command) && of_job->services(window_ns(command));
    else if (of_job && is_for_ranks(code) && is_for_job(command, of_job))
        of_job->command(code);
}

/* Does the commands in the ring. Out of line, so that a beat without commands does not pay for its registers
 * and stack. */
static __attribute__((noinline)) void ring_do(struct command_cpu *here)
{
    while (here->done != __atomic_load_n(&accepted, __ATOMIC_ACQUIRE)) {
        command_do(here, &ring[here->done % RING]);
        __atomic_store_n(&here->done, here->done + 1, __ATOMIC_RELEASE);
    }
}

void commands_do(void)
{
    struct command_cpu *here = PER_CPU_HERE(cpus);

    if (here->done != __atomic_load_n(&accepted, __ATOMIC_ACQUIRE))
        ring_do(here);
}

/* ---- Answers ---- */

void commands_answer(struct answer *answer)
{
    const uint64_t done = all_done();
    const struct slot *last = answer->epoch == epoch && done > epoch_began ? &ring[(done - 1) % RING] : NULL;
    const struct command_job *of_job = __atomic_load_n(&job, __ATOMIC_ACQUIRE);

    answer->is_welcomed = answer->epoch == epoch && is_welcomed;
    answer->job = job_number(of_job);
    answer->state = __atomic_load_n(&stopped, __ATOMIC_RELAXED) == (STOPPED | answer->job) ? ANSWER_STOPPED
                                                                                           : ANSWER_RUNNING;
    answer->ranks = of_job ? (uint16_t)__atomic_load_n(of_job->ranks, __ATOMIC_RELAXED) : 0;
    answer->done = last ? last->command.number : 0;
    answer->result = last ? last->result : 0;
    answer->system_calls = answer->exceptions = answer->interrupts = answer->switches = 0;
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct command_cpu *of = PER_CPU_OF(cpus, cpu);

        answer->system_calls += of->system_calls;
        answer->exceptions += of->exceptions;
        answer->interrupts += of->interrupts;
        answer->switches += of->switches;
    }
}
