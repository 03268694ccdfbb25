/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcomes.c: see welcomes.h. A place that its node has left may be due; it is the next node's then, whose
 * first answer says whether that is.
 */
#include "service/welcomes.h"

void welcomes_answer(struct welcomes *welcomes, const struct registry *registry, const struct node *node)
{
    const size_t place = (size_t)(node - registry->nodes);
    const uint64_t bit = UINT64_C(1) << place % 64;

    if (node->answer.is_welcomed)
        welcomes->due[place / 64] &= ~bit;
    else
        welcomes->due[place / 64] |= bit;
}

void welcomes_put(struct welcomes *welcomes, const struct registry *registry,
                  const uint8_t key[SIPHASH_KEY_BYTES], unsigned commands_max, struct beat *beat)
{
    for (unsigned i = 0; i < WELCOME_WORDS; i++) {
        const unsigned word = (welcomes->next + i) % WELCOME_WORDS;

        for (uint64_t *due = &welcomes->due[word]; *due; *due &= *due - 1) {
            const struct node *node = &registry->nodes[64 * word + (unsigned)__builtin_ctzll(*due)];

            if (node->is_known &&
                !welcome_add(beat, commands_max, welcome_of(key, node->address, node->answer.start))) {
                welcomes->next = word;
                return;
            }
        }
    }
}
