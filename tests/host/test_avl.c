/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_avl.c: the tree of avl.h, against an array with a place for each key.
 */
#include "check.h"
#include "lib/avl.h"

#define KEYS 3000

struct member {
    struct avl_node node;
    uint64_t weight, sum; /* of its subtree */
};

static uint64_t seed = 3;
static struct avl_node *root;
static struct member members[KEYS], moved[KEYS];
static struct member *present[KEYS];
static unsigned count;

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

static bool summarise(struct avl_node *node)
{
    struct member *member = (struct member *)node;
    uint64_t old = member->sum;

    member->sum = member->weight;
    for (unsigned side = 0; side < 2; side++)
        member->sum += node->child[side] ? ((struct member *)node->child[side])->sum : 0;
    return member->sum != old;
}

/* Returns the height; keys lie in [low, high). */
static unsigned check_subtree(const struct avl_node *node, uint64_t low, uint64_t high, unsigned *found)
{
    const struct member *member = (const struct member *)node;

    if (!node)
        return 0;
    CHECK(node->key >= low && node->key < high && present[node->key] == member);
    unsigned left = check_subtree(node->child[0], low, node->key, found);
    unsigned right = check_subtree(node->child[1], node->key + 1, high, found);
    uint64_t sum = member->weight;

    for (unsigned side = 0; side < 2; side++)
        sum += node->child[side] ? ((const struct member *)node->child[side])->sum : 0;
    CHECK_EQUAL(member->sum, sum);
    CHECK(left <= right + 1 && right <= left + 1);
    CHECK_EQUAL(node->height, 1 + (left > right ? left : right));
    ++*found;
    return node->height;
}

static void check_tree(void)
{
    unsigned found = 0;

    check_subtree(root, 0, KEYS, &found);
    CHECK_EQUAL(found, count);
}

static void check_neighbours(uint64_t key)
{
    uint64_t above = key, below = key;

    while (above < KEYS && !present[above])
        above++;
    while (below > 0 && !present[below - 1])
        below--;
    CHECK(avl_above(root, key) == (above < KEYS ? present[above] : NULL));
    CHECK(avl_below(root, key) == (below > 0 ? present[below - 1] : NULL));
}

static void toggle(uint64_t key)
{
    struct member *member = present[key];

    if (member) {
        avl_remove(&root, &member->node, summarise);
        memset(member, 0xa5, sizeof(*member)); /* its memory now has another owner */
        present[key] = NULL;
        count--;
        return;
    }
    member = present[key] = &members[key];
    member->node.key = key;
    member->weight = random_below(1000);
    avl_insert(&root, &member->node, summarise);
    count++;
}

/* Changes the member, or moves it to another place in memory. */
static void change(uint64_t key)
{
    struct member *member = present[key];

    if (!member)
        return;
    if (random_below(2)) {
        struct member *other = member == &members[key] ? &moved[key] : &members[key];

        *other = *member;
        avl_replace(&root, &member->node, &other->node, summarise);
        memset(member, 0xa5, sizeof(*member));
        present[key] = other;
    } else {
        member->weight = random_below(1000);
        avl_replace(&root, &member->node, &member->node, summarise);
    }
}

static void begin(void)
{
    root = NULL;
    count = 0;
    memset(present, 0, sizeof(present));
}

TEST(random_changes_leave_a_balanced_tree_in_order)
{
    for (unsigned keys = 1; keys <= KEYS && check_state.failures == 0; keys = keys * 3 + 1) {
        begin();
        for (unsigned step = 0; step < 20000 && check_state.failures == 0; step++) {
            uint64_t key = random_below(keys);

            random_below(3) ? toggle(key) : change(key);
            check_neighbours(random_below(keys));
            if (step % 64 == 0 || keys < 20)
                check_tree();
        }
    }
}

TEST(keys_in_order_make_no_list)
{
    for (unsigned down = 0; down < 2; down++) {
        begin();
        for (uint64_t i = 0; i < KEYS; i++)
            toggle(down ? KEYS - 1 - i : i);
        check_tree();
        CHECK(root->height <= 16); /* 1.44 times log2(KEYS) */
        for (uint64_t i = 0; i < KEYS; i += 1 + down)
            toggle(i);
        check_tree();
    }
}

TEST(an_empty_tree_has_no_members)
{
    begin();
    CHECK(avl_above(root, 0) == NULL);
    CHECK(avl_below(root, UINT64_MAX) == NULL);
    toggle(7);
    toggle(7);
    CHECK(root == NULL);
}

int main(void)
{
    RUN(random_changes_leave_a_balanced_tree_in_order);
    RUN(keys_in_order_make_no_list);
    RUN(an_empty_tree_has_no_members);
    return check_report("avl");
}
