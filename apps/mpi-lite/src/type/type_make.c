/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_make.c: the constructors of derived data types.
 *
 * Each constructor describes its type as runs of equal elements; bounds, alignment and layout are computed
 * from the runs in one place. The arguments are kept for MPI_Type_get_contents. Runs under the library's
 * lock.
 *
 * Source: MPI 3.1 §4.1.2 (constructors), §4.1.3 (subarrays), §4.1.6-4.1.7 (bounds), §4.1.13 (contents).
 */
#include "type/type_make.h"
#include <stdlib.h>
#include <string.h>

/* ---- Contents ---- */

struct mpi_contents *contents_make(int combiner, int integers, int addresses, int types)
{
    struct mpi_contents *contents = calloc(1, sizeof(*contents));

    if (!contents)
        return NULL;
    *contents = (struct mpi_contents){
        .combiner = combiner,
        .integers = calloc((size_t)integers + 1, sizeof(int)),
        .addresses = calloc((size_t)addresses + 1, sizeof(MPI_Aint)),
        .types = calloc((size_t)types + 1, sizeof(struct mpi_datatype *)),
    };
    if (contents->integers && contents->addresses && contents->types)
        return contents;
    contents_free(contents);
    return NULL;
}

void contents_free(struct mpi_contents *contents)
{
    if (!contents)
        return;
    for (int i = 0; i < contents->type_count; i++)
        type_release(contents->types[i]);
    free(contents->integers);
    free(contents->addresses);
    free(contents->types);
    free(contents);
}

void contents_integer(struct mpi_contents *contents, int value)
{
    contents->integers[contents->integer_count++] = value;
}

void contents_integers(struct mpi_contents *contents, int count, const int *values)
{
    for (int i = 0; i < count; i++)
        contents_integer(contents, values[i]);
}

static void contents_address(struct mpi_contents *contents, MPI_Aint value)
{
    contents->addresses[contents->address_count++] = value;
}

void contents_type(struct mpi_contents *contents, struct mpi_datatype *type)
{
    type_hold(type);
    contents->types[contents->type_count++] = type;
}

/* ---- A type of runs ---- */

/* Lower and upper bounds, and whether markers have set them. */
struct bounds {
    MPI_Aint lower, upper, true_lower, true_upper;
    bool is_empty, is_truly_empty, has_lower, has_upper;
};

static MPI_Aint aint_min(MPI_Aint one, MPI_Aint other)
{
    return one < other ? one : other;
}

static MPI_Aint aint_max(MPI_Aint one, MPI_Aint other)
{
    return one > other ? one : other;
}

/* Includes a lower bound. A marker overrides any element without one [§4.1.6]. */
static void lower_add(struct bounds *bounds, MPI_Aint lower, bool is_marked)
{
    if (bounds->has_lower && !is_marked)
        return;
    bounds->lower =
        bounds->is_empty || bounds->has_lower != is_marked ? lower : aint_min(bounds->lower, lower);
    bounds->has_lower = is_marked;
}

static void upper_add(struct bounds *bounds, MPI_Aint upper, bool is_marked)
{
    if (bounds->has_upper && !is_marked)
        return;
    bounds->upper =
        bounds->is_empty || bounds->has_upper != is_marked ? upper : aint_max(bounds->upper, upper);
    bounds->has_upper = is_marked;
}

static void bounds_add(struct bounds *bounds, const struct run *run)
{
    const struct mpi_datatype *type = run->type;
    bool is_marked = type->has_lower || type->has_upper || type->kind == KIND_MARKER;
    MPI_Aint last = run->offset + (MPI_Aint)(run->count - 1) * run->stride;
    MPI_Aint first = aint_min(run->offset, last);

    last = aint_max(run->offset, last);
    if (type->bytes == 0 && !is_marked)
        return; /* an empty type does not change the bounds */
    if (type != MPI_UB)
        lower_add(bounds, first + type->lower, type->has_lower || type == MPI_LB);
    if (type != MPI_LB)
        upper_add(bounds, last + type->lower + type->extent, type->has_upper || type == MPI_UB);
    if (type->kind != KIND_MARKER)
        bounds->is_empty = false;
    if (type->bytes == 0)
        return;
    MPI_Aint low = first + type->true_lower, high = last + type->true_lower + type->true_extent;
    bounds->true_lower = bounds->is_truly_empty ? low : aint_min(bounds->true_lower, low);
    bounds->true_upper = bounds->is_truly_empty ? high : aint_max(bounds->true_upper, high);
    bounds->is_truly_empty = false;
}

static struct mpi_layout *layout_of(const struct mpi_datatype *type)
{
    return type->dense ? layout_block(type->bytes) : layout_hold(type->layout);
}

static struct mpi_layout *layout_of_runs(size_t count, const struct run *runs)
{
    struct layout_part *parts = calloc(count + 1, sizeof(*parts));

    for (size_t i = 0; parts && i < count; i++)
        parts[i] = (struct layout_part){
            .offset = runs[i].offset,
            .child = layout_repeat(runs[i].count, runs[i].stride, layout_of(runs[i].type)),
        };
    struct mpi_layout *layout = parts ? layout_list(count, parts) : NULL;
    free(parts);
    return layout;
}

static void dense_find(struct mpi_datatype *type)
{
    MPI_Aint offset;

    type->dense = layout_is_block(type->layout, &offset) && offset == 0 && type->lower == 0 &&
                  type->extent == (MPI_Aint)type->bytes;
}

void type_bound(struct mpi_datatype *type, MPI_Aint extent)
{
    type->lower = 0;
    type->extent = extent;
    type->has_lower = type->has_upper = true;
    dense_find(type);
}

static int no_memory(void)
{
    return mpi_error(MPI_ERR_NO_MEM, "no memory for a data type");
}

int type_make(size_t count, const struct run *runs, bool aligns, struct mpi_contents *contents,
              struct mpi_datatype **made)
{
    struct mpi_datatype *type = object_make(sizeof(*type));
    struct bounds bounds = { .is_empty = true, .is_truly_empty = true };

    if (type)
        type->layout = layout_of_runs(count, runs);
    if (!type || !type->layout || !contents) {
        contents_free(contents);
        free(type);
        return no_memory();
    }
    type->alignment = 1;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].count == 0)
            continue;
        bounds_add(&bounds, &runs[i]);
        type->elements += runs[i].count * runs[i].type->elements;
        if (type->alignment < runs[i].type->alignment)
            type->alignment = runs[i].type->alignment;
    }
    MPI_Aint extent = bounds.upper - bounds.lower, odd = extent % (MPI_Aint)type->alignment;
    if (aligns && !bounds.has_upper && odd > 0)
        extent += (MPI_Aint)type->alignment - odd;
    type->references = 1;
    type->kind = KIND_DERIVED;
    type->bytes = type->layout->bytes;
    type->lower = bounds.lower;
    type->extent = extent;
    type->true_lower = bounds.true_lower;
    type->true_extent = bounds.true_upper - bounds.true_lower;
    type->has_lower = bounds.has_lower;
    type->has_upper = bounds.has_upper;
    type->contents = contents;
    dense_find(type);
    mpi_live[LIVE_TYPE]++;
    *made = type;
    return MPI_SUCCESS;
}

/* Makes a type of the same data with other bounds. */
static int type_remake(struct mpi_datatype *old, MPI_Aint lower, MPI_Aint extent,
                       struct mpi_contents *contents, struct mpi_datatype **made)
{
    struct mpi_datatype *type = object_make(sizeof(*type));

    if (type)
        type->layout = layout_of(old);
    if (!type || !type->layout || !contents) {
        contents_free(contents);
        free(type);
        return no_memory();
    }
    struct mpi_layout *layout = type->layout;
    *type = *old;
    type->references = 1;
    type->name = NULL;
    type->given_name = NULL;
    type->kind = KIND_DERIVED;
    type->predefined = false;
    type->layout = layout;
    type->lower = lower;
    type->extent = extent;
    type->contents = contents;
    type->attributes = NULL;
    dense_find(type);
    mpi_live[LIVE_TYPE]++;
    *made = type;
    return MPI_SUCCESS;
}

/* ---- Checks ---- */

int check_type(const struct mpi_datatype *type, const char *argument)
{
    int error = check_started();

    if (!error && type == MPI_DATATYPE_NULL)
        error = mpi_error(MPI_ERR_TYPE, "argument %s: MPI_DATATYPE_NULL", argument);
    return error ? error : check_live(type->kind != KIND_ENDED, MPI_ERR_TYPE, argument);
}

static int check_count(const char *argument, int value)
{
    return value < 0 ? mpi_error(MPI_ERR_COUNT, "argument %s: %d is negative", argument, value) : MPI_SUCCESS;
}

/* Checks arrays of a constructor; `lengths` may be NULL if all are the same. */
static int check_arrays(int count, const int *lengths, const void *places)
{
    int error = check_count("count", count);

    if (error || count == 0)
        return error;
    if (!lengths || !places)
        return mpi_error(MPI_ERR_ARG, "argument %s: NULL, with a count of %d",
                         lengths ? "array_of_displacements" : "array_of_blocklengths", count);
    for (int i = 0; i < count; i++)
        if (lengths[i] < 0)
            return mpi_error(MPI_ERR_COUNT, "argument array_of_blocklengths[%d]: %d is negative", i,
                             lengths[i]);
    return MPI_SUCCESS;
}

/* ---- Contiguous, vectors ---- */

static int Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made)
{
    int error = check_count("count", count);
    if (error)
        return error;
    const struct run run = { (size_t)count, 0, old->extent, old };
    struct mpi_contents *contents = contents_make(MPI_COMBINER_CONTIGUOUS, 1, 0, 1);

    if (contents) {
        contents_integer(contents, count);
        contents_type(contents, old);
    }
    return type_make(1, &run, false, contents, made);
}
MPI_CALL(Type_contiguous);

/* Makes a vector; `stride` is in bytes. A vector is a run of blocks; the blocks' type is freed once it is
 * made. */
static int vector_make(int count, int length, MPI_Aint stride, struct mpi_datatype *old,
                       struct mpi_contents *contents, struct mpi_datatype **made)
{
    const struct run block_run = { (size_t)length, 0, old->extent, old };
    struct mpi_datatype *block = NULL;
    int error = type_make(1, &block_run, false, contents_make(MPI_COMBINER_CONTIGUOUS, 0, 0, 0), &block);

    if (error) {
        contents_free(contents);
        return error;
    }
    const struct run run = { length ? (size_t)count : 0, 0, stride, block };
    error = type_make(1, &run, false, contents, made);
    type_release(block);
    return error;
}

static int vector_call(const char *name, int combiner, int count, int length, MPI_Aint stride, bool in_bytes,
                       struct mpi_datatype *old, struct mpi_datatype **made)
{
    mpi_enter();
    int error = check_type(old, "oldtype");
    if (!error)
        error = check_output(made, "newtype");
    if (!error)
        error = check_count("count", count);
    if (!error && length < 0)
        error = mpi_error(MPI_ERR_ARG, "argument blocklength: %d is negative", length);
    if (!error) {
        struct mpi_contents *contents = contents_make(combiner, 3, 1, 1);

        if (contents) {
            contents_integer(contents, count);
            contents_integer(contents, length);
            if (in_bytes)
                contents_address(contents, stride);
            else
                contents_integer(contents, (int)stride);
            contents_type(contents, old);
        }
        error = vector_make(count, length, in_bytes ? stride : stride * old->extent, old, contents, made);
    }
    return mpi_leave_with(NULL, name, error);
}

int PMPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made)
{
    return vector_call("MPI_Type_vector", MPI_COMBINER_VECTOR, count, length, stride, false, old, made);
}
MPI_ALIAS(Type_vector);

int PMPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made)
{
    return vector_call("MPI_Type_create_hvector", MPI_COMBINER_HVECTOR, count, length, stride, true, old,
                       made);
}
MPI_ALIAS(Type_create_hvector);

/* ---- Indexed, structures ---- */

/* The blocks of an indexed type or a structure. Lengths are all `length` if `lengths` is NULL. Places are in
 * extents (`indices`) or in bytes (`offsets`). Types are all `old` if `types` is NULL. */
struct blocks {
    int count, length;
    const int *lengths, *indices;
    const MPI_Aint *offsets;
    MPI_Datatype old;
    const MPI_Datatype *types;
};

static int check_blocks(const struct blocks *blocks)
{
    const void *places = blocks->indices ? (const void *)blocks->indices : (const void *)blocks->offsets;
    int error = blocks->types ? check_started() : check_type(blocks->old, "oldtype");

    if (!error && blocks->lengths == NULL && blocks->length < 0)
        error = mpi_error(MPI_ERR_ARG, "argument blocklength: %d is negative", blocks->length);
    if (!error)
        error = check_count("count", blocks->count);
    if (!error && blocks->count && !places)
        error = mpi_error(MPI_ERR_ARG, "argument array_of_displacements: NULL, with a count of %d",
                          blocks->count);
    if (!error && blocks->lengths)
        error = check_arrays(blocks->count, blocks->lengths, places);
    for (int i = 0; !error && blocks->types && i < blocks->count; i++)
        error = check_type(blocks->types[i], "array_of_types");
    return error;
}

static void blocks_note(const struct blocks *blocks, struct mpi_contents *contents)
{
    contents_integer(contents, blocks->count);
    if (blocks->lengths)
        contents_integers(contents, blocks->count, blocks->lengths);
    else
        contents_integer(contents, blocks->length);
    if (blocks->indices)
        contents_integers(contents, blocks->count, blocks->indices);
    for (int i = 0; blocks->offsets && i < blocks->count; i++)
        contents_address(contents, blocks->offsets[i]);
    for (int i = 0; blocks->types && i < blocks->count; i++)
        contents_type(contents, blocks->types[i]);
    if (!blocks->types)
        contents_type(contents, blocks->old);
}

static int blocks_make(const struct blocks *blocks, int combiner, struct mpi_datatype **made)
{
    struct run *runs = calloc((size_t)blocks->count + 1, sizeof(*runs));
    struct mpi_contents *contents =
        contents_make(combiner, 2 * blocks->count + 2, blocks->count, blocks->types ? blocks->count : 1);

    if (!runs || !contents) {
        free(runs);
        contents_free(contents);
        return no_memory();
    }
    for (int i = 0; i < blocks->count; i++) {
        struct mpi_datatype *type = blocks->types ? blocks->types[i] : blocks->old;
        MPI_Aint offset = blocks->indices ? blocks->indices[i] * type->extent : blocks->offsets[i];

        runs[i] = (struct run){ (size_t)(blocks->lengths ? blocks->lengths[i] : blocks->length), offset,
                                type->extent, type };
    }
    blocks_note(blocks, contents);
    int error = type_make((size_t)blocks->count, runs, blocks->types != NULL, contents, made);
    free(runs);
    return error;
}

static int blocks_call(const char *name, const struct blocks *blocks, int combiner,
                       struct mpi_datatype **made)
{
    mpi_enter();
    int error = check_blocks(blocks);
    if (!error)
        error = check_output(made, "newtype");
    if (!error)
        error = blocks_make(blocks, combiner, made);
    return mpi_leave_with(NULL, name, error);
}

int PMPI_Type_indexed(int count, const int lengths[], const int indices[], MPI_Datatype old,
                      MPI_Datatype *made)
{
    const struct blocks blocks = { .count = count, .lengths = lengths, .indices = indices, .old = old };

    return blocks_call("MPI_Type_indexed", &blocks, MPI_COMBINER_INDEXED, made);
}
MPI_ALIAS(Type_indexed);

int PMPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint offsets[], MPI_Datatype old,
                              MPI_Datatype *made)
{
    const struct blocks blocks = { .count = count, .lengths = lengths, .offsets = offsets, .old = old };

    return blocks_call("MPI_Type_create_hindexed", &blocks, MPI_COMBINER_HINDEXED, made);
}
MPI_ALIAS(Type_create_hindexed);

int PMPI_Type_create_indexed_block(int count, int length, const int indices[], MPI_Datatype old,
                                   MPI_Datatype *made)
{
    const struct blocks blocks = { .count = count, .length = length, .indices = indices, .old = old };

    return blocks_call("MPI_Type_create_indexed_block", &blocks, MPI_COMBINER_INDEXED_BLOCK, made);
}
MPI_ALIAS(Type_create_indexed_block);

int PMPI_Type_create_hindexed_block(int count, int length, const MPI_Aint offsets[], MPI_Datatype old,
                                    MPI_Datatype *made)
{
    const struct blocks blocks = { .count = count, .length = length, .offsets = offsets, .old = old };

    return blocks_call("MPI_Type_create_hindexed_block", &blocks, MPI_COMBINER_HINDEXED_BLOCK, made);
}
MPI_ALIAS(Type_create_hindexed_block);

int PMPI_Type_create_struct(int count, const int lengths[], const MPI_Aint offsets[],
                            const MPI_Datatype types[], MPI_Datatype *made)
{
    static const MPI_Datatype none[1];
    const struct blocks blocks = {
        .count = count, .lengths = lengths, .offsets = offsets, .types = types ? types : none
    };

    return blocks_call("MPI_Type_create_struct", &blocks, MPI_COMBINER_STRUCT, made);
}
MPI_ALIAS(Type_create_struct);

/* ---- Resized, copies, subarrays ---- */

int PMPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *made)
{
    mpi_enter();
    int error = check_type(old, "oldtype");
    if (!error)
        error = check_output(made, "newtype");
    if (!error) {
        struct mpi_contents *contents = contents_make(MPI_COMBINER_RESIZED, 0, 2, 1);

        if (contents) {
            contents_address(contents, lower);
            contents_address(contents, extent);
            contents_type(contents, old);
        }
        error = type_remake(old, lower, extent, contents, made);
    }
    if (!error) {
        (*made)->has_lower = (*made)->has_upper = true;
        (*made)->committed = false;
    }
    return mpi_leave_with(NULL, "MPI_Type_create_resized", error);
}
MPI_ALIAS(Type_create_resized);

/* Copies a type. The copy is committed if the original is, and has the attributes whose copy functions say
 * so. */
int PMPI_Type_dup(MPI_Datatype old, MPI_Datatype *made)
{
    mpi_enter();
    int error = check_type(old, "oldtype");
    if (!error)
        error = check_output(made, "newtype");
    if (!error) {
        struct mpi_contents *contents = contents_make(MPI_COMBINER_DUP, 0, 0, 1);

        if (contents)
            contents_type(contents, old);
        error = type_remake(old, old->lower, old->extent, contents, made);
    }
    if (!error) {
        error = attributes_copy(old, old->attributes, &(*made)->attributes);
        if (error && attributes_free(*made, &(*made)->attributes) == MPI_SUCCESS)
            type_release(*made);
    }
    if (error && made)
        *made = MPI_DATATYPE_NULL;
    return mpi_leave_with(NULL, "MPI_Type_dup", error);
}
MPI_ALIAS(Type_dup);

static int check_subarray(int dimensions, const int *sizes, const int *parts, const int *starts, int order)
{
    if (dimensions < 1)
        return mpi_error(MPI_ERR_DIMS, "argument ndims: %d is less than 1", dimensions);
    if (!sizes || !parts || !starts)
        return mpi_error(MPI_ERR_ARG, "argument %s: NULL",
                         !sizes   ? "array_of_sizes"
                         : !parts ? "array_of_subsizes"
                                  : "array_of_starts");
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return mpi_error(MPI_ERR_ARG, "argument order: %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN",
                         order);
    for (int i = 0; i < dimensions; i++)
        if (parts[i] < 1 || parts[i] > sizes[i] || starts[i] < 0 || starts[i] > sizes[i] - parts[i])
            return mpi_error(MPI_ERR_ARG, "dimension %d: %d elements from %d on are no part of %d", i,
                             parts[i], starts[i], sizes[i]);
    return MPI_SUCCESS;
}

static struct mpi_contents *subarray_note(int dimensions, const int *sizes, const int *parts,
                                          const int *starts, int order, struct mpi_datatype *old)
{
    struct mpi_contents *contents = contents_make(MPI_COMBINER_SUBARRAY, 3 * dimensions + 2, 0, 1);

    if (!contents)
        return NULL;
    contents_integer(contents, dimensions);
    contents_integers(contents, dimensions, sizes);
    contents_integers(contents, dimensions, parts);
    contents_integers(contents, dimensions, starts);
    contents_integer(contents, order);
    contents_type(contents, old);
    return contents;
}

/* Makes a subarray from the fastest dimension on: a row of the part, then rows of rows. Then places it in the
 * whole array, whose extent the type has. */
static int subarray_make(int dimensions, const int *sizes, const int *parts, const int *starts, int order,
                         struct mpi_datatype *old, struct mpi_datatype **made)
{
    struct mpi_contents *contents = subarray_note(dimensions, sizes, parts, starts, order, old);
    struct mpi_datatype *inner = old, *outer = NULL;
    MPI_Aint stride = old->extent, offset = 0;
    int error = contents ? MPI_SUCCESS : no_memory();

    type_hold(inner);
    for (int i = 0; i < dimensions && !error; i++) {
        int at = order == MPI_ORDER_FORTRAN ? i : dimensions - 1 - i;
        const struct run run = { (size_t)parts[at], 0, stride, inner };

        offset += starts[at] * stride;
        stride *= sizes[at];
        error = type_make(1, &run, false, contents_make(MPI_COMBINER_CONTIGUOUS, 0, 0, 0), &outer);
        type_release(inner);
        inner = outer;
    }
    if (error) {
        contents_free(contents);
        return error;
    }
    const struct run run = { 1, offset, 0, inner };
    error = type_make(1, &run, false, contents, made);
    type_release(inner);
    if (error)
        return error;
    type_bound(*made, stride);
    return MPI_SUCCESS;
}

static int Type_create_subarray(int dimensions, const int sizes[], const int parts[], const int starts[],
                                int order, MPI_Datatype old, MPI_Datatype *made)
{
    int error = check_subarray(dimensions, sizes, parts, starts, order);
    return error ? error : subarray_make(dimensions, sizes, parts, starts, order, old, made);
}
MPI_CALL(Type_create_subarray);
