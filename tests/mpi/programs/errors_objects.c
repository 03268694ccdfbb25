/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors_objects.c: wrong arguments of calls that make, query and free types, groups, communicators,
 * topologies, attributes, hints, operations, error handlers and classes. [MPI 3.1 chapters 4, 6, 7, 8, 9]
 */
#include "refused.h"
#include <limits.h>

static const MPI_Comm world = MPI_COMM_WORLD;
static MPI_Group everyone;

static void making_types(void)
{
    int one[1] = { 1 }, negative[1] = { -1 }, zero[1] = { 0 }, four[1] = { 4 }, two[1] = { 2 };
    MPI_Aint places[1] = { 0 };
    MPI_Datatype type = MPI_DATATYPE_NULL, ints[1] = { MPI_INT }, nulls[1] = { MPI_DATATYPE_NULL };
    const MPI_Datatype null = MPI_DATATYPE_NULL;

    REFUSED(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_contiguous(1, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_vector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OTHERS, MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_ARG);
    REFUSED(MPI_Type_vector(1, 1, 1, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_create_hvector(1, 1, 1, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_indexed(-1, one, zero, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OTHERS, MPI_Type_indexed(1, negative, zero, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_indexed(1, one, zero, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_hindexed(-1, one, places, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_create_hindexed(1, one, places, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_indexed_block(-1, 1, zero, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_create_indexed_block(1, 1, zero, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_hindexed_block(-1, 1, places, MPI_INT, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_create_hindexed_block(1, 1, places, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_struct(-1, one, places, ints, &type), MPI_ERR_COUNT);
    REFUSED(MPI_Type_create_struct(1, one, places, nulls, &type), MPI_ERR_TYPE);
    REFUSED_BUT(IN_OTHERS, MPI_Type_create_subarray(-1, four, two, zero, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_DIMS);
    REFUSED_BUT(IN_MPICH, MPI_Type_create_subarray(1, two, four, zero, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_ARG);
    REFUSED_BUT(IN_MPICH, MPI_Type_create_subarray(1, four, two, four, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_ARG);
    REFUSED(MPI_Type_create_subarray(1, four, two, zero, 99, MPI_INT, &type), MPI_ERR_ARG);
    REFUSED(MPI_Type_create_subarray(1, four, two, zero, MPI_ORDER_C, null, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_create_resized(null, 0, 4, &type), MPI_ERR_TYPE);
    REFUSED(MPI_Type_dup(null, &type), MPI_ERR_TYPE);
    CHECK(THIS_LIBRARY || type == MPI_DATATYPE_NULL);
    passed("making types");
}

static void using_types(void)
{
    int number = 0, numbers[4], position = 0, flag = 0;
    char text[MPI_MAX_OBJECT_NAME], room[8];
    void *value = NULL;
    MPI_Aint lower, extent, addresses[4];
    MPI_Count large;
    MPI_Datatype type, types[4], null = MPI_DATATYPE_NULL, predefined = MPI_INT;

    REFUSED(MPI_Type_commit(&null), MPI_ERR_TYPE);
    REFUSED(MPI_Type_free(&null), MPI_ERR_TYPE);
    REFUSED(MPI_Type_free(&predefined), MPI_ERR_TYPE);
    REFUSED(MPI_Type_size(null, &number), MPI_ERR_TYPE);
    REFUSED(MPI_Type_size_x(null, &large), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_extent(null, &lower, &extent), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_true_extent(null, &lower, &extent), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_extent_x(null, &large, &large), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_true_extent_x(null, &large, &large), MPI_ERR_TYPE);
#ifndef OPEN_MPI /* it has no functions that MPI 3.0 has removed */
    REFUSED(MPI_Type_extent(null, &extent), MPI_ERR_TYPE);
    REFUSED(MPI_Type_lb(null, &lower), MPI_ERR_TYPE);
    REFUSED(MPI_Type_ub(null, &extent), MPI_ERR_TYPE);
#endif
    REFUSED_BUT(IN_OTHERS, MPI_Type_set_name(null, "a"), MPI_ERR_TYPE);
    REFUSED_BUT(IN_OTHERS, MPI_Type_get_name(null, text, &number), MPI_ERR_TYPE);
    REFUSED(MPI_Type_get_envelope(null, &number, &number, &number, &number), MPI_ERR_TYPE);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_get_contents(MPI_INT, 4, 4, 4, numbers, addresses, types), MPI_ERR_TYPE);
    MPI_Type_contiguous(3, MPI_INT, &type);
    REFUSED_BUT(IN_OTHERS, MPI_Type_get_contents(type, 0, 0, 0, numbers, addresses, types), MPI_ERR_ARG);
    MPI_Type_free(&type);
    REFUSED(MPI_Pack(&number, 1, null, room, 8, &position, world), MPI_ERR_TYPE);
    REFUSED(MPI_Pack(&number, -1, MPI_INT, room, 8, &position, world), MPI_ERR_COUNT);
    REFUSED(MPI_Pack(&number, 1, MPI_INT, room, 8, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    REFUSED_BUT(IN_MPICH, MPI_Pack(numbers, 3, MPI_INT, room, 8, &position, world), MPI_ERR_TRUNCATE);
    REFUSED(MPI_Unpack(room, 8, &position, &number, 1, null, world), MPI_ERR_TYPE);
    REFUSED(MPI_Unpack(room, 8, &position, &number, -1, MPI_INT, world), MPI_ERR_COUNT);
    REFUSED(MPI_Unpack(room, 8, &position, &number, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM);
    REFUSED_BUT(IN_MPICH, MPI_Unpack(room, 8, &position, numbers, 3, MPI_INT, world), MPI_ERR_TRUNCATE);
    CHECK_EQUAL(position, 0);
    REFUSED_BUT(IN_OPENMPI, MPI_Pack_size(-1, MPI_INT, world, &number), MPI_ERR_COUNT);
    REFUSED(MPI_Pack_size(1, null, world, &number), MPI_ERR_TYPE);
    REFUSED(MPI_Pack_size(1, MPI_INT, MPI_COMM_NULL, &number), MPI_ERR_COMM);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_set_attr(MPI_INT, MPI_KEYVAL_INVALID, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Type_get_attr(MPI_INT, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_delete_attr(MPI_INT, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL);
    passed("using types");
}

static void groups(void)
{
    int number = 0, outside[1] = { size }, negative[1] = { -1 }, first[2] = { 0, 0 }, found[1];
    int no_stride[1][3] = { { 0, 0, 0 } }, too_far[1][3] = { { 0, size, 1 } };
    MPI_Group made = MPI_GROUP_NULL, null = MPI_GROUP_NULL;

    REFUSED(MPI_Group_size(null, &number), MPI_ERR_GROUP);
    REFUSED(MPI_Group_rank(null, &number), MPI_ERR_GROUP);
    REFUSED(MPI_Group_compare(null, everyone, &number), MPI_ERR_GROUP);
    REFUSED(MPI_Group_compare(everyone, null, &number), MPI_ERR_GROUP);
    REFUSED(MPI_Group_union(null, everyone, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_intersection(everyone, null, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_difference(null, everyone, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_incl(null, 1, first, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_excl(null, 1, first, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_range_incl(null, 1, no_stride, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_range_excl(null, 1, no_stride, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Group_translate_ranks(null, 1, first, everyone, found), MPI_ERR_GROUP);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_translate_ranks(everyone, 1, outside, everyone, found), MPI_ERR_RANK);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_translate_ranks(everyone, -1, first, everyone, found), MPI_ERR_ARG);
    REFUSED(MPI_Group_incl(everyone, 1, outside, &made), MPI_ERR_RANK);
    REFUSED(MPI_Group_incl(everyone, 1, negative, &made), MPI_ERR_RANK);
    REFUSED_BUT(IN_OTHERS, MPI_Group_incl(everyone, 2, first, &made), MPI_ERR_RANK);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_incl(everyone, -1, first, &made), MPI_ERR_ARG);
    REFUSED(MPI_Group_excl(everyone, 1, outside, &made), MPI_ERR_RANK);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_range_incl(everyone, 1, no_stride, &made), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Group_range_incl(everyone, 1, too_far, &made), MPI_ERR_RANK);
    REFUSED_BUT(IN_OTHERS, MPI_Group_range_excl(everyone, 1, too_far, &made), MPI_ERR_RANK);
    REFUSED(MPI_Group_free(&null), MPI_ERR_GROUP);
    CHECK(THIS_LIBRARY || made == MPI_GROUP_NULL);
    passed("groups");
}

static void communicators(void)
{
    int number = 0, flag = 0;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Comm made = MPI_COMM_NULL, null = MPI_COMM_NULL, predefined = MPI_COMM_WORLD;
    MPI_Group group;
    MPI_Info info;

    REFUSED(MPI_Comm_rank(null, &number), MPI_ERR_COMM);
    REFUSED(MPI_Comm_size(null, &number), MPI_ERR_COMM);
    REFUSED(MPI_Comm_group(null, &group), MPI_ERR_COMM);
    REFUSED(MPI_Comm_compare(world, null, &number), MPI_ERR_COMM);
    REFUSED(MPI_Comm_dup(null, &made), MPI_ERR_COMM);
    REFUSED(MPI_Comm_split(null, 0, 0, &made), MPI_ERR_COMM);
    REFUSED_BUT(IN_MPICH, MPI_Comm_split(world, -7, 0, &made), MPI_ERR_ARG);
    REFUSED(MPI_Comm_split_type(null, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), MPI_ERR_COMM);
    REFUSED(MPI_Comm_split_type(world, 99, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create(null, everyone, &made), MPI_ERR_COMM);
    REFUSED(MPI_Comm_create(world, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Comm_create_group(null, everyone, 0, &made), MPI_ERR_COMM);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_create_group(world, MPI_GROUP_NULL, 0, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Comm_create_group(world, everyone, -5, &made), MPI_ERR_TAG);
    REFUSED(MPI_Comm_free(&null), MPI_ERR_COMM);
    REFUSED(MPI_Comm_free(&predefined), MPI_ERR_COMM);
    REFUSED(MPI_Comm_set_name(null, "a"), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_get_name(null, text, &number), MPI_ERR_COMM);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_set_info(null, MPI_INFO_NULL), MPI_ERR_COMM);
    REFUSED(MPI_Comm_get_info(null, &info), MPI_ERR_COMM);
    REFUSED(MPI_Comm_dup_with_info(null, MPI_INFO_NULL, &made), MPI_ERR_COMM);
    REFUSED(MPI_Comm_test_inter(null, &flag), MPI_ERR_COMM);
    REFUSED(MPI_Comm_remote_size(null, &number), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_remote_size(world, &number), MPI_ERR_COMM);
    REFUSED_BUT(IN_MPICH, MPI_Comm_remote_group(world, &group), MPI_ERR_COMM);
    REFUSED_BUT(IN_MPICH, MPI_Intercomm_merge(world, 0, &made), MPI_ERR_COMM);
    REFUSED(MPI_Intercomm_create(null, 0, world, 0, 1, &made), MPI_ERR_COMM);
    REFUSED_BUT(IN_OPENMPI, MPI_Intercomm_create(world, size, world, 0, 1, &made), MPI_ERR_RANK);
    CHECK(THIS_LIBRARY || made == MPI_COMM_NULL);
    passed("communicators");
}

static void topologies(void)
{
    int dims[2] = { size, 1 }, negative[1] = { -1 }, large[1] = { size + 1 }, zeros[2] = { 0, 0 };
    int fixed[2] = { size + 1, 0 }, number = 0, other = 0, index[1] = { 0 }, edges[1] = { 0 };
    MPI_Comm grid, made = MPI_COMM_NULL;

    REFUSED(MPI_Topo_test(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    REFUSED(MPI_Cart_create(MPI_COMM_NULL, 1, dims, zeros, 0, &made), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_create(world, -1, dims, zeros, 0, &made), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_create(world, 1, negative, zeros, 0, &made), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_create(world, 1, large, zeros, 0, &made), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_map(world, -1, dims, zeros, &number), MPI_ERR_DIMS);
    REFUSED(MPI_Cart_map(MPI_COMM_NULL, 1, dims, zeros, &number), MPI_ERR_COMM);
    REFUSED(MPI_Cartdim_get(world, &number), MPI_ERR_TOPOLOGY);
    REFUSED_BUT(IN_MPICH, MPI_Cart_get(world, 1, dims, zeros, zeros), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_rank(world, zeros, &number), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_coords(world, 0, 1, zeros), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_shift(world, 0, 1, &number, &other), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_sub(world, zeros, &made), MPI_ERR_TOPOLOGY);
    MPI_Cart_create(world, 2, dims, zeros, 0, &grid);
    REFUSED_BUT(IN_OPENMPI, MPI_Cart_coords(grid, size, 2, zeros), MPI_ERR_RANK);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_shift(grid, 2, 1, &number, &other), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_shift(grid, -1, 1, &number, &other), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_rank(grid, fixed, &number), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Cart_get(grid, 1, dims, zeros, zeros), MPI_ERR_ARG);
    REFUSED(MPI_Graphdims_get(grid, &number, &other), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&grid);
    REFUSED(MPI_Graph_create(MPI_COMM_NULL, 1, index, edges, 0, &made), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Graph_create(world, size + 1, index, edges, 0, &made), MPI_ERR_ARG);
    REFUSED(MPI_Graph_map(MPI_COMM_NULL, 1, index, edges, &number), MPI_ERR_COMM);
    REFUSED(MPI_Graphdims_get(world, &number, &other), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Graph_get(world, 1, 1, index, edges), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Graph_neighbors_count(world, 0, &number), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Graph_neighbors(world, 0, 1, edges), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Dims_create(size, 1, (int[]){ size + 1 }), MPI_ERR_DIMS);
    REFUSED(MPI_Dims_create(size, 2, (int[]){ -1, 0 }), MPI_ERR_DIMS);
    REFUSED_BUT(IN_OTHERS, MPI_Dims_create(0, 1, zeros), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Dims_create(1, -1, zeros), MPI_ERR_DIMS);
    CHECK(THIS_LIBRARY || made == MPI_COMM_NULL);
    passed("topologies");
}

static int copy_refuses(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)state, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static void attributes(void)
{
    int key = MPI_KEYVAL_INVALID, flag = 0, type_key = MPI_KEYVAL_INVALID, own = MPI_KEYVAL_INVALID;
    void *value = NULL;
    MPI_Comm comm, copy = MPI_COMM_NULL;

    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_set_attr(world, key, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_get_attr(world, key, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_delete_attr(world, key), MPI_ERR_KEYVAL);
    REFUSED(MPI_Comm_set_attr(MPI_COMM_NULL, key, NULL), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_set_attr(world, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_set_attr(world, type_key, NULL), MPI_ERR_KEYVAL);
    MPI_Type_free_keyval(&type_key);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_free_keyval(&type_key), MPI_ERR_KEYVAL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy_refuses, MPI_COMM_NULL_DELETE_FN, &own, NULL);
    MPI_Comm_set_attr(comm, own, NULL);
    REFUSED(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    MPI_Comm_delete_attr(comm, own);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_delete_attr(comm, own), MPI_ERR_KEYVAL);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&own);
    passed("attributes");
}

static void hints(void)
{
    char key[MPI_MAX_INFO_KEY + 2], value[MPI_MAX_INFO_VAL + 2], room[8];
    int number = 0, flag = 0;
    MPI_Info info, made, null = MPI_INFO_NULL;

    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    MPI_Info_create(&info);
    MPI_Info_set(info, "there", "yes");
    REFUSED_BUT(IN_MPICH, MPI_Info_set(null, "a", "b"), MPI_ERR_INFO);
    REFUSED(MPI_Info_set(info, "", "b"), MPI_ERR_INFO_KEY);
    REFUSED(MPI_Info_set(info, key, "b"), MPI_ERR_INFO_KEY);
    REFUSED(MPI_Info_set(info, "a", value), MPI_ERR_INFO_VALUE);
    REFUSED_BUT(IN_MPICH, MPI_Info_delete(null, "a"), MPI_ERR_INFO);
    REFUSED(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY);
    REFUSED_BUT(IN_MPICH, MPI_Info_get(null, "a", 7, room, &flag), MPI_ERR_INFO);
    REFUSED(MPI_Info_get(info, key, 7, room, &flag), MPI_ERR_INFO_KEY);
    REFUSED_BUT(IN_OTHERS, MPI_Info_get(info, "there", -1, room, &flag), MPI_ERR_ARG);
    REFUSED_BUT(IN_MPICH, MPI_Info_get_valuelen(null, "a", &number, &flag), MPI_ERR_INFO);
    REFUSED_BUT(IN_MPICH, MPI_Info_get_nkeys(null, &number), MPI_ERR_INFO);
    REFUSED_BUT(IN_MPICH, MPI_Info_get_nthkey(null, 0, key), MPI_ERR_INFO);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_get_nthkey(info, 1, key), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
    REFUSED_BUT(IN_MPICH, MPI_Info_dup(null, &made), MPI_ERR_INFO);
    REFUSED_BUT(IN_MPICH, MPI_Info_free(&null), MPI_ERR_INFO);
    MPI_Info_get_nkeys(info, &number);
    CHECK_EQUAL(number, 1);
    MPI_Info_free(&info);
    passed("hints");
}

static void others(void)
{
    int number = 0, class = 0, code = 0;
    char text[MPI_MAX_ERROR_STRING];
    void *base = NULL;
    MPI_Op op = MPI_OP_NULL, predefined = MPI_SUM;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    REFUSED(MPI_Op_free(&op), MPI_ERR_OP);
    REFUSED(MPI_Op_free(&predefined), MPI_ERR_OP);
    REFUSED(MPI_Op_commutative(op, &number), MPI_ERR_OP);
    REFUSED_BUT(IN_OTHERS, MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Errhandler_free(&handler), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_set_errhandler(world, handler), MPI_ERR_ARG);
    REFUSED(MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    REFUSED(MPI_Comm_get_errhandler(MPI_COMM_NULL, &handler), MPI_ERR_COMM);
    REFUSED(MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER), MPI_ERR_COMM);
    REFUSED_BUT(IN_OTHERS, MPI_Comm_create_errhandler(NULL, &handler), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Error_class(-77, &class), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Error_string(INT_MAX, text, &number), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Add_error_code(INT_MAX, &code), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Add_error_string(MPI_ERR_OTHER, "another"), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Alloc_mem(-1, MPI_INFO_NULL, &base), MPI_ERR_ARG);
    passed("others");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    making_types();
    using_types();
    groups();
    communicators();
    topologies();
    attributes();
    hints();
    others();
    MPI_Group_free(&everyone);
    MPI_Finalize();
    return 0;
}
