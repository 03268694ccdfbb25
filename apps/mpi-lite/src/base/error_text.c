/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error_text.c: the names and the sentences of error classes, and the classes and codes that a program adds.
 *
 * An error that the library returns is a class. The numbers that a program adds follow MPI_ERR_LASTCODE in
 * order, classes and codes alike; a class is its own class. Runs under the library's lock.
 *
 * Source: MPI 3.1 §8.4 (classes), §8.5 (classes of the program's own).
 */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS(name, sentence) [name] = { #name, sentence }

static const struct {
    const char *name, *sentence;
} classes[] = {
    CLASS(MPI_SUCCESS, "no error"),
    CLASS(MPI_ERR_BUFFER, "the buffer is not valid, or has no room"),
    CLASS(MPI_ERR_COUNT, "the count is not valid"),
    CLASS(MPI_ERR_TYPE, "the data type is not valid here, or not committed"),
    CLASS(MPI_ERR_TAG, "the tag is not valid"),
    CLASS(MPI_ERR_COMM, "the communicator is not valid here"),
    CLASS(MPI_ERR_RANK, "the rank is not one of the communicator or group"),
    CLASS(MPI_ERR_REQUEST, "the request is not valid"),
    CLASS(MPI_ERR_ROOT, "the root is not a rank of the communicator"),
    CLASS(MPI_ERR_GROUP, "the group is not valid here"),
    CLASS(MPI_ERR_OP, "the operation is not valid, or not defined for this data type"),
    CLASS(MPI_ERR_TOPOLOGY, "the communicator has no topology of this kind"),
    CLASS(MPI_ERR_DIMS, "the dimensions are not valid"),
    CLASS(MPI_ERR_ARG, "an argument is not valid"),
    CLASS(MPI_ERR_UNKNOWN, "the error is not known"),
    CLASS(MPI_ERR_TRUNCATE, "the message is longer than the buffer that receives it"),
    CLASS(MPI_ERR_OTHER, "the call is not possible now, or the environment prevents it"),
    CLASS(MPI_ERR_INTERN, "the library has found a fault in itself"),
    CLASS(MPI_ERR_IN_STATUS, "the statuses say which requests have failed"),
    CLASS(MPI_ERR_PENDING, "the request has neither completed nor failed"),
    CLASS(MPI_ERR_ACCESS, "access to the file is not permitted"),
    CLASS(MPI_ERR_AMODE, "the access mode is not valid"),
    CLASS(MPI_ERR_ASSERT, "the assertion is not valid"),
    CLASS(MPI_ERR_BAD_FILE, "the file name is not valid"),
    CLASS(MPI_ERR_BASE, "the base address is not valid"),
    CLASS(MPI_ERR_CONVERSION, "a conversion of data has failed"),
    CLASS(MPI_ERR_DISP, "the displacement is not valid"),
    CLASS(MPI_ERR_DUP_DATAREP, "a data representation of this name exists already"),
    CLASS(MPI_ERR_FILE_EXISTS, "the file exists already"),
    CLASS(MPI_ERR_FILE_IN_USE, "the file is in use"),
    CLASS(MPI_ERR_FILE, "the file handle is not valid"),
    CLASS(MPI_ERR_INFO_KEY, "the info key is empty or too long"),
    CLASS(MPI_ERR_INFO_NOKEY, "the info object has no such key"),
    CLASS(MPI_ERR_INFO_VALUE, "the info value is too long"),
    CLASS(MPI_ERR_INFO, "the info object is not valid here"),
    CLASS(MPI_ERR_IO, "input or output has failed"),
    CLASS(MPI_ERR_KEYVAL, "the attribute key is not valid here"),
    CLASS(MPI_ERR_LOCKTYPE, "the kind of lock is not valid"),
    CLASS(MPI_ERR_NAME, "the service name is not known"),
    CLASS(MPI_ERR_NO_MEM, "there is not enough memory"),
    CLASS(MPI_ERR_NOT_SAME, "processes have given different arguments"),
    CLASS(MPI_ERR_NO_SPACE, "the file system is full"),
    CLASS(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    CLASS(MPI_ERR_PORT, "the port name is not valid"),
    CLASS(MPI_ERR_QUOTA, "the file quota is used up"),
    CLASS(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    CLASS(MPI_ERR_RMA_CONFLICT, "accesses to the window conflict"),
    CLASS(MPI_ERR_RMA_SYNC, "the window is not synchronized for this call"),
    CLASS(MPI_ERR_SERVICE, "the service name is not published"),
    CLASS(MPI_ERR_SIZE, "the size is not valid"),
    CLASS(MPI_ERR_SPAWN, "processes could not be started"),
    CLASS(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"),
    CLASS(MPI_ERR_WIN, "the window is not valid"),
    CLASS(MPI_ERR_RMA_RANGE, "the target memory is not part of the window"),
    CLASS(MPI_ERR_RMA_ATTACH, "the memory cannot be attached to the window"),
    CLASS(MPI_ERR_RMA_SHARED, "the memory cannot be shared by these processes"),
    CLASS(MPI_ERR_RMA_FLAVOR, "the window is of a flavor that this call does not take"),
    CLASS(MPI_T_ERR_INVALID, "an argument of the tool interface is not valid"),
    CLASS(MPI_T_ERR_MEMORY, "the tool interface has no memory left"),
    CLASS(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialized"),
    CLASS(MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialized"),
    CLASS(MPI_T_ERR_INVALID_INDEX, "there is no variable or category of this index"),
    CLASS(MPI_T_ERR_INVALID_ITEM, "the enumeration has no item of this index"),
    CLASS(MPI_T_ERR_INVALID_HANDLE, "the handle of the tool interface is not valid"),
    CLASS(MPI_T_ERR_INVALID_NAME, "there is no variable or category of this name"),
    CLASS(MPI_T_ERR_OUT_OF_HANDLES, "no handle is left"),
    CLASS(MPI_T_ERR_OUT_OF_SESSIONS, "no session is left"),
    CLASS(MPI_T_ERR_INVALID_SESSION, "the session is not valid"),
    CLASS(MPI_T_ERR_CVAR_SET_NOT_NOW, "the variable cannot be set now"),
    CLASS(MPI_T_ERR_CVAR_SET_NEVER, "the variable cannot be set"),
    CLASS(MPI_T_ERR_PVAR_NO_STARTSTOP, "the variable cannot be started or stopped"),
    CLASS(MPI_T_ERR_PVAR_NO_WRITE, "the variable cannot be written or reset"),
    CLASS(MPI_T_ERR_PVAR_NO_ATOMIC, "the variable cannot be read and reset at once"),
};
#define CLASSES ((int)(sizeof(classes) / sizeof(classes[0])))

/* A class or code that the program has added; its number is MPI_ERR_LASTCODE + 1 + its index. */
struct added {
    int class;
    char *sentence; /* NULL: none yet */
};

static struct added *added;
static int added_count, added_room;
/* The value of an attribute must stay at one address. */
static int last_used = MPI_ERR_LASTCODE;

int *error_last_used(void)
{
    return &last_used;
}

static struct added *added_of(int code)
{
    return code > MPI_ERR_LASTCODE && code <= last_used ? &added[code - MPI_ERR_LASTCODE - 1] : NULL;
}

static bool is_predefined(int code)
{
    return code >= 0 && code < CLASSES;
}

const char *error_name(int code)
{
    const struct added *own = added_of(code);

    if (own && is_predefined(own->class))
        code = own->class;
    return is_predefined(code) ? classes[code].name : "error of the program's own";
}

void error_say(int code, char *text, size_t bytes)
{
    const struct added *own = added_of(code);

    if (own)
        snprintf(text, bytes, "%s", own->sentence ? own->sentence : "");
    else if (is_predefined(code))
        snprintf(text, bytes, "%s: %s", classes[code].name, classes[code].sentence);
    else
        snprintf(text, bytes, "error %d", code);
}

int error_status(int code)
{
    return is_predefined(code) && code ? code : 1;
}

static int check_code(int code)
{
    if (!is_predefined(code) && !added_of(code))
        return mpi_error(MPI_ERR_ARG, "argument errorcode: %d is no error class or code", code);
    return MPI_SUCCESS;
}

static int Error_string(int code, char *string, int *length)
{
    error_say(code, string, MPI_MAX_ERROR_STRING);
    *length = (int)strlen(string);
    return MPI_SUCCESS;
}
MPI_CALL(Error_string);

static int Error_class(int code, int *class)
{
    *class = added_of(code) ? added_of(code)->class : code;
    return MPI_SUCCESS;
}
MPI_CALL(Error_class);

/* Adds a code of a class; `class` NULL: adds a class. */
static int added_make(const int *class, int *code)
{
    if (added_count == added_room) {
        int room = added_room ? 2 * added_room : 16;
        struct added *larger = realloc(added, (size_t)room * sizeof(*added));

        if (!larger)
            return mpi_out_of_memory();
        added = larger;
        added_room = room;
    }
    *code = ++last_used;
    added[added_count++] = (struct added){ class ? *class : *code, NULL };
    return MPI_SUCCESS;
}

static int Add_error_class(int *class)
{
    return added_make(NULL, class);
}
MPI_CALL(Add_error_class);

static int Add_error_code(int class, int *code)
{
    if (added_of(class) && added_of(class)->class != class)
        return mpi_error(MPI_ERR_ARG, "argument errorclass: %d is an error code, not a class", class);
    return added_make(&class, code);
}
MPI_CALL(Add_error_code);

static int sentence_set(struct added *own, const char *string)
{
    char *copy = strdup(string);

    if (!copy)
        return mpi_out_of_memory();
    free(own->sentence);
    own->sentence = copy;
    return MPI_SUCCESS;
}

static int Add_error_string(int code, const char *string)
{
    if (!added_of(code))
        return mpi_error(MPI_ERR_ARG, "argument errorcode: %d was not added by this program", code);
    return sentence_set(added_of(code), string);
}
MPI_CALL(Add_error_string);
