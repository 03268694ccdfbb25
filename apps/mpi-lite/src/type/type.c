/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type.c: properties of data types: sizes, bounds, names, how they were made; their commit and end; and the
 * number of elements that a message's bytes are. Runs under the library's lock.
 *
 * Source: MPI 3.1 §4.1.5-4.1.13, §6.8 (names), §3.2.5 and §4.1.11 (counts of elements).
 */
#include "type/type_make.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void type_hold(struct mpi_datatype *type)
{
    type->references++;
}

void type_release(struct mpi_datatype *type)
{
    if (--type->references)
        return;
    contents_free(type->contents);
    layout_release(type->layout);
    free(type->given_name);
    handle_release(type);
    object_end(type, sizeof(*type));
    mpi_live[LIVE_TYPE]--;
}

size_t type_span(const struct mpi_datatype *type, size_t count, MPI_Aint *begin)
{
    MPI_Aint last = count ? (MPI_Aint)(count - 1) * type->extent : 0;
    MPI_Aint low = last < 0 ? last : 0, high = last < 0 ? 0 : last;

    *begin = low + type->true_lower;
    return count ? (size_t)(high - low + type->true_extent) : 0;
}

int buffer_refuse(int count, const struct mpi_datatype *type)
{
    if (count < 0)
        return mpi_error(MPI_ERR_COUNT, "argument 2, count: %d is negative", count);
    if (type == MPI_DATATYPE_NULL)
        return mpi_error(MPI_ERR_TYPE, "argument 3, datatype: MPI_DATATYPE_NULL");
    return mpi_error(MPI_ERR_TYPE, "argument 3, datatype: %s", type_flaw(type));
}

/* ---- Commit and end ---- */

int PMPI_Type_commit(MPI_Datatype *type)
{
    mpi_enter();
    int error = type ? check_type(*type, "datatype") : mpi_error(MPI_ERR_TYPE, "argument datatype: NULL");
    if (!error)
        (*type)->committed = true;
    return mpi_leave_with(NULL, "MPI_Type_commit", error);
}
MPI_ALIAS(Type_commit);

int PMPI_Type_free(MPI_Datatype *type)
{
    mpi_enter();
    int error = type ? check_type(*type, "datatype") : mpi_error(MPI_ERR_TYPE, "argument datatype: NULL");
    if (!error && (*type)->predefined)
        error =
            mpi_error(MPI_ERR_TYPE, "argument datatype: %s is predefined, and is not freed", (*type)->name);
    if (!error)
        error = attributes_free(*type, &(*type)->attributes);
    if (!error) {
        type_release(*type);
        *type = MPI_DATATYPE_NULL;
    }
    return mpi_leave_with(NULL, "MPI_Type_free", error);
}
MPI_ALIAS(Type_free);

/* ---- Sizes and bounds ---- */

int PMPI_Type_size(MPI_Datatype type, int *size)
{
    int error = check_type(type, "datatype");

    if (!error)
        error = check_output(size, "size");
    if (!error)
        *size = type->bytes > INT_MAX ? MPI_UNDEFINED : (int)type->bytes;
    return error ? mpi_return(NULL, "MPI_Type_size", error) : MPI_SUCCESS;
}
MPI_ALIAS(Type_size);

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
    int error = check_type(type, "datatype");

    if (!error)
        error = check_output(size, "size");
    if (!error)
        *size = (MPI_Count)type->bytes;
    return error ? mpi_return(NULL, "MPI_Type_size_x", error) : MPI_SUCCESS;
}
MPI_ALIAS(Type_size_x);

/* The four calls about lower bound and extent, true or with markers. */
#define BOUNDS(name, integer, truly, first, second)                         \
    int PMPI_##name(MPI_Datatype type, integer *lower, integer *extent)     \
    {                                                                       \
        int error = check_type(type, "datatype");                           \
                                                                            \
        if (!error)                                                         \
            error = check_output(lower, truly "lb");                        \
        if (!error)                                                         \
            error = check_output(extent, truly "extent");                   \
        if (!error) {                                                       \
            *lower = type->first;                                           \
            *extent = type->second;                                         \
        }                                                                   \
        return error ? mpi_return(NULL, "MPI_" #name, error) : MPI_SUCCESS; \
    }                                                                       \
    MPI_ALIAS(name);
BOUNDS(Type_get_extent, MPI_Aint, "", lower, extent)
BOUNDS(Type_get_extent_x, MPI_Count, "", lower, extent)
BOUNDS(Type_get_true_extent, MPI_Aint, "true_", true_lower, true_extent)
BOUNDS(Type_get_true_extent_x, MPI_Count, "true_", true_lower, true_extent)

/* The calls of MPI-1. */
#define BOUND(name, argument, value)                                        \
    int PMPI_##name(MPI_Datatype type, MPI_Aint *place)                     \
    {                                                                       \
        int error = check_type(type, "datatype");                           \
                                                                            \
        if (!error)                                                         \
            error = check_output(place, argument);                          \
        if (!error)                                                         \
            *place = value;                                                 \
        return error ? mpi_return(NULL, "MPI_" #name, error) : MPI_SUCCESS; \
    }                                                                       \
    MPI_ALIAS(name);
BOUND(Type_extent, "extent", type->extent)
BOUND(Type_lb, "displacement", type->lower)
BOUND(Type_ub, "displacement", type->lower + type->extent)

/* ---- Names ---- */

static int Type_set_name(MPI_Datatype type, const char *name)
{
    char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1);

    if (!copy)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for a name");
    free(type->given_name);
    type->given_name = copy;
    return MPI_SUCCESS;
}
MPI_CALL(Type_set_name);

static int Type_get_name(MPI_Datatype type, char *name, int *length)
{
    const char *given = type->given_name;

    if (!given)
        given = type->name ? type->name : "";
    *length = (int)strlen(given);
    memcpy(name, given, (size_t)*length + 1);
    return MPI_SUCCESS;
}
MPI_CALL(Type_get_name);

/* ---- How it was made ---- */

int PMPI_Type_get_envelope(MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner)
{
    int error = check_type(type, "datatype");

    if (!error)
        error = check_output(integers, "num_integers");
    if (!error)
        error = check_output(addresses, "num_addresses");
    if (!error)
        error = check_output(types, "num_datatypes");
    if (!error)
        error = check_output(combiner, "combiner");
    if (!error) {
        const struct mpi_contents none = { .combiner = MPI_COMBINER_NAMED };
        const struct mpi_contents *contents = type->contents ? type->contents : &none;

        *integers = contents->integer_count;
        *addresses = contents->address_count;
        *types = contents->type_count;
        *combiner = contents->combiner;
    }
    return error ? mpi_return(NULL, "MPI_Type_get_envelope", error) : MPI_SUCCESS;
}
MPI_ALIAS(Type_get_envelope);

static int Type_get_contents(MPI_Datatype type, int max_integers, int max_addresses, int max_types,
                             int integers[], MPI_Aint addresses[], MPI_Datatype types[])
{
    const struct mpi_contents *contents = type->contents;

    if (!contents)
        return mpi_error(MPI_ERR_TYPE, "argument datatype: %s is predefined: it has no contents", type->name);
    if (max_integers < contents->integer_count || max_addresses < contents->address_count ||
        max_types < contents->type_count)
        return mpi_error(MPI_ERR_ARG,
                         "room for %d integers, %d addresses, %d types; the type has %d, %d and %d",
                         max_integers, max_addresses, max_types, contents->integer_count,
                         contents->address_count, contents->type_count);
    for (int i = 0; i < contents->integer_count; i++)
        integers[i] = contents->integers[i];
    for (int i = 0; i < contents->address_count; i++)
        addresses[i] = contents->addresses[i];
    for (int i = 0; i < contents->type_count; i++) {
        types[i] = contents->types[i];
        if (!types[i]->predefined)
            type_hold(types[i]); /* the program frees the types that it gets */
    }
    return MPI_SUCCESS;
}
MPI_CALL(Type_get_contents);

/* ---- Elements of a message ---- */

/* Returns the basic elements in the first `bytes` bytes, fewer than one element of the type has; -1 if one is
 * cut. */
static int64_t elements_within(const struct mpi_datatype *type, size_t bytes);

static int64_t elements_of(const struct mpi_datatype *type, size_t count, size_t bytes)
{
    size_t whole = type->bytes ? bytes / type->bytes : 0;

    if (whole >= count)
        return (int64_t)(count * type->elements);
    int64_t rest = elements_within(type, bytes - whole * type->bytes);
    return rest < 0 ? -1 : (int64_t)(whole * type->elements) + rest;
}

/* Counts the basic elements in the blocks of a structure, in their order. */
static int64_t elements_of_blocks(const struct mpi_contents *contents, size_t bytes)
{
    int64_t all = 0;

    for (int i = 0; i < contents->integers[0] && bytes; i++) {
        const struct mpi_datatype *type = contents->types[i];
        size_t count = (size_t)contents->integers[1 + i], block = count * type->bytes;
        int64_t here = elements_of(type, count, bytes < block ? bytes : block);

        if (here < 0)
            return -1;
        all += here;
        bytes -= bytes < block ? bytes : block;
    }
    return all;
}

static int64_t elements_within(const struct mpi_datatype *type, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (type->kind == KIND_PAIR) /* only its value is there, or a part of it */
        return bytes == type->layout->parts[1].before ? 1 : -1;
    if (!type->contents || type->predefined)
        return -1;
    if (type->contents->combiner == MPI_COMBINER_STRUCT)
        return elements_of_blocks(type->contents, bytes);
    /* All others repeat one type, with or without gaps. */
    const struct mpi_datatype *old = type->contents->types[0];
    return elements_of(old, type->bytes / old->bytes, bytes);
}

int64_t type_elements(const struct mpi_datatype *type, size_t bytes)
{
    return type->bytes ? elements_of(type, SIZE_MAX, bytes) : bytes ? -1 : 0;
}

static int check_status(const MPI_Status *status, const struct mpi_datatype *type)
{
    int error = check_type(type, "datatype");

    if (!error && status == MPI_STATUS_IGNORE)
        error = mpi_error(MPI_ERR_ARG, "argument status: MPI_STATUS_IGNORE");
    return error;
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    int error = check_status(status, type);

    if (!error)
        error = check_output(count, "count");
    if (error)
        return mpi_return(NULL, "MPI_Get_count", error);
    if (status->mpi_lite_bytes == 0)
        *count = 0;
    else if (type->bytes == 0 || status->mpi_lite_bytes % type->bytes ||
             status->mpi_lite_bytes / type->bytes > INT_MAX)
        *count = MPI_UNDEFINED;
    else
        *count = (int)(status->mpi_lite_bytes / type->bytes);
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_count);

int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    int error = check_status(status, type);

    if (!error)
        error = check_output(count, "count");
    if (error)
        return mpi_return(NULL, "MPI_Get_elements_x", error);
    int64_t elements = type_elements(type, status->mpi_lite_bytes);
    *count = elements < 0 ? MPI_UNDEFINED : elements;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_elements_x);

int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count)
{
    int error = check_status(status, type);

    if (!error)
        error = check_output(count, "count");
    if (error)
        return mpi_return(NULL, "MPI_Get_elements", error);
    int64_t elements = type_elements(type, status->mpi_lite_bytes);
    *count = elements < 0 || elements > INT_MAX ? MPI_UNDEFINED : (int)elements;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_elements);

int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count)
{
    int error = check_status(status, type);

    if (!error)
        status->mpi_lite_bytes =
            (unsigned long long)count * (type->elements ? type->bytes / type->elements : 0);
    return mpi_return(NULL, "MPI_Status_set_elements_x", error);
}
MPI_ALIAS(Status_set_elements_x);

int PMPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count)
{
    return PMPI_Status_set_elements_x(status, type, count);
}
MPI_ALIAS(Status_set_elements);

/* ---- Addresses ---- */

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    int error = check_output(address, "address");

    if (!error)
        *address = (MPI_Aint)location;
    return error ? mpi_return(NULL, "MPI_Get_address", error) : MPI_SUCCESS;
}
MPI_ALIAS(Get_address);

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint distance)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)distance);
}
MPI_ALIAS(Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint one, MPI_Aint other)
{
    return (MPI_Aint)((uintptr_t)one - (uintptr_t)other);
}
MPI_ALIAS(Aint_diff);

/* ---- Packed buffers ---- */

static int check_packed(int count, const struct mpi_datatype *type, int room, const int *position,
                        bool needs_room)
{
    int error = check_buffer(count, type);

    if (error)
        return error;
    if (!position || *position < 0 || room < *position)
        return mpi_error(MPI_ERR_ARG, "argument position: %d is not within a buffer of %d bytes",
                         position ? *position : -1, room);
    if (needs_room && (size_t)count * type->bytes > (size_t)(room - *position))
        return mpi_error(MPI_ERR_TRUNCATE, "%zu bytes at position %d do not fit in a buffer of %d bytes",
                         (size_t)count * type->bytes, *position, room);
    return MPI_SUCCESS;
}

static int Pack(const void *from, int count, MPI_Datatype type, void *to, int room, int *position,
                MPI_Comm comm)
{
    (void)comm;
    int error = check_packed(count, type, room, position, true);
    if (error)
        return error;
    size_t bytes = (size_t)count * type->bytes;

    type_pack(from, (size_t)count, type, 0, bytes, (char *)to + *position);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
MPI_CALL(Pack);

static int Unpack(const void *from, int room, int *position, void *to, int count, MPI_Datatype type,
                  MPI_Comm comm)
{
    (void)comm;
    int error = check_packed(count, type, room, position, true);
    if (error)
        return error;
    size_t bytes = (size_t)count * type->bytes;

    type_unpack(to, (size_t)count, type, 0, bytes, (const char *)from + *position);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
MPI_CALL(Unpack);

static int Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *size)
{
    (void)comm;
    int error = check_buffer(count, type);
    if (error)
        return error;
    if ((size_t)count * type->bytes > INT_MAX)
        return mpi_error(MPI_ERR_COUNT, "argument incount: %d elements take more bytes than an int holds",
                         count);
    *size = (int)((size_t)count * type->bytes);
    return MPI_SUCCESS;
}
MPI_CALL(Pack_size);
