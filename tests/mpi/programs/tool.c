/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.c: the tool interface. The number of variables depends on the library; all libraries refuse what no
 * variable can be. mpi-lite has no variables, and so refuses each call that names one.
 */
#include "check.h"

#define NO_INDEX 1000000

static int is_mpi_lite(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    return strncmp(version, "mpi-lite", 8) == 0;
}

static void numbers(void)
{
    int count = -1;

    CHECK_EQUAL(MPI_T_cvar_get_num(&count), MPI_SUCCESS);
    CHECK(count >= 0);
    CHECK_EQUAL(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
    CHECK(count >= 0);
    CHECK_EQUAL(MPI_T_category_get_num(&count), MPI_SUCCESS);
    CHECK(count >= 0);
    CHECK_EQUAL(MPI_T_category_changed(&count), MPI_SUCCESS);
    passed("numbers");
}

static void names(void)
{
    int index = -1, number, length = 0;
    char name[8];
    MPI_Datatype type;
    MPI_T_enum list;

    CHECK(MPI_T_cvar_get_index("no such variable", &index) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS);
    CHECK(MPI_T_category_get_index("no such category", &index) != MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_info(NO_INDEX, name, &length, &number, &type, &list, name, &length, &number,
                              &number) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_info(NO_INDEX, name, &length, &number, &number, &type, &list, name, &length, &number,
                              &number, &number, &number) != MPI_SUCCESS);
    CHECK(MPI_T_category_get_info(NO_INDEX, name, &length, name, &length, &number, &number, &number) !=
          MPI_SUCCESS);
    CHECK(MPI_T_category_get_cvars(NO_INDEX, 1, &index) != MPI_SUCCESS);
    CHECK(MPI_T_category_get_pvars(NO_INDEX, 1, &index) != MPI_SUCCESS);
    CHECK(MPI_T_category_get_categories(NO_INDEX, 1, &index) != MPI_SUCCESS);
    passed("names");
}

/* Tests null handles, which other libraries dereference. */
static void no_handles(MPI_T_pvar_session session)
{
    MPI_T_cvar_handle control = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_handle variable = MPI_T_PVAR_HANDLE_NULL;
    int value = 0, count = 0;

    CHECK_EQUAL(MPI_T_cvar_handle_alloc(NO_INDEX, NULL, &control, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQUAL(MPI_T_cvar_read(control, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQUAL(MPI_T_cvar_write(control, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQUAL(MPI_T_cvar_handle_free(&control), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQUAL(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQUAL(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQUAL(MPI_T_pvar_handle_alloc(session, NO_INDEX, NULL, &variable, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_start(session, variable) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, variable) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, variable, &value) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_write(session, variable, &value) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, variable) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_readreset(session, variable, &value) != MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &variable) != MPI_SUCCESS);
}

int main(int count, char **arguments)
{
    MPI_T_pvar_session session;
    int level;

    CHECK_EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
    begin(&count, &arguments);
    numbers();
    names();
    CHECK_EQUAL(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    if (is_mpi_lite())
        no_handles(session);
    CHECK_EQUAL(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    passed("sessions");
    CHECK_EQUAL(MPI_T_finalize(), MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
