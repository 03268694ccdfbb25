/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_wire.c: data types and operations for other processes (type_wire.h): finds runs of a layout from any
 * byte of its data on, and numbers predefined types and operations. Runs under the library's lock.
 *
 * Ranks of a job use the same library, so the numbers are indices of tables in this file.
 */
#include "type/type_wire.h"
#include "type/type_make.h"

/* ---- Runs ---- */

struct finder {
    struct run_wire *runs;
    size_t used, max;
    size_t left; /* bytes that are still to be found */
    bool is_full;
};

static void run_add(struct finder *finder, MPI_Aint offset, size_t bytes, size_t count, MPI_Aint stride)
{
    struct run_wire *last = finder->used ? &finder->runs[finder->used - 1] : NULL;

    if (last && count == 1 && last->count == 1 && offset == last->offset + (MPI_Aint)last->bytes) {
        last->bytes += bytes;
    } else if (last && count == 1 && last->bytes == bytes &&
               (last->count == 1 || offset == last->offset + (MPI_Aint)last->count * last->stride)) {
        if (last->count == 1)
            last->stride = offset - last->offset;
        last->count++;
    } else if (finder->used == finder->max) {
        finder->is_full = true;
        return;
    } else {
        finder->runs[finder->used++] = (struct run_wire){ offset, bytes, count, stride };
    }
    finder->left -= bytes * count;
}

static void layout_runs(const struct mpi_layout *layout, MPI_Aint offset, size_t skip, struct finder *finder);

static void repeat_runs(const struct mpi_layout *child, size_t count, MPI_Aint stride, MPI_Aint offset,
                        size_t skip, struct finder *finder)
{
    size_t i = skip / child->bytes;

    skip %= child->bytes;
    while (finder->left && !finder->is_full && i < count) {
        MPI_Aint place = offset + (MPI_Aint)i * stride;
        size_t whole = finder->left / child->bytes;

        if (child->kind == LAYOUT_BLOCK && skip == 0 && whole > 1) {
            whole = whole < count - i ? whole : count - i;
            run_add(finder, place, child->bytes, whole, stride);
            i += whole;
            continue;
        }
        layout_runs(child, place, skip, finder);
        skip = 0;
        i++;
    }
}

static void list_runs(const struct mpi_layout *list, MPI_Aint offset, size_t skip, struct finder *finder)
{
    size_t low = 0, high = list->count;

    while (high - low > 1) { /* parts[low].before <= skip < parts[high].before */
        size_t middle = low + (high - low) / 2;

        if (list->parts[middle].before <= skip)
            low = middle;
        else
            high = middle;
    }
    skip -= list->parts[low].before;
    for (; finder->left && !finder->is_full && low < list->count; low++, skip = 0)
        layout_runs(list->parts[low].child, offset + list->parts[low].offset, skip, finder);
}

static void layout_runs(const struct mpi_layout *layout, MPI_Aint offset, size_t skip, struct finder *finder)
{
    size_t bytes = layout->bytes - skip;

    switch (layout->kind) {
    case LAYOUT_BLOCK:
        run_add(finder, offset + (MPI_Aint)skip, bytes < finder->left ? bytes : finder->left, 1, 0);
        break;
    case LAYOUT_REPEAT:
        repeat_runs(layout->child, layout->count, layout->stride, offset, skip, finder);
        break;
    case LAYOUT_LIST:
        list_runs(layout, offset, skip, finder);
        break;
    }
}

size_t type_runs(const struct mpi_datatype *type, size_t count, MPI_Aint offset, size_t from, size_t bytes,
                 struct run_wire *runs, size_t max, size_t *used)
{
    struct finder finder = { .runs = runs, .max = max, .left = bytes };

    if (bytes && type->dense)
        run_add(&finder, offset + (MPI_Aint)from, bytes, 1, 0);
    else if (bytes)
        repeat_runs(type->layout, count, type->extent, offset, from, &finder);
    *used = finder.used;
    return bytes - finder.left;
}

/* ---- What a type is made of ---- */

static bool basic_agrees(struct mpi_datatype *type, struct mpi_datatype **basic)
{
    const struct mpi_contents *contents = type->contents;

    if (type->kind == KIND_MARKER || (!type->bytes && !contents))
        return true;
    if (!contents) {
        bool agrees = !*basic || *basic == type;

        *basic = type;
        return agrees;
    }
    for (int i = 0; i < contents->type_count; i++)
        if (!basic_agrees(contents->types[i], basic))
            return false;
    return true;
}

struct mpi_datatype *type_basic(struct mpi_datatype *type)
{
    struct mpi_datatype *basic = NULL;

    return basic_agrees(type, &basic) ? basic : NULL;
}

/* ---- Numbers ---- */

static struct mpi_datatype *const types[] = {
    MPI_CHAR,
    MPI_SIGNED_CHAR,
    MPI_UNSIGNED_CHAR,
    MPI_SHORT,
    MPI_UNSIGNED_SHORT,
    MPI_INT,
    MPI_UNSIGNED,
    MPI_LONG,
    MPI_UNSIGNED_LONG,
    MPI_LONG_LONG,
    MPI_UNSIGNED_LONG_LONG,
    MPI_FLOAT,
    MPI_DOUBLE,
    MPI_LONG_DOUBLE,
    MPI_WCHAR,
    MPI_C_BOOL,
    MPI_C_FLOAT_COMPLEX,
    MPI_C_DOUBLE_COMPLEX,
    MPI_C_LONG_DOUBLE_COMPLEX,
    MPI_INT8_T,
    MPI_INT16_T,
    MPI_INT32_T,
    MPI_INT64_T,
    MPI_UINT8_T,
    MPI_UINT16_T,
    MPI_UINT32_T,
    MPI_UINT64_T,
    MPI_AINT,
    MPI_COUNT,
    MPI_OFFSET,
    MPI_BYTE,
    MPI_PACKED,
    MPI_CXX_BOOL,
    MPI_CXX_FLOAT_COMPLEX,
    MPI_CXX_DOUBLE_COMPLEX,
    MPI_CXX_LONG_DOUBLE_COMPLEX,
    MPI_INTEGER,
    MPI_REAL,
    MPI_DOUBLE_PRECISION,
    MPI_COMPLEX,
    MPI_DOUBLE_COMPLEX,
    MPI_LOGICAL,
    MPI_CHARACTER,
    MPI_INTEGER1,
    MPI_INTEGER2,
    MPI_INTEGER4,
    MPI_INTEGER8,
    MPI_REAL4,
    MPI_REAL8,
    MPI_REAL16,
    MPI_COMPLEX8,
    MPI_COMPLEX16,
    MPI_COMPLEX32,
    MPI_FLOAT_INT,
    MPI_DOUBLE_INT,
    MPI_LONG_INT,
    MPI_2INT,
    MPI_SHORT_INT,
    MPI_LONG_DOUBLE_INT,
    MPI_2REAL,
    MPI_2DOUBLE_PRECISION,
    MPI_2INTEGER,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static struct mpi_op *const operations[] = {
    MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
    MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP,
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

unsigned type_code(const struct mpi_datatype *type)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i] == type)
            return i + 1;
    return 0;
}

struct mpi_datatype *type_of_code(unsigned code)
{
    return code - 1 < TYPES ? types[code - 1] : NULL;
}

unsigned op_code(const struct mpi_op *op)
{
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (operations[i] == op)
            return i + 1;
    return 0;
}

struct mpi_op *op_of_code(unsigned code)
{
    return code - 1 < OPERATIONS ? operations[code - 1] : NULL;
}
