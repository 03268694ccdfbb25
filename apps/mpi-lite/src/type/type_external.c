/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_external.c: MPI_Pack_external and its relatives: elements in the format "external32", which is the
 * same on all machines: big-endian, integers of fixed widths, floats of IEEE 754, long doubles of its 128
 * bits.
 *
 * The data that MPI_Pack would write is a stream of basic elements; the type's contents give their kinds and
 * order. Each element is one unit or two (a complex number, a pair). A unit's bytes are reversed, and it is
 * narrowed or widened if the format has another size: long and unsigned long are 4 bytes in it, wchar_t 2. A
 * value that does not fit is an error (MPI_ERR_CONVERSION). Runs under the library's lock.
 *
 * Source: MPI 3.1 §4.3, §13.5.2 (sizes); IEEE 754-2008 §3.4.
 */
#include "type/type_make.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "units are turned around");

enum unit_kind { UNIT_SAME, UNIT_SIGNED, UNIT_UNSIGNED, UNIT_LONG_DOUBLE };

struct unit {
    enum unit_kind kind;
    size_t native, external; /* bytes */
};

/* A conversion between the two formats: a cursor in each. */
struct stream {
    unsigned char *native, *external;
    bool packs; /* from native to external */
};

/* ---- Long doubles ---- */

/* Sign and exponent in the upper 16 bits, then 112 bits of the fraction. */
typedef unsigned __int128 quad;

#if LDBL_MANT_DIG == 64
/* Converts x87's format, which has the same exponent, and a 64-bit mantissa whose first bit is 1 in normal
 * numbers. */
static quad quad_of(const unsigned char *native)
{
    uint64_t mantissa;
    uint16_t head;

    memcpy(&mantissa, native, sizeof(mantissa));
    memcpy(&head, native + 8, sizeof(head));
    return (quad)head << 112 | (quad)(mantissa & INT64_MAX) << 49;
}

static void native_of(quad value, unsigned char *native)
{
    const quad lost = ((quad)1 << 49) - 1, half = (quad)1 << 48;
    quad rest = value & lost, kept = value >> 49;
    bool is_number = (kept >> 63 & 0x7fff) != 0x7fff;

    if (is_number && (rest > half || (rest == half && (kept & 1))))
        kept++; /* carries into the exponent if the fraction is all ones */
    uint16_t head = (uint16_t)(kept >> 63);
    uint64_t mantissa = (uint64_t)kept & INT64_MAX;
    if (head & 0x7fff)
        mantissa |= UINT64_C(1) << 63;
    if (!is_number && rest && mantissa == UINT64_C(1) << 63)
        mantissa |= 1; /* keeps it a NaN */
    memset(native, 0, sizeof(long double));
    memcpy(native, &mantissa, sizeof(mantissa));
    memcpy(native + 8, &head, sizeof(head));
}
#elif LDBL_MANT_DIG == 53
/* Converts a double; every finite double is a normal number in 128 bits. */
static quad quad_of(const unsigned char *native)
{
    double value;
    int exponent;

    memcpy(&value, native, sizeof(value));
    quad sign = (quad)(signbit(value) != 0) << 127;
    if (value == 0)
        return sign;
    if (isinf(value) || isnan(value))
        return sign | (quad)0x7fff << 112 | (quad)(isnan(value) != 0) << 111;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(value), &exponent), 53);
    return sign | (quad)(exponent - 1 + 16383) << 112 | (quad)(mantissa & ((UINT64_C(1) << 52) - 1)) << 60;
}

static void native_of(quad value, unsigned char *native)
{
    int exponent = (int)(value >> 112 & 0x7fff);
    uint64_t mantissa = UINT64_C(1) << 63 | (uint64_t)(value >> 49 & INT64_MAX);
    double found = 0;

    mantissa |= (value & (((quad)1 << 49) - 1)) != 0; /* the lost bits decide the rounding */
    if (exponent == 0x7fff)
        found = value << 16 ? NAN : INFINITY;
    else if (exponent)
        found = ldexp((double)mantissa, exponent - 16383 - 63);
    if (value >> 127)
        found = -found;
    memcpy(native, &found, sizeof(found));
}
#else
#error "what a long double is here"
#endif

/* ---- Units ---- */

static void turn(const unsigned char *from, unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[bytes - 1 - i];
}

static bool integer_pack(const struct unit *unit, const unsigned char *native, unsigned char *external)
{
    uint64_t value = 0;
    unsigned bits = 8 * (unsigned)unit->external;

    memcpy(&value, native, unit->native);
    if (unit->kind == UNIT_SIGNED) {
        int64_t number = (int64_t)value, limit = INT64_C(1) << (bits - 1);

        if (number < -limit || number >= limit)
            return false;
    } else if (value >> bits) {
        return false;
    }
    turn((const unsigned char *)&value, external, unit->external);
    return true;
}

static void integer_unpack(const struct unit *unit, unsigned char *native, const unsigned char *external)
{
    uint64_t value = 0;
    unsigned bits = 8 * (unsigned)unit->external;

    turn(external, (unsigned char *)&value, unit->external);
    if (unit->kind == UNIT_SIGNED && value >> (bits - 1))
        value |= UINT64_MAX << bits;
    memcpy(native, &value, unit->native);
}

static bool unit_convert(const struct unit *unit, const struct stream *stream)
{
    quad value;

    switch (unit->kind) {
    case UNIT_SAME:
        turn(stream->packs ? stream->native : stream->external,
             stream->packs ? stream->external : stream->native, unit->native);
        return true;
    case UNIT_LONG_DOUBLE:
        if (stream->packs) {
            value = quad_of(stream->native);
            turn((const unsigned char *)&value, stream->external, sizeof(value));
        } else {
            turn(stream->external, (unsigned char *)&value, sizeof(value));
            native_of(value, stream->native);
        }
        return true;
    default:
        if (stream->packs)
            return integer_pack(unit, stream->native, stream->external);
        integer_unpack(unit, stream->native, stream->external);
        return true;
    }
}

static struct unit unit_same(size_t bytes)
{
    return (struct unit){ UNIT_SAME, bytes, bytes };
}

static struct unit unit_long(enum unit_kind kind)
{
    return (struct unit){ kind, sizeof(long), 4 };
}

static struct unit unit_long_double(void)
{
    return (struct unit){ UNIT_LONG_DOUBLE, sizeof(long double), 16 };
}

/* Writes the units of a basic type; returns how many. */
static int units_of(const struct mpi_datatype *type, struct unit units[2])
{
    size_t bytes = type->bytes;

    if (type == MPI_LONG || type == MPI_UNSIGNED_LONG) {
        units[0] = unit_long(type == MPI_LONG ? UNIT_SIGNED : UNIT_UNSIGNED);
        return 1;
    }
    if (type == MPI_WCHAR) {
        units[0] = (struct unit){ UNIT_UNSIGNED, bytes, 2 };
        return 1;
    }
    if (type == MPI_LONG_DOUBLE) {
        units[0] = unit_long_double();
        return 1;
    }
    if (type == MPI_C_LONG_DOUBLE_COMPLEX || type == MPI_CXX_LONG_DOUBLE_COMPLEX) {
        units[0] = units[1] = unit_long_double();
        return 2;
    }
    if (type->kind == KIND_PAIR) {
        size_t index = type == MPI_2DOUBLE_PRECISION ? sizeof(double) : sizeof(int);

        units[0] = type == MPI_LONG_INT          ? unit_long(UNIT_SIGNED)
                   : type == MPI_LONG_DOUBLE_INT ? unit_long_double()
                                                 : unit_same(bytes - index);
        units[1] = unit_same(index);
        return 2;
    }
    units[0] = units[1] = unit_same(type->kind == KIND_COMPLEX ? bytes / 2 : bytes);
    return type->kind == KIND_COMPLEX ? 2 : 1;
}

/* ---- Elements ---- */

static bool is_basic(const struct mpi_datatype *type)
{
    return !type->contents || type->contents->type_count == 0;
}

static size_t external_bytes(const struct mpi_datatype *type)
{
    const struct mpi_contents *contents = type->contents;
    struct unit units[2] = { { 0 } };
    size_t bytes = 0;

    if (type->bytes == 0)
        return 0;
    if (is_basic(type))
        return units_of(type, units) == 2 ? units[0].external + units[1].external : units[0].external;
    if (contents->combiner != MPI_COMBINER_STRUCT)
        return type->bytes / contents->types[0]->bytes * external_bytes(contents->types[0]);
    for (int i = 0; i < contents->integers[0]; i++)
        bytes += (size_t)contents->integers[1 + i] * external_bytes(contents->types[i]);
    return bytes;
}

static int basic_convert(const struct mpi_datatype *type, size_t count, struct stream *stream)
{
    struct unit units[2];
    int unit_count = units_of(type, units);

    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < unit_count; j++) {
            if (!unit_convert(&units[j], stream))
                return mpi_error(MPI_ERR_CONVERSION,
                                 "a value of %s does not fit into the %zu bytes that external32 has for it",
                                 type->name, units[j].external);
            stream->native += units[j].native;
            stream->external += units[j].external;
        }
    return MPI_SUCCESS;
}

static int convert(const struct mpi_datatype *type, size_t count, struct stream *stream)
{
    const struct mpi_contents *contents = type->contents;
    int error = MPI_SUCCESS;

    if (type->bytes == 0)
        return MPI_SUCCESS;
    if (is_basic(type))
        return basic_convert(type, count, stream);
    if (contents->combiner != MPI_COMBINER_STRUCT) /* all others repeat one type */
        return convert(contents->types[0], count * (type->bytes / contents->types[0]->bytes), stream);
    for (size_t element = 0; element < count; element++)
        for (int i = 0; i < contents->integers[0] && !error; i++)
            error = convert(contents->types[i], (size_t)contents->integers[1 + i], stream);
    return error;
}

/* ---- The calls ---- */

static int check_external(const char *format, int count, const struct mpi_datatype *type)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && (!format || strcmp(format, "external32") != 0))
        error = mpi_error(MPI_ERR_ARG, "argument datarep: \"%.40s\"; there is \"external32\"",
                          format ? format : "NULL");
    return error ? error : check_buffer(count, type);
}

/* Checks that the elements fit within `room` bytes at *position. */
static int check_room(size_t bytes, MPI_Aint room, const MPI_Aint *position)
{
    if (!position || *position < 0 || room < *position)
        return mpi_error(MPI_ERR_ARG, "argument position: %lld is not within a buffer of %lld bytes",
                         position ? (long long)*position : -1, (long long)room);
    if (bytes > (size_t)(room - *position))
        return mpi_error(MPI_ERR_TRUNCATE, "%zu bytes at position %lld do not fit in a buffer of %lld bytes",
                         bytes, (long long)*position, (long long)room);
    return MPI_SUCCESS;
}

/* Packs elements in memory, `here`, to a buffer, or unpacks them. Their external form is at *position, which
 * it advances. */
static int external_move(const char *format, void *here, int count, const struct mpi_datatype *type,
                         void *external, MPI_Aint room, MPI_Aint *position, bool packs)
{
    int error = check_external(format, count, type);
    if (error)
        return error;
    size_t bytes = (size_t)count * external_bytes(type), native_bytes = (size_t)count * type->bytes;
    error = check_room(bytes, room, position);
    if (error || !bytes)
        return error;
    /* The data as MPI_Pack would write it: the memory itself, or a copy without gaps. */
    unsigned char *native = type->dense ? here : malloc(native_bytes);
    if (!native)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %zu bytes", native_bytes);
    struct stream stream = { native, (unsigned char *)external + *position, packs };
    if (packs && !type->dense)
        type_pack(here, (size_t)count, type, 0, native_bytes, native);
    error = convert(type, (size_t)count, &stream);
    if (!packs && !type->dense)
        type_unpack(here, (size_t)count, type, 0, native_bytes, native);
    if (!type->dense)
        free(native);
    if (!error)
        *position += (MPI_Aint)bytes;
    return error;
}

int PMPI_Pack_external(const char format[], const void *from, int count, MPI_Datatype type, void *to,
                       MPI_Aint room, MPI_Aint *position)
{
    mpi_enter();
    int error = external_move(format, (void *)(uintptr_t)from, count, type, to, room, position, true);
    return mpi_leave_with(NULL, "MPI_Pack_external", error);
}
MPI_ALIAS(Pack_external);

int PMPI_Unpack_external(const char format[], const void *from, MPI_Aint room, MPI_Aint *position, void *to,
                         int count, MPI_Datatype type)
{
    mpi_enter();
    int error = external_move(format, to, count, type, (void *)(uintptr_t)from, room, position, false);
    return mpi_leave_with(NULL, "MPI_Unpack_external", error);
}
MPI_ALIAS(Unpack_external);

int PMPI_Pack_external_size(const char format[], int count, MPI_Datatype type, MPI_Aint *size)
{
    mpi_enter();
    int error = check_external(format, count, type);
    if (!error)
        error = check_output(size, "size");
    if (!error)
        *size = (MPI_Aint)((size_t)count * external_bytes(type));
    return mpi_leave_with(NULL, "MPI_Pack_external_size", error);
}
MPI_ALIAS(Pack_external_size);
