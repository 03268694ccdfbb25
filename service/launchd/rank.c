/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.c: a rank of tacet-launchd between fork and exec: its descriptors, folder, environment and CPUs. What
 * goes wrong is a line for people, into a pipe that exec closes; what is wrong with a program's file is
 * looked at only after Linux has refused it.
 */
#include "service/launchd/launchd.h"
#include "service/lib/process.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECTORY_DEFAULT "/tmp" /* as on a Tacet node whose files are read-only */
#define OWN_VARIABLES     3      /* TACET_RANK, TACET_SIZE, TACET_LOCAL_RANK */
#define PROGRAM_HEADERS   64     /* looked at */
#define NOT_STARTED       127

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#else
#error "which machine's programs does this one run?"
#endif

/* One write, of less than PIPE_BUF: lines of several ranks do not mix. */
__attribute__((format(printf, 2, 3))) _Noreturn static void problem(const struct launch_rank *rank,
                                                                    const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (write(rank->problems, line, strlen(line)) < 0)
        _exit(NOT_STARTED + 1); /* nobody reads it */
    _exit(NOT_STARTED);
}

/* ---- Programs that Linux has refused ---- */

/* The path of the program's interpreter; false: it has none. */
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
        problem(rank, "%s: it is no program, but a folder or a device", path);
    const ssize_t bytes = file < 0 ? 0 : pread(file, &header, sizeof(header), 0);
    if (bytes >= 2 && memcmp(&header, "#!", 2) == 0 && error == ENOENT)
        problem(rank, "%s: it is a script, %s", path,
                rank->program >= 0 ? "and programs that are sent have to be ELF files"
                                   : "and the program of its first line is not on this node");
    if (error == EACCES)
        problem(rank, "%s: it is not executable, or its file system runs no programs", path);
    if (error == ENOEXEC && !is_elf(&header, (size_t)bytes))
        problem(rank, "%s: it is neither an ELF program nor a script", path);
    if (error == ENOEXEC && (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE))
        problem(rank,
                "%s: it is a program for another machine, ELF machine %u of %u bits; this one runs %u of 64",
                path, header.e_machine, header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32, MACHINE);
    if (error == ENOENT && is_elf(&header, (size_t)bytes) && interpreter_of(file, &header, interpreter))
        problem(rank, "%s: it is linked dynamically, and this node has no %s; link it statically", path,
                interpreter);
    problem(rank, "%s: %s", path, strerror(error));
}

/* ---- Before it ---- */

static void descriptors_set(const struct launch_rank *rank, uint32_t number)
{
    const int input =
        rank->request->stdin_rank == number ? rank->out : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(rank->out, STDOUT_FILENO) < 0 ||
        dup2(rank->err, STDERR_FILENO) < 0)
        problem(rank, "rank %u: its descriptors: %s", number, strerror(errno));
}

/* Allocated for ever: the program follows. */
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
        problem(rank, "rank %u: its CPUs: %s", number, strerror(errno));
}

_Noreturn void launch_rank_run(const struct launch_rank *rank, pid_t parent)
{
    static const char *variables[OWN_VARIABLES + LAUNCH_VARIABLES_MAX * 2 + 1];
    const struct launch_request *request = rank->request;
    const char *directory = request->directory ? request->directory : DIRECTORY_DEFAULT;
    const uint32_t number = request->first + rank->local;

    child_begin(parent, &launchd.descriptors);
    setsid();
    memory_priority_set(launchd.memory_priority);
    descriptors_set(rank, number);
    cpus_set(rank, number);
    environment_make(rank, number, variables);
    if (chdir(directory))
        problem(rank, "cwd=%s: %s", directory, strerror(errno));
    child_unblock();
    char *const *arguments = (char *const *)request->arguments;
    if (rank->program >= 0)
        syscall(SYS_execveat, rank->program, "", arguments, variables, AT_EMPTY_PATH);
    else
        execve(request->path, arguments, (char *const *)variables);
    exec_failed(rank, errno);
}
