/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_watch.c: watches of files in the tree. Random changes are checked against a model that knows which of
 * a few owners watches which of a few files; and what they are notified of in which order, how many there may
 * be, and that none outlives its inode or its owner.
 */
#include "check.h"
#include "fs/tree/tree.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define OWNERS     3
#define NAMES      5
#define PAGES_MAX  400
#define PAGE_BYTES 4096

static _Alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static unsigned pages_used;
static struct tree tree;
static uint64_t seed = 7;

void crosscall_serve(void) /* called by a lock; no CPU waits for one here */
{
}

static void *page_allocate(void *context)
{
    (void)context; /* one tree */
    return pages_used < PAGES_MAX ? pages[pages_used++] : NULL;
}

static struct watch_set sets[OWNERS];
static char line[400]; /* the events, as text */

static void watch_notify(const struct watch *watch, const struct tree_event *event)
{
    size_t used = strlen(line);

    CHECK(watch->set >= sets && watch->set < sets + OWNERS);
    snprintf(line + used, sizeof(line) - used, "%x", event->what);
    used = strlen(line);
    if (event->name)
        snprintf(line + used, sizeof(line) - used, ":%.*s", (int)event->name_bytes, event->name);
    strcat(line, " ");
}

static void begin(void)
{
    pages_used = 0;
    memset(sets, 0, sizeof(sets));
    line[0] = '\0';
    tree = (struct tree){ .page_allocate = page_allocate, .watch_notify = watch_notify };
    CHECK_EQUAL(tree_initialise(&tree), 0);
    tree.root->writable = true;
}

static struct path_lookup found(const char *name)
{
    struct path_lookup lookup;

    tree_find(&tree, tree.root, name, TREE_NAME, &lookup);
    return lookup;
}

static struct inode *made(const char *name, uint32_t mode)
{
    struct path_lookup lookup = found(name);
    struct inode *inode = NULL;

    tree_lock_to_add(&tree);
    CHECK_EQUAL(tree_create(&tree, &lookup, mode, NULL, 0, 0, &inode), 0);
    spin_unlock(&tree.lock);
    return inode;
}

static int watched(unsigned owner, struct inode *inode, uint32_t mask)
{
    tree_lock_to_add(&tree);
    int number = watch_add(&tree, &sets[owner], inode, mask);
    spin_unlock(&tree.lock);
    return number;
}

static void expect(const char *text)
{
    if (strcmp(line, text) != 0)
        fprintf(stderr, "events \"%s\", expected \"%s\"\n", line, text);
    CHECK(strcmp(line, text) == 0);
    line[0] = '\0';
}

TEST(events_come_in_their_order)
{
    begin();
    watched(0, tree.root, TREE_EVENTS);
    struct inode *file = made("a", S_IFREG);
    expect("100:a ");
    watched(1, file, TREE_EVENTS);
    tree_notify(&tree, file, TREE_OPEN);
    expect("20:a 20 ");
    struct path_lookup from = found("a"), to = found("b");
    CHECK_EQUAL(tree_rename(&tree, &from, &to, false, 0), 0);
    expect("40:a 80:b 800 ");
    from = found("b");
    CHECK_EQUAL(tree_remove(&tree, &from, false, 0), 0);
    expect("4 400 8000 200:b "); /* in Linux's order: what watches the file first */
    CHECK_EQUAL(sets[1].count, 0);
    made("d", S_IFDIR);
    expect("40000100:d ");
    from = found("d");
    inode_get(from.inode);
    watched(1, from.inode, TREE_EVENTS | WATCH_ONCE);
    CHECK_EQUAL(tree_remove(&tree, &from, true, 0), 0);
    expect("40000200:d ");
    inode_put(&tree, from.inode); /* now it is freed */
    expect("400 8000 ");
    CHECK_EQUAL(tree.watch_count, 1);
}

TEST(a_set_has_one_watch_of_an_inode)
{
    begin();
    struct inode *file = made("a", S_IFREG);
    int number = watched(0, file, TREE_OPEN);
    CHECK_EQUAL(watched(0, file, TREE_CLOSE), number);
    tree_notify(&tree, file, TREE_OPEN);
    expect("");
    CHECK_EQUAL(watched(0, file, TREE_OPEN | WATCH_MORE), number);
    tree_notify(&tree, file, TREE_OPEN);
    tree_notify(&tree, file, TREE_CLOSE);
    expect("20 10 ");
    CHECK_EQUAL(watched(0, file, TREE_OPEN | WATCH_NEW), -EEXIST);
    CHECK_EQUAL(watch_remove(&tree, &sets[1], number), -EINVAL);
    CHECK_EQUAL(watch_remove(&tree, &sets[0], number + 1), -EINVAL);
    CHECK_EQUAL(watch_remove(&tree, &sets[0], -1), -EINVAL);
    CHECK_EQUAL(watch_remove(&tree, &sets[0], number), 0);
    expect("8000 ");
    CHECK_EQUAL(watched(0, file, TREE_OPEN | WATCH_ONCE), number + 1);
    tree_notify(&tree, file, TREE_OPEN);
    tree_notify(&tree, file, TREE_OPEN);
    expect("20 8000 ");
    CHECK_EQUAL(tree.watch_count, 0);
}

TEST(there_is_a_limit)
{
    static struct watch_set many[INODE_WATCHES_MAX + 1];

    begin();
    memset(many, 0, sizeof(many));
    for (unsigned i = 0; i <= INODE_WATCHES_MAX; i++) {
        tree_lock_to_add(&tree);
        CHECK_EQUAL(watch_add(&tree, &many[i], tree.root, TREE_OPEN), i < INODE_WATCHES_MAX ? 1 : -ENOSPC);
        spin_unlock(&tree.lock);
    }
    for (unsigned i = 0; i < INODE_WATCHES_MAX; i++)
        CHECK(watch_drop(&tree, &many[i]) && !watch_drop(&tree, &many[i]));
    CHECK_EQUAL(tree.watch_count, 0);
    sets[0].count = WATCHES_MAX;
    CHECK_EQUAL(watched(0, tree.root, TREE_OPEN), -ENOSPC);
}

/* The numbers of watches that the model knows, by owner and file; 0: none. */
static int model[OWNERS][NAMES];

static void random_change(void)
{
    const unsigned owner = (unsigned)(check_random(&seed) % OWNERS),
                   which = (unsigned)(check_random(&seed) % NAMES);
    const char name[] = { (char)('a' + which), '\0' };
    struct path_lookup lookup = found(name);

    line[0] = '\0';
    switch (check_random(&seed) % 5) {
    case 0:
        if (!lookup.inode)
            made(name, S_IFREG);
        return;
    case 1:
        if (lookup.inode)
            model[owner][which] = watched(owner, lookup.inode, TREE_EVENTS);
        return;
    case 2:
        CHECK_EQUAL(watch_remove(&tree, &sets[owner], model[owner][which]),
                    model[owner][which] ? 0 : -EINVAL);
        model[owner][which] = 0;
        return;
    case 3:
        if (!lookup.inode)
            return;
        CHECK_EQUAL(tree_remove(&tree, &lookup, false, 0), 0);
        for (unsigned i = 0; i < OWNERS; i++)
            model[i][which] = 0;
        return;
    default:
        while (watch_drop(&tree, &sets[owner]))
            ;
        memset(model[owner], 0, sizeof(model[owner]));
    }
}

TEST(none_outlives_its_inode_or_its_owner)
{
    begin();
    memset(model, 0, sizeof(model));
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t count = 0;

        random_change();
        for (unsigned owner = 0; owner < OWNERS; owner++) {
            unsigned own = 0;

            for (unsigned which = 0; which < NAMES; which++)
                own += model[owner][which] != 0;
            CHECK_EQUAL(sets[owner].count, own);
            count += own;
        }
        CHECK_EQUAL(tree.watch_count, count);
    }
}

int main(void)
{
    RUN(events_come_in_their_order);
    RUN(a_set_has_one_watch_of_an_inode);
    RUN(there_is_a_limit);
    RUN(none_outlives_its_inode_or_its_owner);
    return check_report("watch");
}
