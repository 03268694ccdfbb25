/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * op.c: reduction operations: the types for which each is defined, their use, and the program's own
 * operations.
 *
 * Two definitions go beyond the standard; MPICH has them, too, so programs use them: MPI_CHAR is a number of
 * 8 bits, and floating-point numbers have truth values.
 *
 * Source: MPI 3.1 §5.9.2 (predefined operations), §5.9.4 (MINLOC, MAXLOC), §5.9.5 (user-defined operations).
 */
#include "base/handle.h"
#include "type/op_kernels.h"
#include <limits.h>

#define INTEGERS (1 << KIND_SIGNED | 1 << KIND_UNSIGNED)
#define ORDERED  (INTEGERS | 1 << KIND_FLOAT)
#define NUMBERS  (ORDERED | 1 << KIND_COMPLEX)
#define TRUTHS   (ORDERED | 1 << KIND_LOGICAL)
#define BITS     (INTEGERS | 1 << KIND_BYTE)
#define PAIRS    (1 << KIND_PAIR)

#define OPERATION(upper, lower, kinds_of)                                                               \
    struct mpi_op mpi_lite_op_##lower = {                                                               \
        .references = 1, .name = "MPI_" #upper, .commutes = true, .predefined = true, .kinds = kinds_of \
    }
OPERATION(MAX, max, ORDERED);
OPERATION(MIN, min, ORDERED);
OPERATION(SUM, sum, NUMBERS);
OPERATION(PROD, prod, NUMBERS);
OPERATION(LAND, land, TRUTHS);
OPERATION(BAND, band, BITS);
OPERATION(LOR, lor, TRUTHS);
OPERATION(BOR, bor, BITS);
OPERATION(LXOR, lxor, TRUTHS);
OPERATION(BXOR, bxor, BITS);
OPERATION(MINLOC, minloc, PAIRS);
OPERATION(MAXLOC, maxloc, PAIRS);
/* Only for one-sided communication. */
OPERATION(REPLACE, replace, 0);
OPERATION(NO_OP, no_op, 0);

int op_check(const struct mpi_op *op, const struct mpi_datatype *type)
{
    if (op == MPI_OP_NULL)
        return mpi_error(MPI_ERR_OP, "argument op: MPI_OP_NULL");
    if (!op->predefined)
        return check_live(op->references, MPI_ERR_OP, "op");
    if (op->kinds >> type->kind & 1)
        return MPI_SUCCESS;
    return mpi_error(MPI_ERR_OP, "argument op: %s is not defined for %s", op->name,
                     type->name ? type->name : "a derived type");
}

typedef void fortran_function(const void *from, void *to, MPI_Fint *count, MPI_Fint *type);

static void op_call_fortran(const struct mpi_op *op, const char *from, char *to, MPI_Fint *count,
                            struct mpi_datatype *type)
{
    MPI_Fint number = handle_number(FORTRAN_TYPE, type);

    ((fortran_function *)(void (*)(void))op->function)(from, to, count, &number);
}

/* Invokes the program's function, in parts if necessary: it takes an int for the count. */
static void op_call(struct mpi_op *op, const char *from, char *to, size_t count, struct mpi_datatype *type)
{
    while (count) {
        int part = count > INT_MAX ? INT_MAX : (int)count;
        MPI_Aint bytes = part * type->extent;
        int passed = part;

        if (op->is_fortran)
            op_call_fortran(op, from, to, &passed, type);
        else
            op->function((void *)(uintptr_t)from, to, &passed, &type);
        count -= (size_t)part;
        if (count) {
            from += bytes;
            to += bytes;
        }
    }
}

void op_apply(struct mpi_op *op, const void *from, void *to, size_t count, struct mpi_datatype *type)
{
    if (!count)
        return;
    if (op->predefined)
        operation_apply(op, from, to, count, type);
    else
        op_call(op, from, to, count, type);
}

static int Op_create(MPI_User_function *function, int commutes, MPI_Op *op)
{
    if (!function)
        return mpi_error(MPI_ERR_ARG, "argument function: NULL");
    int error = check_output(op, "op");
    if (error)
        return error;
    if (!(*op = object_make(sizeof(**op))))
        return mpi_error(MPI_ERR_NO_MEM, "no memory for an operation");
    mpi_live[LIVE_OPERATION]++;
    (*op)->references = 1;
    (*op)->commutes = commutes != 0;
    (*op)->function = function;
    return MPI_SUCCESS;
}
MPI_CALL(Op_create);

static int check_op(const struct mpi_op *op)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && op == MPI_OP_NULL)
        error = mpi_error(MPI_ERR_OP, "argument op: MPI_OP_NULL");
    return error ? error : check_live(op->references, MPI_ERR_OP, "op");
}

int PMPI_Op_free(MPI_Op *op)
{
    mpi_enter();
    int error = check_op(op ? *op : MPI_OP_NULL);
    if (!error && (*op)->predefined)
        error = mpi_error(MPI_ERR_OP, "argument op: %s is predefined, and is not freed", (*op)->name);
    if (!error) {
        if (--(*op)->references == 0) {
            handle_release(*op);
            object_end(*op, sizeof(**op));
            mpi_live[LIVE_OPERATION]--;
        }
        *op = MPI_OP_NULL;
    }
    return mpi_leave_with(NULL, "MPI_Op_free", error);
}
MPI_ALIAS(Op_free);

int PMPI_Op_commutative(MPI_Op op, int *commutes)
{
    int error = check_op(op);

    if (!error)
        error = check_output(commutes, "commute");
    if (!error)
        *commutes = op->commutes;
    return error ? mpi_return(NULL, "MPI_Op_commutative", error) : MPI_SUCCESS;
}
MPI_ALIAS(Op_commutative);

int PMPI_Reduce_local(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op)
{
    mpi_enter();
    int error = check_op(op);
    if (!error)
        error = check_buffer(count, type);
    if (!error)
        error = op_check(op, type);
    if (!error && count && (from == MPI_IN_PLACE || to == MPI_IN_PLACE))
        error = mpi_error(MPI_ERR_BUFFER, "argument %s: MPI_IN_PLACE is not for this call",
                          from == MPI_IN_PLACE ? "inbuf" : "inoutbuf");
    if (!error && count && from == to && from)
        error = mpi_error(MPI_ERR_BUFFER, "argument inoutbuf: it is the same buffer as inbuf");
    if (!error)
        op_apply(op, from, to, (size_t)count, type);
    return mpi_leave_with(NULL, "MPI_Reduce_local", error);
}
MPI_ALIAS(Reduce_local);
