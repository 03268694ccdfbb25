/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c: what is known of handles. One table finds communicators, requests and matched messages, and keeps
 * the sizes of data types until they are freed: asking the library costs more than a look into the table.
 *
 * Several requests may have one handle: a library may give every send that is complete at once the same one.
 * They are found in the order in which they were added.
 */
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 256

static struct trace_object **buckets, *unused;
static size_t bucket_count, object_count;
static uint32_t comm_count;

struct trace_object *trace_last_comm, *trace_last_type;

static _Noreturn void no_memory(void)
{
    fprintf(stderr, "mpi-trace: rank %d: no memory; set TACET_TRACE_RECORDS to a lower number\n", trace.rank);
    exit(1);
}

/* ---- The table ---- */

static size_t bucket_of(enum trace_kind kind, uintptr_t key)
{
    uint64_t mixed = ((uint64_t)key ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;

    return (size_t)(mixed >> 32) & (bucket_count - 1);
}

static void append(struct trace_object *object)
{
    struct trace_object **at = &buckets[bucket_of(object->kind, object->key)];

    while (*at)
        at = &(*at)->next;
    object->next = NULL;
    *at = object;
}

/* Doubles the table. Objects keep the order within a bucket. */
static void grow(void)
{
    struct trace_object **old = buckets;
    size_t old_count = bucket_count;

    bucket_count = old_count ? 2 * old_count : BUCKETS_FIRST;
    buckets = calloc(bucket_count, sizeof(struct trace_object *));
    if (!buckets)
        no_memory();
    for (size_t i = 0; i < old_count; i++)
        for (struct trace_object *object = old[i], *next; object; object = next) {
            next = object->next;
            append(object);
        }
    free(old);
}

struct trace_object *trace_find(enum trace_kind kind, uintptr_t key)
{
    if (!bucket_count)
        return NULL;
    struct trace_object *object = buckets[bucket_of(kind, key)];

    while (object && (object->key != key || object->kind != kind))
        object = object->next;
    return object;
}

struct trace_object *trace_add(enum trace_kind kind, uintptr_t key)
{
    struct trace_object *object = unused;

    if (object_count >= bucket_count)
        grow();
    if (object)
        unused = object->next;
    else
        object = malloc(sizeof(*object));
    if (!object)
        no_memory();
    *object = (struct trace_object){ .kind = kind, .key = key };
    append(object);
    object_count++;
    return object;
}

void trace_remove(struct trace_object *object)
{
    if (!object)
        return;
    struct trace_object **at = &buckets[bucket_of(object->kind, object->key)];

    if (object == trace_last_comm)
        trace_last_comm = NULL;
    if (object == trace_last_type)
        trace_last_type = NULL;
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    free(object->message);
    object->next = unused;
    unused = object;
    object_count--;
}

/* ---- Data types ---- */

uint32_t trace_type_look(MPI_Datatype type)
{
    struct trace_object *object = trace_find(TRACE_OF_TYPE, TRACE_KEY(type));
    int bytes = 0;

    if (object) {
        trace_last_type = object;
        return object->bytes;
    }
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &bytes) != MPI_SUCCESS)
        return 0;
    object = trace_add(TRACE_OF_TYPE, TRACE_KEY(type));
    object->bytes = bytes < 0 ? 0 : (uint32_t)bytes;
    return object->bytes;
}

void trace_type_freed(uintptr_t key)
{
    trace_remove(trace_find(TRACE_OF_TYPE, key));
}

/* ---- Communicators ---- */

/* Appends a group's ranks in MPI_COMM_WORLD as runs of a first rank, a step and a length. */
static size_t group_append(uint32_t *words, const int *ranks, int size)
{
    size_t runs = 0;
    uint32_t *at = words + 1;

    for (int i = 0; i < size; runs++) {
        int step = i + 1 < size ? ranks[i + 1] - ranks[i] : 1, length = 1;
        while (i + length < size && ranks[i + length] - ranks[i + length - 1] == step)
            length++;
        *at++ = (uint32_t)ranks[i];
        *at++ = (uint32_t)step;
        *at++ = (uint32_t)length;
        i += length;
    }
    words[0] = (uint32_t)runs;
    return 3 * runs + 1;
}

/* Translates a group to MPI_COMM_WORLD's ranks, and appends it. Frees it. */
static void group_describe(struct trace_object *object, MPI_Group group)
{
    MPI_Group world;
    int size;

    PMPI_Group_size(group, &size);
    int *ranks = malloc(2 * (size_t)(size + 1) * sizeof(*ranks)), *of_world = ranks + size;
    uint32_t *words =
        realloc(object->groups, (object->group_words + 3 * (size_t)size + 1) * sizeof(*object->groups));

    if (!ranks || !words)
        no_memory();
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, ranks, world, of_world);
    for (int i = 0; i < size; i++)
        of_world[i] = of_world[i] == MPI_UNDEFINED ? -1 : of_world[i]; /* of another world */
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
    object->groups = words;
    object->group_words += group_append(words + object->group_words, of_world, size);
    free(ranks);
}

static void comm_describe(struct trace_object *object, MPI_Comm comm)
{
    MPI_Group group;
    int is_inter;

    object->number = comm_count++;
    PMPI_Comm_rank(comm, &object->rank);
    PMPI_Comm_size(comm, &object->size);
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_group(comm, &group);
    group_describe(object, group);
    if (is_inter) {
        PMPI_Comm_remote_group(comm, &group);
        group_describe(object, group);
        PMPI_Comm_remote_size(comm, &object->size);
        object->is_inter = true;
    }
    struct trace_object **at = &trace.undescribed;
    while (*at)
        at = &(*at)->undescribed;
    *at = object;
}

/* Writes records as long as there is room: trace_comm_freed calls it for what is freed before the next call.
 */
void trace_comms_describe(void)
{
    while (trace.undescribed) {
        struct trace_object *object = trace.undescribed;
        trace.undescribed = object->undescribed;
        object->undescribed = NULL;
        if (trace.next != trace.end && !trace.lost) {
            struct trace_record *record = trace.next++;
            *record = (struct trace_record){ .call = TRACE_COMM,
                                             .flags = object->is_inter ? TRACE_INTER : 0,
                                             .peer = object->rank,
                                             .bytes = (uint64_t)object->size,
                                             .comm = object->number };
            trace_words(record, object->groups, object->group_words);
        }
        free(object->groups);
        object->groups = NULL;
    }
}

struct trace_object *trace_comm_look(MPI_Comm comm)
{
    struct trace_object *object = trace_find(TRACE_OF_COMM, TRACE_KEY(comm));

    trace_last_comm = object;
    if (!object && comm != MPI_COMM_NULL) {
        object = trace_add(TRACE_OF_COMM, TRACE_KEY(comm));
        comm_describe(object, comm);
    }
    return object;
}

void trace_comm_made(MPI_Comm comm)
{
    trace_comm(comm);
}

void trace_comm_freed(struct trace_record *record, uintptr_t key)
{
    struct trace_object *object = trace_find(TRACE_OF_COMM, key);

    if (!object)
        return;
    record->comm = object->number;
    for (struct trace_object *other = trace.undescribed; other; other = other->undescribed)
        if (other == object) { /* made and freed without a call between */
            trace_comms_describe();
            break;
        }
    trace_remove(object);
}

/* Gives MPI_Comm_idup's communicator a number at the call, because then all members number it at the same
 * place among their own. Until it is there, its key is the complement of the address where it will be. */
void trace_comm_begun(struct trace_record *record, MPI_Comm comm, void *made, bool in_fortran,
                      uintptr_t request)
{
    struct trace_object *object = trace_add(TRACE_OF_COMM, ~(uintptr_t)made);
    comm_describe(object, comm);
    trace_collective(record, 0, MPI_BYTE, TRACE_ANY_SOURCE, comm, request);
    struct trace_object *begun = trace_find(TRACE_OF_REQUEST, request);
    begun->made = made;
    begun->made_in_fortran = in_fortran;
}

void trace_comm_completed(void *made, bool in_fortran)
{
    struct trace_object *object = trace_find(TRACE_OF_COMM, ~(uintptr_t)made);

    if (!object)
        return;
    trace_comms_describe();
    MPI_Comm comm = in_fortran ? PMPI_Comm_f2c(*(MPI_Fint *)made) : *(MPI_Comm *)made;
    struct trace_object *now = trace_add(TRACE_OF_COMM, TRACE_KEY(comm));
    now->number = object->number;
    now->rank = object->rank;
    now->size = object->size;
    now->is_inter = object->is_inter;
    trace_remove(object);
}
