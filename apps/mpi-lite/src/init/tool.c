/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.c: the tool information interface (MPI_T_*). This library has no control variables, no performance
 * variables and no categories: their numbers are 0, and calls that name one are refused. A tool must ask for
 * these numbers first, and so finds nothing; a program that is linked with a tool runs.
 *
 * These calls are allowed before MPI_Init and after MPI_Finalize, from any thread; their errors are returned,
 * and no error handler is called. Nothing here needs the library's lock.
 *
 * Source: MPI 3.1 §14.3.
 */
#include "base/base.h"
#include <stdlib.h>

/* Each session has its own handle, so that two sessions differ. */
struct mpi_t_session {
    char unused;
};

struct mpi_t_all_handles {
    char unused;
} mpi_lite_all_handles;

static int starts; /* number of MPI_T_init_thread less that of MPI_T_finalize */

static int check_tool(int otherwise)
{
    return __atomic_load_n(&starts, __ATOMIC_RELAXED) > 0 ? otherwise : MPI_T_ERR_NOT_INITIALIZED;
}

int PMPI_T_init_thread(int required, int *provided)
{
    bool is_level = required >= MPI_THREAD_SINGLE && required <= MPI_THREAD_MULTIPLE;

    __atomic_add_fetch(&starts, 1, __ATOMIC_RELAXED);
    *provided = is_level ? required : MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}
MPI_ALIAS(T_init_thread);

int PMPI_T_finalize(void)
{
    int error = check_tool(MPI_SUCCESS);

    if (!error)
        __atomic_sub_fetch(&starts, 1, __ATOMIC_RELAXED);
    return error;
}
MPI_ALIAS(T_finalize);

/* ---- What there is none of ---- */

#define NONE_OF(name)                        \
    int PMPI_T_##name(int *count)            \
    {                                        \
        int error = check_tool(MPI_SUCCESS); \
                                             \
        if (!error)                          \
            *count = 0;                      \
        return error;                        \
    }                                        \
    MPI_ALIAS(T_##name);
NONE_OF(cvar_get_num)
NONE_OF(pvar_get_num)
NONE_OF(category_get_num)
NONE_OF(category_changed) /* a stamp that never changes */

/* Calls that name a variable or a category, of which there is none. They write nothing, whatever their
 * arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define REFUSED(name, error, parameters) \
    int PMPI_T_##name parameters         \
    {                                    \
        return check_tool(error);        \
    }                                    \
    MPI_ALIAS(T_##name);
REFUSED(enum_get_info, MPI_T_ERR_INVALID_HANDLE, (MPI_T_enum list, int *count, char *name, int *length))
REFUSED(enum_get_item, MPI_T_ERR_INVALID_HANDLE,
        (MPI_T_enum list, int index, int *value, char *name, int *length))
REFUSED(cvar_get_info, MPI_T_ERR_INVALID_INDEX,
        (int index, char *name, int *length, int *verbosity, MPI_Datatype *type, MPI_T_enum *list,
         char *sentence, int *sentence_length, int *bind, int *scope))
REFUSED(cvar_get_index, MPI_T_ERR_INVALID_NAME, (const char *name, int *index))
REFUSED(cvar_handle_alloc, MPI_T_ERR_INVALID_INDEX,
        (int index, void *object, MPI_T_cvar_handle *handle, int *count))
REFUSED(cvar_handle_free, MPI_T_ERR_INVALID_HANDLE, (MPI_T_cvar_handle * handle))
REFUSED(cvar_read, MPI_T_ERR_INVALID_HANDLE, (MPI_T_cvar_handle handle, void *buffer))
REFUSED(cvar_write, MPI_T_ERR_INVALID_HANDLE, (MPI_T_cvar_handle handle, const void *buffer))
REFUSED(pvar_get_info, MPI_T_ERR_INVALID_INDEX,
        (int index, char *name, int *length, int *verbosity, int *class, MPI_Datatype *type, MPI_T_enum *list,
         char *sentence, int *sentence_length, int *bind, int *read_only, int *continuous, int *atomic))
REFUSED(pvar_get_index, MPI_T_ERR_INVALID_NAME, (const char *name, int class, int *index))
REFUSED(category_get_info, MPI_T_ERR_INVALID_INDEX,
        (int index, char *name, int *length, char *sentence, int *sentence_length, int *cvars, int *pvars,
         int *categories))
REFUSED(category_get_index, MPI_T_ERR_INVALID_NAME, (const char *name, int *index))
REFUSED(category_get_cvars, MPI_T_ERR_INVALID_INDEX, (int index, int room, int indices[]))
REFUSED(category_get_pvars, MPI_T_ERR_INVALID_INDEX, (int index, int room, int indices[]))
REFUSED(category_get_categories, MPI_T_ERR_INVALID_INDEX, (int index, int room, int indices[]))
#pragma GCC diagnostic pop

/* ---- Sessions, which have no variables ---- */

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    int error = check_tool(MPI_SUCCESS);

    if (error)
        return error;
    *session = malloc(sizeof(**session));
    return *session ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}
MPI_ALIAS(T_pvar_session_create);

static int check_session(MPI_T_pvar_session session, int otherwise)
{
    return check_tool(session == MPI_T_PVAR_SESSION_NULL ? MPI_T_ERR_INVALID_SESSION : otherwise);
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    int error = check_session(*session, MPI_SUCCESS);

    if (error)
        return error;
    free(*session);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(T_pvar_session_free);

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle,
                             int *count)
{
    (void)index, (void)object, (void)handle, (void)count;
    return check_session(session, MPI_T_ERR_INVALID_INDEX);
}
MPI_ALIAS(T_pvar_handle_alloc);

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    (void)handle;
    return check_session(session, MPI_T_ERR_INVALID_HANDLE);
}
MPI_ALIAS(T_pvar_handle_free);

/* All variables of a session may be started, stopped and reset at once, even if there is none. */
#define SESSION_CALL(name)                                                                               \
    int PMPI_T_##name(MPI_T_pvar_session session, MPI_T_pvar_handle handle)                              \
    {                                                                                                    \
        return check_session(session,                                                                    \
                             handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE); \
    }                                                                                                    \
    MPI_ALIAS(T_##name);
SESSION_CALL(pvar_start)
SESSION_CALL(pvar_stop)
SESSION_CALL(pvar_reset)

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    (void)handle, (void)buffer;
    return check_session(session, MPI_T_ERR_INVALID_HANDLE);
}
MPI_ALIAS(T_pvar_read);

int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer)
{
    (void)handle, (void)buffer;
    return check_session(session, MPI_T_ERR_INVALID_HANDLE);
}
MPI_ALIAS(T_pvar_write);

int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    (void)handle, (void)buffer;
    return check_session(session, MPI_T_ERR_INVALID_HANDLE);
}
MPI_ALIAS(T_pvar_readreset);
