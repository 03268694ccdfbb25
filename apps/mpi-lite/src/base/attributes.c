/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attributes.c: values that a program attaches to communicators, data types and windows, under keys that it
 * makes. One mechanism serves all kinds of objects, whose calls are next to the objects; a key belongs to one
 * kind.
 *
 * An object has a list of attributes, the newest first: deleting an object's attributes calls their functions
 * in the reverse of the order in which they were set. A freed key stays until no attribute uses it. The
 * program's functions run under the library's lock, which nests.
 *
 * Source: MPI 3.1 §6.7 (caching), §17.2.7 (values between languages).
 */
#include "base/handle.h"
#include <stdlib.h>
#include <string.h>

#define KEYVAL_FIRST 100 /* the program's first key; those below are predefined */

typedef void any_function(void);

struct keyval {
    bool used, freed;
    enum attribute_kind kind;
    enum attribute_language language; /* of its functions */
    int references;                   /* of attributes */
    any_function *copy, *delete;
    void *state;
};

struct value {
    enum attribute_language language; /* in which it was set */
    void *pointer;                    /* C's */
    MPI_Aint address;                 /* Fortran's */
    MPI_Fint integer;                 /* of MPI-1 in Fortran */
};

struct mpi_attributes {
    struct mpi_attributes *next;
    int keyval;
    struct value value;
};

/* Set under the lock, during a call from Fortran. */
static enum attribute_language call_language;

static struct keyval *keyvals;
static int keyval_count;

/* ---- Values, between languages [MPI 3.1 §17.2.7] ---- */

void mpi_lite_attribute_begin(enum attribute_language language)
{
    mpi_enter();
    call_language = language;
}

void mpi_lite_attribute_end(void)
{
    call_language = LANGUAGE_C;
    mpi_leave();
}

/* Converts a pointer that the program has passed; calls from Fortran pass an integer in it. */
static struct value value_of(void *passed, enum attribute_language language)
{
    return (struct value){ .language = language,
                           .pointer = passed,
                           .address = (MPI_Aint)(intptr_t)passed,
                           .integer = (MPI_Fint)(intptr_t)passed };
}

/* Returns what C gets: the pointer, or the address of Fortran's integer. */
static void *value_pointer(struct value *value)
{
    switch (value->language) {
    case LANGUAGE_FORTRAN:
        return &value->address;
    case LANGUAGE_FORTRAN_1:
        return &value->integer;
    default:
        return value->pointer;
    }
}

/* Returns what Fortran gets: its integer, or C's pointer as an integer. */
static MPI_Aint value_integer(const struct value *value)
{
    return value->language == LANGUAGE_FORTRAN_1 ? value->integer : value->address;
}

/* ---- Keys ---- */

static struct keyval *keyval_of(int number)
{
    int i = number - KEYVAL_FIRST;

    return i >= 0 && i < keyval_count && keyvals[i].used ? &keyvals[i] : NULL;
}

static int check_keyval(enum attribute_kind kind, int number)
{
    const struct keyval *keyval = keyval_of(number);

    if (number > 0 && number < KEYVAL_FIRST)
        return mpi_error(MPI_ERR_KEYVAL, "argument keyval: %d is a predefined key, which cannot be changed",
                         number);
    if (!keyval)
        return mpi_error(MPI_ERR_KEYVAL, "argument keyval: %d is no key", number);
    if (keyval->kind != kind)
        return mpi_error(MPI_ERR_KEYVAL, "argument keyval: %d is a key for objects of another kind", number);
    return MPI_SUCCESS;
}

static void keyval_release(struct keyval *keyval)
{
    if (keyval->freed && keyval->references == 0)
        keyval->used = false;
}

static int keyval_make(enum attribute_kind kind, any_function *copy, any_function *delete, void *state,
                       int *number)
{
    int i = 0;

    while (i < keyval_count && keyvals[i].used)
        i++;
    if (i == keyval_count) {
        struct keyval *larger = realloc(keyvals, (size_t)(i + 1) * sizeof(*larger));

        if (!larger)
            return mpi_out_of_memory();
        keyvals = larger;
        keyval_count++;
    }
    keyvals[i] = (struct keyval){
        .used = true, .kind = kind, .copy = copy, .delete = delete, .state = state, .language = call_language
    };
    *number = KEYVAL_FIRST + i;
    return MPI_SUCCESS;
}

int keyval_create(const char *name, enum attribute_kind kind, any_function *copy, any_function *delete,
                  void *state, int *number)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(number, "keyval");
    if (!error)
        error = keyval_make(kind, copy, delete, state, number);
    return mpi_leave_with(NULL, name, error);
}

int keyval_free(const char *name, enum attribute_kind kind, int *number)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(number, "keyval");
    if (!error)
        error = check_keyval(kind, *number);
    if (!error) {
        keyval_of(*number)->freed = true;
        keyval_release(keyval_of(*number));
        *number = MPI_KEYVAL_INVALID;
    }
    return mpi_leave_with(NULL, name, error);
}

/* ---- The program's functions ---- */

static int copy_for_c(const struct keyval *key, void *owner, int number, void *from, void **to, int *flag)
{
    if (key->kind == ATTRIBUTE_TYPE)
        return ((MPI_Type_copy_attr_function *)key->copy)(owner, number, key->state, from, to, flag);
    if (key->kind == ATTRIBUTE_WIN)
        return ((MPI_Win_copy_attr_function *)key->copy)(owner, number, key->state, from, to, flag);
    return ((MPI_Comm_copy_attr_function *)key->copy)(owner, number, key->state, from, to, flag);
}

static int delete_for_c(const struct keyval *key, void *owner, int number, void *value)
{
    if (key->kind == ATTRIBUTE_TYPE)
        return ((MPI_Type_delete_attr_function *)key->delete)(owner, number, value, key->state);
    if (key->kind == ATTRIBUTE_WIN)
        return ((MPI_Win_delete_attr_function *)key->delete)(owner, number, value, key->state);
    return ((MPI_Comm_delete_attr_function *)key->delete)(owner, number, value, key->state);
}

/* Fortran's functions of MPI-2 and of MPI-1. */
typedef void copy_function(MPI_Fint *owner, MPI_Fint *key, MPI_Aint *state, MPI_Aint *from, MPI_Aint *to,
                           MPI_Fint *flag, MPI_Fint *error);
typedef void copy_function_1(MPI_Fint *owner, MPI_Fint *key, MPI_Fint *state, MPI_Fint *from, MPI_Fint *to,
                             MPI_Fint *flag, MPI_Fint *error);
typedef void delete_function(MPI_Fint *owner, MPI_Fint *key, MPI_Aint *value, MPI_Aint *state,
                             MPI_Fint *error);
typedef void delete_function_1(MPI_Fint *owner, MPI_Fint *key, MPI_Fint *value, MPI_Fint *state,
                               MPI_Fint *error);

static MPI_Fint owner_number(const struct keyval *key, void *owner)
{
    static const enum fortran_kind kinds[] = {
        [ATTRIBUTE_COMM] = FORTRAN_COMM, [ATTRIBUTE_TYPE] = FORTRAN_TYPE, [ATTRIBUTE_WIN] = FORTRAN_WIN
    };

    return handle_number(kinds[key->kind], owner);
}

static int copy_for_fortran(const struct keyval *key, void *owner, int number, MPI_Aint from, MPI_Aint *to,
                            int *flag)
{
    MPI_Fint of = owner_number(key, owner), error = MPI_SUCCESS;
    MPI_Aint state = (MPI_Aint)(intptr_t)key->state;

    if (key->language == LANGUAGE_FORTRAN) {
        ((copy_function *)key->copy)(&of, &number, &state, &from, to, flag, &error);
    } else {
        MPI_Fint short_state = (MPI_Fint)state, short_from = (MPI_Fint)from, short_to = 0;

        ((copy_function_1 *)key->copy)(&of, &number, &short_state, &short_from, &short_to, flag, &error);
        *to = short_to;
    }
    return error;
}

static int delete_for_fortran(const struct keyval *key, void *owner, int number, MPI_Aint value)
{
    MPI_Fint of = owner_number(key, owner), error = MPI_SUCCESS;
    MPI_Aint state = (MPI_Aint)(intptr_t)key->state;

    if (key->language == LANGUAGE_FORTRAN) {
        ((delete_function *)key->delete)(&of, &number, &value, &state, &error);
    } else {
        MPI_Fint short_state = (MPI_Fint)state, short_value = (MPI_Fint)value;

        ((delete_function_1 *)key->delete)(&of, &number, &short_value, &short_state, &error);
    }
    return error;
}

/* Runs the copy function. Uses a copy of the key, because the table may move while the function runs. */
static int value_copy(void *owner, struct mpi_attributes *attribute, struct value *copied, int *flag)
{
    const struct keyval key = *keyval_of(attribute->keyval);
    int number = attribute->keyval, error;

    *flag = 0;
    if (!key.copy)
        return MPI_SUCCESS;
    if ((uintptr_t)key.copy == (uintptr_t)MPI_LITE_DUP) {
        *flag = 1;
        *copied = attribute->value;
        return MPI_SUCCESS;
    }
    if (key.language == LANGUAGE_C) {
        void *to = NULL;

        error = copy_for_c(&key, owner, number, value_pointer(&attribute->value), &to, flag);
        *copied = value_of(to, LANGUAGE_C);
    } else {
        MPI_Aint to = 0;

        error = copy_for_fortran(&key, owner, number, value_integer(&attribute->value), &to, flag);
        *copied = value_of((void *)(intptr_t)to, key.language);
    }
    return error;
}

static int value_delete(void *owner, struct mpi_attributes *attribute)
{
    const struct keyval key = *keyval_of(attribute->keyval);
    int number = attribute->keyval;

    if (!key.delete)
        return MPI_SUCCESS;
    if (key.language == LANGUAGE_C)
        return delete_for_c(&key, owner, number, value_pointer(&attribute->value));
    return delete_for_fortran(&key, owner, number, value_integer(&attribute->value));
}

/* ---- Attributes of an object ---- */

static struct mpi_attributes **attribute_find(struct mpi_attributes **list, int keyval)
{
    while (*list && (*list)->keyval != keyval)
        list = &(*list)->next;
    return list;
}

static int attribute_delete(void *owner, struct mpi_attributes **list, int keyval)
{
    struct mpi_attributes *attribute = *attribute_find(list, keyval);
    int error = value_delete(owner, attribute);

    if (error)
        return error;
    *attribute_find(list, keyval) = attribute->next; /* its function may have changed the list */
    keyval_of(keyval)->references--;
    keyval_release(keyval_of(keyval));
    free(attribute);
    return MPI_SUCCESS;
}

int attributes_free(void *owner, struct mpi_attributes **attributes)
{
    int error = MPI_SUCCESS;

    while (*attributes && !error)
        error = attribute_delete(owner, attributes, (*attributes)->keyval);
    return error;
}

int attributes_copy(void *from_owner, struct mpi_attributes *from, struct mpi_attributes **to)
{
    for (; from; from = from->next) {
        struct value value = { LANGUAGE_C, NULL, 0, 0 };
        int flag = 0, error = value_copy(from_owner, from, &value, &flag);
        struct mpi_attributes *copy;

        if (error)
            return error;
        if (!flag)
            continue;
        copy = malloc(sizeof(*copy));
        if (!copy)
            return mpi_out_of_memory();
        *copy = (struct mpi_attributes){ NULL, from->keyval, value };
        keyval_of(from->keyval)->references++;
        *to = copy;
        to = &copy->next;
    }
    return MPI_SUCCESS;
}

int attribute_set(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval,
                  void *passed)
{
    const struct value value = value_of(passed, call_language);
    int error = check_keyval(kind, keyval);
    struct mpi_attributes *attribute;

    call_language = LANGUAGE_C; /* the program's functions called below make calls of their own */
    if (error)
        return error;
    attribute = *attribute_find(list, keyval);
    if (attribute) {
        error = value_delete(owner, attribute);
        if (!error)
            attribute->value = value;
        return error;
    }
    attribute = malloc(sizeof(*attribute));
    if (!attribute)
        return mpi_out_of_memory();
    *attribute = (struct mpi_attributes){ *list, keyval, value };
    *list = attribute;
    keyval_of(keyval)->references++;
    return MPI_SUCCESS;
}

int attribute_get(enum attribute_kind kind, struct mpi_attributes *list, int keyval, void *value, int *flag)
{
    int error = check_keyval(kind, keyval);

    if (error)
        return error;
    struct mpi_attributes *attribute = *attribute_find(&list, keyval);
    *flag = attribute != NULL;
    if (!attribute)
        return MPI_SUCCESS;
    /* A pointer of any type, or Fortran's integer of the same size. */
    void *seen = call_language == LANGUAGE_C ? value_pointer(&attribute->value)
                                             : (void *)(intptr_t)value_integer(&attribute->value);
    memcpy(value, &seen, sizeof(seen));
    return MPI_SUCCESS;
}

int attribute_remove(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval)
{
    int error = check_keyval(kind, keyval);

    if (!error && !*attribute_find(list, keyval))
        error = mpi_error(MPI_ERR_KEYVAL, "argument keyval: the object has no attribute of key %d", keyval);
    return error ? error : attribute_delete(owner, list, keyval);
}
