/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * removed.c: an MPI-1 program, with the functions and names that MPI 3.0 has removed, and a tool that asks
 * for variables. MPICH has all of them, too. [MPI 3.1 chapters 14 to 16]
 */
#include "check.h"

static int handled, copies, deletes;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    handled++;
}

static int copy(MPI_Comm comm, int keyval, void *state, void *from, void *to, int *flag)
{
    (void)comm;
    (void)keyval;
    copies += *(int *)state;
    *(void **)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm;
    (void)keyval;
    (void)value;
    deletes += *(int *)state;
    return MPI_SUCCESS;
}

static void types(void)
{
    struct item {
        char letter;
        int numbers[4];
    } item = { 'a', { 1, 2, 3, 4 } }, other = { 0, { 0, 0, 0, 0 } };
    int lengths[4] = { 1, 1, 2, 1 }, packed = 0;
    MPI_Aint begin = 0, places[4] = { 0, 0, 0, sizeof(struct item) + 16 }, extent = 0, lower = -1, upper = -1;
    MPI_Datatype parts[4] = { MPI_LB, MPI_CHAR, MPI_INT, MPI_UB }, type, column, scattered;
    char buffer[64];

    MPI_Address(&item, &begin);
    MPI_Address(&item.letter, &places[1]);
    MPI_Address(&item.numbers[1], &places[2]);
    places[1] -= begin;
    places[2] -= begin;
    MPI_Type_struct(4, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    MPI_Type_extent(type, &extent);
    MPI_Type_lb(type, &lower);
    MPI_Type_ub(type, &upper);
    CHECK(lower == 0 && upper == (MPI_Aint)sizeof(struct item) + 16 && extent == upper);
    MPI_Pack(&item, 1, type, buffer, sizeof(buffer), &packed, MPI_COMM_WORLD);
    CHECK_EQUAL(packed, 1 + 2 * (int)sizeof(int));
    packed = 0;
    MPI_Unpack(buffer, sizeof(buffer), &packed, &other, 1, type, MPI_COMM_WORLD);
    CHECK(other.letter == 'a' && !other.numbers[0] && other.numbers[1] == 2 && other.numbers[2] == 3);

    int matrix[6] = { 0, 1, 2, 3, 4, 5 }, got[3] = { -1, -1, -1 };
    MPI_Aint steps[2] = { 4 * sizeof(int), 0 };
    MPI_Type_hvector(3, 1, 2 * sizeof(int), MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(matrix, 1, column, 0, 1, got, 3, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(got[0] == 0 && got[1] == 2 && got[2] == 4);
    MPI_Type_hindexed(2, lengths + 1, steps, MPI_INT, &scattered);
    MPI_Type_commit(&scattered);
    MPI_Sendrecv(matrix, 1, scattered, 0, 1, got, 3, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(got[0] == 4 && got[1] == 0 && got[2] == 1);
    MPI_Type_free(&scattered);
    MPI_Type_free(&column);
    MPI_Type_free(&type);
    passed("types");
}

static void attributes(void)
{
    int keyval = MPI_KEYVAL_INVALID, one = 1, value = 7, flag = 0, *got = NULL;
    MPI_Comm comm, other;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Keyval_create(copy, delete, &keyval, &one);
    MPI_Attr_put(comm, keyval, &value);
    MPI_Attr_get(comm, keyval, &got, &flag);
    CHECK(flag && got == &value);
    MPI_Comm_dup(comm, &other);
    MPI_Attr_delete(comm, keyval);
    MPI_Attr_get(comm, keyval, &got, &flag);
    CHECK(!flag && copies == 1 && deletes == 1);
    MPI_Comm_free(&other);
    CHECK_EQUAL(deletes, 2);
    MPI_Comm_free(&comm);
    MPI_Keyval_free(&keyval);
    CHECK_EQUAL(keyval, MPI_KEYVAL_INVALID);
    MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag);
    CHECK(flag && *got >= 32767);
    passed("attributes");
}

static void handlers(void)
{
    MPI_Errhandler made, before;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Errhandler_create(handler, &made);
    MPI_Errhandler_get(comm, &before);
    CHECK(before == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_set(comm, made);
    MPI_Errhandler_free(&made);
    MPI_Send(&handled, 1, MPI_INT, size, 1, comm);
    CHECK_EQUAL(handled, 1);
    MPI_Errhandler_set(comm, before);
    MPI_Comm_free(&comm);
    passed("handlers");
}

/* Tests a tool: it finds the existing variables; both libraries refuse an index that does not exist. */
static void tool(void)
{
    int level = -1, variables = -1, categories = -1, index = -1;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;

    CHECK_EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    CHECK_EQUAL(MPI_T_cvar_get_num(&variables), MPI_SUCCESS);
    CHECK(variables >= 0);
    CHECK_EQUAL(MPI_T_cvar_get_info(variables, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                MPI_T_ERR_INVALID_INDEX);
    CHECK_EQUAL(MPI_T_cvar_get_index("no variable has this name", &index), MPI_T_ERR_INVALID_NAME);
    CHECK_EQUAL(MPI_T_category_get_num(&categories), MPI_SUCCESS);
    CHECK(categories >= 0);
    CHECK_EQUAL(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    CHECK(session != MPI_T_PVAR_SESSION_NULL);
    CHECK_EQUAL(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    CHECK_EQUAL(MPI_T_finalize(), MPI_SUCCESS);
    passed("tool");
}

int main(int count, char **arguments)
{
    int level = -1, variables = -1;

    CHECK_EQUAL(MPI_T_cvar_get_num(&variables), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS); /* before MPI_Init */
    begin(&count, &arguments);
    types();
    attributes();
    handlers();
    tool();
    MPI_Finalize();
    CHECK_EQUAL(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
