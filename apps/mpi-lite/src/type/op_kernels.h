/* SPDX-License-Identifier: BSD-2-Clause */
/* op_kernels.h: the interface between the calls of operations and their loops. */
#ifndef MPI_OPERATION_H
#define MPI_OPERATION_H

#include "type/type.h"

/* Computes to[i] = from[i] op to[i] for a predefined operation and a type for which op_check holds. */
void operation_apply(const struct mpi_op *op, const void *from, void *to, size_t count,
                     const struct mpi_datatype *type);

#endif
