/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * corners.c: cases that the standard defines, and in which libraries have differed. [MPI 3.1 §3.2.5, §4.1.10,
 * §6.7.2, §6.8, §7.5.2]
 */
#include "check.h"
#include <limits.h>

/* Returns how little the largest and the smallest side of a box of `ranks` can differ, with no side above
 * `side`. */
static int least_spread(int ranks, int count, int largest, int side)
{
    int least = INT_MAX;

    if (count == 1)
        return ranks <= side ? largest - ranks : INT_MAX;
    for (; side >= 1; side--)
        if (ranks % side == 0) {
            int spread = least_spread(ranks / side, count - 1, largest ? largest : side, side);

            least = spread < least ? spread : least;
        }
    return least;
}

static void dimensions(void)
{
    static const int many[] = { 5040, 6240, 7488, 15200, 17556 };

    for (int i = 1; i <= 69; i++)
        for (int count = 2; count <= 3; count++) {
            int sides[3] = { 0, 0, 0 }, ranks = i <= 64 ? i : many[i - 65];

            MPI_Dims_create(ranks, count, sides);
            CHECK_EQUAL(sides[0] - sides[count - 1], least_spread(ranks, count, 0, ranks));
        }
    passed("dimensions");
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    MPI_Type_get_name(MPI_LONG_LONG, name, &length);
    CHECK(strcmp(name, "MPI_LONG_LONG_INT") == 0);
    MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
    CHECK(strcmp(name, "MPI_C_COMPLEX") == 0);
    MPI_Type_set_name(MPI_SHORT, "of two bytes");
    MPI_Type_get_name(MPI_SHORT, name, &length);
    CHECK(strcmp(name, "of two bytes") == 0);
    passed("names");
}

static int refuse(MPI_Datatype type, int keyval, void *state, void *from, void *to, int *flag)
{
    (void)type, (void)keyval, (void)state, (void)from, (void)to;
    *flag = 1;
    return MPI_ERR_OTHER;
}

/* Tests that a type is not copied if one of its attributes cannot be copied. */
static void no_copy(void)
{
    MPI_Datatype type, other = MPI_INT;
    int key;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_create_keyval(refuse, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, key, &key);
    CHECK(MPI_Type_dup(type, &other) != MPI_SUCCESS && other == MPI_DATATYPE_NULL);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("no copy");
}

/* Tests that a freed key keeps its number until its last attribute is gone. */
static void freed_key(void)
{
    int key, kept, flag, value = 5, *got = NULL;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    kept = key;
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_SELF, kept, &got, &flag);
    CHECK(flag && *got == 5);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kept);
    passed("freed key");
}

/* Tests that calls that receive or complete one message do not change MPI_ERROR. */
static void errors_of_statuses(void)
{
    MPI_Status status = { .MPI_ERROR = MPI_ERR_DIMS }, both[2];
    MPI_Request requests[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    MPI_Message message;
    int value = 7, got = 0, flag = 0;

    MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &status);
    CHECK(status.MPI_ERROR == MPI_ERR_DIMS && message == MPI_MESSAGE_NO_PROC);
    MPI_Isend(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_ERROR == MPI_ERR_DIMS && got == 7);
    MPI_Wait(&requests[0], &status);
    CHECK(status.MPI_ERROR == MPI_ERR_DIMS);
    MPI_Test(&requests[0], &flag, &status);
    CHECK(flag && status.MPI_ERROR == MPI_ERR_DIMS && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Irecv(&got, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(&value, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, both);
    CHECK(got == 7 && both[0].MPI_TAG == 4);
    passed("errors of statuses");
}

/* Tests operations that are not in the standard, but in use. */
static void wide_operations(void)
{
    char letters[2] = { 3, 100 }, sums[2] = { 5, 20 };
    double from[4] = { 0, 0, 2.5, -1 }, to[4] = { 0, 4, 0, 1 };

    MPI_Reduce_local(letters, sums, 2, MPI_CHAR, MPI_SUM);
    CHECK(sums[0] == 8 && sums[1] == 120);
    MPI_Reduce_local(letters, sums, 2, MPI_CHAR, MPI_BAND);
    CHECK(sums[0] == 0 && sums[1] == (100 & 120));
    MPI_Reduce_local(from, to, 4, MPI_DOUBLE, MPI_LXOR);
    CHECK(to[0] == 0 && to[1] == 1 && to[2] == 1 && to[3] == 0);
    passed("wide operations");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    dimensions();
    names();
    no_copy();
    freed_key();
    errors_of_statuses();
    wide_operations();
    MPI_Finalize();
    return 0;
}
