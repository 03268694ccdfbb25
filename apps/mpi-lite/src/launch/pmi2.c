/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi2.c: a rank's side of PMI-2, as Slurm's srun --mpi=pmi2 speaks it (and MPICH's mpiexec, if asked to).
 * After the init line, messages are
 *
 *   | 6 characters: the number of bytes that follow, with blanks | cmd=NAME;NAME=VALUE;NAME=VALUE;… |
 *
 * No value contains a semicolon. An answer has the request's name with "-response", and rc=0 if the request
 * succeeded; otherwise errmsg gives the reason. A fence is a barrier, and also publishes what was put before
 * it.
 *
 * An answer is kept until the next one arrives, in memory of its length.
 *
 * Sources: Slurm 22.05, src/plugins/mpi/pmi2/{agent,client,pmi2,info}.c; MPICH 4, src/pmi/src/pmi_wire.c.
 */
#include "launch/pmi_protocol.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_BYTES 6

static char *answer; /* the last message, without its prefix and with a NUL; NULL: none */

/* ---- Messages ---- */

/* Writes the prefix before a command. Returns the length of both. */
static size_t prefix_put(char *command)
{
    char prefix[PREFIX_BYTES + 1];
    size_t bytes = strlen(command + PREFIX_BYTES);

    snprintf(prefix, sizeof(prefix), "%6u", (unsigned)bytes % 1000000);
    memcpy(command, prefix, PREFIX_BYTES);
    return PREFIX_BYTES + bytes;
}

__attribute__((format(printf, 1, 2))) static int command_send(const char *format, ...)
{
    char command[PREFIX_BYTES + PMI_LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(command + PREFIX_BYTES, PMI_LINE_BYTES, format, arguments);
    va_end(arguments);
    if (bytes < 0 || bytes >= PMI_LINE_BYTES)
        return mpi_error(MPI_ERR_OTHER, "a PMI message has more than %d bytes: %.40s", PMI_LINE_BYTES,
                         command + PREFIX_BYTES);
    return wire_send(command, prefix_put(command));
}

/* Reads the number in a prefix, which has blanks before or after it. */
static bool prefix_read(const char *prefix, size_t *bytes)
{
    char digits[PREFIX_BYTES + 1] = "";
    int number;

    if (sscanf(prefix, " %6[0-9]", digits) != 1 || !number_read(digits, &number) || number == 0)
        return false;
    const char *after = strstr(prefix, digits) + strlen(digits);
    if (strspn(after, " ") != strlen(after))
        return false;
    *bytes = (size_t)number;
    return true;
}

static int answer_read(void)
{
    char prefix[PREFIX_BYTES + 1] = "";
    size_t bytes;
    int error = wire_read(prefix, PREFIX_BYTES);

    free(answer);
    answer = NULL;
    if (error)
        return error;
    if (!prefix_read(prefix, &bytes))
        return mpi_error(MPI_ERR_OTHER, "the launcher's message begins with \"%s\" instead of its length",
                         prefix);
    answer = malloc(bytes + 1);
    if (!answer)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for the launcher's message of %zu bytes", bytes);
    error = wire_read(answer, bytes);
    answer[error ? 0 : bytes] = '\0';
    if (!error && strlen(answer) != bytes)
        error = mpi_error(MPI_ERR_OTHER, "the launcher's message \"%.80s\" has a zero byte", answer);
    return error;
}

/* Returns the value of a field of the answer, and its length; NULL if there is none. */
static const char *field_find(const char *name, size_t *bytes)
{
    size_t length = strlen(name);

    for (const char *at = answer; *at; at += *at == ';') {
        size_t whole = strcspn(at, ";");

        if (whole > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            *bytes = whole - length - 1;
            return at + length + 1;
        }
        at += whole;
    }
    *bytes = 0;
    return NULL;
}

static bool field_is(const char *name, const char *value)
{
    size_t bytes;
    const char *found = field_find(name, &bytes);

    return found && bytes == strlen(value) && memcmp(found, value, bytes) == 0;
}

static bool field_number(const char *name, int *number)
{
    char digits[16];
    size_t bytes;
    const char *found = field_find(name, &bytes);

    if (!found || bytes >= sizeof(digits))
        return false;
    memcpy(digits, found, bytes);
    digits[bytes] = '\0';
    return number_read(digits, number);
}

/* Reads the answer to `command`. Returns an error unless it says that the command succeeded. */
static int answer_take(const char *command)
{
    char expected[64];
    size_t bytes;
    int error = answer_read();

    if (error)
        return error;
    snprintf(expected, sizeof(expected), "%s-response", command);
    if (strncmp(answer, "cmd=", 4) != 0 || !field_is("cmd", expected))
        return mpi_error(MPI_ERR_OTHER, "the launcher answers \"%.80s\"; PMI-2 requires cmd=%s", answer,
                         expected);
    if (field_is("rc", "0"))
        return MPI_SUCCESS;
    const char *why = field_find("errmsg", &bytes);
    return mpi_error(MPI_ERR_OTHER, "the launcher refuses %s: \"%.*s\"", command,
                     (int)(why && bytes < 160 ? bytes : 160), why ? why : answer);
}

/* ---- The protocol ---- */

/* Starts the watchdog, because srun ignores a rank that ends early. */
static void watchdog_set(int rank)
{
    char say[128], report[128];

    snprintf(say, sizeof(say), "mpi-lite: rank %d has ended without MPI_Finalize; the job ends\n", rank);
    snprintf(report + PREFIX_BYTES, sizeof(report) - PREFIX_BYTES,
             "cmd=abort;isworld=TRUE;msg=rank %d has ended without MPI_Finalize;", rank);
    watchdog_begin(say, report, prefix_put(report));
}

static int pmi2_begin(int *rank, int *size)
{
    const char *job = getenv("PMI_JOBID");
    int error = command_send("cmd=fullinit;pmijobid=%s;pmirank=%d;threaded=FALSE;", job ? job : "0", *rank);

    if (!error)
        error = answer_take("fullinit");
    if (!error && (!field_number("rank", rank) || !field_number("size", size)))
        error =
            mpi_error(MPI_ERR_OTHER, "the launcher answers \"%.160s\"; PMI-2 requires rank and size", answer);
    if (!error)
        watchdog_set(*rank);
    return error;
}

static int pmi2_put(const char *key, const char *value)
{
    if (strchr(value, ';'))
        return mpi_error(MPI_ERR_OTHER, "the value \"%.80s\" for %s has a semicolon", value, key);
    int error = command_send("cmd=kvs-put;key=%s;value=%s;", key, value);
    return error ? error : answer_take("kvs-put");
}

static int pmi2_barrier(void)
{
    int error = command_send("cmd=kvs-fence;");

    return error ? error : answer_take("kvs-fence");
}

/* Gets a value. Values of the launcher, about the whole job, are attributes; ranks' values are keys. */
static int pmi2_get(const char *key, char *value, size_t room)
{
    const char *job = getenv("PMI_JOBID");
    bool is_attribute = strncmp(key, "PMI_", 4) == 0;
    size_t bytes;
    int error = is_attribute ? command_send("cmd=info-getjobattr;key=%s;", key)
                             : command_send("cmd=kvs-get;jobid=%s;srcid=-1;key=%s;", job ? job : "0", key);

    if (!error)
        error = answer_take(is_attribute ? "info-getjobattr" : "kvs-get");
    if (error)
        return error;
    const char *found = field_find("value", &bytes);
    if (!field_is("found", "TRUE") || !found)
        return mpi_error(MPI_ERR_OTHER, "the launcher has no value for %s", key);
    if (bytes >= room)
        return mpi_error(MPI_ERR_OTHER, "the launcher's value for %s has more than %zu bytes", key, room - 1);
    memcpy(value, found, bytes);
    value[bytes] = '\0';
    return MPI_SUCCESS;
}

static void pmi2_end(void)
{
    watchdog_end();
    /* The process ends normally whatever the launcher answers. */
    if (!command_send("cmd=finalize;"))
        (void)answer_take("finalize");
    free(answer);
    answer = NULL;
}

/* Ends the job. The launcher takes the exit code from the process. */
static void pmi2_abort(int status, const char *why)
{
    char text[256];

    (void)status;
    watchdog_end();
    snprintf(text, sizeof(text), "%s", why);
    for (char *at = text; *at; at++)
        if (*at == ';' || *at == '\n')
            *at = ',';
    (void)command_send("cmd=abort;isworld=TRUE;msg=%s;", text); /* if the launcher is gone, the job ends
                                                                 * without it */
}

const struct pmi_protocol pmi2 = {
    .name = "PMI-2",
    .version = 2,
    .subversion = 0,
    .begin = pmi2_begin,
    .put = pmi2_put,
    .barrier = pmi2_barrier,
    .get = pmi2_get,
    .end = pmi2_end,
    .abort = pmi2_abort,
};
