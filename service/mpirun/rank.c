/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.c: a rank of tacet-mpirun: its connection to the PMI server, its streams, environment and CPU, and the
 * start of its program. Between fork and exec the rank reports errors through a pipe, which exec closes. So
 * when rank_start returns, the rank's start has succeeded or failed.
 *
 * A rank leads its own process group: it gets signals from the terminal only through tacet-mpirun. It dies
 * with tacet-mpirun, even if that is killed (PR_SET_PDEATHSIG).
 */
#include "service/mpirun/mpirun.h"
#include "service/lib/input.h"
#include "service/lib/output.h"
#include "service/lib/process.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"
#define SPIN_US      "20" /* mpi-lite's own value when ranks share CPUs */

/* Variables of other launchers, under which tacet-mpirun itself may run. */
static const char *const foreign_variables[] = { "PMI_PORT",        "PMI_ID",         "PMI_JOBID",
                                                 "PMI_SPAWNED",     "PMI_APPNUM",     "PMI_DOMAIN",
                                                 "PMIX_NAMESPACE",  "PMIX_RANK",      "HYDI_CONTROL_FD",
                                                 "MPI_LOCALRANKID", "MPI_LOCALNRANKS" };

/* ---- Between fork and exec ---- */

_Noreturn static void rank_fail(const struct rank_ends *ends, int error, int status, const char *doing)
{
    struct rank_problem problem = { .error = error, .status = status };

    snprintf(problem.doing, sizeof(problem.doing), "%s", doing);
    if (write(ends->problems, &problem, sizeof(problem)) != sizeof(problem))
        _exit(STATUS_FAILED); /* tacet-mpirun cannot read it */
    _exit(status);
}

static void number_set(const struct rank_ends *ends, const char *name, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    if (setenv(name, text, 1))
        rank_fail(ends, errno, STATUS_FAILED, "setting its environment");
}

static void environment_make(const struct rank_ends *ends, uint32_t number)
{
    const struct rank *rank = &run.ranks[number];
    const struct program *program = rank->program;

    for (unsigned i = 0; i < sizeof(foreign_variables) / sizeof(foreign_variables[0]); i++)
        unsetenv(foreign_variables[i]);
    number_set(ends, "TACET_RANK", number);
    number_set(ends, "TACET_SIZE", run.plan.ranks);
    number_set(ends, "TACET_LOCAL_RANK", rank->local);
    /* mpi-lite's ranks detect that they share CPUs with ranks of their own node, but not with other
     * nodes'. */
    if (run.plan.nodes > 1 && run.plan.ranks > run.cpus.count && setenv("TACET_MPI_SPIN_US", SPIN_US, 0))
        rank_fail(ends, errno, STATUS_FAILED, "setting its environment");
    for (unsigned i = 0; i < program->variable_count; i++)
        if (putenv((char *)program->variables[i]))
            rank_fail(ends, errno, STATUS_FAILED, "setting its environment");
    number_set(ends, "PMI_FD", (uint32_t)ends->pmi);
    number_set(ends, "PMI_RANK", number);
    number_set(ends, "PMI_SIZE", run.plan.ranks);
}

static bool is_bound(void)
{
    return run.cpus.count && (run.plan.bind == BIND_ALWAYS ||
                              (run.plan.bind == BIND_IF_ENOUGH && run.plan.ranks <= run.cpus.count));
}

static void cpu_set(const struct rank_ends *ends, uint32_t number)
{
    cpu_set_t cpus;

    if (!is_bound())
        return;
    CPU_ZERO(&cpus);
    CPU_SET(run.cpus.order[number % run.cpus.count].cpu, &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus))
        rank_fail(ends, errno, STATUS_FAILED, "binding it to a CPU");
}

/* Sets the standard descriptors. The ends' own numbers are above them already. */
static void descriptors_set(const struct rank_ends *ends)
{
    if (dup2(ends->in, STDIN_FILENO) < 0 || dup2(ends->out, STDOUT_FILENO) < 0 ||
        dup2(ends->err, STDERR_FILENO) < 0 || fcntl(ends->pmi, F_SETFD, 0))
        rank_fail(ends, errno, STATUS_FAILED, "setting its descriptors");
}

/* Checks that a file may be executed and is no folder. 0, or an errno. */
static int program_look(const char *path)
{
    struct stat status;

    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) ? errno : 0;
}

/* Finds the program's path: searches PATH for a name without '/'. 0, or an errno. */
static int program_find(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH"), *next;
    int error = ENOENT;

    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return strlen(name) < PATH_MAX ? program_look(name) : ENAMETOOLONG;
    }
    for (const char *at = folders ? folders : PATH_DEFAULT; at; at = next) {
        int bytes = (int)strcspn(at, ":");

        next = at[bytes] ? at + bytes + 1 : NULL;
        if (snprintf(path, PATH_MAX, "%.*s/%s", bytes ? bytes : 1, bytes ? at : ".", name) >= PATH_MAX)
            continue;
        int found = program_look(path);
        if (found == 0)
            return 0;
        error = found == EACCES ? EACCES : error;
    }
    return error;
}

_Noreturn static void rank_run(const struct rank_ends *ends, uint32_t number, pid_t parent)
{
    const struct program *program = run.ranks[number].program;
    char path[PATH_MAX];

    child_begin(parent, &run.descriptors);
    setpgid(0, 0);
    descriptors_set(ends);
    cpu_set(ends, number);
    environment_make(ends, number);
    int error = program_find(program->words[0], path);
    if (!error) {
        child_unblock();
        execv(path, program->words);
        error = errno;
    }
    rank_fail(ends, error, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN, "");
}

/* ---- Starting a rank ---- */

static int problem_say(uint32_t number, const struct rank_problem *problem)
{
    const char *name = run.ranks[number].program->words[0];
    bool is_here = !strchr(name, '/') && access(name, X_OK) == 0;

    if (problem->doing[0])
        say("rank %u cannot be started: %s: %s", number, problem->doing, strerror(problem->error));
    else if (is_here)
        say("%s cannot be started: not found in PATH; to run the one in this folder, write ./%s", name, name);
    else
        say("%s cannot be started: %s", name, strerror(problem->error));
    return problem->status;
}

/* Waits for a problem, or until exec has closed the pipe. 0, or the problem's status after a message. */
static int problems_read(uint32_t number, int pipe)
{
    struct rank_problem problem;
    ssize_t bytes;

    while ((bytes = read(pipe, &problem, sizeof(problem))) < 0 && errno == EINTR)
        ;
    return bytes == sizeof(problem) ? problem_say(number, &problem) : 0;
}

/* Closes all descriptors of a list that are open (not -1). */
static void all_close(const int *descriptors, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* Opens a rank's standard input: /dev/null, or for the rank that reads it, this program's own. If that is a
 * terminal, the rank gets a pipe and *kept is the end for input_begin. */
static int input_open(uint32_t number, int *kept)
{
    int ends[2];

    if (number != run.plan.stdin_rank)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!isatty(STDIN_FILENO))
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    *kept = ends[1];
    return ends[0];
}

/* The ends that tacet-mpirun keeps, in the order in which ends_open opens them. */
enum { KEPT_PMI, KEPT_OUT, KEPT_ERR, KEPT_PROBLEMS, KEPT_IN, KEPT_COUNT };

static bool pipe_open(int *kept, int *given)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return false;
    *kept = ends[0];
    *given = ends[1];
    return true;
}

static bool ends_open(uint32_t number, struct rank_ends *ends, int kept[KEPT_COUNT])
{
    int pmi[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi))
        return false;
    kept[KEPT_PMI] = pmi[0];
    ends->pmi = pmi[1];
    if (!pipe_open(&kept[KEPT_OUT], &ends->out) || !pipe_open(&kept[KEPT_ERR], &ends->err) ||
        !pipe_open(&kept[KEPT_PROBLEMS], &ends->problems))
        return false;
    ends->in = input_open(number, &kept[KEPT_IN]);
    return ends->in >= 0;
}

/* Watches the connections of a rank that has started. Returns false if out of memory. */
static bool rank_watch(uint32_t number, int kept[KEPT_COUNT])
{
    bool is_watched = true;

    if (kept[KEPT_IN] >= 0)
        input_begin(&run.loop, kept[KEPT_IN], number);
    kept[KEPT_IN] = -1;
    if (pmi_server_connect(&run.pmi, kept[KEPT_PMI], number, NULL, 0))
        kept[KEPT_PMI] = -1;
    for (int i = KEPT_OUT; i <= KEPT_ERR; i++) {
        if (stream_begin(kept[i], number, i == KEPT_ERR, NULL, 0))
            kept[i] = -1;
        is_watched &= kept[i] == -1;
    }
    return is_watched && kept[KEPT_PMI] == -1;
}

int rank_start(uint32_t number)
{
    struct rank_ends ends = { -1, -1, -1, -1, -1 };
    int kept[KEPT_COUNT] = { -1, -1, -1, -1, -1 };
    const pid_t parent = getpid();
    pid_t pid = -1;
    int status = STATUS_FAILED;

    if (ends_open(number, &ends, kept) && (pid = fork()) == 0)
        rank_run(&ends, number, parent);
    if (pid < 0)
        say("rank %u cannot be started: %s", number, strerror(errno));
    all_close((const int[]){ ends.pmi, ends.in, ends.out, ends.err, ends.problems }, 5);
    if (pid > 0) {
        run.ranks[number].pid = pid;
        status = problems_read(number, kept[KEPT_PROBLEMS]);
        if (!status && !rank_watch(number, kept)) {
            say("rank %u cannot be started: no memory", number);
            status = STATUS_FAILED;
        }
    }
    all_close(kept, KEPT_COUNT);
    return status;
}
