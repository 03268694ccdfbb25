/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_tree.c: trees built from archives, and paths looked up in them as Linux would.
 */
#include "archive.h"
#include "check.h"
#include "lib/errno.h"
#include "fs/tree/tree.h"

#define PAGES_MAX  600
#define PAGE_BYTES 4096

static _Alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static unsigned pages_used, pages_limit;
static struct tree tree;
static struct message why;

void crosscall_serve(void) /* called by a lock; no CPU waits for one here */
{
}

static void *page_allocate(void *context)
{
    CHECK(context == &pages_used);
    return pages_used < pages_limit ? pages[pages_used++] : NULL;
}

static void begin_with(unsigned limit)
{
    memset(pages, 0x33, sizeof(pages));
    pages_used = 0;
    pages_limit = limit;
    tree = (struct tree){ .page_allocate = page_allocate, .context = &pages_used };
    archive_begin();
}

static void begin(void)
{
    begin_with(PAGES_MAX);
    CHECK_EQUAL(tree_initialise(&tree), 0);
}

static int build(void)
{
    return tree_add_archive(&tree, archive.bytes, archive.used, &why);
}

static int find_from(struct inode *directory, const char *path, bool follow, struct inode **out)
{
    struct path_lookup found;
    int error = tree_find(&tree, directory, path, follow ? TREE_FOLLOW : TREE_NO_FOLLOW, &found);

    *out = found.inode;
    return error;
}

/* Returns the inode at `path`; a failed check, and the root, if there is none. */
static struct inode *at(const char *path)
{
    struct inode *inode;
    int error = find_from(tree.root, path, true, &inode);

    if (error)
        fprintf(stderr, "    looking for %s\n", path);
    CHECK_EQUAL(error, 0);
    return inode ? inode : tree.root;
}

static int error_of(const char *path)
{
    struct inode *inode;

    return find_from(tree.root, path, true, &inode);
}

static void begin_sample(void)
{
    begin();
    archive_add(".", S_IFDIR | 0750, "");
    archive_add("./bin", S_IFDIR | 0755, "");
    archive_add("./bin/ftq", S_IFREG | 0755, "FTQ");
    archive_add("/lib/deep/down/file", S_IFREG | 0644, "x");
    archive_add("ftq", S_IFLNK | 0777, "bin/ftq");
    archive_add("usr", S_IFLNK | 0777, "/lib/deep");
    archive_add("lib/up", S_IFLNK | 0777, "../bin/");
    archive_add("lib/self", S_IFLNK | 0777, "self");
    archive_add("a", S_IFLNK | 0777, "b");
    archive_add("b", S_IFLNK | 0777, "./a");
    archive_add("chain", S_IFLNK | 0777, "usr/down");
    archive_add("dangling", S_IFLNK | 0777, "nowhere");
    archive_add("filelink", S_IFLNK | 0777, "bin/ftq/");
    archive_end();
    CHECK_EQUAL(build(), 0);
}

TEST(archive_becomes_a_tree_with_missing_parents)
{
    begin_sample();
    CHECK_EQUAL(tree.root->mode, S_IFDIR | 0750);
    CHECK_EQUAL(at("/bin/ftq")->bytes, 3);
    CHECK(memcmp(at("/bin/ftq")->data, "FTQ", 3) == 0);
    CHECK_EQUAL(at("/lib/deep")->mode, S_IFDIR | 0755);
    CHECK_EQUAL(at("/lib/deep/down/file")->bytes, 1);
    CHECK(tree_parent(&tree, at("/bin")) == tree.root);
    CHECK_EQUAL(tree.root->links, 4);
    CHECK_EQUAL(tree.inode_count, 16);
    CHECK_EQUAL(at("/bin")->modified_ns, 1700000000000000000);
}

TEST(dots_and_slashes_mean_what_they_do_in_linux)
{
    begin_sample();
    CHECK(at("//bin///ftq") == at("/bin/ftq"));
    CHECK(at("/./bin/./../bin/ftq") == at("/bin/ftq"));
    CHECK(at("/../../bin") == at("/bin"));
    CHECK(at("/") == tree.root);
    CHECK(at("bin/") == at("/bin"));
    CHECK(at(".") == tree.root);
    CHECK_EQUAL(error_of(""), -ENOENT);
    CHECK_EQUAL(error_of("/nothing"), -ENOENT);
    CHECK_EQUAL(error_of("/nothing/../bin"), -ENOENT);
    CHECK_EQUAL(error_of("/bin/ftq/"), -ENOTDIR);
    CHECK_EQUAL(error_of("/bin/ftq/x"), -ENOTDIR);
    CHECK_EQUAL(error_of("/bin/ftq/.."), -ENOTDIR);
    CHECK_EQUAL(error_of("/bin/ftq/."), -ENOTDIR);
}

TEST(relative_paths_begin_at_the_directory)
{
    struct inode *inode;

    begin_sample();
    CHECK_EQUAL(find_from(at("/lib"), "deep/down", true, &inode), 0);
    CHECK(inode == at("/lib/deep/down"));
    CHECK_EQUAL(find_from(at("/lib"), "/bin", true, &inode), 0);
    CHECK(inode == at("/bin"));
    CHECK_EQUAL(find_from(at("/bin/ftq"), "x", true, &inode), -ENOTDIR);
}

TEST(symbolic_links_are_followed)
{
    begin_sample();
    CHECK(at("/ftq") == at("/bin/ftq"));
    CHECK(at("/usr/down/file") == at("/lib/deep/down/file"));
    CHECK(at("/usr/..") == at("/lib"));
    CHECK(at("/chain/file") == at("/lib/deep/down/file"));
    CHECK(at("/lib/up/ftq") == at("/bin/ftq"));
    CHECK(at("/usr/") == at("/lib/deep"));
    CHECK_EQUAL(error_of("/dangling"), -ENOENT);
    CHECK_EQUAL(error_of("/filelink"), -ENOTDIR);
    CHECK_EQUAL(error_of("/ftq/"), -ENOTDIR);
}

TEST(last_link_is_followed_only_on_demand)
{
    struct inode *inode;

    begin_sample();
    CHECK_EQUAL(find_from(tree.root, "/usr", false, &inode), 0);
    CHECK_EQUAL(inode->mode & S_IFMT, S_IFLNK);
    CHECK_EQUAL(find_from(tree.root, "/usr/", false, &inode), 0);
    CHECK(inode == at("/lib/deep"));
    CHECK_EQUAL(find_from(tree.root, "/usr/down", false, &inode), 0);
    CHECK(inode == at("/lib/deep/down"));
    CHECK_EQUAL(find_from(tree.root, "/dangling", false, &inode), 0);
    CHECK_EQUAL(find_from(tree.root, "/lib/self", false, &inode), 0);
}

TEST(loops_of_links_end)
{
    begin_sample();
    CHECK_EQUAL(error_of("/a"), -ELOOP);
    CHECK_EQUAL(error_of("/lib/self"), -ELOOP);
    CHECK_EQUAL(error_of("/lib/self/x"), -ELOOP);
}

TEST(forty_links_are_followed_and_no_more)
{
    char name[16], target[16];

    begin();
    archive_add("l0", S_IFREG, "end");
    for (int i = 1; i <= 41; i++) {
        snprintf(name, sizeof(name), "l%d", i);
        snprintf(target, sizeof(target), "l%d", i - 1);
        archive_add(name, S_IFLNK | 0777, target);
    }
    CHECK_EQUAL(build(), 0);
    CHECK_EQUAL(error_of("/l40"), 0);
    CHECK_EQUAL(error_of("/l41"), -ELOOP);
}

TEST(the_links_of_one_lookup_are_no_longer_together_than_a_path)
{
    static char target[TREE_PATH_MAX];

    memset(target, '/', sizeof(target));
    memcpy(target + TREE_PATH_MAX / 2 - 4, "next", 5);
    begin();
    archive_add("end", S_IFDIR | 0755, "");
    archive_add("next", S_IFLNK | 0777, "//end///");
    archive_add("half", S_IFLNK | 0777, target);
    memcpy(target + TREE_PATH_MAX / 2 - 4, "half", 5);
    archive_add("whole", S_IFLNK | 0777, target);
    CHECK_EQUAL(build(), 0);
    CHECK(at("/half") == at("/end"));
    CHECK(at("/half////") == at("/end"));
    CHECK_EQUAL(error_of("/whole"), -ENAMETOOLONG);
}

TEST(too_long_components_and_paths_are_refused)
{
    static char path[TREE_PATH_MAX + 1];

    begin_sample();
    memset(path, 'n', 255);
    CHECK_EQUAL(error_of(path), -ENOENT);
    path[255] = 'n';
    CHECK_EQUAL(error_of(path), -ENAMETOOLONG);
    for (int i = 0; i < TREE_PATH_MAX; i++)
        path[i] = "./"[i % 2];
    CHECK_EQUAL(error_of(path), -ENAMETOOLONG);
    path[TREE_PATH_MAX - 1] = '\0';
    CHECK_EQUAL(error_of(path), 0);
}

TEST(later_entries_replace_earlier_ones)
{
    begin();
    archive_add("file", S_IFREG | 0644, "old");
    archive_add("dir", S_IFDIR | 0700, "");
    archive_add("dir/x", S_IFREG, "");
    archive_end();
    CHECK_EQUAL(build(), 0);
    struct inode *file = at("/file"), *dir = at("/dir");
    uint64_t inode = file->number;
    uint64_t second = archive.used;
    archive_add("file", S_IFREG | 0600, "newer");
    archive_add("dir", S_IFDIR | 0711, "");
    CHECK_EQUAL(tree_add_archive(&tree, archive.bytes + second, archive.used - second, &why), 0);
    CHECK(at("/file") == file && at("/dir") == dir);
    CHECK_EQUAL(file->bytes, 5);
    CHECK_EQUAL(file->mode, S_IFREG | 0600);
    CHECK(file->number != inode);
    CHECK_EQUAL(dir->mode, S_IFDIR | 0711);
    CHECK(at("/dir/x") != NULL);
}

TEST(file_and_directory_of_one_name_are_refused)
{
    begin();
    archive_add("x", S_IFREG, "");
    archive_add("x", S_IFDIR | 0755, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "\"x\" is there twice");
    begin();
    archive_add("x/y", S_IFREG, "");
    archive_add("x", S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
    begin();
    archive_add("x", S_IFREG, "");
    archive_add("x/y", S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "\"x\" is used as a directory");
    begin();
    archive_add("/", S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
}

TEST(parents_that_are_links_are_followed)
{
    begin();
    archive_add("usr/bin", S_IFDIR | 0755, "");
    archive_add("bin", S_IFLNK | 0777, "usr/bin");
    archive_add("bin/tool", S_IFREG | 0755, "t");
    archive_add("gone", S_IFLNK | 0777, "nowhere");
    CHECK_EQUAL(build(), 0);
    CHECK(at("/usr/bin/tool")->name->directory == at("/usr/bin"));
    archive_add("gone/tool", S_IFREG | 0755, "t");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "gone");
}

TEST(names_that_climb_or_are_too_long_are_refused)
{
    static char name[5000];

    begin();
    archive_add("x/../y", S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "\"..\"");
    begin();
    memset(name, 'n', 256);
    archive_add(name, S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "255");
    begin();
    for (int i = 0; i < 4999; i++)
        name[i] = "a/"[i % 2];
    archive_add(name, S_IFREG, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "4095");
}

TEST(unknown_file_types_are_refused)
{
    begin();
    archive_add("x", 0644, "");
    CHECK_EQUAL(build(), -EINVAL);
    CHECK_CONTAINS(why.text, "file type");
}

static void add_link(const char *name, unsigned inode, const char *text)
{
    archive.inode = inode;
    archive.links = 2;
    archive_add(name, S_IFREG | 0644, text);
    archive.links = 1;
}

TEST(hard_links_share_inode_and_data_wherever_it_stands)
{
    begin();
    add_link("a", 7, "");
    add_link("b", 7, "data");
    add_link("c", 7, "");
    add_link("other", 8, "");
    archive_end();
    add_link("next_archive", 7, "");
    CHECK_EQUAL(build(), 0);
    CHECK(at("/a")->data == at("/b")->data && at("/c")->data == at("/b")->data);
    CHECK_EQUAL(at("/a")->bytes, 4);
    CHECK_EQUAL(at("/a")->links, 3);
    CHECK(at("/a") == at("/b") && at("/c") == at("/b"));
    CHECK(at("/other")->number != at("/a")->number);
    CHECK_EQUAL(at("/other")->bytes, 0);
    CHECK(at("/next_archive")->number != at("/a")->number);
    CHECK_EQUAL(at("/next_archive")->bytes, 0);
}

TEST(replaced_hard_link_leaves_its_file)
{
    begin();
    add_link("a", 7, "");
    add_link("b", 7, "");
    archive_add("a", S_IFREG | 0644, "own");
    add_link("c", 7, "data");
    CHECK_EQUAL(build(), 0);
    CHECK_EQUAL(at("/a")->bytes, 3);
    CHECK_EQUAL(at("/b")->bytes, 4);
    CHECK(at("/a")->number != at("/b")->number);
}

TEST(devices_and_single_files_are_added_by_path)
{
    begin();
    struct inode *null = tree_add(&tree, "/dev/null", S_IFCHR | 0666, NULL, 0, &why);
    if (!CHECK(null != NULL))
        return;
    null->device = 3;
    CHECK(at("/dev/null") == null);
    CHECK(tree_add(&tree, "/app", S_IFREG | 0755, "program", 7, &why) == at("/app"));
    CHECK(tree_add(&tree, "app", S_IFREG | 0755, "program", 7, &why) == NULL);
    CHECK_CONTAINS(why.text, "absolute");
    CHECK(tree_add(&tree, "/dev", S_IFREG | 0755, "", 0, &why) == NULL);
    CHECK(tree_add(&tree, "/", S_IFDIR | 0700, NULL, 0, &why) == tree.root);
}

/* Its data would be taken for a ring of bytes. */
TEST(a_fifo_of_an_archive_has_no_data)
{
    begin();
    const struct inode *fifo = tree_add(&tree, "/fifo", S_IFIFO | 0600, "data", 4, &why);
    CHECK(fifo && !fifo->data && fifo->bytes == 0 && fifo->device);
}

TEST(missing_memory_is_reported)
{
    char name[16];

    for (unsigned limit = 2; limit < 8; limit++) {
        begin_with(limit);
        CHECK_EQUAL(tree_initialise(&tree), 0);
        for (unsigned i = 0; i < 200; i++) {
            snprintf(name, sizeof(name), "x%u/f", i);
            archive_add(name, S_IFREG, "");
        }
        CHECK_EQUAL(build(), -ENOMEM);
        CHECK_CONTAINS(why.text, "no memory");
        CHECK_EQUAL(pages_used, limit);
    }
    begin_with(0);
    CHECK_EQUAL(tree_initialise(&tree), -ENOMEM);
}

TEST(an_entry_costs_no_more_than_it_may)
{
    char name[16];

    begin();
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        archive_add(name, S_IFREG, "");
    }
    CHECK_EQUAL(build(), 0);
    CHECK(pages_used * PAGE_BYTES <= 3001 * TREE_ENTRY_BYTES_MAX + 2 * PAGE_BYTES);
}

TEST(paths_are_written_or_do_not_fit)
{
    char path[32];

    begin_sample();
    CHECK_EQUAL(tree_path(&tree, at("/usr/down/file"), path, sizeof(path)), 19);
    CHECK_TEXT(path, "/lib/deep/down/file");
    CHECK_EQUAL(tree_path(&tree, tree.root, path, 2), 1);
    CHECK_TEXT(path, "/");
    CHECK_EQUAL(tree_path(&tree, tree.root, path, 1), -ERANGE);
    CHECK_EQUAL(tree_path(&tree, at("/bin"), path, 5), 4);
    CHECK_EQUAL(tree_path(&tree, at("/bin"), path, 4), -ERANGE);
    CHECK_EQUAL(tree_path(&tree, at("/bin"), path, 0), -ERANGE);
}

/* ---- Changes, compared with a model: a slot for each path of a small set ---- */

#define NAMES 4 /* "a" …, in the root and in each of its directories */
#define SLOTS (NAMES + NAMES * NAMES)

static struct {
    enum { NOTHING, A_FILE, A_DIRECTORY } kind;
    unsigned file; /* the same for all names of one file */
} model[SLOTS];
static uint64_t seed = 9;

static unsigned below(unsigned limit)
{
    return (unsigned)(check_random(&seed) % limit);
}

static const char *path_of(unsigned slot)
{
    static char paths[2][8];
    static unsigned which;
    char *path = paths[which++ % 2];

    if (slot < NAMES)
        snprintf(path, sizeof(paths[0]), "/%c", 'a' + slot);
    else
        snprintf(path, sizeof(paths[0]), "/%c/%c", 'a' + (slot - NAMES) / NAMES,
                 'a' + (slot - NAMES) % NAMES);
    return path;
}

static unsigned parent_of(unsigned slot)
{
    return slot < NAMES ? SLOTS : (slot - NAMES) / NAMES;
}

static bool is_empty(unsigned slot)
{
    for (unsigned i = 0; i < NAMES && slot < NAMES; i++)
        if (model[NAMES + slot * NAMES + i].kind != NOTHING)
            return false;
    return true;
}

static unsigned names_of(unsigned file)
{
    unsigned names = 0;

    for (unsigned i = 0; i < SLOTS; i++)
        names += model[i].kind == A_FILE && model[i].file == file;
    return names;
}

/* Returns the result that tree_find must have for a slot's path; 0 also if only the last part is missing. */
static int expected_lookup(unsigned slot)
{
    unsigned parent = parent_of(slot);

    if (parent == SLOTS || model[parent].kind == A_DIRECTORY)
        return 0;
    return model[parent].kind == NOTHING ? -ENOENT : -ENOTDIR;
}

static int expected_rename(unsigned from, unsigned to)
{
    bool from_dir = model[from].kind == A_DIRECTORY, to_dir = model[to].kind == A_DIRECTORY;

    if (from_dir && parent_of(to) == from)
        return -EINVAL;
    if (to_dir && parent_of(from) == to)
        return -ENOTEMPTY;
    if (from == to || model[to].kind == NOTHING ||
        (!from_dir && !to_dir && model[from].file == model[to].file))
        return 0;
    if (from_dir != to_dir)
        return from_dir ? -ENOTDIR : -EISDIR;
    return to_dir && !is_empty(to) ? -ENOTEMPTY : 0;
}

static void model_rename(unsigned from, unsigned to)
{
    if (from == to ||
        (model[from].kind == A_FILE && model[to].kind == A_FILE && model[from].file == model[to].file))
        return;
    model[to] = model[from];
    model[from].kind = NOTHING;
    for (unsigned i = 0; i < NAMES && from < NAMES; i++) {
        unsigned inner = NAMES + from * NAMES + i;

        if (to < NAMES)
            model[NAMES + to * NAMES + i] = model[inner];
        model[inner].kind = NOTHING;
    }
}

static void check_model(void)
{
    struct inode *inode, *by_file[SLOTS] = { NULL };
    uint64_t count = 1;

    for (unsigned i = 0; i < SLOTS; i++) {
        int error = find_from(tree.root, path_of(i), true, &inode), way = expected_lookup(i);

        CHECK_EQUAL(error, way ? way : model[i].kind == NOTHING ? -ENOENT : 0);
        if (error)
            continue;
        CHECK_EQUAL(mode_is(inode->mode, S_IFDIR), model[i].kind == A_DIRECTORY);
        if (model[i].kind == A_FILE) {
            CHECK_EQUAL(inode->links, names_of(model[i].file));
            CHECK_EQUAL(inode->device, model[i].file);
            for (unsigned j = 0; j < i; j++)
                CHECK(!by_file[j] || (by_file[j] == inode) == (model[j].file == model[i].file));
            by_file[i] = inode;
        }
        bool counted = false;
        for (unsigned j = 0; j < i; j++)
            counted |= by_file[j] == inode;
        count += !counted;
    }
    CHECK_EQUAL(tree.inode_count, count);
}

static void make_one(unsigned slot, unsigned *files, int way)
{
    struct path_lookup found;
    struct inode *inode = NULL;
    bool dir = slot < NAMES && below(2); /* directories only where the model has slots for their entries */
    int error = tree_find(&tree, tree.root, path_of(slot), TREE_NAME, &found);

    if (error && !found.directory) {
        CHECK_EQUAL(error, way);
        return;
    }
    CHECK_EQUAL(way, 0);
    error = tree_create(&tree, &found, dir ? S_IFDIR | 0755 : S_IFREG | 0644, NULL, 0, 1, &inode);
    CHECK_EQUAL(error, model[slot].kind ? -EEXIST : 0);
    if (error)
        return;
    model[slot].kind = dir ? A_DIRECTORY : A_FILE;
    model[slot].file = dir ? 0 : ++*files;
    inode->device = model[slot].file;
}

static void remove_one(unsigned slot, bool dir)
{
    struct path_lookup found;

    if (tree_find(&tree, tree.root, path_of(slot), TREE_NAME, &found))
        return;
    int error = tree_remove(&tree, &found, dir, 1);
    bool is_dir = model[slot].kind == A_DIRECTORY;
    CHECK_EQUAL(error, dir && !is_dir           ? -ENOTDIR
                       : !dir && is_dir         ? -EISDIR
                       : dir && !is_empty(slot) ? -ENOTEMPTY
                                                : 0);
    if (!error)
        model[slot].kind = NOTHING;
}

static void link_or_rename_one(unsigned from, unsigned to, bool move)
{
    struct path_lookup source, target;
    int error;

    if (tree_find(&tree, tree.root, path_of(from), TREE_NAME, &source))
        return;
    error = tree_find(&tree, tree.root, path_of(to), TREE_NAME, &target);
    if (error && !target.directory)
        return;
    if (move && model[from].kind == A_DIRECTORY && to >= NAMES && expected_rename(from, to) == 0)
        return; /* the model has no slots for its entries */
    error =
        move ? tree_rename(&tree, &source, &target, false, 1) : tree_link(&tree, source.inode, &target, 1);
    if (move)
        CHECK_EQUAL(error, expected_rename(from, to));
    else
        CHECK_EQUAL(error, model[from].kind == A_DIRECTORY ? -EPERM : model[to].kind ? -EEXIST : 0);
    if (!error && move)
        model_rename(from, to);
    else if (!error)
        model[to] = model[from];
}

TEST(random_changes_agree_with_a_model)
{
    unsigned files = 0;

    begin();
    tree.root->writable = true;
    memset(model, 0, sizeof(model));
    for (unsigned round = 0; round < 30000; round++) {
        unsigned slot = below(SLOTS), other = below(SLOTS);

        switch (below(6)) {
        case 0:
        case 1:
            make_one(slot, &files, expected_lookup(slot));
            break;
        case 2:
            remove_one(slot, false);
            break;
        case 3:
            remove_one(slot, true);
            break;
        default:
            link_or_rename_one(slot, other, below(2));
        }
        check_model();
    }
    CHECK(pages_used <= 4); /* the memory of what is removed is reused */
}

/* Makes, or removes, the file of that number in the root. */
static void numbered(unsigned number, bool make)
{
    struct path_lookup found;
    struct inode *inode;
    char name[16];

    snprintf(name, sizeof(name), "f%05u", number);
    int error = tree_find(&tree, tree.root, name, TREE_NAME, &found);
    CHECK_EQUAL(error, make ? -ENOENT : 0);
    if (make)
        CHECK_EQUAL(tree_create(&tree, &found, S_IFREG, NULL, 0, 1, &inode), 0);
    else
        CHECK_EQUAL(tree_remove(&tree, &found, false, 1), 0);
}

/* Names come in their own order, the worst for a tree that does not balance itself. */
TEST(a_directory_stays_shallow_whatever_its_names_and_their_order)
{
    enum { FILES = 6000, DEPTH_MAX = 18 }; /* log2(6000) is 13 */
    uint64_t position = 0;
    unsigned seen = 0;

    begin();
    tree.root->writable = true;
    for (unsigned i = 0; i < FILES; i++)
        numbered(i, true);
    CHECK(tree.root->entries->height <= DEPTH_MAX);
    for (unsigned i = 0; i < FILES; i += 2)
        numbered(i, false);
    for (struct directory_entry *entry; (entry = tree_entry_at(tree.root, position)) != NULL; seen++)
        position = entry->node.key + 1;
    CHECK_EQUAL(seen, FILES / 2);
    for (unsigned i = 1; i < FILES; i += 2)
        numbered(i, false);
    CHECK(!tree.root->entries);
}

static unsigned number_at(uint64_t position)
{
    const struct directory_entry *entry = tree_entry_at(tree.root, position);

    return entry ? (unsigned)strtoul(entry->name + 1, NULL, 10) : 1;
}

TEST(reading_a_directory_meets_what_stays_in_it_once)
{
    unsigned met[2000] = { 0 };
    uint64_t position = 0;

    begin();
    tree.root->writable = true;
    for (unsigned i = 0; i < 100; i++)
        numbered(i, true);
    for (struct directory_entry *entry; (entry = tree_entry_at(tree.root, position)) != NULL;) {
        unsigned number = number_at(position);

        met[number]++;
        position = entry->node.key + 1;
        if (number_at(position) % 2 == 0)
            numbered(number_at(position), false); /* what comes next */
        if (number < 50)
            numbered(1001 + 2 * number, true);
    }
    for (unsigned i = 0; i < 2000; i++)
        CHECK(i % 2 && i < 100 ? met[i] == 1 : met[i] <= 1);
}

TEST(what_is_open_lives_on_without_a_name)
{
    struct path_lookup found;
    struct inode *inode;

    begin();
    tree.root->writable = true;
    CHECK_EQUAL(tree_find(&tree, tree.root, "/x", TREE_NAME, &found), -ENOENT);
    CHECK_EQUAL(tree_create(&tree, &found, S_IFDIR | 0755, NULL, 0, 1, &inode), 0);
    inode_get(inode);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/x", TREE_NAME, &found), 0);
    CHECK_EQUAL(tree_remove(&tree, &found, true, 1), 0);
    CHECK_EQUAL(tree.inode_count, 2);
    CHECK_EQUAL(tree_find(&tree, inode, "inner", TREE_NAME, &found), -ENOENT);
    CHECK_EQUAL(tree_create(&tree, &found, S_IFDIR | 0755, NULL, 0, 1, &inode), -ENOENT);
    CHECK_EQUAL(tree_find(&tree, inode, "..", TREE_FOLLOW, &found), -ENOENT);
    char path[8];
    CHECK_EQUAL(tree_path(&tree, inode, path, sizeof(path)), -ENOENT);
    inode_put(&tree, inode);
    CHECK_EQUAL(tree.inode_count, 1);
}

TEST(what_is_read_only_stays)
{
    struct path_lookup found, other;
    struct inode *inode;

    begin_sample();
    CHECK_EQUAL(tree_find(&tree, tree.root, "/bin/new", TREE_NAME, &found), -ENOENT);
    CHECK_EQUAL(tree_create(&tree, &found, S_IFREG | 0644, NULL, 0, 1, &inode), -EROFS);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/bin/ftq", TREE_NAME, &other), 0);
    CHECK_EQUAL(tree_remove(&tree, &other, false, 1), -EROFS);
    CHECK_EQUAL(tree_rename(&tree, &other, &found, false, 1), -EROFS);
    CHECK_EQUAL(tree_link(&tree, other.inode, &found, 1), -EROFS);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/lib/deep", TREE_NAME, &other), 0);
    CHECK_EQUAL(tree_remove(&tree, &other, true, 1), -EROFS);
    CHECK_EQUAL(tree_remove(&tree, &other, false, 1), -EROFS);
}

/* Makes a file or directory at a path whose directory is writable. */
static struct inode *made(const char *path, uint32_t mode)
{
    struct inode *inode = NULL;
    struct path_lookup found;

    CHECK_EQUAL(tree_find(&tree, tree.root, path, TREE_NAME, &found), -ENOENT);
    CHECK_EQUAL(tree_create(&tree, &found, mode, NULL, 0, 1, &inode), 0);
    return inode;
}

static int exchanged(const char *one, const char *other)
{
    struct path_lookup a, b;

    CHECK_EQUAL(tree_find(&tree, tree.root, one, TREE_NAME, &a), 0);
    CHECK_EQUAL(tree_find(&tree, tree.root, other, TREE_NAME, &b), 0);
    return tree_exchange(&tree, &a, &b, 2);
}

static struct inode *named(const char *path)
{
    struct path_lookup found;

    return tree_find(&tree, tree.root, path, TREE_NO_FOLLOW, &found) ? NULL : found.inode;
}

TEST(two_names_change_what_they_name)
{
    char path[16];

    begin();
    tree.root->writable = true;
    struct inode *a = made("/a", S_IFDIR | 0755), *inner = made("/a/inner", S_IFDIR | 0755);
    struct inode *b = made("/b", S_IFDIR | 0755), *file = made("/b/file", S_IFREG | 0644);

    CHECK_EQUAL(exchanged("/a/inner", "/b/file"), 0);
    CHECK(named("/a/inner") == file && named("/b/file") == inner && named("/b/file/..") == b);
    CHECK_EQUAL(a->links, 2);
    CHECK_EQUAL(b->links, 3);
    CHECK(tree_path(&tree, inner, path, sizeof(path)) == 7 && !memcmp(path, "/b/file", 8));
    CHECK_EQUAL(exchanged("/a", "/b"), 0);
    CHECK(named("/a") == b && named("/b") == a && named("/b/inner") == file);
    CHECK_EQUAL(tree.root->links, 4);
    CHECK_EQUAL(exchanged("/b/inner", "/b/inner"), 0);
    CHECK_EQUAL(exchanged("/a", "/a/file"), -EINVAL);
    CHECK_EQUAL(exchanged("/a/file", "/a"), -EINVAL);
    CHECK_EQUAL(exchanged("/b/inner/", "/a"), -ENOTDIR);
    CHECK_EQUAL(exchanged("/a/.", "/b"), -EBUSY);
}

TEST(names_do_not_cross_file_systems)
{
    struct path_lookup from, to;

    begin();
    tree.root->writable = true;
    made("/a", S_IFDIR | 0755)->filesystem = 1;
    made("/b", S_IFDIR | 0755)->filesystem = 2;
    CHECK_EQUAL(made("/a/file", S_IFREG | 0644)->filesystem, 1);
    CHECK_EQUAL(made("/b/file", S_IFREG | 0644)->filesystem, 2);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/a/file", TREE_NAME, &from), 0);
    CHECK_EQUAL(tree_find(&tree, tree.root, "/b/new", TREE_NAME, &to), -ENOENT);
    CHECK_EQUAL(tree_link(&tree, from.inode, &to, 1), -EXDEV);
    CHECK_EQUAL(tree_rename(&tree, &from, &to, false, 1), -EXDEV);
    CHECK_EQUAL(exchanged("/a/file", "/b/file"), -EXDEV);
}

static struct inode *follow_target;
static uint32_t follow_tid;
static int follow_error;

static int follow_link(const struct inode *link, struct inode **target, uint32_t *tid)
{
    CHECK_EQUAL(link->device, 7);
    *tid = follow_tid;
    if (!follow_error)
        *target = follow_target;
    return follow_error;
}

TEST(links_with_operations_lead_where_these_say)
{
    static const struct inode_operations operations = { .follow = follow_link };
    struct path_lookup found;

    begin();
    tree.root->writable = true;
    struct inode *directory = made("/directory", S_IFDIR | 0755), *link = made("/link", S_IFLNK | 0700);
    made("/directory/file", S_IFREG | 0644);
    link->device = 7;
    link->operations = &operations;
    follow_error = 0;
    follow_target = directory;
    CHECK(named("/link") == link && named("/link/") == directory &&
          named("/link/file") == named("/directory/file"));
    CHECK_EQUAL(tree_find(&tree, tree.root, "/link", TREE_FOLLOW, &found), 0);
    CHECK(found.inode == directory && tree_entry_visible(link->name));
    follow_error = -ENXIO; /* it exists, but leads nowhere */
    CHECK_EQUAL(tree_find(&tree, tree.root, "/link", TREE_FOLLOW, &found), -ENXIO);
    CHECK(named("/link") == link && tree_entry_visible(link->name));
    follow_error = -ENOENT; /* it does not exist */
    CHECK(!named("/link") && !tree_entry_visible(link->name));
    CHECK_EQUAL(tree_find(&tree, tree.root, "/link", TREE_NAME, &found), -ENOENT);
    CHECK(found.directory == tree.root && !found.inode);
}

static struct directory_entry *thread_entry;

/* Finds a thread by its number as text, 1 to 9. */
static struct directory_entry *thread_by_name(const struct inode *directory, const char *name,
                                              size_t name_bytes, uint32_t *tid)
{
    (void)directory;
    if (name_bytes != 1 || *name < '1' || *name > '9')
        return NULL;
    *tid = (uint32_t)(*name - '0');
    return thread_entry;
}

/* Returns the thread whose file a path leads to; -1 if there is none. */
static int thread_of(struct inode *directory, uint32_t tid, const char *path)
{
    struct path_lookup found;
    char text[TREE_PATH_MAX];

    snprintf(text, sizeof(text), "%s", path);
    return tree_find_from(&tree, directory, tid, text, TREE_FOLLOW, &found) ? -1 : (int)found.tid;
}

TEST(a_lookup_says_whose_directory_of_a_thread_it_has_gone_through)
{
    static const struct inode_operations threads = { .find_numbered = thread_by_name },
                                         own = { .follow = follow_link };

    begin();
    tree.root->writable = true;
    struct inode *tasks = made("/tasks", S_IFDIR | 0755), *task = made("/task", S_IFDIR | 0755);
    struct inode *file = made("/task/file", S_IFREG | 0444), *link = made("/own", S_IFLNK | 0700);
    made("/tasks/file", S_IFREG | 0444);
    made("/task/inner", S_IFDIR | 0755);
    made("/task/inner/file", S_IFREG | 0444);
    tasks->operations = &threads;
    thread_entry = task->name;
    thread_entry->directory = tasks; /* that is where ".." leads */
    link->device = 7;
    link->operations = &own;
    follow_error = 0;
    follow_target = task;
    follow_tid = 4;
    CHECK(named("/tasks/3") == task && named("/tasks/3/file") == file && named("/tasks/file") != file);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3"), 3);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/./file"), 3);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/../5/file"), 5);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/.."), 0);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/inner/file"), 3);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/inner/.."), 3);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3/inner/../.."), 0);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/file"), 0);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/10/file"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/0"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/00"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/03"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/3x"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/tasks/4294967299"), -1);
    CHECK_EQUAL(thread_of(tree.root, 0, "/own/file"), 4);
    CHECK_EQUAL(thread_of(task, 6, "file"), 6);
    CHECK_EQUAL(thread_of(task, 6, "."), 6);
    CHECK_EQUAL(thread_of(task, 6, "../7/file"), 7);
    CHECK_EQUAL(thread_of(task, 6, "/task/file"), 0);
    CHECK_EQUAL(thread_of(tasks, 0, "8/file"), 8);
    follow_tid = 0;
}

int main(void)
{
    RUN(archive_becomes_a_tree_with_missing_parents);
    RUN(dots_and_slashes_mean_what_they_do_in_linux);
    RUN(relative_paths_begin_at_the_directory);
    RUN(symbolic_links_are_followed);
    RUN(last_link_is_followed_only_on_demand);
    RUN(loops_of_links_end);
    RUN(forty_links_are_followed_and_no_more);
    RUN(the_links_of_one_lookup_are_no_longer_together_than_a_path);
    RUN(too_long_components_and_paths_are_refused);
    RUN(later_entries_replace_earlier_ones);
    RUN(file_and_directory_of_one_name_are_refused);
    RUN(parents_that_are_links_are_followed);
    RUN(names_that_climb_or_are_too_long_are_refused);
    RUN(unknown_file_types_are_refused);
    RUN(hard_links_share_inode_and_data_wherever_it_stands);
    RUN(replaced_hard_link_leaves_its_file);
    RUN(devices_and_single_files_are_added_by_path);
    RUN(a_fifo_of_an_archive_has_no_data);
    RUN(missing_memory_is_reported);
    RUN(an_entry_costs_no_more_than_it_may);
    RUN(paths_are_written_or_do_not_fit);
    RUN(random_changes_agree_with_a_model);
    RUN(a_directory_stays_shallow_whatever_its_names_and_their_order);
    RUN(reading_a_directory_meets_what_stays_in_it_once);
    RUN(what_is_open_lives_on_without_a_name);
    RUN(what_is_read_only_stays);
    RUN(two_names_change_what_they_name);
    RUN(names_do_not_cross_file_systems);
    RUN(links_with_operations_lead_where_these_say);
    RUN(a_lookup_says_whose_directory_of_a_thread_it_has_gone_through);
    return check_report("tree");
}
