/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors_nulls.c: NULL for an argument that a call writes to, in calls that make or query types, groups,
 * communicators, topologies, attributes, hints and others. Calls that begin or complete transfers are in
 * errors_transfers.c, errors_collectives.c and rma_errors.c.
 *
 * Not part of errors_objects.c: MPICH loses the class of a few errors once a process has had some 170.
 */
#include "refused.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static MPI_Group everyone;

static void types(void)
{
    int a = 0, b = 0, c = 0, one[1] = { 1 }, zero[1] = { 0 };
    int blocks[1] = { MPI_DISTRIBUTE_BLOCK }, defaults[1] = { MPI_DISTRIBUTE_DFLT_DARG };
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Aint lower, extent, places[1] = { 0 };
    MPI_Count large;
    MPI_Datatype ints[1] = { MPI_INT };
    MPI_Status status;

    MPI_Sendrecv(&a, 1, MPI_INT, rank, 1, &b, 1, MPI_INT, rank, 1, world, &status);
    REFUSED(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_size_x(MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_extent(MPI_INT, NULL, &extent), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_extent(MPI_INT, &lower, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_extent_x(MPI_INT, NULL, &large), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_extent_x(MPI_INT, &large, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_true_extent(MPI_INT, NULL, &extent), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_true_extent(MPI_INT, &lower, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_true_extent_x(MPI_INT, NULL, &large), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_true_extent_x(MPI_INT, &large, NULL), MPI_ERR_ARG);
#ifndef OPEN_MPI /* it has no functions that MPI 3.0 has removed */
    REFUSED(MPI_Type_extent(MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_lb(MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_ub(MPI_INT, NULL), MPI_ERR_ARG);
#endif
    REFUSED(MPI_Type_get_envelope(MPI_INT, NULL, &a, &b, &c), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_envelope(MPI_INT, &a, NULL, &b, &c), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_envelope(MPI_INT, &a, &b, NULL, &c), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_envelope(MPI_INT, &a, &b, &c, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_name(MPI_INT, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_name(MPI_INT, text, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_vector(1, 1, 1, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_hvector(1, 1, 1, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_indexed(1, one, zero, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_hindexed(1, one, places, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_indexed_block(1, 1, zero, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_hindexed_block(1, 1, places, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_struct(1, one, places, ints, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_subarray(1, one, one, zero, MPI_ORDER_C, MPI_INT, NULL),
                MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI,
                MPI_Type_create_darray(1, 0, 1, one, blocks, defaults, one, MPI_ORDER_C, MPI_INT, NULL),
                MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_create_resized(MPI_INT, 0, 4, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_dup(MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Type_create_f90_real(6, 30, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Type_create_f90_complex(6, 30, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OTHERS, MPI_Type_create_f90_integer(6, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_address(&a, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Pack_size(1, MPI_INT, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Pack_external_size("external32", 1, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Get_count(&status, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_elements(&status, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_elements_x(&status, MPI_INT, NULL), MPI_ERR_ARG);
    passed("types");
}

static void groups(void)
{
    int zero[1] = { 0 }, range[1][3] = { { 0, 0, 1 } };

    REFUSED(MPI_Group_size(everyone, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Group_rank(everyone, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Group_compare(everyone, everyone, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_translate_ranks(everyone, 1, zero, everyone, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_union(everyone, everyone, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_intersection(everyone, everyone, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_difference(everyone, everyone, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_incl(everyone, 1, zero, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_excl(everyone, 1, zero, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_range_incl(everyone, 1, range, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_range_excl(everyone, 1, range, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Group_free(NULL), MPI_ERR_ARG);
    passed("groups");
}

static void communicators(void)
{
    int a = 0;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;

    REFUSED(MPI_Comm_rank(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_size(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_group(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_compare(world, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_name(world, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_name(world, text, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_get_info(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_dup(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_dup_with_info(world, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_idup(world, NULL, &request), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_idup(world, &made, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_split(world, 0, 0, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create(world, everyone, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create_group(world, everyone, 1, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_test_inter(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_remote_size(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_remote_group(world, NULL), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(MPI_Intercomm_create(MPI_COMM_SELF, 0, world, 0, 1, NULL), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    REFUSED_BUT(IN_OPENMPI, MPI_Intercomm_merge(world, 0, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_parent(NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_free(NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Comm_disconnect(NULL), MPI_ERR_ARG);
    CHECK(THIS_LIBRARY || (made == MPI_COMM_NULL && request == MPI_REQUEST_NULL));
    passed("communicators");
}

static void topologies(void)
{
    int a = 0, b = 0, one[1] = { 1 }, zero[1] = { 0 };
    int *index = calloc((size_t)size, sizeof(int)); /* for nodes without edges */
    MPI_Comm grid, graph, dist;

    MPI_Cart_create(world, 1, &size, zero, 0, &grid);
    MPI_Graph_create(world, size, index, zero, 0, &graph);
    MPI_Dist_graph_create(world, 0, zero, zero, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist);
    REFUSED(MPI_Topo_test(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cart_create(world, 1, one, zero, 0, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cart_map(world, 1, one, zero, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cartdim_get(grid, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cart_rank(grid, zero, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Cart_shift(grid, 0, 1, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Cart_shift(grid, 0, 1, &a, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Cart_sub(grid, one, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Dims_create(1, 1, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Graph_create(world, 1, zero, zero, 0, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Graph_map(world, 1, zero, zero, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Graphdims_get(graph, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Graphdims_get(graph, &a, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Graph_neighbors_count(graph, 0, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(world, 0, zero, MPI_UNWEIGHTED, 0, zero, MPI_UNWEIGHTED,
                                           MPI_INFO_NULL, 0, NULL),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create(world, 0, zero, zero, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, NULL),
            MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_neighbors_count(dist, NULL, &a, &b), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_neighbors_count(dist, &a, NULL, &b), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_neighbors_count(dist, &a, &b, NULL), MPI_ERR_ARG);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&dist);
    free(index);
    passed("topologies");
}

static void attributes(void)
{
    int a = 0, key = MPI_KEYVAL_INVALID, type_key = MPI_KEYVAL_INVALID;
    void *value = NULL;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Comm_set_attr(world, key, &a);
    MPI_Type_set_attr(MPI_INT, type_key, &a);
    REFUSED(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, NULL, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_free_keyval(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_free_keyval(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_free_keyval(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, MPI_TAG_UB, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, MPI_TAG_UB, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, key, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_attr(world, key, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_attr(MPI_INT, type_key, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_attr(MPI_INT, type_key, &value, NULL), MPI_ERR_ARG);
    MPI_Comm_delete_attr(world, key);
    MPI_Type_delete_attr(MPI_INT, type_key);
    MPI_Comm_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
    passed("attributes");
}

static void hints(void)
{
    int a = 0;
    char text[8];
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "there", "yes");
    REFUSED_BUT(IN_OPENMPI, MPI_Info_create(NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_get(info, "there", 7, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Info_get(info, "there", 7, text, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Info_get_valuelen(info, "there", NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Info_get_valuelen(info, "there", &a, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_get_nthkey(info, 0, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_dup(info, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Info_free(NULL), MPI_ERR_ARG);
    MPI_Info_free(&info);
    passed("hints");
}

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)from, (void)to, (void)count, (void)type;
}

static void handle_comm(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

static void handle_window(MPI_Win *win, int *error, ...)
{
    (void)win, (void)error;
}

static void others(void)
{
    int a = 0;
    char text[MPI_MAX_ERROR_STRING], library[MPI_MAX_LIBRARY_VERSION_STRING];

    REFUSED_BUT(IN_OPENMPI, MPI_Op_create(add, 1, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Op_commutative(MPI_SUM, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create_errhandler(handle_comm, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Comm_get_errhandler(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_create_errhandler(handle_window, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Errhandler_free(NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Error_class(MPI_ERR_OTHER, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Error_string(MPI_ERR_OTHER, NULL, &a), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Error_string(MPI_ERR_OTHER, text, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Add_error_class(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Add_error_code(MPI_ERR_OTHER, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Initialized(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Finalized(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Query_thread(NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Is_thread_main(NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_version(NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Get_version(&a, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_library_version(NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Get_library_version(library, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Get_processor_name(NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Get_processor_name(text, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    passed("others");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    types();
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
