/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attributes.c: values that a program attaches to communicators and types, hints, and properties of the
 * library. [MPI 3.1 §6.7, chapters 8 and 9]
 */
#include "check.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int keyval, void *state, void *from, void *to, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(*(int *)state == 77);
    copied++;
    *(void **)to = (char *)from + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value;
    CHECK(*(int *)state == 77);
    deleted++;
    return MPI_SUCCESS;
}

static void communicators(void)
{
    static char bytes[8];
    int key = MPI_KEYVAL_INVALID, plain = MPI_KEYVAL_INVALID, state = 77, flag = -1;
    void *value = NULL;
    MPI_Comm one, two;

    MPI_Comm_create_keyval(copy, delete, &key, &state);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_get_attr(one, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(one, key, bytes);
    MPI_Comm_set_attr(one, plain, bytes + 4);
    MPI_Comm_get_attr(one, key, &value, &flag);
    CHECK(flag && value == bytes);
    MPI_Comm_dup(one, &two);
    CHECK_EQUAL(copied, 1);
    MPI_Comm_get_attr(two, key, &value, &flag);
    CHECK(flag && value == bytes + 1);
    MPI_Comm_get_attr(two, plain, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(one, key, bytes + 3); /* deletes the previous value */
    CHECK_EQUAL(deleted, 1);
    MPI_Comm_delete_attr(one, key);
    CHECK_EQUAL(deleted, 2);
    MPI_Comm_free_keyval(&key);
    CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&two); /* its attribute outlives the key */
    CHECK_EQUAL(deleted, 3);
    MPI_Comm_free(&one);
    CHECK_EQUAL(deleted, 3);
    MPI_Comm_free_keyval(&plain);
    passed("communicators");
}

static void types(void)
{
    int key = MPI_KEYVAL_INVALID, flag = -1, bytes = 5;
    void *value = NULL;
    MPI_Datatype type, other;

    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_set_attr(type, key, &bytes);
    MPI_Type_dup(type, &other);
    MPI_Type_get_attr(other, key, &value, &flag);
    CHECK(flag && value == &bytes);
    MPI_Type_delete_attr(other, key);
    MPI_Type_get_attr(other, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_free(&other);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
    passed("types");
}

static void predefined(void)
{
    int flag = 0, *value = NULL, version = 0, subversion = 0, length = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    CHECK(flag && (*value == 0 || *value == 1));
    MPI_Get_version(&version, &subversion);
    CHECK(version >= 3);
    MPI_Get_library_version(text, &length);
#ifdef OPEN_MPI /* it counts the NUL (4.1) */
    length--;
#endif
    CHECK(length > 0 && (size_t)length == strlen(text));
    MPI_Get_processor_name(name, &length);
    CHECK(length > 0 && (size_t)length == strlen(name));
    double before = MPI_Wtime();
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 0.1);
    CHECK(MPI_Wtime() >= before);
    passed("predefined");
}

static void hints(void)
{
    MPI_Info info, other;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    int flag = 0, count = 0, length = 0;

    MPI_Info_create(&info);
    MPI_Info_set(info, "first", "one");
    MPI_Info_set(info, "second", "two");
    MPI_Info_set(info, "first", "other");
    MPI_Info_get_nkeys(info, &count);
    CHECK_EQUAL(count, 2);
    MPI_Info_get_nthkey(info, 1, key);
    CHECK(strcmp(key, "second") == 0);
    MPI_Info_get(info, "first", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, "other") == 0);
    MPI_Info_get_valuelen(info, "second", &length, &flag);
    CHECK(flag && length == 3);
    MPI_Info_dup(info, &other);
    MPI_Info_delete(info, "first");
    MPI_Info_get(info, "first", 5, value, &flag);
    CHECK(!flag);
    MPI_Info_get(other, "first", 5, value, &flag);
    CHECK(flag);
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    CHECK(info == MPI_INFO_NULL);
    passed("hints");
}

static void memory(void)
{
    int *numbers = NULL;

    MPI_Alloc_mem(1000 * (MPI_Aint)sizeof(int), MPI_INFO_NULL, &numbers);
    CHECK(numbers != NULL);
    numbers[999] = 1;
    MPI_Free_mem(numbers);
    passed("memory");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    communicators();
    types();
    predefined();
    hints();
    memory();
    MPI_Finalize();
    return 0;
}
