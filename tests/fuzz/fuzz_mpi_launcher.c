/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_mpi_launcher.c: any answers of a launcher to a rank, by either protocol of PMI, up to MPI_Finalize.
 * The rank must take an answer or give a reason. Its number must be one of the world's, values must end
 * inside their room, and each rank must be on a node.
 *
 * Bit 0 of the first byte chooses PMI-2.
 */
#include "apps/mpi-lite/src/launch/pmi.c"
#include "fuzz.h"
#include <stdarg.h>

/* Larger worlds are not tried: a launcher may name millions of ranks. */
#define WORLD_MAX 4096

struct mpi_world mpi_world;
void (*mpi_others_end)(int status, const char *why);
static char reason[512];

int mpi_error(int class, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return class;
}

/* Ends the fuzzer: no input sets TACET_SIZE, for which alone it is called. */
void mpi_abort(int status, const char *format, ...)
{
    (void)status, (void)format;
    abort();
}

/* Starts no watchdog: libFuzzer has its own. */
void watchdog_begin(const char *say, const char *report, size_t report_bytes)
{
    PROMISE(strlen(report) == report_bytes && say[strlen(say) - 1] == '\n');
}

void watchdog_end(void)
{
}

static bool is_good(int error)
{
    PROMISE(!error || reason[0]);
    return !error;
}

static void nodes_promise(void)
{
    PROMISE(mpi_world.nodes >= 1 && mpi_world.node_rank < mpi_world.node_size);
    for (int i = 0; i < mpi_world.size; i++)
        PROMISE(mpi_world.node_of[i] >= 0 && mpi_world.node_of[i] < mpi_world.nodes);
}

static void world_try(void)
{
    char value[64];

    if (!is_good(pmi_begin(&mpi_world.rank, &mpi_world.size)))
        return;
    PROMISE(mpi_world.rank >= 0 && mpi_world.rank < mpi_world.size);
    if (mpi_world.size > WORLD_MAX)
        return;
    if (is_good(nodes_begin()))
        nodes_promise();
    if (is_good(pmi_put("tacet-mpi-secret", "0123456789abcdef")) && is_good(pmi_barrier()) &&
        is_good(pmi_get("tacet-mpi-secret", value, sizeof(value))))
        PROMISE(memchr(value, 0, sizeof(value)));
    pmi_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int ends[2];
    char fd[16];

    if (!bytes || bytes > 32 << 10 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return 0;
    snprintf(fd, sizeof(fd), "%d", ends[0]);
    setenv("PMI_FD", fd, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "4", 1);
    if (data[0] & 1)
        setenv("PMI_JOBID", "7.0", 1);
    else
        unsetenv("PMI_JOBID");
    PROMISE(write(ends[1], data + 1, bytes - 1) == (ssize_t)bytes - 1);
    shutdown(ends[1], SHUT_WR);
    mpi_world = (struct mpi_world){ .size = 1 };
    reason[0] = '\0';
    wire_fd = ends[0];
    world_try();
    free(mpi_world.node_of);
    if (wire_fd >= 0)
        wire_close();
    close(ends[1]);
    return 0;
}
