/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * external.c: "external32", the format that is the same on all machines: the bytes of each basic type and of
 * derived ones, and back again. [MPI 3.1 §4.3, §13.5.2]
 */
#include "check.h"
#include <float.h>
#include <stddef.h>

/* Tells whether the library is MPICH or Open MPI. MPICH 4.0 writes long doubles in the machine's byte order,
 * 4 bytes of a wchar_t, and cuts values that do not fit. */
static int is_theirs(void)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(name, &length);
    return strstr(name, "MPICH") || strstr(name, "Open MPI");
}

/* Packs `count` elements, which must give `expected`, in hexadecimal, and unpacks them. */
static void same(MPI_Datatype type, int count, const void *data, size_t bytes, const char *expected)
{
    unsigned char packed[256], text[600] = "", back[256] = { 0 };
    MPI_Aint place = 3;

    memset(packed, 0xee, sizeof(packed));
    MPI_Pack_external("external32", data, count, type, packed, sizeof(packed), &place);
    for (MPI_Aint i = 3; i < place; i++)
        sprintf((char *)text + strlen((char *)text), "%02x", packed[i]);
    if (strcmp((char *)text, expected) != 0)
        fprintf(stderr, "%s, not %s\n", text, expected);
    CHECK(strcmp((char *)text, expected) == 0 && packed[2] == 0xee && packed[place] == 0xee);
    place = 3;
    MPI_Unpack_external("external32", packed, sizeof(packed), &place, back, count, type);
    CHECK(memcmp(back, data, bytes) == 0 && place == 3 + (MPI_Aint)strlen(expected) / 2);
}

#define SAME(type, expected, ...)                                                                        \
    do {                                                                                                 \
        same(type, sizeof((__VA_ARGS__)) / sizeof((__VA_ARGS__)[0]), __VA_ARGS__, sizeof((__VA_ARGS__)), \
             expected);                                                                                  \
    } while (0)

/* Tests pairs, which MPICH 4.0 packs, and does not unpack. */
static void pairs(void)
{
    SAME(MPI_2INT, "0000000100000002", (const int[1][2]){ { 1, 2 } });
    const struct {
        float value;
        int index;
    } floats[1] = { { 1.5F, 7 } };
    same(MPI_FLOAT_INT, 1, floats, sizeof(floats), "3fc0000000000007");
    const struct {
        long value;
        int index;
    } longs[1] = { { -5, 7 } };
    same(MPI_LONG_INT, 1, longs, sizeof(long) + sizeof(int), "fffffffb00000007");
}

static void basic(void)
{
    SAME(MPI_CHAR, "6162", (const char[2]){ 'a', 'b' });
    SAME(MPI_BYTE, "01ff", (const unsigned char[2]){ 1, 255 });
    SAME(MPI_SHORT, "0102fffe", (const short[2]){ 0x102, -2 });
    SAME(MPI_UNSIGNED_SHORT, "fffe", (const unsigned short[1]){ 0xfffe });
    SAME(MPI_INT, "01020304ffffffff", (const int[2]){ 0x1020304, -1 });
    SAME(MPI_UNSIGNED, "80000000", (const unsigned[1]){ 0x80000000 });
    SAME(MPI_LONG, "01020304fffffffe", (const long[2]){ 0x1020304, -2 });
    SAME(MPI_UNSIGNED_LONG, "fffffffe", (const unsigned long[1]){ 0xfffffffe });
    SAME(MPI_LONG_LONG, "0102030405060708fffffffffffffffe", (const long long[2]){ 0x102030405060708, -2 });
    SAME(MPI_INT64_T, "fffffffffffffffd", (const long long[1]){ -3 });
    SAME(MPI_FLOAT, "3fc00000c0000000", (const float[2]){ 1.5F, -2 });
    SAME(MPI_DOUBLE, "3ff8000000000000", (const double[1]){ 1.5 });
    SAME(MPI_C_FLOAT_COMPLEX, "3f80000040000000", (const float[1][2]){ { 1, 2 } });
    SAME(MPI_C_DOUBLE_COMPLEX, "3ff00000000000004000000000000000", (const double[1][2]){ { 1, 2 } });
    if (!is_theirs())
        pairs();
    passed("basic types");
}

/* Tests structures, in which MPICH 4.0 crashes. */
static void structures(void)
{
    struct record {
        int number;
        char letters[2];
        double value;
    } records[2];
    MPI_Datatype type, pair;
    MPI_Aint bytes = -1;
    int lengths[3] = { 1, 2, 1 };
    MPI_Aint places[3] = { offsetof(struct record, number), offsetof(struct record, letters),
                           offsetof(struct record, value) };
    MPI_Datatype types[3] = { MPI_INT, MPI_CHAR, MPI_DOUBLE };

    memset(records, 0, sizeof(records)); /* gaps, too: they are compared */
    for (int i = 0; i < 2; i++) {
        records[i].number = 5 + i;
        memcpy(records[i].letters, i ? "za" : "xy", 2);
        records[i].value = 1 + i;
    }
    MPI_Type_create_struct(3, lengths, places, types, &type);
    MPI_Type_contiguous(2, type, &pair);
    MPI_Type_commit(&pair);
    same(pair, 1, records, sizeof(records), "0000000578793ff0000000000000000000067a614000000000000000");
    MPI_Pack_external_size("external32", 3, pair, &bytes);
    CHECK_EQUAL(bytes, 3 * 2 * 14);
    MPI_Type_free(&pair);
    MPI_Type_free(&type);
}

static void derived(void)
{
    const short gaps[8] = { 1, 0, 2, 0, 3, 0, 4, 0 }; /* elements that are not packed come back as 0 */
    MPI_Datatype every;

    MPI_Type_vector(4, 1, 2, MPI_SHORT, &every);
    MPI_Type_commit(&every);
    same(every, 1, gaps, sizeof(gaps), "0001000200030004");
    MPI_Type_free(&every);
    if (!is_theirs())
        structures();
    passed("derived types");
}

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

/* Tests cases in which MPICH differs from the standard. */
static void ours(void)
{
    long large = 1L << 40, numbers[2];
    const int many[4] = { 1, 2, 3, 4 };
    long double values[6] = { 1.5L, -2, LDBL_MAX, LDBL_MIN, LDBL_MIN / 4, 0.1L }, back[6];
    unsigned char packed[128];
    MPI_Aint place = 0, size_of = -1;

    MPI_Pack_external_size("external32", 6, MPI_LONG_DOUBLE, &size_of);
    CHECK_EQUAL(size_of, 96);
    MPI_Pack_external("external32", values, 6, MPI_LONG_DOUBLE, packed, sizeof(packed), &place);
    CHECK(place == 96 && packed[0] == 0x3f && packed[1] == 0xff && packed[2] == 0x80 && packed[3] == 0);
    CHECK(packed[16] == 0xc0 && packed[17] == 0 && packed[18] == 0);
    place = 0;
    MPI_Unpack_external("external32", packed, sizeof(packed), &place, back, 6, MPI_LONG_DOUBLE);
    for (int i = 0; i < 6; i++)
        CHECK(back[i] == values[i]);
    MPI_Pack_external_size("external32", 2, MPI_WCHAR, &size_of);
    CHECK_EQUAL(size_of, 4);
    place = 0;
    CHECK_EQUAL(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, packed, 8, &place)),
                MPI_ERR_CONVERSION);
    CHECK_EQUAL(place, 0);
    CHECK_EQUAL(class_of(MPI_Pack_external("external32", many, 4, MPI_INT, packed, 8, &place)),
                MPI_ERR_TRUNCATE);
    large = -(1L << 31); /* the least that fits */
    MPI_Pack_external("external32", &large, 1, MPI_LONG, packed, 8, &place);
    place = 0;
    MPI_Unpack_external("external32", packed, 8, &place, numbers, 1, MPI_LONG);
    CHECK_EQUAL(numbers[0], large);
    CHECK_EQUAL(class_of(MPI_Pack_external("internal", &large, 1, MPI_LONG, packed, 8, &place)), MPI_ERR_ARG);
}

static void refusals(void)
{
    unsigned char packed[8];
    int numbers[4] = { 1, 2, 3, 4 };
    MPI_Aint place = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQUAL(class_of(MPI_Pack_external("external32", numbers, -1, MPI_INT, packed, 8, &place)),
                MPI_ERR_COUNT);
    CHECK_EQUAL(class_of(MPI_Pack_external("external32", numbers, 1, MPI_DATATYPE_NULL, packed, 8, &place)),
                MPI_ERR_TYPE);
    if (!is_theirs())
        ours();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("refusals");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    basic();
    derived();
    refusals();
    MPI_Finalize();
    return 0;
}
