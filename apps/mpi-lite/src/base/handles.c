/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handles.c: Fortran's numbers for the library's objects.
 *
 * Each kind has a table of slots, whose index is part of the number; free slots form a list. One hash table
 * of all kinds, by address, leads from an object to its number. Predefined objects stay at the beginning of
 * their tables. A number ends when the program has freed its handle as often as calls have returned it, or
 * when the object ends (handle_release), in whichever language it is freed. Programs in C alone have no
 * table: fortran/handles.c creates it at the first call from Fortran or of a conversion. Runs under the
 * library's lock.
 *
 * Source: MPI 3.1 §17.2.4.
 */
#include "base/handle.h"
#include <stdlib.h>
#include <string.h>

struct slot {
    void *object; /* NULL: free */
    int uses;     /* how many calls have returned it, at least 1 */
    int next;     /* free slot, or 0 */
    unsigned serial;
};

struct table {
    struct slot *slots; /* the first stands for the null handle */
    int count, room, fixed, first_free;
};

struct number {
    const void *object; /* NULL: an empty place */
    MPI_Fint number;
};

static struct table tables[FORTRAN_KINDS];
static struct number *numbers; /* open addressing: an object is at its place or after it, without a gap */
static size_t number_room, number_count;

/* ---- Objects to numbers ---- */

static size_t place_of(const void *object)
{
    return (size_t)(((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (number_room - 1);
}

/* Returns the entry of the object, or the empty one where it would go. */
static struct number *number_find(const void *object)
{
    size_t place = place_of(object);

    while (numbers[place].object && numbers[place].object != object)
        place = (place + 1) & (number_room - 1);
    return &numbers[place];
}

static void numbers_grow(void)
{
    struct number *old = numbers;
    size_t count = number_room;

    number_room = count ? 2 * count : 256;
    numbers = calloc(number_room, sizeof(*numbers));
    if (!numbers)
        mpi_abort(1, "no memory for %zu handles of Fortran", number_room);
    for (size_t i = 0; i < count; i++)
        if (old[i].object)
            *number_find(old[i].object) = old[i];
    free(old);
}

static void number_add(const void *object, MPI_Fint number)
{
    if (2 * (number_count + 1) > number_room)
        numbers_grow();
    *number_find(object) = (struct number){ object, number };
    number_count++;
}

/* Removes an object. Moves up entries after it that would not be found otherwise. */
static void number_remove(const void *object)
{
    size_t mask = number_room - 1, hole = (size_t)(number_find(object) - numbers);

    for (size_t at = (hole + 1) & mask; numbers[at].object; at = (at + 1) & mask)
        if (((at - place_of(numbers[at].object)) & mask) >= ((at - hole) & mask)) {
            numbers[hole] = numbers[at];
            hole = at;
        }
    numbers[hole].object = NULL;
    number_count--;
}

/* ---- Numbers to objects ---- */

static int slot_new(struct table *table)
{
    int index = table->first_free;

    if (index) {
        table->first_free = table->slots[index].next;
        return index;
    }
    if (table->count == table->room) {
        int room = table->room ? 2 * table->room : 64;
        struct slot *larger =
            room > HANDLE_KIND ? NULL : realloc(table->slots, (size_t)room * sizeof(*larger));

        if (!larger)
            mpi_abort(1, "no memory for %d handles of Fortran", room);
        memset(larger + table->room, 0, (size_t)(room - table->room) * sizeof(*larger));
        table->slots = larger;
        table->room = room;
    }
    return table->count++;
}

static MPI_Fint handle_add(enum fortran_kind kind, void *object)
{
    int index = slot_new(&tables[kind]);
    struct slot *slot = &tables[kind].slots[index];
    MPI_Fint number = HANDLE_NULL(kind) + index;

    slot->object = object;
    slot->uses = 1;
    slot->serial++;
    number_add(object, number);
    return number;
}

void handles_begin(const struct predefined *objects, int count)
{
    if (number_room)
        return;
    numbers_grow();
    for (int kind = 1; kind < FORTRAN_KINDS; kind++)
        slot_new(&tables[kind]); /* the null handle */
    for (int i = 0; i < count; i++)
        handle_add(objects[i].kind, objects[i].object);
    for (int kind = 1; kind < FORTRAN_KINDS; kind++)
        tables[kind].fixed = tables[kind].count;
}

static struct slot *slot_of(enum fortran_kind kind, MPI_Fint number)
{
    int index = number / HANDLE_KIND == (int)kind ? number % HANDLE_KIND : 0;

    if (index <= 0 || index >= tables[kind].count || !tables[kind].slots[index].object)
        return NULL;
    return &tables[kind].slots[index];
}

static enum fortran_kind kind_of(MPI_Fint number)
{
    int kind = number / HANDLE_KIND;

    return kind > 0 && kind < FORTRAN_KINDS ? (enum fortran_kind)kind : FORTRAN_COMM;
}

static void handle_remove(enum fortran_kind kind, struct slot *slot)
{
    struct table *table = &tables[kind];

    number_remove(slot->object);
    slot->object = NULL;
    slot->next = table->first_free;
    table->first_free = (int)(slot - table->slots);
}

static MPI_Fint handle_get(enum fortran_kind kind, void *object, int uses)
{
    const struct number *known;

    if (!object)
        return HANDLE_NULL(kind);
    known = number_find(object);
    if (!known->object)
        return handle_add(kind, object);
    slot_of(kind, known->number)->uses += uses;
    return known->number;
}

MPI_Fint handle_number(enum fortran_kind kind, void *object)
{
    return handle_get(kind, object, 0);
}

MPI_Fint handle_give(enum fortran_kind kind, void *object)
{
    return handle_get(kind, object, 1);
}

bool handle_find(enum fortran_kind kind, MPI_Fint number, void **object)
{
    const struct slot *slot = slot_of(kind, number);

    *object = slot ? slot->object : NULL;
    return slot || number == HANDLE_NULL(kind);
}

unsigned handle_serial(MPI_Fint number)
{
    const struct slot *slot = slot_of(kind_of(number), number);

    return slot ? slot->serial : 0;
}

void handle_take(MPI_Fint number, unsigned serial)
{
    enum fortran_kind kind = kind_of(number);
    struct slot *slot = slot_of(kind, number);

    if (slot && slot->serial == serial && slot - tables[kind].slots >= tables[kind].fixed &&
        --slot->uses == 0)
        handle_remove(kind, slot);
}

void handle_release(const void *object)
{
    if (!number_count)
        return;
    const struct number *known = number_find(object);
    enum fortran_kind kind = kind_of(known->number);
    if (known->object && known->number % HANDLE_KIND >= tables[kind].fixed)
        handle_remove(kind, slot_of(kind, known->number));
}
