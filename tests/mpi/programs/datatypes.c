/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datatypes.c: hundreds of data types, made at random from each other by every constructor (the same in each
 * run): their sizes and bounds, their packed data, how they were made, and the contents of a message that
 * ends within an element. Every library prints the same. [MPI 3.1 chapter 4]
 */
#include "check.h"

#define TREES     600
#define DEPTH     4
#define BYTES_MAX 6000
#define SPAN_MAX  60000

/* The constructors that one_of knows; the last is that of structures. */
enum { RESIZED = 8, SUBARRAY = 9, STRUCTURE = 10 };

static unsigned long long state = 20260101;

static int chosen(int many)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((state >> 33) % (unsigned long long)many);
}

static MPI_Datatype basic(void)
{
    const MPI_Datatype types[] = {
        MPI_CHAR,   MPI_SHORT, MPI_INT,        MPI_LONG,      MPI_FLOAT,
        MPI_DOUBLE, MPI_BYTE,  MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_C_DOUBLE_COMPLEX
    };

    return types[chosen((int)(sizeof(types) / sizeof(types[0])))];
}

static void lengths_fill(int *lengths, int *indices, MPI_Aint *offsets, int count, MPI_Aint extent)
{
    for (int i = 0, at = 0; i < count; i++) {
        lengths[i] = chosen(4);
        indices[i] = at + chosen(3);
        offsets[i] = indices[i] * extent + 8 * chosen(2);
        at = indices[i] + lengths[i];
    }
}

static void structure(MPI_Datatype inner, MPI_Datatype *made)
{
    int lengths[3] = { 1, 1, 1 };
    MPI_Datatype types[3] = { MPI_DATATYPE_NULL, inner, MPI_DATATYPE_NULL };
    MPI_Aint offsets[3] = { 0, 0, 0 }, lower, extent, end = 0;

    lengths[0] += chosen(2);
    lengths[1] = chosen(3);
    types[0] = basic();
    types[2] = basic();
    for (int i = 0; i < 3; i++) {
        MPI_Type_get_extent(types[i], &lower, &extent);
        offsets[i] = end + 8 * chosen(3);
        end = (offsets[i] + lengths[i] * (extent > 0 ? extent : 0) + 7) / 8 * 8;
    }
    MPI_Type_create_struct(3, lengths, offsets, types, made);
}

static void part_of_array(MPI_Datatype inner, MPI_Datatype *made)
{
    int sizes[3], parts[3], starts[3], dimensions = 1 + chosen(3), order = chosen(2);

    for (int i = 0; i < dimensions; i++) {
        sizes[i] = 1 + chosen(5);
        parts[i] = 1 + chosen(sizes[i]);
        starts[i] = chosen(sizes[i] - parts[i] + 1);
    }
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner,
                             made);
}

static void one_of(int which, MPI_Datatype inner, MPI_Datatype *made)
{
    /* Drawn before the calls, because compilers evaluate arguments in different orders. */
    int lengths[4], indices[4], count = 1 + chosen(4), few = chosen(5), some = chosen(20);
    MPI_Aint offsets[4], lower, extent;

    MPI_Type_get_extent(inner, &lower, &extent);
    lengths_fill(lengths, indices, offsets, count, extent);
    switch (which) {
    case 0:
        MPI_Type_contiguous(few, inner, made);
        break;
    case 1:
        MPI_Type_vector(count, 1 + few % 3, some % 6 - 1, inner, made);
        break;
    case 2:
        MPI_Type_create_hvector(count, 1 + few % 3, 8 * (some - 4), inner, made);
        break;
    case 3:
        MPI_Type_indexed(count, lengths, indices, inner, made);
        break;
    case 4:
        MPI_Type_create_hindexed(count, lengths, offsets, inner, made);
        break;
    case 5:
        MPI_Type_create_indexed_block(count, 1 + few % 2, indices, inner, made);
        break;
    case 6:
        MPI_Type_create_hindexed_block(count, 1 + few % 2, offsets, inner, made);
        break;
    case 7:
        MPI_Type_dup(inner, made);
        break;
    case RESIZED:
        MPI_Type_create_resized(inner, 8 * (few % 3 - 1), extent + 8 * (some % 3), made);
        break;
    case SUBARRAY:
        part_of_array(inner, made);
        break;
    default:
        structure(inner, made);
        break;
    }
}

/* Makes a tree from the inside out; its inner types are freed at once. No structure has parts with given
 * bounds: libraries differ in the structure's own bounds then. */
static MPI_Datatype tree(void)
{
    int depth = 1 + chosen(DEPTH), is_basic = 1, is_marked = 0;
    MPI_Datatype type = basic();

    for (int i = 0; i < depth; i++) {
        MPI_Datatype outer;

        int which = chosen(is_marked ? STRUCTURE : STRUCTURE + 1);

        is_marked |= which == RESIZED || which == SUBARRAY;
        one_of(which, type, &outer);
        if (!is_basic)
            MPI_Type_free(&type);
        type = outer;
        is_basic = 0;
    }
    return type;
}

static unsigned sum_of(const unsigned char *bytes, MPI_Aint count)
{
    unsigned sum = 2166136261u;

    for (MPI_Aint i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

/* Packs three elements, and unpacks them into memory of zeroes. */
static void pack(MPI_Datatype type, int bytes, MPI_Aint lower, MPI_Aint span)
{
    static unsigned char packed[3 * BYTES_MAX];
    unsigned char *from = malloc((size_t)span + 64), *to = calloc(1, (size_t)span + 64);
    int at = 0, packed_bytes = 0;

    for (MPI_Aint i = 0; i < span + 64; i++)
        from[i] = (unsigned char)(i * 7 + i / 250);
    MPI_Pack_size(3, type, MPI_COMM_WORLD, &packed_bytes);
    CHECK(packed_bytes >= 3 * bytes);
    MPI_Pack(from - lower, 3, type, packed, sizeof(packed), &at, MPI_COMM_WORLD);
    CHECK_EQUAL(at, 3 * bytes);
    if (rank == 0)
        printf(" packed %08x", sum_of(packed, at));
    at = 0;
    MPI_Unpack(packed, 3 * bytes, &at, to - lower, 3, type, MPI_COMM_WORLD);
    CHECK_EQUAL(at, 3 * bytes);
    if (rank == 0)
        printf(" unpacked %08x", sum_of(to, span));
    free(from);
    free(to);
}

/* Sends two elements to the own rank, into room for three. */
static void receive(MPI_Datatype type, MPI_Aint lower, MPI_Aint span)
{
    unsigned char *to = calloc(1, (size_t)span + 64), *from = malloc((size_t)span + 64);
    MPI_Request send;
    MPI_Status status;
    int count = 0;

    for (MPI_Aint i = 0; i < span + 64; i++)
        from[i] = (unsigned char)(i * 11 + 3);
    MPI_Isend(from - lower, 2, type, rank, 1, MPI_COMM_WORLD, &send);
    MPI_Recv(to - lower, 3, type, rank, 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, type, &count);
    CHECK_EQUAL(count, 2);
    if (rank == 0)
        printf(" received %08x", sum_of(to, span));
    free(to);
    free(from);
}

static void describe(int number, MPI_Datatype type)
{
    int bytes = 0, integers, addresses, types, combiner;
    MPI_Aint lower, extent, true_lower, true_extent;

    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_commit(&type);
    if (rank == 0)
        printf("type %d: size %d made of %d %d %d", number, bytes, integers, addresses, types);
    if (rank == 0 && bytes)
        printf(" lower %ld extent %ld true %ld %ld", (long)lower, (long)extent, (long)true_lower,
               (long)true_extent);
    MPI_Aint last = 2 * extent, low = true_lower + (last < 0 ? last : 0);
    MPI_Aint span = true_extent + (last < 0 ? -last : last);
    if (bytes && bytes <= BYTES_MAX && span <= SPAN_MAX) {
        pack(type, bytes, low, span);
        receive(type, low, span);
    }
    if (rank == 0)
        printf("\n");
}

/* Tests messages that end within an element. */
static void elements(void)
{
    int lengths[2] = { 2, 3 }, values[16] = { 0 }, out[16] = { 0 }, count, parts;
    MPI_Aint offsets[2] = { 0, 8 };
    MPI_Datatype types[2] = { MPI_INT, MPI_INT }, type, three;
    MPI_Status status;

    MPI_Type_create_struct(2, lengths, offsets, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_contiguous(3, type, &three);
    MPI_Type_commit(&three);
    for (int sent = 0; sent <= 15; sent++) {
        MPI_Sendrecv(out, sent, MPI_INT, rank, 1, values, 1, three, rank, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        CHECK_EQUAL(count, sent % 5 ? MPI_UNDEFINED : sent / 5);
        MPI_Get_count(&status, three, &count);
        CHECK_EQUAL(count, sent == 0 ? 0 : sent == 15 ? 1 : MPI_UNDEFINED);
        MPI_Get_elements(&status, three, &parts);
        CHECK_EQUAL(parts, sent);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&three);
    passed("elements");
}

/* Tests the constructor's arguments that a program gets back. */
static void contents(void)
{
    int lengths[2] = { 2, 3 }, got[8], integers, addresses, types, combiner;
    MPI_Aint offsets[2] = { 0, 64 }, places[2];
    MPI_Datatype parts[2] = { MPI_INT, MPI_DOUBLE }, type, back[2];

    MPI_Type_create_struct(2, lengths, offsets, parts, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK_EQUAL(combiner, MPI_COMBINER_STRUCT);
    CHECK(integers == 3 && addresses == 2 && types == 2);
    MPI_Type_get_contents(type, 3, 2, 2, got, places, back);
    CHECK(got[0] == 2 && got[1] == 2 && got[2] == 3 && places[1] == 64);
    CHECK(back[0] == MPI_INT && back[1] == MPI_DOUBLE);
    MPI_Type_free(&type);
    MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &types, &combiner);
    CHECK_EQUAL(combiner, MPI_COMBINER_NAMED);
    passed("contents");
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Datatype type;

    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE") == 0 && length == 10);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK_EQUAL(length, 0);
    MPI_Type_set_name(type, "three");
    MPI_Type_get_name(type, name, &length);
    CHECK(strcmp(name, "three") == 0 && length == 5);
    MPI_Type_free(&type);
    passed("names");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    for (int i = 0; i < TREES; i++) {
        MPI_Datatype type = tree();

        describe(i, type);
        MPI_Type_free(&type);
    }
    elements();
    contents();
    names();
    MPI_Finalize();
    return 0;
}
