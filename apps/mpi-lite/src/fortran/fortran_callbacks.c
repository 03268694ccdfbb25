/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran_callbacks.c: Fortran's names of MPI functions that take the program's functions, and of those about
 * attributes. The library calls Fortran's functions with Fortran's arguments (op.c, error.c, attributes.c).
 * Those of generalized requests are called through functions of this file, which store them with the
 * program's state.
 *
 * Source: MPI 3.1 §5.9.5, §6.7, §8.3, §12.2, §17.2.7 (attributes), §17.2.8 (extra state); MPI 1.3 §5.7.
 */
#include "fortran/fortran_wrapper.h"
#include "type/type.h"

typedef void any_function(void);

/* ---- Operations and error handlers ---- */

void pmpi_op_create_(any_function *function, const MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op c_op = MPI_OP_NULL;

    *ierror = PMPI_Op_create((MPI_User_function *)function, *commute, &c_op);
    if (*ierror)
        return;
    c_op->is_fortran = true;
    *op = mpi_lite_handle_give(FORTRAN_OP, c_op);
}
FORTRAN_ALIAS(op_create);

static void errhandler_out(int error, MPI_Errhandler handler, MPI_Fint *number, MPI_Fint *ierror)
{
    *ierror = error;
    if (error)
        return;
    handler->is_fortran = true;
    *number = mpi_lite_handle_give(FORTRAN_ERRHANDLER, handler);
}

void pmpi_comm_create_errhandler_(any_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int error = PMPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)function, &handler);

    errhandler_out(error, handler, errhandler, ierror);
}
FORTRAN_ALIAS(comm_create_errhandler);

void pmpi_win_create_errhandler_(any_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int error = PMPI_Win_create_errhandler((MPI_Win_errhandler_function *)function, &handler);

    errhandler_out(error, handler, errhandler, ierror);
}
FORTRAN_ALIAS(win_create_errhandler);

void pmpi_file_create_errhandler_(any_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int error = PMPI_File_create_errhandler((MPI_File_errhandler_function *)function, &handler);

    errhandler_out(error, handler, errhandler, ierror);
}
FORTRAN_ALIAS(file_create_errhandler);

void pmpi_errhandler_create_(any_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}
FORTRAN_ALIAS(errhandler_create);

/* ---- Keys ---- */

/* The predefined functions have two signatures: of MPI-1, with INTEGERs, and of MPI-2. A key that is made
 * with them does not call them; a program may. */

#define COPY_FUNCTIONS(of, integer)                                                                  \
    void mpi_##of##null_copy_fn_(const MPI_Fint *owner, const MPI_Fint *key, const integer *state,   \
                                 const integer *from, integer *to, MPI_Fint *flag, MPI_Fint *ierror) \
    {                                                                                                \
        (void)owner, (void)key, (void)state, (void)from, (void)to;                                   \
        *flag = 0;                                                                                   \
        *ierror = MPI_SUCCESS;                                                                       \
    }                                                                                                \
    void mpi_##of##dup_fn_(const MPI_Fint *owner, const MPI_Fint *key, const integer *state,         \
                           const integer *from, integer *to, MPI_Fint *flag, MPI_Fint *ierror)       \
    {                                                                                                \
        (void)owner, (void)key, (void)state;                                                         \
        *to = *from;                                                                                 \
        *flag = 1;                                                                                   \
        *ierror = MPI_SUCCESS;                                                                       \
    }                                                                                                \
    void mpi_##of##null_delete_fn_(const MPI_Fint *owner, const MPI_Fint *key, const integer *value, \
                                   const integer *state, MPI_Fint *ierror)                           \
    {                                                                                                \
        (void)owner, (void)key, (void)value, (void)state;                                            \
        *ierror = MPI_SUCCESS;                                                                       \
    }

COPY_FUNCTIONS(, MPI_Fint)
COPY_FUNCTIONS(comm_, MPI_Aint)
COPY_FUNCTIONS(type_, MPI_Aint)
COPY_FUNCTIONS(win_, MPI_Aint)

/* Ends the job: there are no files, and so no conversions. */
void mpi_conversion_fn_null_(void)
{
    mpi_lite_fortran_missing("MPI_CONVERSION_FN_NULL");
}

static any_function *copy_of(any_function *function)
{
    any_function *const none[] = { (any_function *)mpi_null_copy_fn_, (any_function *)mpi_comm_null_copy_fn_,
                                   (any_function *)mpi_type_null_copy_fn_,
                                   (any_function *)mpi_win_null_copy_fn_ };
    any_function *const dup[] = { (any_function *)mpi_dup_fn_, (any_function *)mpi_comm_dup_fn_,
                                  (any_function *)mpi_type_dup_fn_, (any_function *)mpi_win_dup_fn_ };

    for (int i = 0; i < 4; i++) {
        if (function == none[i])
            return NULL;
        if (function == dup[i])
            return (any_function *)MPI_COMM_DUP_FN;
    }
    return function;
}

static any_function *delete_of(any_function *function)
{
    any_function *const none[] = { (any_function *)mpi_null_delete_fn_,
                                   (any_function *)mpi_comm_null_delete_fn_,
                                   (any_function *)mpi_type_null_delete_fn_,
                                   (any_function *)mpi_win_null_delete_fn_ };

    for (int i = 0; i < 4; i++)
        if (function == none[i])
            return NULL;
    return function;
}

/* The function types of the three kinds differ only in C. */
#define KEYVAL(lower, upper)                                                                            \
    void pmpi_##lower##_create_keyval_(any_function *copy, any_function *delete, MPI_Fint *keyval,      \
                                       const MPI_Aint *state, MPI_Fint *ierror)                         \
    {                                                                                                   \
        mpi_lite_handles_begin(); /* the callbacks get numbers, even if only C sets the attribute */    \
        mpi_lite_attribute_begin(LANGUAGE_FORTRAN);                                                     \
        *ierror = PMPI_##upper##_create_keyval((MPI_##upper##_copy_attr_function *)copy_of(copy),       \
                                               (MPI_##upper##_delete_attr_function *)delete_of(delete), \
                                               keyval, (void *)(intptr_t)*state);                       \
        mpi_lite_attribute_end();                                                                       \
    }                                                                                                   \
    FORTRAN_ALIAS(lower##_create_keyval)
KEYVAL(comm, Comm);
KEYVAL(type, Type);
KEYVAL(win, Win);

void pmpi_keyval_create_(any_function *copy, any_function *delete, MPI_Fint *keyval, const MPI_Fint *state,
                         MPI_Fint *ierror)
{
    mpi_lite_handles_begin();
    mpi_lite_attribute_begin(LANGUAGE_FORTRAN_1);
    *ierror = PMPI_Comm_create_keyval((MPI_Comm_copy_attr_function *)copy_of(copy),
                                      (MPI_Comm_delete_attr_function *)delete_of(delete), keyval,
                                      (void *)(intptr_t)*state);
    mpi_lite_attribute_end();
}
FORTRAN_ALIAS(keyval_create);

/* ---- Attributes ---- */

/* Returns the value of a predefined attribute, for which C gets an address. */
static MPI_Aint predefined_number(int keyval, void *seen)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        return (MPI_Aint)(intptr_t)seen;
    case MPI_WIN_SIZE:
        return *(const MPI_Aint *)seen;
    default:
        return *(const int *)seen;
    }
}

static bool is_predefined(int keyval)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_WIN_MODEL;
}

#define ATTRIBUTES(lower, upper, type, kind)                                                              \
    static int lower##_set(const char *name, enum attribute_language language, MPI_Fint owner,            \
                           MPI_Fint keyval, MPI_Aint value)                                               \
    {                                                                                                     \
        struct call call = { name, MPI_SUCCESS };                                                         \
        type object = handle_in(&call, kind, #lower, owner);                                              \
                                                                                                          \
        if (call.error)                                                                                   \
            return call.error;                                                                            \
        mpi_lite_attribute_begin(language);                                                               \
        call.error = PMPI_##upper##_set_attr(object, keyval, (void *)(intptr_t)value);                    \
        mpi_lite_attribute_end();                                                                         \
        return call.error;                                                                                \
    }                                                                                                     \
    static int lower##_get(const char *name, enum attribute_language language, MPI_Fint owner,            \
                           MPI_Fint keyval, MPI_Aint *value, MPI_Fint *flag)                              \
    {                                                                                                     \
        struct call call = { name, MPI_SUCCESS };                                                         \
        type object = handle_in(&call, kind, #lower, owner);                                              \
        void *seen = NULL;                                                                                \
        int found = 0;                                                                                    \
                                                                                                          \
        if (call.error)                                                                                   \
            return call.error;                                                                            \
        mpi_lite_attribute_begin(language);                                                               \
        call.error = PMPI_##upper##_get_attr(object, keyval, &seen, &found);                              \
        mpi_lite_attribute_end();                                                                         \
        if (call.error)                                                                                   \
            return call.error;                                                                            \
        *flag = found;                                                                                    \
        if (found)                                                                                        \
            *value = is_predefined(keyval) ? predefined_number(keyval, seen) : (MPI_Aint)(intptr_t)seen;  \
        return MPI_SUCCESS;                                                                               \
    }                                                                                                     \
    void pmpi_##lower##_set_attr_(const MPI_Fint *owner, const MPI_Fint *keyval, const MPI_Aint *value,   \
                                  MPI_Fint *ierror)                                                       \
    {                                                                                                     \
        *ierror = lower##_set("MPI_" #upper "_set_attr", LANGUAGE_FORTRAN, *owner, *keyval, *value);      \
    }                                                                                                     \
    FORTRAN_ALIAS(lower##_set_attr);                                                                      \
    void pmpi_##lower##_get_attr_(const MPI_Fint *owner, const MPI_Fint *keyval, MPI_Aint *value,         \
                                  MPI_Fint *flag, MPI_Fint *ierror)                                       \
    {                                                                                                     \
        *ierror = lower##_get("MPI_" #upper "_get_attr", LANGUAGE_FORTRAN, *owner, *keyval, value, flag); \
    }                                                                                                     \
    FORTRAN_ALIAS(lower##_get_attr)

ATTRIBUTES(comm, Comm, MPI_Comm, FORTRAN_COMM);
ATTRIBUTES(type, Type, MPI_Datatype, FORTRAN_TYPE);
ATTRIBUTES(win, Win, MPI_Win, FORTRAN_WIN);

void pmpi_attr_put_(const MPI_Fint *comm, const MPI_Fint *keyval, const MPI_Fint *value, MPI_Fint *ierror)
{
    *ierror = comm_set("MPI_Attr_put", LANGUAGE_FORTRAN_1, *comm, *keyval, *value);
}
FORTRAN_ALIAS(attr_put);

void pmpi_attr_get_(const MPI_Fint *comm, const MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag,
                    MPI_Fint *ierror)
{
    MPI_Aint seen = *value;

    *ierror = comm_get("MPI_Attr_get", LANGUAGE_FORTRAN_1, *comm, *keyval, &seen, flag);
    *value = (MPI_Fint)seen; /* an address is cut [MPI 3.1 §17.2.7] */
}
FORTRAN_ALIAS(attr_get);

/* ---- MPI-1's names ---- */

void pmpi_attr_delete_(const MPI_Fint *comm, const MPI_Fint *keyval, MPI_Fint *ierror)
{
    struct call call = { "MPI_Attr_delete", MPI_SUCCESS };
    MPI_Comm c_comm = handle_in(&call, FORTRAN_COMM, "comm", *comm);

    *ierror = call.error ? call.error : PMPI_Comm_delete_attr(c_comm, *keyval);
}
FORTRAN_ALIAS(attr_delete);

void pmpi_keyval_free_(MPI_Fint *keyval, MPI_Fint *ierror)
{
    *ierror = PMPI_Comm_free_keyval(keyval);
}
FORTRAN_ALIAS(keyval_free);

void pmpi_errhandler_set_(const MPI_Fint *comm, const MPI_Fint *errhandler, MPI_Fint *ierror)
{
    struct call call = { "MPI_Errhandler_set", MPI_SUCCESS };
    MPI_Comm c_comm = handle_in(&call, FORTRAN_COMM, "comm", *comm);
    MPI_Errhandler handler = handle_in(&call, FORTRAN_ERRHANDLER, "errhandler", *errhandler);

    *ierror = call.error ? call.error : PMPI_Comm_set_errhandler(c_comm, handler);
}
FORTRAN_ALIAS(errhandler_set);

void pmpi_errhandler_get_(const MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    struct call call = { "MPI_Errhandler_get", MPI_SUCCESS };
    MPI_Comm c_comm = handle_in(&call, FORTRAN_COMM, "comm", *comm);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    *ierror = call.error ? call.error : PMPI_Comm_get_errhandler(c_comm, &handler);
    if (!*ierror)
        *errhandler = mpi_lite_handle_give(FORTRAN_ERRHANDLER, handler);
}
FORTRAN_ALIAS(errhandler_get);

/* ---- Generalized requests ---- */

struct generalized_state {
    void (*query)(MPI_Aint *state, MPI_Fint *status, MPI_Fint *ierror);
    void (*free)(MPI_Aint *state, MPI_Fint *ierror);
    void (*cancel)(MPI_Aint *state, MPI_Fint *complete, MPI_Fint *ierror);
    MPI_Aint state;
};

static int generalized_query(void *state, MPI_Status *status)
{
    struct generalized_state *of = state;
    MPI_Fint numbers[sizeof(*status) / sizeof(MPI_Fint)], error = MPI_SUCCESS;

    memcpy(numbers, status, sizeof(*status));
    of->query(&of->state, numbers, &error);
    memcpy(status, numbers, sizeof(*status));
    return error;
}

static int generalized_free(void *state)
{
    struct generalized_state *of = state;
    MPI_Fint error = MPI_SUCCESS;

    of->free(&of->state, &error);
    free(of);
    return error;
}

static int generalized_cancel(void *state, int complete)
{
    struct generalized_state *of = state;
    MPI_Fint is_complete = complete != 0, error = MPI_SUCCESS;

    of->cancel(&of->state, &is_complete, &error);
    return error;
}

void pmpi_grequest_start_(void (*query)(MPI_Aint *, MPI_Fint *, MPI_Fint *),
                          void (*free_)(MPI_Aint *, MPI_Fint *),
                          void (*cancel)(MPI_Aint *, MPI_Fint *, MPI_Fint *), const MPI_Aint *state,
                          MPI_Fint *request, MPI_Fint *ierror)
{
    struct generalized_state *of = malloc(sizeof(*of));
    MPI_Request c_request = MPI_REQUEST_NULL;

    if (!of) {
        *ierror = mpi_lite_fortran_refuse("MPI_Grequest_start", MPI_ERR_NO_MEM, "no memory for a request");
        return;
    }
    *of = (struct generalized_state){ query, free_, cancel, *state };
    *ierror = PMPI_Grequest_start(generalized_query, generalized_free, generalized_cancel, of, &c_request);
    if (*ierror)
        free(of);
    else
        *request = mpi_lite_handle_give(FORTRAN_REQUEST, c_request);
}
FORTRAN_ALIAS(grequest_start);

/* ---- MPI_SIZEOF of the module ---- */

/* The first members of Fortran's descriptors [ISO C, TS 29113]. */
struct descriptor {
    void *base;
    size_t element_bytes;
};

void mpi_lite_sizeof(const struct descriptor *of, MPI_Fint *size, MPI_Fint *ierror)
{
    *size = (MPI_Fint)of->element_bytes;
    *ierror = MPI_SUCCESS;
}
