/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attributes.c: values that a program keeps with communicators and data types, under keys that it makes. One
 * mechanism for all kinds of objects; a key belongs to one kind.
 *
 * An object has a list of attributes, the newest first: deleting an object's attributes calls their functions
 * in the reverse of the order in which they were set. A key that was freed lives on until no attribute uses
 * it. The program's functions run under the library's lock, which nests.
 *
 * Source: MPI 3.1 §6.7 (caching), §8.1.2 (the predefined attributes), §8.7.1 (MPI_COMM_SELF at the end).
 */
#include "comm.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEYVAL_FIRST 100 /* the first of a program's own; those below are predefined */

typedef void any_function(void);

struct keyval {
    bool used, freed;
    enum attribute_kind kind;
    int references; /* of attributes */
    any_function *copy, *delete;
    void *state;
};

struct mpi_attributes {
    struct mpi_attributes *next;
    int keyval;
    void *value;
};

static struct keyval *keyvals;
static int keyval_count;

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
    if (!keyval || keyval->freed)
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
            return comm_out_of_memory();
        keyvals = larger;
        keyval_count++;
    }
    keyvals[i] =
        (struct keyval){ .used = true, .kind = kind, .copy = copy, .delete = delete, .state = state };
    *number = KEYVAL_FIRST + i;
    return MPI_SUCCESS;
}

int keyval_create(const char *name, enum attribute_kind kind, any_function *copy, any_function *delete,
                  void *state, int *number)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = keyval_make(kind, copy, delete, state, number);
    error = mpi_return(NULL, name, error);
    mpi_leave();
    return error;
}

int keyval_free(const char *name, enum attribute_kind kind, int *number)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_keyval(kind, *number);
    if (!error) {
        keyval_of(*number)->freed = true;
        keyval_release(keyval_of(*number));
        *number = MPI_KEYVAL_INVALID;
    }
    error = mpi_return(NULL, name, error);
    mpi_leave();
    return error;
}

/* ---- The program's functions ---- */

/* The table may move while a function runs, so what is called is a copy of its entry. */
static int value_copy(void *owner, const struct mpi_attributes *attribute, void **copied, int *flag)
{
    const struct keyval key = *keyval_of(attribute->keyval);
    int number = attribute->keyval;

    *flag = 0;
    if (!key.copy)
        return MPI_SUCCESS;
    if ((uintptr_t)key.copy == (uintptr_t)MPI_LITE_DUP) {
        *flag = 1;
        *copied = attribute->value;
        return MPI_SUCCESS;
    }
    if (key.kind == ATTRIBUTE_TYPE)
        return ((MPI_Type_copy_attr_function *)key.copy)(owner, number, key.state, attribute->value, copied,
                                                         flag);
    if (key.kind == ATTRIBUTE_WIN)
        return ((MPI_Win_copy_attr_function *)key.copy)(owner, number, key.state, attribute->value, copied,
                                                        flag);
    return ((MPI_Comm_copy_attr_function *)key.copy)(owner, number, key.state, attribute->value, copied,
                                                     flag);
}

static int value_delete(void *owner, const struct mpi_attributes *attribute)
{
    const struct keyval key = *keyval_of(attribute->keyval);
    int number = attribute->keyval;

    if (!key.delete)
        return MPI_SUCCESS;
    if (key.kind == ATTRIBUTE_TYPE)
        return ((MPI_Type_delete_attr_function *)key.delete)(owner, number, attribute->value, key.state);
    if (key.kind == ATTRIBUTE_WIN)
        return ((MPI_Win_delete_attr_function *)key.delete)(owner, number, attribute->value, key.state);
    return ((MPI_Comm_delete_attr_function *)key.delete)(owner, number, attribute->value, key.state);
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
        void *value = NULL;
        int flag = 0, error = value_copy(from_owner, from, &value, &flag);
        struct mpi_attributes *copy;

        if (error)
            return error;
        if (!flag)
            continue;
        copy = malloc(sizeof(*copy));
        if (!copy)
            return comm_out_of_memory();
        *copy = (struct mpi_attributes){ NULL, from->keyval, value };
        keyval_of(from->keyval)->references++;
        *to = copy;
        to = &copy->next;
    }
    return MPI_SUCCESS;
}

int attribute_set(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval,
                  void *value)
{
    int error = check_keyval(kind, keyval);
    struct mpi_attributes *attribute;

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
        return comm_out_of_memory();
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
    const struct mpi_attributes *attribute = *attribute_find(&list, keyval);
    *flag = attribute != NULL;
    if (attribute)
        memcpy(value, &attribute->value, sizeof(void *)); /* a pointer of any type */
    return MPI_SUCCESS;
}

int attribute_remove(enum attribute_kind kind, void *owner, struct mpi_attributes **list, int keyval)
{
    int error = check_keyval(kind, keyval);

    if (!error && !*attribute_find(list, keyval))
        error = mpi_error(MPI_ERR_KEYVAL, "argument keyval: the object has no attribute of key %d", keyval);
    return error ? error : attribute_delete(owner, list, keyval);
}

/* ---- Communicators ---- */

/* The address of a predefined attribute's value. */
static int *predefined_value(int keyval)
{
    static int tag_ub = INT_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_is_global, universe_size,
               appnum;

    universe_size = mpi_world.size;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    case MPI_LASTUSEDCODE:
        return error_last_used();
    default:
        return NULL;
    }
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                            int *keyval, void *state)
{
    return keyval_create("MPI_Comm_create_keyval", ATTRIBUTE_COMM, (any_function *)copy,
                         (any_function *)delete, state, keyval);
}
MPI_ALIAS(Comm_create_keyval);

int PMPI_Comm_free_keyval(int *keyval)
{
    return keyval_free("MPI_Comm_free_keyval", ATTRIBUTE_COMM, keyval);
}
MPI_ALIAS(Comm_free_keyval);

int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = attribute_set(ATTRIBUTE_COMM, comm, &comm->attributes, keyval, value);
    error = mpi_return(heard, "MPI_Comm_set_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Comm_set_attr);

/* The predefined ones are given for every communicator: programs ask for them on copies of MPI_COMM_WORLD. */
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error && predefined_value(keyval)) {
        void *address = predefined_value(keyval);

        *flag = 1;
        memcpy(value, &address, sizeof(address));
    } else if (!error) {
        error = attribute_get(ATTRIBUTE_COMM, comm->attributes, keyval, value, flag);
    }
    error = mpi_return(heard, "MPI_Comm_get_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Comm_get_attr);

int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = attribute_remove(ATTRIBUTE_COMM, comm, &comm->attributes, keyval);
    error = mpi_return(heard, "MPI_Comm_delete_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Comm_delete_attr);

int comm_self_finalize(void)
{
    return attributes_free(MPI_COMM_SELF, &mpi_lite_comm_self.attributes);
}

/* ---- Data types ---- */

static int check_type(const struct mpi_datatype *type)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && type == MPI_DATATYPE_NULL)
        error = mpi_error(MPI_ERR_TYPE, "argument type: MPI_DATATYPE_NULL");
    return error;
}

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *delete,
                            int *keyval, void *state)
{
    return keyval_create("MPI_Type_create_keyval", ATTRIBUTE_TYPE, (any_function *)copy,
                         (any_function *)delete, state, keyval);
}
MPI_ALIAS(Type_create_keyval);

int PMPI_Type_free_keyval(int *keyval)
{
    return keyval_free("MPI_Type_free_keyval", ATTRIBUTE_TYPE, keyval);
}
MPI_ALIAS(Type_free_keyval);

int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void *value)
{
    mpi_enter();
    int error = check_type(type);
    if (!error)
        error = attribute_set(ATTRIBUTE_TYPE, type, &type->attributes, keyval, value);
    error = mpi_return(NULL, "MPI_Type_set_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_set_attr);

int PMPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag)
{
    mpi_enter();
    int error = check_type(type);
    if (!error)
        error = attribute_get(ATTRIBUTE_TYPE, type->attributes, keyval, value, flag);
    error = mpi_return(NULL, "MPI_Type_get_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_get_attr);

int PMPI_Type_delete_attr(MPI_Datatype type, int keyval)
{
    mpi_enter();
    int error = check_type(type);
    if (!error)
        error = attribute_remove(ATTRIBUTE_TYPE, type, &type->attributes, keyval);
    error = mpi_return(NULL, "MPI_Type_delete_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_delete_attr);
