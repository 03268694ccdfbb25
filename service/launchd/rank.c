/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.c: a rank of tacet-launchd between fork and exec: its descriptors, user, folder, environment and CPUs.
 * An error is a line for people, in a pipe that exec closes. The program's file is examined only after Linux
 * has refused it.
 */
#include "service/launchd/launchd.h"
#include "service/lib/process.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWN_VARIABLES   4  /* TACET_RANK, TACET_SIZE, TACET_LOCAL_RANK, PMI_FD */
#define PROGRAM_HEADERS 64 /* program headers that are examined */
#define NOT_STARTED     127

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#else
#error "add the ELF machine number of this architecture"
#endif

/* Sends a line to tacet-launchd and ends the process. One write of less than PIPE_BUF, so that lines of
 * several ranks do not mix. */
__attribute__((format(printf, 2, 3))) _Noreturn static void problem(const struct launch_rank *rank,
                                                                    const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (write(rank->problems, line, strlen(line)) < 0)
        _exit(NOT_STARTED + 1); /* tacet-launchd has closed the pipe */
    _exit(NOT_STARTED);
}

/* ---- Programs that Linux has refused ---- */

/* Finds the path of the program's interpreter. Returns false if it has none. */
static bool interpreter_of(int file, const Elf64_Ehdr *header, char path[PATH_MAX])
{
    for (unsigned i = 0; i < header->e_phnum && i < PROGRAM_HEADERS; i++) {
        const off_t at = (off_t)(header->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr));
        Elf64_Phdr segment;

        if (pread(file, &segment, sizeof(segment), at) != sizeof(segment))
            return false;
        if (segment.p_type != PT_INTERP || segment.p_filesz >= PATH_MAX)
            continue;
        const ssize_t bytes = pread(file, path, segment.p_filesz, (off_t)segment.p_offset);
        path[bytes < 0 ? 0 : bytes] = '\0';
        return bytes > 0;
    }
    return false;
}

static bool is_elf(const Elf64_Ehdr *header, size_t bytes)
{
    return bytes == sizeof(*header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
}

_Noreturn static void exec_failed(const struct launch_rank *rank, int error)
{
    const char *path = rank->request->path;
    const int file = rank->program >= 0 ? rank->program : open(path, O_RDONLY | O_CLOEXEC);
    char interpreter[PATH_MAX];
    Elf64_Ehdr header = { 0 };
    struct stat status;

    if (rank->program < 0 && stat(path, &status))
        problem(rank, "%s: %s", path,
                errno == ENOENT ? "there is no such file on this node" : strerror(errno));
    if (rank->program < 0 && !S_ISREG(status.st_mode))
        problem(rank, "%s: it is a folder or a device, not a program", path);
    const ssize_t bytes = file < 0 ? 0 : pread(file, &header, sizeof(header), 0);
    if (bytes >= 2 && memcmp(&header, "#!", 2) == 0 && error == ENOENT)
        problem(rank, "%s: it is a script, %s", path,
                rank->program >= 0 ? "and a program that is sent must be an ELF file"
                                   : "and the interpreter in its first line is not on this node");
    if (error == EACCES)
        problem(rank, "%s: it is not executable, or its file system is mounted noexec", path);
    if (error == ENOEXEC && !is_elf(&header, (size_t)bytes))
        problem(rank, "%s: it is neither an ELF program nor a script", path);
    if (error == ENOEXEC && (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE))
        problem(rank,
                "%s: it is for another machine, ELF machine %u of %u bits; this node runs machine %u of 64",
                path, header.e_machine, header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32, MACHINE);
    if (error == ENOENT && is_elf(&header, (size_t)bytes) && interpreter_of(file, &header, interpreter))
        problem(rank, "%s: it is linked dynamically, and this node has no %s; link it statically", path,
                interpreter);
    problem(rank, "%s: %s", path, strerror(error));
}

/* ---- Before exec ---- */

/* Sets the rank's descriptors. None of those that it has before is LAUNCH_PMI_FD: tacet-launchd's event loop
 * has that number. */
static void descriptors_set(const struct launch_rank *rank, uint32_t number)
{
    const int input =
        rank->request->stdin_rank == number ? rank->out : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(rank->out, STDOUT_FILENO) < 0 ||
        dup2(rank->err, STDERR_FILENO) < 0 || dup2(rank->pmi, LAUNCH_PMI_FD) < 0)
        problem(rank, "rank %u: cannot set up its input and output: %s", number, strerror(errno));
}

/* Returns NAME=VALUE. Never freed: exec follows. */
static const char *variable_new(const struct launch_rank *rank, const char *name, uint32_t value)
{
    char *text;

    if (asprintf(&text, "%s=%u", name, value) < 0)
        problem(rank, "no memory for the environment");
    return text;
}

static void environment_make(const struct launch_rank *rank, uint32_t number, const char **variables)
{
    const struct launch_request *request = rank->request;

    *variables++ = variable_new(rank, "TACET_RANK", number);
    *variables++ = variable_new(rank, "TACET_SIZE", request->size);
    *variables++ = variable_new(rank, "TACET_LOCAL_RANK", rank->local);
    *variables++ = variable_new(rank, "PMI_FD", LAUNCH_PMI_FD);
    for (unsigned i = 0; i < request->variable_count; i++)
        *variables++ = request->variables[i];
    for (unsigned i = 0; i < request->number_count; i++)
        *variables++ = variable_new(rank, request->numbers[i], number);
    *variables = NULL;
}

static void cpus_set(const struct launch_rank *rank, uint32_t number)
{
    cpu_set_t cpus;

    if (!launch_cpus_of(&launchd.cpus, rank->local, rank->request->ranks, rank->request->cpus, &cpus) ||
        sched_setaffinity(0, sizeof(cpus), &cpus))
        problem(rank, "rank %u: cannot set its CPUs: %s", number, strerror(errno));
}

/* Becomes the job's user, by numbers. A process that is not root is this user already (job.c), and keeps its
 * own groups. */
static void user_become(const struct launch_rank *rank, pid_t parent, uint32_t number)
{
    const struct credentials *user = rank->user;

    if (!cgroup_join())
        problem(rank, "rank %u: cannot join the job's control group: %s", number, strerror(errno));
    /* Root's own groups give it no rights; in a user namespace they cannot be changed. */
    if (geteuid() == 0 && setgroups(user->group_count, user->groups) && user->uid)
        problem(rank, "rank %u: cannot set the groups of user %u: %s", number, user->uid, strerror(errno));
    if (geteuid() == 0 &&
        (setresgid(user->gid, user->gid, user->gid) || setresuid(user->uid, user->uid, user->uid)))
        problem(rank, "rank %u: cannot become user %u of group %u: %s", number, user->uid, user->gid,
                strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        problem(rank, "rank %u: cannot give up rights of set-user-ID programs: %s", number, strerror(errno));
    child_bind(parent);
}

_Noreturn void launch_rank_run(const struct launch_rank *rank, pid_t parent)
{
    static const char *variables[OWN_VARIABLES + LAUNCH_VARIABLES_MAX * 2 + 1];
    const struct launch_request *request = rank->request;
    const uint32_t number = request->first + rank->local;

    child_begin(parent, &launchd.descriptors);
    setsid();
    memory_priority_set(launchd.memory_priority);
    descriptors_set(rank, number);
    cpus_set(rank, number);
    environment_make(rank, number, variables);
    user_become(rank, parent, number);
    if (chdir(rank->directory))
        problem(rank, "cwd=%s: %s", rank->directory, strerror(errno));
    child_unblock();
    char *const *arguments = (char *const *)request->arguments;
    if (rank->program >= 0)
        syscall(SYS_execveat, rank->program, "", arguments, variables, AT_EMPTY_PATH);
    else
        execve(request->path, arguments, (char *const *)variables);
    exec_failed(rank, errno);
}
