/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran_types.c: Fortran's names of functions with arrays of data types, and MPI-1's names of constructors
 * and bounds, whose addresses are INTEGERs: an address that does not fit in an INTEGER is refused.
 *
 * Source: MPI 3.1 §4.1, §5.8, §7.6, §17.1; MPI 1.3 §3.12.
 */
#include "fortran/fortran_wrapper.h"
#include <limits.h>

/* Converts an array of types. The caller frees it; NULL after an error. */
static MPI_Datatype *types_in(struct call *call, const char *argument, int count, const MPI_Fint *numbers)
{
    size_t room = count > 0 ? (size_t)count : 0;
    MPI_Datatype *types = call->error ? NULL : calloc(room + 1, sizeof(MPI_Datatype));

    if (!types && !call->error)
        call->error = mpi_lite_fortran_refuse(call->name, MPI_ERR_NO_MEM, "no memory for data types");
    for (size_t i = 0; i < room && !call->error; i++)
        types[i] = handle_in(call, FORTRAN_TYPE, argument, numbers[i]);
    if (!call->error)
        return types;
    free(types);
    return NULL;
}

/* ---- Constructors and their contents ---- */

void pmpi_type_create_struct_(const MPI_Fint *count, const MPI_Fint *lengths, const MPI_Aint *places,
                              const MPI_Fint *types, MPI_Fint *made, MPI_Fint *ierror)
{
    struct call call = { "MPI_Type_create_struct", MPI_SUCCESS };
    MPI_Datatype *c_types = types_in(&call, "types", *count, types), c_made = MPI_DATATYPE_NULL;

    if (!call.error)
        call.error = PMPI_Type_create_struct(*count, lengths, places, c_types, &c_made);
    if (!call.error)
        *made = mpi_lite_handle_give(FORTRAN_TYPE, c_made);
    free(c_types);
    *ierror = call.error;
}
FORTRAN_ALIAS(type_create_struct);

void pmpi_type_get_contents_(const MPI_Fint *type, const MPI_Fint *max_integers,
                             const MPI_Fint *max_addresses, const MPI_Fint *max_types, MPI_Fint *integers,
                             MPI_Aint *addresses, MPI_Fint *types, MPI_Fint *ierror)
{
    struct call call = { "MPI_Type_get_contents", MPI_SUCCESS };
    MPI_Datatype c_type = handle_in(&call, FORTRAN_TYPE, "type", *type);
    MPI_Datatype *c_types = types_in(&call, "types", 0, NULL);

    if (!call.error && *max_types > 0) {
        free(c_types);
        c_types = calloc((size_t)*max_types, sizeof(MPI_Datatype));
        if (!c_types)
            call.error = mpi_lite_fortran_refuse(call.name, MPI_ERR_NO_MEM, "no memory for data types");
    }
    if (!call.error)
        call.error = PMPI_Type_get_contents(c_type, *max_integers, *max_addresses, *max_types, integers,
                                            addresses, c_types);
    for (int i = 0; !call.error && i < *max_types && c_types[i]; i++)
        types[i] = mpi_lite_handle_give(FORTRAN_TYPE, c_types[i]);
    free(c_types);
    *ierror = call.error;
}
FORTRAN_ALIAS(type_get_contents);

/* ---- Each partner's own type ---- */

/* Returns the length of a call's arrays: the number of ranks of the communicator, or of neighbours; 0 after
 * an error, which the call itself reports. */
static int partners(MPI_Comm comm, bool of_neighbours, bool outgoing)
{
    int count = 0, other = 0, weighted, kind = MPI_UNDEFINED, inter = 0;

    if (comm == MPI_COMM_NULL)
        return 0;
    if (!of_neighbours) {
        PMPI_Comm_test_inter(comm, &inter);
        if (inter)
            PMPI_Comm_remote_size(comm, &count);
        else
            PMPI_Comm_size(comm, &count);
        return count;
    }
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &count);
        return 2 * count;
    }
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &count, &other, &weighted);
        return outgoing ? other : count;
    }
    if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &other);
        PMPI_Graph_neighbors_count(comm, other, &count);
    }
    return count;
}

/* The arguments of the four calls, in C. For MPI_IN_PLACE, the sender's types are not used. */
struct exchange {
    void *from, *to;
    MPI_Datatype *from_types, *to_types;
    MPI_Comm comm;
};

static void exchange_begin(struct call *call, struct exchange *exchange, void *from,
                           const MPI_Fint *from_types, void *to, const MPI_Fint *to_types, MPI_Fint comm,
                           bool of_neighbours)
{
    exchange->from = buffer_of(from);
    exchange->to = buffer_of(to);
    exchange->from_types = exchange->to_types = NULL;
    exchange->comm = handle_in(call, FORTRAN_COMM, "comm", comm);
    if (call->error)
        return;
    int outgoing = partners(exchange->comm, of_neighbours, true);
    int incoming = partners(exchange->comm, of_neighbours, false);
    exchange->from_types =
        types_in(call, "sendtypes", exchange->from == MPI_IN_PLACE ? 0 : outgoing, from_types);
    exchange->to_types = types_in(call, "recvtypes", incoming, to_types);
}

static void exchange_end(struct exchange *exchange)
{
    free(exchange->from_types);
    free(exchange->to_types);
}

#define EXCHANGE(lower, upper, place, of_neighbours)                                                         \
    void pmpi_##lower##_(void *from, const MPI_Fint *from_counts, const place *from_places,                  \
                         const MPI_Fint *from_types, void *to, const MPI_Fint *to_counts,                    \
                         const place *to_places, const MPI_Fint *to_types, const MPI_Fint *comm,             \
                         MPI_Fint *ierror)                                                                   \
    {                                                                                                        \
        struct call call = { "MPI_" #upper, MPI_SUCCESS };                                                   \
        struct exchange all;                                                                                 \
                                                                                                             \
        exchange_begin(&call, &all, from, from_types, to, to_types, *comm, of_neighbours);                   \
        if (!call.error)                                                                                     \
            call.error = PMPI_##upper(all.from, from_counts, from_places, all.from_types, all.to, to_counts, \
                                      to_places, all.to_types, all.comm);                                    \
        exchange_end(&all);                                                                                  \
        *ierror = call.error;                                                                                \
    }                                                                                                        \
    FORTRAN_ALIAS(lower);                                                                                    \
    void pmpi_i##lower##_(void *from, const MPI_Fint *from_counts, const place *from_places,                 \
                          const MPI_Fint *from_types, void *to, const MPI_Fint *to_counts,                   \
                          const place *to_places, const MPI_Fint *to_types, const MPI_Fint *comm,            \
                          MPI_Fint *request, MPI_Fint *ierror)                                               \
    {                                                                                                        \
        struct call call = { "MPI_I" #lower, MPI_SUCCESS };                                                  \
        MPI_Request c_request = MPI_REQUEST_NULL;                                                            \
        struct exchange all;                                                                                 \
                                                                                                             \
        exchange_begin(&call, &all, from, from_types, to, to_types, *comm, of_neighbours);                   \
        if (!call.error)                                                                                     \
            call.error = PMPI_I##lower(all.from, from_counts, from_places, all.from_types, all.to,           \
                                       to_counts, to_places, all.to_types, all.comm, &c_request);            \
        if (!call.error)                                                                                     \
            *request = mpi_lite_handle_give(FORTRAN_REQUEST, c_request);                                     \
        exchange_end(&all);                                                                                  \
        *ierror = call.error;                                                                                \
    }                                                                                                        \
    FORTRAN_ALIAS(i##lower)

EXCHANGE(alltoallw, Alltoallw, MPI_Fint, false);
EXCHANGE(neighbor_alltoallw, Neighbor_alltoallw, MPI_Aint, true);

/* ---- MPI-1 ---- */

/* Converts an address or a displacement to an INTEGER. */
static void integer_out(struct call *call, MPI_Aint value, MPI_Fint *integer)
{
    if (call->error)
        return;
    if (value < INT_MIN || value > INT_MAX)
        call->error = mpi_lite_fortran_refuse(call->name, MPI_ERR_ARG,
                                              "the address does not fit in an INTEGER; MPI-2's function "
                                              "takes INTEGER(KIND=MPI_ADDRESS_KIND)");
    else
        *integer = (MPI_Fint)value;
}

void pmpi_address_(void *location, MPI_Fint *address, MPI_Fint *ierror)
{
    struct call call = { "MPI_Address", MPI_SUCCESS };
    MPI_Aint value = 0;

    call.error = PMPI_Get_address(buffer_of(location), &value);
    integer_out(&call, value, address);
    *ierror = call.error;
}
FORTRAN_ALIAS(address);

typedef int bound_call(MPI_Datatype type, MPI_Aint *value);

static void bound(const char *name, bound_call *function, MPI_Fint type, MPI_Fint *bound_of, MPI_Fint *ierror)
{
    struct call call = { name, MPI_SUCCESS };
    MPI_Datatype c_type = handle_in(&call, FORTRAN_TYPE, "type", type);
    MPI_Aint value = 0;

    if (!call.error)
        call.error = function(c_type, &value);
    integer_out(&call, value, bound_of);
    *ierror = call.error;
}

void pmpi_type_extent_(const MPI_Fint *type, MPI_Fint *extent, MPI_Fint *ierror)
{
    bound("MPI_Type_extent", PMPI_Type_extent, *type, extent, ierror);
}
FORTRAN_ALIAS(type_extent);

void pmpi_type_lb_(const MPI_Fint *type, MPI_Fint *displacement, MPI_Fint *ierror)
{
    bound("MPI_Type_lb", PMPI_Type_lb, *type, displacement, ierror);
}
FORTRAN_ALIAS(type_lb);

void pmpi_type_ub_(const MPI_Fint *type, MPI_Fint *displacement, MPI_Fint *ierror)
{
    bound("MPI_Type_ub", PMPI_Type_ub, *type, displacement, ierror);
}
FORTRAN_ALIAS(type_ub);

void pmpi_type_hvector_(const MPI_Fint *count, const MPI_Fint *length, const MPI_Fint *stride,
                        const MPI_Fint *type, MPI_Fint *made, MPI_Fint *ierror)
{
    struct call call = { "MPI_Type_hvector", MPI_SUCCESS };
    MPI_Datatype c_type = handle_in(&call, FORTRAN_TYPE, "oldtype", *type), c_made = MPI_DATATYPE_NULL;

    if (!call.error)
        call.error = PMPI_Type_create_hvector(*count, *length, *stride, c_type, &c_made);
    if (!call.error)
        *made = mpi_lite_handle_give(FORTRAN_TYPE, c_made);
    *ierror = call.error;
}
FORTRAN_ALIAS(type_hvector);

/* Converts INTEGERs to displacements. The caller frees them; NULL after an error. */
static MPI_Aint *places_in(struct call *call, int count, const MPI_Fint *integers)
{
    size_t room = count > 0 ? (size_t)count : 0;
    MPI_Aint *places = call->error ? NULL : calloc(room + 1, sizeof(MPI_Aint));

    if (!places && !call->error)
        call->error = mpi_lite_fortran_refuse(call->name, MPI_ERR_NO_MEM, "no memory for displacements");
    for (size_t i = 0; places && i < room; i++)
        places[i] = integers[i];
    return places;
}

void pmpi_type_hindexed_(const MPI_Fint *count, const MPI_Fint *lengths, const MPI_Fint *places,
                         const MPI_Fint *type, MPI_Fint *made, MPI_Fint *ierror)
{
    struct call call = { "MPI_Type_hindexed", MPI_SUCCESS };
    MPI_Datatype c_type = handle_in(&call, FORTRAN_TYPE, "oldtype", *type), c_made = MPI_DATATYPE_NULL;
    MPI_Aint *c_places = places_in(&call, *count, places);

    if (!call.error)
        call.error = PMPI_Type_create_hindexed(*count, lengths, c_places, c_type, &c_made);
    if (!call.error)
        *made = mpi_lite_handle_give(FORTRAN_TYPE, c_made);
    free(c_places);
    *ierror = call.error;
}
FORTRAN_ALIAS(type_hindexed);

void pmpi_type_struct_(const MPI_Fint *count, const MPI_Fint *lengths, const MPI_Fint *places,
                       const MPI_Fint *types, MPI_Fint *made, MPI_Fint *ierror)
{
    struct call call = { "MPI_Type_struct", MPI_SUCCESS };
    MPI_Aint *c_places = places_in(&call, *count, places);

    if (call.error)
        *ierror = call.error;
    else
        pmpi_type_create_struct_(count, lengths, c_places, types, made, ierror);
    free(c_places);
}
FORTRAN_ALIAS(type_struct);
