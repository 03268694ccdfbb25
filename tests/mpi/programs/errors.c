/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors.c: wrong arguments have the standard's error class, through the handler of the communicator, and
 * change nothing; a program's own handlers, classes and texts. [MPI 3.1 chapter 8; the errors of each
 * function]
 */
#include "refused.h"

static void point_to_point(void)
{
    int value = 0, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype uncommitted;

    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    REFUSED(MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
    REFUSED(MPI_Send(&value, 1, MPI_INT, -7, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
    REFUSED(MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_COUNT);
    REFUSED(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    REFUSED(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSED(MPI_Send(&value, 1, uncommitted, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSED(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
    REFUSED(MPI_Recv(&value, 1, MPI_INT, size + 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    REFUSED(MPI_Irecv(&value, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    REFUSED(MPI_Isend(&value, -2, MPI_INT, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    REFUSED(MPI_Iprobe(size, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    /* Open MPI sends small messages without a buffer. */
    REFUSED_BUT(IN_OPENMPI, MPI_Bsend(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Type_free(&uncommitted);
    passed("point to point");
}

static void objects(void)
{
    int ranks[2] = { 0, size }, lengths[1] = { -1 }, places[1] = { 0 };
    MPI_Group world, made;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type;
    MPI_Op op = MPI_SUM;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    REFUSED(MPI_Group_incl(world, 2, ranks, &made), MPI_ERR_RANK);
    REFUSED(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm), MPI_ERR_GROUP);
    comm = MPI_COMM_WORLD;
    REFUSED(MPI_Comm_free(&comm), MPI_ERR_COMM);
    REFUSED(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_indexed(1, lengths, places, MPI_INT, &type), MPI_ERR_COUNT);
    type = MPI_INT;
    REFUSED(MPI_Type_free(&type), MPI_ERR_TYPE);
    REFUSED(MPI_Op_free(&op), MPI_ERR_OP);
    MPI_Group_free(&world);
    passed("objects");
}

static void collectives(void)
{
    int value = 1, sum = 0;
    double real = 1, other = 0;

    REFUSED(MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    REFUSED(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    REFUSED(MPI_Allreduce(&real, &other, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
    REFUSED(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, size);
    passed("collectives");
}

static int heard, heard_class;

static void hear(MPI_Comm *comm, int *error, ...)
{
    CHECK(*comm != MPI_COMM_NULL);
    MPI_Error_class(*error, &heard_class);
    heard++;
}

static void handlers(void)
{
    MPI_Errhandler handler, got;
    MPI_Comm copy, child;
    int value = 0;

    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_get_errhandler(copy, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);
    MPI_Send(&value, 1, MPI_INT, size + 1, 1, copy);
    CHECK(heard == 1 && heard_class == MPI_ERR_RANK);
    MPI_Comm_dup(copy, &child); /* has the handler of the communicator that it copies */
    MPI_Send(&value, -1, MPI_INT, 0, 1, child);
    CHECK(heard == 2 && heard_class == MPI_ERR_COUNT);
    MPI_Comm_call_errhandler(child, MPI_ERR_OTHER);
    CHECK(heard == 3 && heard_class == MPI_ERR_OTHER);
    MPI_Comm_free(&child);
    MPI_Comm_free(&copy);
    passed("handlers");
}

static void own(void)
{
    int class = 0, code = 0, found = 0, length = 0;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the reactor is cold");
    MPI_Error_class(code, &found);
    CHECK_EQUAL(found, class);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "the reactor is cold") == 0);
    passed("own");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    point_to_point();
    objects();
    collectives();
    handlers();
    own();
    MPI_Finalize();
    return 0;
}
