/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window_calls.c: properties of a window: group, hints, names, error handlers, attributes. Local, under the
 * library's lock.
 *
 * Source: MPI 3.1 §11.2.6 (group, attributes), §11.2.7 (hints), §6.7.3, §6.8, §8.3.2.
 */
#include "window/window.h"
#include <string.h>

static int Win_get_group(MPI_Win win, MPI_Group *group)
{
    group_hold(win->comm->group);
    *group = win->comm->group;
    return group_given(*group);
}
MPI_CALL(Win_get_group);

/* ---- Hints ---- */

/* Ignores the hints: locks and all operations are always available. */
static int Win_set_info(MPI_Win win, MPI_Info info)
{
    (void)win;
    if (info == MPI_INFO_NULL)
        return mpi_error(MPI_ERR_INFO, "argument info: MPI_INFO_NULL");
    return MPI_SUCCESS;
}
MPI_CALL(Win_set_info);

static int hints_make(const struct mpi_win *win, struct mpi_info **info)
{
    const char *const hints[][2] = {
        { "no_locks", "false" },
        { "accumulate_ordering", "rar,raw,war,waw" },
        { "accumulate_ops", "same_op_no_op" },
        { "same_size", "false" },
        { "same_disp_unit", "false" },
        { "alloc_shared_noncontig", win->is_noncontiguous ? "true" : "false" },
    };
    bool is_allocated = win->flavor == MPI_WIN_FLAVOR_ALLOCATE || win->flavor == MPI_WIN_FLAVOR_SHARED;
    size_t count = sizeof(hints) / sizeof(hints[0]) - !is_allocated;
    int error = PMPI_Info_create(info);

    for (size_t i = 0; i < count && !error; i++)
        error = PMPI_Info_set(*info, hints[i][0], hints[i][1]);
    return error;
}

static int Win_get_info(MPI_Win win, MPI_Info *info)
{
    return hints_make(win, info);
}
MPI_CALL(Win_get_info);

/* ---- Names ---- */

static int Win_set_name(MPI_Win win, const char *name)
{
    size_t length = strnlen(name, sizeof(win->name) - 1); /* longer ones are cut */

    memmove(win->name, name, length);
    win->name[length] = '\0';
    return MPI_SUCCESS;
}
MPI_CALL(Win_set_name);

static int Win_get_name(MPI_Win win, char *name, int *length)
{
    strcpy(name, win->name);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}
MPI_CALL(Win_get_name);

/* ---- Error handlers ---- */

static int Win_create_errhandler(MPI_Win_errhandler_function *function, MPI_Errhandler *errhandler)
{
    if (!function)
        return mpi_error(MPI_ERR_ARG, "argument function: NULL");
    if (!(*errhandler = object_make(sizeof(**errhandler))))
        return mpi_out_of_memory();
    **errhandler = (struct mpi_errhandler){
        .references = 1,
        .is_of_windows = true,
        .function = (MPI_Comm_errhandler_function *)(void (*)(void))function, /* called with its own type */
    };
    return MPI_SUCCESS;
}
MPI_CALL(Win_create_errhandler);

static int Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler)
{
    if (errhandler == MPI_ERRHANDLER_NULL)
        return mpi_error(MPI_ERR_ARG, "argument errhandler: MPI_ERRHANDLER_NULL");
    int error = check_live(errhandler->references, MPI_ERR_ARG, "errhandler");
    if (error)
        return error;
    if (!errhandler->predefined && !errhandler->is_of_windows)
        return mpi_error(MPI_ERR_ARG, "argument errhandler: MPI_Win_create_errhandler has not made it");
    errhandler->references++;
    errhandler_release(win->hearer.errhandler);
    win->hearer.errhandler = errhandler;
    return MPI_SUCCESS;
}
MPI_CALL(Win_set_errhandler);

static int Win_get_errhandler(MPI_Win win, MPI_Errhandler *errhandler)
{
    *errhandler = win->hearer.errhandler ? win->hearer.errhandler : MPI_ERRORS_ARE_FATAL;
    (*errhandler)->references++;
    return MPI_SUCCESS;
}
MPI_CALL(Win_get_errhandler);

static int Win_call_errhandler(MPI_Win win, int code)
{
    mpi_return_win(win, "MPI_Win_call_errhandler", code); /* the error is for the handler; this call succeeds
                                                           */
    return MPI_SUCCESS;
}
MPI_CALL(Win_call_errhandler);

/* ---- Attributes ---- */

/* Finds the address, or for MPI_WIN_BASE the value, that MPI_Win_get_attr returns for a predefined key. */
static bool predefined_value(struct mpi_win *win, int keyval, void **value)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        *value = win->base;
        return true;
    case MPI_WIN_SIZE:
        *value = &win->size;
        return true;
    case MPI_WIN_DISP_UNIT:
        *value = &win->disp_unit;
        return true;
    case MPI_WIN_CREATE_FLAVOR:
        *value = &win->flavor;
        return true;
    case MPI_WIN_MODEL:
        *value = &win->model;
        return true;
    default:
        return false;
    }
}

int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *delete,
                           int *keyval, void *state)
{
    return keyval_create("MPI_Win_create_keyval", ATTRIBUTE_WIN, (void (*)(void))copy,
                         (void (*)(void)) delete, state, keyval);
}
MPI_ALIAS(Win_create_keyval);

int PMPI_Win_free_keyval(int *keyval)
{
    return keyval_free("MPI_Win_free_keyval", ATTRIBUTE_WIN, keyval);
}
MPI_ALIAS(Win_free_keyval);

static int Win_set_attr(MPI_Win win, int keyval, void *value)
{
    return attribute_set(ATTRIBUTE_WIN, win, &win->attributes, keyval, value);
}
MPI_CALL(Win_set_attr);

static int Win_get_attr(MPI_Win win, int keyval, void *value, int *flag)
{
    void *preset;

    if (!predefined_value(win, keyval, &preset))
        return attribute_get(ATTRIBUTE_WIN, win->attributes, keyval, value, flag);
    *flag = 1;
    memcpy(value, &preset, sizeof(preset)); /* a pointer of any type */
    return MPI_SUCCESS;
}
MPI_CALL(Win_get_attr);

static int Win_delete_attr(MPI_Win win, int keyval)
{
    return attribute_remove(ATTRIBUTE_WIN, win, &win->attributes, keyval);
}
MPI_CALL(Win_delete_attr);
