/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcomes.c: see welcomes.h. A place may be due although its node has left it: the first answer of the next
 * node there sets it again.
 */
#include "service/conductor/welcomes.h"
#include <string.h>

void welcomes_answer(struct welcomes *welcomes, const struct registry *registry, const struct node *node)
{
    welcomes->due[node - registry->nodes] = node->answer.is_welcomed ? 0 : WELCOME_BEATS;
}

/* Returns the first due place from `place` on, or `end`. Checks eight at once, because mostly none is due. */
static unsigned due_find(const struct welcomes *welcomes, unsigned place, unsigned end)
{
    uint64_t eight;

    for (; place < end; place++) {
        if (place % 8 == 0 && place + 8 <= end) {
            memcpy(&eight, &welcomes->due[place], sizeof(eight));
            if (!eight) {
                place += 7;
                continue;
            }
        }
        if (welcomes->due[place])
            return place;
    }
    return end;
}

/* Adds the due welcomes of the places from `place` to before `end`. Returns false if one has no room; the
 * next beat begins with it. */
static bool places_put(struct welcomes *welcomes, const struct registry *registry,
                       const uint8_t key[SIPHASH_KEY_BYTES], unsigned place, unsigned end,
                       unsigned commands_max, struct beat *beat)
{
    while ((place = due_find(welcomes, place, end)) < end) {
        const struct node *node = &registry->nodes[place];

        if (node->is_known &&
            !welcome_add(beat, commands_max, welcome_of(key, node->address, node->answer.start))) {
            welcomes->next = place;
            return false;
        }
        welcomes->due[place++]--;
    }
    return true;
}

void welcomes_put(struct welcomes *welcomes, const struct registry *registry,
                  const uint8_t key[SIPHASH_KEY_BYTES], unsigned commands_max, struct beat *beat)
{
    const unsigned first = welcomes->next;

    if (places_put(welcomes, registry, key, first, registry->places, commands_max, beat))
        places_put(welcomes, registry, key, 0, first, commands_max, beat);
}
