/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mount.c: where lookups leave the tree for a mount, with which rest of the path, and how they come
 * back: the tree with a keeper that only writes down what it is asked.
 */
#include "check.h"
#include "fs/mount.h"
#include "lib/errno.h"

#define PAGES_MAX  64
#define PAGE_BYTES 4096

static _Alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static unsigned pages_used, closed;
static struct tree tree;
static struct message why;
static char asked[TREE_PATH_MAX], answer[TREE_PATH_MAX]; /* the last path; where it leads out, or "" */
static unsigned asks, leads_out;                         /* number of next calls that do so */
static struct mount_file opened;

void crosscall_serve(void) /* called by a lock; no CPU waits for one here */
{
}

static void *page_allocate(void *context)
{
    (void)context; /* one tree */
    return pages_used < PAGES_MAX ? pages[pages_used++] : NULL;
}

static int keeper_open(struct mount_call *call, unsigned flags, uint32_t mode, struct mount_file **file)
{
    (void)flags, (void)mode;
    asks++;
    strcpy(asked, call->path);
    if (leads_out) {
        leads_out--;
        strcpy(call->left, answer);
        return MOUNT_LEFT;
    }
    opened = (struct mount_file){ call->mount, S_IFDIR | 0755 };
    *file = &opened;
    return 0;
}

static int64_t keeper_path(const struct mount_file *file, char *text, uint64_t bytes)
{
    CHECK(file == &opened);
    return snprintf(text, bytes, "%s", answer) < (int)bytes ? (int64_t)strlen(answer) : -ERANGE;
}

static void keeper_close(struct mount_file *file)
{
    CHECK(file == &opened);
    closed++;
}

static const struct mount_operations operations = { .open = keeper_open,
                                                    .path = keeper_path,
                                                    .close = keeper_close };
/* The table of mounts is for a node's life, so these are, too. */
static struct mount home = { .operations = &operations, .place = "/a/home", .source = "here" };

static struct inode *added(const char *path, uint32_t mode, const char *target)
{
    struct inode *inode = tree_add(&tree, path, mode, target, target ? strlen(target) : 0, &why);

    CHECK(inode != NULL);
    return inode;
}

static void begin(void)
{
    if (tree.root)
        return;
    tree = (struct tree){ .page_allocate = page_allocate };
    CHECK_EQUAL(tree_initialise(&tree), 0);
    added("/a/file", S_IFREG | 0644, "x");
    added("/a/home/hidden", S_IFREG | 0644, "x");
    added("/link", S_IFLNK | 0777, "/a/home/one//two");
    added("/relative", S_IFLNK | 0777, "a/home/");
    added("/chain", S_IFLNK | 0777, "relative/three/");
    CHECK_EQUAL(mount_add(&tree, &home, &why), 0);
}

/* Looks a path up from a directory; the rest of the path is in `rest`. */
static char rest[TREE_PATH_MAX];
static struct path_lookup found;

static int find(struct inode *directory, const char *path, enum tree_follow follow)
{
    snprintf(rest, sizeof(rest), "%s", path);
    return tree_find_from(&tree, directory, 0, rest, follow, &found);
}

static void expect_left(const char *path, const char *expected, unsigned followed)
{
    CHECK_EQUAL(find(tree.root, path, TREE_FOLLOW), TREE_LEFT);
    CHECK(found.inode == home.point);
    CHECK_TEXT(rest, expected);
    CHECK_EQUAL(found.followed, followed);
}

TEST(a_path_leaves_the_tree_at_a_mount_point_with_what_follows_it)
{
    begin();
    expect_left("/a/home", "", 0);
    expect_left("/a/home/", "", 0);
    CHECK(found.trailing_slash);
    expect_left("a/./home//x/../y/", "x/../y/", 0);
    expect_left("/a/../a/home/..", "..", 0);
    CHECK_EQUAL(find(tree.root, "/a/file", TREE_FOLLOW), 0);
}

TEST(links_of_the_tree_lead_to_a_mount_with_their_rest_before_the_path_s)
{
    begin();
    expect_left("/link", "one//two", 1);
    expect_left("/link/three", "one//two/three", 1);
    expect_left("/relative/x", "x", 1);
    expect_left("/chain/x/y", "three//x/y", 2);
    expect_left("/link/", "one//two//", 1);
    CHECK_EQUAL(find(tree.root, "/link", TREE_NO_FOLLOW), 0);
    CHECK(mode_is(found.inode->mode, S_IFLNK));
}

TEST(a_rest_that_is_too_long_is_refused)
{
    char path[TREE_PATH_MAX];

    begin();
    memset(path, 'x', sizeof(path));
    memcpy(path, "/link/", 6);
    path[sizeof(path) - 1] = '\0';
    CHECK_EQUAL(find(tree.root, path, TREE_FOLLOW), -ENAMETOOLONG);
}

TEST(the_name_of_a_mount_point_is_the_tree_s_and_cannot_be_removed_or_renamed)
{
    struct path_lookup to;

    begin();
    CHECK_EQUAL(find(tree.root, "/a/home", TREE_NAME), 0);
    CHECK(found.inode == home.point);
    CHECK_EQUAL(tree_remove(&tree, &found, true, 1), -EBUSY);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/a/other", TREE_NAME, &to), -ENOENT);
    CHECK_EQUAL(tree_rename(&tree, &found, &to, false, 1), -EBUSY);
    CHECK_EQUAL(find(tree.root, "/a/home/new", TREE_NAME), TREE_LEFT);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/a/home/hidden", TREE_FOLLOW, &to), -EXDEV);
}

TEST(what_is_open_on_a_mount_is_where_paths_start_and_is_closed_with_its_last_reference)
{
    char text[64];
    unsigned before = closed;

    begin();
    opened = (struct mount_file){ &home, S_IFDIR | 0755 };
    struct inode *inode = mount_inode_create(&tree, &opened);
    CHECK_EQUAL(find(inode, "../x", TREE_FOLLOW), TREE_LEFT);
    CHECK(found.inode == inode);
    CHECK_TEXT(rest, "../x");
    CHECK_EQUAL(find(inode, "/a/file", TREE_FOLLOW), 0);
    strcpy(answer, "/below");
    CHECK_EQUAL(mount_path(&tree, inode, text, sizeof(text)), 13);
    CHECK_TEXT(text, "/a/home/below");
    CHECK_EQUAL(mount_path(&tree, inode, text, 10), -ERANGE);
    strcpy(answer, "/");
    CHECK_EQUAL(mount_path(&tree, inode, text, sizeof(text)), 7);
    CHECK_TEXT(text, "/a/home");
    inode_get(inode);
    inode_drop(&tree, inode);
    CHECK_EQUAL(closed, before);
    inode_drop(&tree, inode);
    CHECK_EQUAL(closed, before + 1);
}

TEST(what_leads_out_of_a_mount_goes_on_in_the_tree_and_does_not_go_on_for_ever)
{
    struct inode *inode;

    begin();
    leads_out = 1;
    strcpy(answer, "file"); /* ".." of the mount point: /a */
    CHECK_EQUAL(mount_lookup(&tree, "/link/x", 0, &inode), 0);
    CHECK_TEXT(asked, "one//two/x");
    CHECK(mode_is(inode->mode, S_IFREG) && !inode->mount);
    leads_out = 1;
    strcpy(answer, "/relative/again");
    CHECK_EQUAL(mount_lookup(&tree, "/a/home/x", 0, &inode), 0);
    CHECK_TEXT(asked, "again");
    CHECK(inode->mount == &home);
    inode_drop(&tree, inode);
    leads_out = 1000;
    asks = 0;
    CHECK_EQUAL(mount_lookup(&tree, "/a/home/x", 0, &inode), -ELOOP);
    CHECK(asks <= TREE_SYMLINKS_MAX + 2);
    leads_out = 0;
}

TEST(a_mount_point_is_one_directory_and_none_is_below_another)
{
    static struct mount other = { .operations = &operations, .source = "there" };
    static const struct {
        const char *place;
        int error;
    } cases[] = { { "a", -EINVAL },       { "/", -EINVAL },         { "/a/file", -EINVAL },
                  { "/a/home", -EEXIST }, { "/a/home/x", -EEXIST }, { "/a/file/x", -EINVAL } };

    begin();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strcpy(other.place, cases[i].place);
        CHECK_EQUAL(mount_add(&tree, &other, &why), cases[i].error);
    }
    CHECK(mount_at(1) == NULL);
    strcpy(other.place, "/new/place");
    CHECK_EQUAL(mount_add(&tree, &other, &why), 0);
    CHECK(mount_at(1) == &other && other.point->filesystem == home.point->filesystem + 1);
}

int main(void)
{
    RUN(a_path_leaves_the_tree_at_a_mount_point_with_what_follows_it);
    RUN(links_of_the_tree_lead_to_a_mount_with_their_rest_before_the_path_s);
    RUN(a_rest_that_is_too_long_is_refused);
    RUN(the_name_of_a_mount_point_is_the_tree_s_and_cannot_be_removed_or_renamed);
    RUN(what_is_open_on_a_mount_is_where_paths_start_and_is_closed_with_its_last_reference);
    RUN(what_leads_out_of_a_mount_goes_on_in_the_tree_and_does_not_go_on_for_ever);
    RUN(a_mount_point_is_one_directory_and_none_is_below_another);
    return check_report("mount");
}
