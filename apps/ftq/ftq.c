/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ftq.c: the fixed time quantum benchmark, after the description in [Betti09 §VI-A] and Sottile and Minnich,
 * "Analysis of microbenchmarks for performance tuning of clusters", 2004. Time is cut into quanta on an
 * absolute grid; each basic operation counts for the quantum in which it finished; what a quantum lacks, the
 * system took.
 *
 * The same ELF file runs on Tacet and on Linux. With one CPU it starts no thread and takes no signal, and
 * between the two readings of the kernel's entry counters it executes nothing but operations and stores into
 * memory that was touched, and locked where that works, beforehand. With several CPUs one pinned thread runs
 * on each, on one common grid; they begin and end together.
 *
 * The data format is the public tool's: `PREFIX_T.dat` with `#` lines, then `ns count`. A quantum wholly lost
 * has the count 0 and its place on the grid.
 */
#define _GNU_SOURCE
#include "affinity.h"
#include "analysis.h"
#include "calibrate.h"
#include "counters.h"
#include "cycles.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

/* From which ratio on it is said that even the best quanta lack something: well above the floor of a 1 ms
 * quantum. */
#define SHORTFALL_NOTED 0.0005

/* What one CPU does and finds. */
struct measurement {
    size_t thread;
    uint32_t cpu;
    uint32_t cpu_after; /* where it was when the window closed */
    int pin_error;      /* negative errno, or 0 */
    uint64_t *counts;   /* one a quantum */
    uint64_t *scratch;  /* as many, for the analysis */
    struct counters_snapshot *before, *after;
    FILE *output;
    char path[256];
    pthread_t handle;
};

/* What all CPUs share. Written before the threads start, but for the atomics. */
static struct {
    struct ftq_options options;
    double ticks_per_ns;
    double operation_ticks;
    uint64_t quantum_ticks;
    struct clock_grain grain;
    atomic_size_t ready, done;
    atomic_uint_fast64_t origin_ticks; /* 0: wait; UINT64_MAX: give up */
} run;

static struct measurement measurements[FTQ_THREADS_MOST];

/*
 * Fills `counts` from the origin of the grid on. The operation that passes the end of a quantum finished in a
 * later one and counts there; quanta that it skipped stay 0.
 */
__attribute__((noinline)) static void grid_measure(uint64_t *counts, size_t samples, uint64_t origin_ticks,
                                                   uint64_t quantum_ticks)
{
    uint64_t end_ticks = origin_ticks + quantum_ticks, now_ticks;
    size_t i = 0;

    operations_until(origin_ticks, &now_ticks);
    for (;;) {
        while (now_ticks >= end_ticks) {
            if (++i == samples)
                return;
            end_ticks += quantum_ticks;
        }
        /* The last one of these finishes later; for it, the one that ended the quantum before finished here.
         */
        counts[i] = operations_until(end_ticks, &now_ticks);
    }
}

/* Memory that will not fault: touched, and locked where the system can. NULL if there is none. */
static void *memory_ready(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory)
        return NULL;
    /* Ones first, and seen: else the compiler may make this a calloc(), whose pages are not there yet. */
    memset(memory, 0xff, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
    memset(memory, 0, bytes);
    /* Without locking (no such call, no right to) the pages are there all the same; only swap could take
     * them. */
    if (mlock(memory, bytes))
        errno = 0;
    return memory;
}

/* Walks once through everything that the window will execute, so that no page and no cache line is new in it.
 */
static void window_rehearse(struct measurement *m)
{
    size_t samples = run.options.samples < 16 ? run.options.samples : 16;

    counters_read(m->before, m->cpu);
    grid_measure(m->counts, samples, cycles_now(), (uint64_t)(run.operation_ticks * 20) + 1);
    counters_read(m->after, m->cpu);
    memset(m->counts, 0, samples * sizeof *m->counts);
}

/* The measuring window of one CPU. */
static void window_run(struct measurement *m, uint64_t (*origin_agree)(void))
{
    uint64_t origin_ticks;

    counters_read(m->before, m->cpu);
    origin_ticks = origin_agree();
    if (origin_ticks != UINT64_MAX)
        grid_measure(m->counts, run.options.samples, origin_ticks, run.quantum_ticks);
    counters_read(m->after, m->cpu);
    m->cpu_after = affinity_current();
}

/* The grid begins this much after the last CPU is ready. */
static uint64_t origin_soon(void)
{
    return cycles_now() + (uint64_t)(run.ticks_per_ns * 50000) + 1;
}

static uint64_t origin_wait(void)
{
    uint64_t origin_ticks;

    atomic_fetch_add(&run.ready, 1);
    while (!(origin_ticks = atomic_load(&run.origin_ticks)))
        ;
    return origin_ticks;
}

static uint64_t origin_decide(void)
{
    uint64_t origin_ticks;

    while (atomic_load(&run.ready) < run.options.thread_count - 1)
        ;
    origin_ticks = origin_soon();
    for (size_t i = 0; i < run.options.thread_count; i++) {
        if (measurements[i].pin_error)
            origin_ticks = UINT64_MAX;
    }
    atomic_store(&run.origin_ticks, origin_ticks);
    return origin_ticks;
}

/* Nobody leaves, which enters the kernel and may wake somebody, before everybody's window is closed. */
static void all_done_wait(void)
{
    atomic_fetch_add(&run.done, 1);
    while (atomic_load(&run.done) < run.options.thread_count)
        ;
}

static void *thread_main(void *argument)
{
    struct measurement *m = argument;

    m->pin_error = affinity_pin(m->cpu);
    window_rehearse(m);
    window_run(m, origin_wait);
    all_done_wait();
    return NULL;
}

/* Runs the windows of all CPUs. False, with a message, if a CPU cannot be had. */
static bool measure_all(void)
{
    const size_t threads = run.options.thread_count;

    for (size_t i = 1; i < threads; i++) {
        int error = pthread_create(&measurements[i].handle, NULL, thread_main, &measurements[i]);

        if (error) {
            fprintf(stderr, "ftq: no thread for CPU %u: %s\n", measurements[i].cpu, strerror(error));
            return false; /* the process ends, and with it the threads that wait */
        }
    }
    measurements[0].pin_error = affinity_pin(measurements[0].cpu);
    if (!run.options.cpus_given)
        measurements[0].pin_error = 0; /* nobody asked for this CPU; the summary says so if it moved */
    if (threads == 1 && !measurements[0].pin_error) {
        window_rehearse(&measurements[0]);
        window_run(&measurements[0], origin_soon);
    } else if (threads > 1) {
        window_rehearse(&measurements[0]);
        window_run(&measurements[0], origin_decide);
        all_done_wait();
        for (size_t i = 1; i < threads; i++)
            pthread_join(measurements[i].handle, NULL);
    }
    for (size_t i = 0; i < threads; i++) {
        if (measurements[i].pin_error) {
            fprintf(stderr, "ftq: cannot bind to CPU %u: %s\n", measurements[i].cpu,
                    strerror(-measurements[i].pin_error));
            return false;
        }
    }
    return true;
}

/* Finds memory and output files before anything is measured. False, with a message, if one is missing. */
static bool measurement_prepare(struct measurement *m, size_t thread)
{
    const size_t counts_bytes = (size_t)run.options.samples * sizeof *m->counts;

    m->thread = thread;
    m->cpu = run.options.cpus[thread];
    m->counts = memory_ready(counts_bytes);
    m->scratch = memory_ready(counts_bytes);
    m->before = memory_ready(sizeof *m->before);
    m->after = memory_ready(sizeof *m->after);
    if (!m->counts || !m->scratch || !m->before || !m->after) {
        fprintf(stderr, "ftq: no memory for %" PRIu64 " samples: give fewer with -n\n", run.options.samples);
        return false;
    }
    m->output = stdout;
    if (run.options.to_stdout)
        return true;
    if ((size_t)snprintf(m->path, sizeof m->path, "%s_%zu.dat", run.options.prefix, thread) >=
        sizeof m->path) {
        fprintf(stderr, "ftq: -o %s: the name is too long\n", run.options.prefix);
        return false;
    }
    m->output = fopen(m->path, "w");
    if (!m->output) {
        fprintf(stderr, "ftq: cannot write %s: %s (-s writes to standard output)\n", m->path,
                strerror(errno));
        return false;
    }
    return true;
}

/* The line of /proc/cpuinfo that names the processor, if this system has one. */
static void processor_print(FILE *out)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256];

    if (!info)
        return;
    while (fgets(line, sizeof line, info)) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "cpu\t", 4) == 0) {
            fprintf(out, "# %s", line);
            break;
        }
    }
    fclose(info);
}

/* Writes the data of one CPU in the public tool's form. False, with a message, if it cannot be written. */
static bool data_write(struct measurement *m, const struct ftq_analysis *result)
{
    const double most_work = (double)result->maximum_count * (double)run.options.samples;
    FILE *out = m->output;
    struct utsname name;

    fprintf(out, "# Frequency %.9g\n", 1e9 / (double)run.options.quantum_ns);
    fprintf(out, "# Ticks per ns: %.9g\n", run.ticks_per_ns);
    fprintf(out, "# Octave: x = load('ftq_0.dat'); stem(x(:,1) / 1e9, max(x(:,2)) - x(:,2))\n");
    fprintf(out, "# thread %zu, core %u\n", m->thread, m->cpu);
    fprintf(out, "# Total count is %" PRIu64 "\n", result->total_count);
    fprintf(out, "# Max possible work is %.0f\n", most_work);
    fprintf(out, "# Fraction is %.9g\n", most_work > 0 ? (double)result->total_count / most_work : 0);
    fprintf(out, "# quantum_ns %" PRIu64 "\n", run.options.quantum_ns);
    fprintf(out, "# operation_instructions %d\n", OPERATION_INSTRUCTIONS);
    if (!uname(&name))
        fprintf(out, "# %s %s %s %s\n", name.sysname, name.release, name.version, name.machine);
    processor_print(out);
    for (uint64_t i = 0; i < run.options.samples; i++)
        fprintf(out, "%" PRIu64 " %" PRIu64 "\n", i * run.options.quantum_ns, m->counts[i]);
    if (fflush(out) || ferror(out) || (out != stdout && fclose(out))) {
        fprintf(stderr, "ftq: cannot write %s: %s\n", *m->path ? m->path : "standard output",
                strerror(errno));
        return false;
    }
    return true;
}

/* The figures of one CPU, `key: value unit`, a line each; lab/ftq.py reads them. */
static void summary_print(const struct measurement *m, const struct ftq_analysis *r)
{
    const double capacity = (double)run.quantum_ticks / run.operation_ticks;
    const double shortfall = 1 - ((double)r->nominal_count + 1) / capacity;
    FILE *out = stderr;

    fprintf(out, "thread: %zu\n", m->thread);
    fprintf(out, "cpu: %u%s\n", m->cpu, m->cpu_after == m->cpu ? "" : " (moved during the window)");
    fprintf(out, "samples: %" PRIu64 "\n", run.options.samples);
    fprintf(out, "quantum: %" PRIu64 " ns\n", run.options.quantum_ns);
    fprintf(out, "operation_instructions: %d\n", OPERATION_INSTRUCTIONS);
    fprintf(out, "operation: %.3f ns (mean of undisturbed quanta)\n", r->operation_ns);
    fprintf(out, "operation_minimum: %.3f ns (calibrated)\n", run.operation_ticks / run.ticks_per_ns);
    fprintf(out, "ticks_per_ns: %.9g\n", run.ticks_per_ns);
    fprintf(out, "clock_step: %" PRIu64 " ticks\n", run.grain.step_ticks);
    fprintf(out, "clock_read: %" PRIu64 " ticks\n", run.grain.read_ticks);
    fprintf(out, "clock_invariant: %s\n", cycles_invariant() ? "yes" : "no");
    fprintf(out, "nominal_count: %" PRIu64 " operations (one quantum in 20 reached it)\n", r->nominal_count);
    fprintf(out, "maximum_count: %" PRIu64 " operations\n", r->maximum_count);
    fprintf(out, "quantisation_floor: %.3f ns (one operation a quantum; no noise)\n", r->floor_ns);
    fprintf(out, "quantisation_floor_ratio: %.9f (at most)\n", r->floor_ratio);
    fprintf(out, "quantisation_floor_measured: %.9f (quanta one count short: %" PRIu64 ")\n",
            r->measured_floor_ratio, r->one_short_quanta);
    fprintf(out, "disturbed_quanta: %" PRIu64 " (lost two counts or more)\n", r->disturbed_quanta);
    fprintf(out, "lost_quanta: %" PRIu64 " (no operation at all)\n", r->lost_quanta);
    if (r->detours)
        fprintf(out, "detours: %" PRIu64 "\n", r->detours);
    else
        fprintf(out, "detours: 0 (zero detours)\n");
    fprintf(out, "detours_per_second: %.6f\n", r->detours_per_second);
    fprintf(out, "largest_loss: %" PRIu64 " operations\n", r->largest_loss);
    fprintf(out, "largest_loss_ns: %.0f ns\n", r->largest_loss_ns);
    if (r->detours)
        fprintf(out, "largest_loss_at: %" PRIu64 " ns\n", r->largest_loss_at * run.options.quantum_ns);
    fprintf(out, "noise_ratio: %.9f (disturbed quanta)\n", r->noise_ratio);
    fprintf(out, "raw_ratio: %.9f (all quanta, floor included)\n", r->raw_ratio);
    fprintf(out, "shortfall_ratio: %.6f (best quanta against the calibrated operation)\n",
            shortfall > 0 ? shortfall : 0);
    if (shortfall > SHORTFALL_NOTED)
        fprintf(
            out,
            "note: even the best quanta fall short of the calibrated operation: either noise comes in every "
            "quantum, which the figures above cannot show (a shorter quantum does), or the processor "
            "changed its speed\n");
    counters_print(out, m->before, m->after);
}

/* Finds out what a tick and an operation last, and the quantum in ticks. False, with a message and *status.
 */
static bool clock_prepare(int *status)
{
    const double least_operations = 10;
    double operation_ns;

    run.ticks_per_ns = run.options.ticks_per_ns;
    if (!(run.ticks_per_ns > 0))
        run.ticks_per_ns = calibrate_ticks_per_ns();
    if (!(run.ticks_per_ns > 0)) {
        fprintf(stderr, "ftq: no clock to calibrate the " CYCLES_CLOCK_NAME
                        " against: give its ticks per ns with -T\n");
        *status = 1;
        return false;
    }
    run.grain = calibrate_clock_grain();
    run.operation_ticks = calibrate_operation_ticks();
    run.quantum_ticks = (uint64_t)llround((double)run.options.quantum_ns * run.ticks_per_ns);
    operation_ns = run.operation_ticks / run.ticks_per_ns;
    if ((double)run.options.quantum_ns < least_operations * operation_ns) {
        fprintf(stderr, "ftq: %s: an operation lasts %.1f ns here: give a quantum of at least %.0fns\n",
                run.options.quantum_text, operation_ns, ceil(least_operations * operation_ns));
        *status = 2;
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int status = 0;

    ftq_options_read(argc, argv, &run.options);
    for (size_t i = 0; i < run.options.thread_count; i++) {
        if (!measurement_prepare(&measurements[i], i))
            return 1;
    }
    if (!clock_prepare(&status))
        return status;
    if (!measure_all())
        return 1;
    for (size_t i = 0; i < run.options.thread_count; i++) {
        struct measurement *m = &measurements[i];
        struct ftq_analysis result;
        bool judged =
            ftq_analyse(m->counts, (size_t)run.options.samples, run.options.quantum_ns, m->scratch, &result);

        if (!data_write(m, &result))
            status = 1;
        if (judged) {
            summary_print(m, &result);
        } else {
            fprintf(stderr, "ftq: CPU %u did next to nothing: fewer than two operations in the best quanta\n",
                    m->cpu);
            status = 1;
        }
    }
    return status;
}
