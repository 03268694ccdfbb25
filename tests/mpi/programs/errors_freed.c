/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors_freed.c: copies of handles, used after their objects have been freed. Other libraries detect some of
 * them, by what was last in that memory.
 */
#include "refused.h"

static const MPI_Comm world = MPI_COMM_WORLD;

#define FREED(call, expected) REFUSED_BUT(IN_OTHERS, call, expected)

static void keep(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)in, (void)out, (void)count, (void)type;
}

static void hear(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

static void communicators(void)
{
    int value = 7, values[2] = { 7, 7 }, number = 0, flag = 0;
    MPI_Comm comm, copy, made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group group = MPI_GROUP_NULL;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    copy = comm;
    MPI_Comm_free(&comm);
    FREED(MPI_Comm_rank(copy, &number), MPI_ERR_COMM);
    FREED(MPI_Comm_group(copy, &group), MPI_ERR_COMM);
    FREED(MPI_Comm_dup(copy, &made), MPI_ERR_COMM);
    FREED(MPI_Comm_split(copy, 0, 0, &made), MPI_ERR_COMM);
    FREED(MPI_Comm_compare(world, copy, &number), MPI_ERR_COMM);
    FREED(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    FREED(MPI_Send(&value, 1, MPI_INT, 0, 0, copy), MPI_ERR_COMM);
    FREED(MPI_Isend(&value, 1, MPI_INT, 0, 0, copy, &request), MPI_ERR_COMM);
    FREED(MPI_Recv(&value, 1, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE), MPI_ERR_COMM);
    FREED(MPI_Iprobe(0, 0, copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_COMM);
    FREED(MPI_Send_init(&value, 1, MPI_INT, 0, 0, copy, &request), MPI_ERR_COMM);
    FREED(MPI_Barrier(copy), MPI_ERR_COMM);
    FREED(MPI_Bcast(&value, 1, MPI_INT, 0, copy), MPI_ERR_COMM);
    FREED(MPI_Allreduce(&values[0], &values[1], 1, MPI_INT, MPI_SUM, copy), MPI_ERR_COMM);
    FREED(MPI_Ibarrier(copy, &request), MPI_ERR_COMM);
    FREED(MPI_Comm_free(&copy), MPI_ERR_COMM);
    CHECK(THIS_LIBRARY || request == MPI_REQUEST_NULL);
    passed("communicators");
}

static void types_and_operations(void)
{
    int value = 7, other = 7, number = 0;
    MPI_Datatype type, type_copy, made = MPI_DATATYPE_NULL;
    MPI_Op op, op_copy;

    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    type_copy = type;
    MPI_Type_free(&type);
    FREED(MPI_Type_size(type_copy, &number), MPI_ERR_TYPE);
    FREED(MPI_Type_commit(&type_copy), MPI_ERR_TYPE);
    FREED(MPI_Type_dup(type_copy, &made), MPI_ERR_TYPE);
    FREED(MPI_Type_contiguous(2, type_copy, &made), MPI_ERR_TYPE);
    FREED(MPI_Send(&value, 1, type_copy, MPI_PROC_NULL, 0, world), MPI_ERR_TYPE);
    FREED(MPI_Bcast(&value, 1, type_copy, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    FREED(MPI_Type_free(&type_copy), MPI_ERR_TYPE);

    MPI_Op_create(keep, 1, &op);
    op_copy = op;
    MPI_Op_free(&op);
    FREED(MPI_Op_commutative(op_copy, &number), MPI_ERR_OP);
    FREED(MPI_Allreduce(&value, &other, 1, MPI_INT, op_copy, MPI_COMM_SELF), MPI_ERR_OP);
    FREED(MPI_Op_free(&op_copy), MPI_ERR_OP);
    passed("types and operations");
}

static void requests(void)
{
    int value = 7, flag = 0, index = 0;
    MPI_Request request, copy, both[2];

    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request);
    copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    both[0] = MPI_REQUEST_NULL;
    both[1] = copy;
    FREED(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FREED(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FREED(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FREED(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FREED(MPI_Cancel(&copy), MPI_ERR_REQUEST);
    FREED(MPI_Request_free(&copy), MPI_ERR_REQUEST);

    MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &request);
    copy = request;
    MPI_Request_free(&request);
    FREED(MPI_Start(&copy), MPI_ERR_REQUEST);
    FREED(MPI_Startall(1, &copy), MPI_ERR_REQUEST);
    passed("requests");
}

static void others(void)
{
    int number = 0;
    MPI_Group everyone, group, group_copy;
    MPI_Info info, info_copy;
    MPI_Errhandler handler, handler_copy;

    MPI_Comm_group(world, &everyone);
    MPI_Group_incl(everyone, 1, (int[]){ 0 }, &group);
    MPI_Group_free(&everyone);
    group_copy = group;
    MPI_Group_free(&group);
    FREED(MPI_Group_size(group_copy, &number), MPI_ERR_GROUP);
    FREED(MPI_Group_free(&group_copy), MPI_ERR_GROUP);

    MPI_Info_create(&info);
    info_copy = info;
    MPI_Info_free(&info);
    FREED(MPI_Info_set(info_copy, "a", "b"), MPI_ERR_INFO);
    FREED(MPI_Info_get_nkeys(info_copy, &number), MPI_ERR_INFO);
    FREED(MPI_Info_free(&info_copy), MPI_ERR_INFO);

    MPI_Comm_create_errhandler(hear, &handler);
    handler_copy = handler;
    MPI_Errhandler_free(&handler);
    FREED(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler_copy), MPI_ERR_ARG);
    FREED(MPI_Errhandler_free(&handler_copy), MPI_ERR_ARG);
    passed("others");
}

/* Makes and frees many objects of each kind: memory of freed objects is used again. */
static void many(void)
{
    for (int i = 0; i < 1000; i++) {
        MPI_Datatype type;
        MPI_Info info;

        MPI_Type_contiguous(i, MPI_INT, &type);
        MPI_Info_create(&info);
        MPI_Info_free(&info);
        MPI_Type_free(&type);
    }
    passed("many");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    communicators();
    types_and_operations();
    requests();
    others();
    many();
    MPI_Finalize();
    return 0;
}
