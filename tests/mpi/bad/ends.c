/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ends.c: the last rank does what its argument says, while the others wait for it: it dies, makes an error
 * whose handler is the fatal one, leaves objects unfreed, or waits until a file exists (`wait FILE`). With
 * `computes` as a second argument the others compute for ever, with `sends` they send to it; `before`: it
 * ends without MPI_Init.
 */
#include "../programs/check.h"
#include <signal.h>
#include <unistd.h>

#define NUMBERS 1000

static int numbers[NUMBERS];

static int is(const char *how, const char *word)
{
    return strcmp(how, word) == 0;
}

static void die(const char *how)
{
    if (is(how, "kill"))
        raise(SIGKILL);
    if (is(how, "segfault"))
        raise(SIGSEGV);
    if (is(how, "exit"))
        _exit(0);
    if (is(how, "status"))
        _exit(5);
    if (is(how, "abort"))
        abort();
    if (is(how, "negative"))
        MPI_Abort(MPI_COMM_WORLD, -1);
    if (is(how, "self"))
        MPI_Abort(MPI_COMM_SELF, 6);
    if (is(how, "returned")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        exit(MPI_Send(&rank, 1, MPI_INT, 9, 1, MPI_COMM_WORLD) ? 8 : 0);
    }
}

static int is_last_before_init(void)
{
    const char *number = getenv("TACET_RANK"), *all = getenv("TACET_SIZE");

    return number && all && atoi(number) == atoi(all) - 1;
}

/* Makes one error of each family of calls. */
static void err(const char *how)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info = MPI_INFO_NULL;
    void *memory = NULL;
    MPI_Win window;

    if (is(how, "send"))
        MPI_Send(&value, 1, MPI_INT, 9, 1, MPI_COMM_WORLD);
    if (is(how, "receive"))
        MPI_Recv(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "start"))
        MPI_Start(&request);
    if (is(how, "buffered"))
        MPI_Bsend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (is(how, "collective"))
        MPI_Bcast(&value, 1, MPI_INT, 7, MPI_COMM_WORLD);
    if (is(how, "operation"))
        MPI_Allreduce(&value, &value + 1, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
    if (is(how, "type"))
        MPI_Type_commit(&type);
    if (is(how, "group"))
        MPI_Group_size(group, &value);
    if (is(how, "comm"))
        MPI_Comm_size(MPI_COMM_NULL, &value);
    if (is(how, "topology"))
        MPI_Cartdim_get(MPI_COMM_WORLD, &value);
    if (is(how, "info"))
        MPI_Info_set(info, "a", "b");
    if (is(how, "shared"))
        MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (is(how, "memory"))
        MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory);
    if (is(how, "again"))
        MPI_Init(NULL, NULL);
}

static int one(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
    return 0;
}

static void leak(void)
{
    static int values[3];
    MPI_Request request;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Group group;
    MPI_Info info;

    MPI_Irecv(values, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &request);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Op_create((MPI_User_function *)(void (*)(void))one, 1, &op);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info_create(&info);
    MPI_Send(values, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "none";
    int value = 0;

    if (is(how, "early"))
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is(how, "before") && is_last_before_init())
        exit(3);
    begin(&count, &arguments);
    MPI_Barrier(MPI_COMM_WORLD);
    for (volatile int on = count > 2 && is(arguments[2], "computes") && rank < size - 1; on;)
        ;
    while (count > 2 && is(arguments[2], "sends") && rank < size - 1)
        MPI_Send(numbers, NUMBERS, MPI_INT, size - 1, 7, MPI_COMM_WORLD);
    if (rank == size - 1) {
        if (count > 2 && is(arguments[2], "sends"))
            MPI_Recv(numbers, NUMBERS, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        die(how);
        err(how);
        if (is(how, "leak"))
            leak();
        while (is(how, "wait") && access(arguments[2], F_OK))
            usleep(10000);
    }
    if (is(how, "wait") && rank == 0)
        MPI_Recv(&value, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is(how, "wait") && rank == size - 1)
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d went on\n", rank);
    MPI_Finalize();
    if (is(how, "late"))
        MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
