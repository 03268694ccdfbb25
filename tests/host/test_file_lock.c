/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_file_lock.c: random locks of several owners, checked against a model that knows what each owner has at
 * each byte.
 */
#include "check.h"
#include "lib/errno.h"
#include "fs/file_lock.h"

#define BYTES      40
#define OWNERS     3
#define PAGES_MAX  24
#define PAGE_BYTES 4096

static _Alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static unsigned pages_used, pages_limit = PAGES_MAX;
static struct tree tree;
static struct inode *inode;
static uint64_t seed = 3;
static const char owners[OWNERS];
static char model[2][OWNERS][BYTES]; /* by domain: 0, 'r' or 'w' */

void crosscall_serve(void) /* called by a lock; no CPU waits for one here */
{
}

static void *page_allocate(void *context)
{
    (void)context; /* one tree */
    return pages_used < pages_limit ? pages[pages_used++] : NULL;
}

static uint64_t below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

static void begin(void)
{
    pages_used = 0;
    pages_limit = PAGES_MAX;
    tree = (struct tree){ .page_allocate = page_allocate };
    CHECK_EQUAL(tree_initialise(&tree), 0);
    inode = tree.root;
    memset(model, 0, sizeof(model));
}

static struct file_lock some_lock(unsigned owner, bool whole_file)
{
    struct file_lock lock = { .owner = &owners[owner], .exclusive = below(2), .whole_file = whole_file };

    lock.start = below(BYTES);
    lock.end = lock.start + below(BYTES - lock.start);
    return lock;
}

static bool model_conflicts(const struct file_lock *lock, unsigned owner)
{
    for (unsigned other = 0; other < OWNERS; other++)
        for (uint64_t i = lock->start; i <= lock->end && other != owner; i++) {
            char has = model[lock->whole_file][other][i];

            if (has == 'w' || (has && lock->exclusive))
                return true;
        }
    return false;
}

/* Returns what the list has at a byte, which at most one lock of an owner covers. */
static char list_at(bool whole_file, unsigned owner, uint64_t byte)
{
    char found = 0;

    for (const struct file_lock *lock = inode->locks; lock; lock = lock->next) {
        if (lock->owner != &owners[owner] || lock->whole_file != whole_file || lock->start > byte ||
            lock->end < byte)
            continue;
        CHECK(!found);
        found = lock->exclusive ? 'w' : 'r';
    }
    return found;
}

static void check_list(void)
{
    for (unsigned domain = 0; domain < 2; domain++)
        for (unsigned owner = 0; owner < OWNERS; owner++)
            for (uint64_t byte = 0; byte < BYTES; byte++)
                CHECK_EQUAL(list_at(domain, owner, byte), model[domain][owner][byte]);
    for (const struct file_lock *a = inode->locks; a; a = a->next)
        for (const struct file_lock *b = inode->locks; b; b = b->next)
            CHECK(a->owner != b->owner || a->whole_file != b->whole_file || a->exclusive != b->exclusive ||
                  a->end + 1 != b->start);
}

TEST(random_locks_agree_with_a_model_of_bytes)
{
    begin();
    for (unsigned round = 0; round < 20000; round++) {
        unsigned owner = (unsigned)below(OWNERS), domain = (unsigned)below(2);
        struct file_lock lock = some_lock(owner, domain);
        bool conflicts = file_lock_conflict(inode, &lock) != NULL;
        char *bytes = &model[domain][owner][lock.start];
        uint64_t count = lock.end - lock.start + 1;

        CHECK_EQUAL(conflicts, model_conflicts(&lock, owner));
        if (below(30) == 0) {
            file_locks_release(&tree, inode, &owners[owner]);
            memset(model[0][owner], 0, BYTES);
            memset(model[1][owner], 0, BYTES);
        } else if (below(3) == 0) {
            lock.releases = true;
            CHECK(!file_lock_conflict(inode, &lock));
            CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0);
            memset(bytes, 0, count);
        } else if (!conflicts) {
            CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0);
            memset(bytes, lock.exclusive ? 'w' : 'r', count);
        }
        check_list();
    }
    CHECK(pages_used <= 4); /* freed memory is reused */
}

TEST(missing_memory_is_reported_and_changes_nothing)
{
    begin();
    pages_limit = pages_used;
    struct file_lock lock = some_lock(0, false);
    unsigned set = 0;
    for (; set < 1000; set++) {
        lock.start = lock.end = set * 2;
        if (file_lock_set(&tree, inode, &lock))
            break;
    }
    CHECK_EQUAL(file_lock_set(&tree, inode, &lock), -ENOLCK);
    unsigned there = 0;
    for (const struct file_lock *at = inode->locks; at; at = at->next)
        there++;
    CHECK_EQUAL(there, set);
}

TEST(a_file_has_no_more_locks_than_all_ranks_can_wait_for)
{
    struct file_lock lock = { .owner = &owners[0], .exclusive = true };

    begin();
    for (lock.start = 0; lock.start < 3 * FILE_LOCKS_MAX; lock.start += 3) {
        lock.end = lock.start + 1;
        if (!CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0))
            return;
    }
    lock.end = lock.start;
    CHECK_EQUAL(file_lock_set(&tree, inode, &lock), -ENOLCK);
    lock.releases = true;
    lock.start = lock.end = 0;
    CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0); /* splits nothing */
    lock.start = 3;
    lock.end = 4;
    CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0);
    lock.releases = false;
    lock.start = lock.end = 10;
    CHECK_EQUAL(file_lock_set(&tree, inode, &lock), 0);
}

int main(void)
{
    RUN(random_locks_agree_with_a_model_of_bytes);
    RUN(missing_memory_is_reported_and_changes_nothing);
    RUN(a_file_has_no_more_locks_than_all_ranks_can_wait_for);
    return check_report("file_lock");
}
