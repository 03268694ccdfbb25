/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ninep_mount.c: paths on a mount, as a real diod serves it: links and "..", where they leave, what each
 * call answers.
 */
#include "ninep_mounted.h"
#include <sys/stat.h>

#define O_PATH_FLAG 010000000

static char left[TREE_PATH_MAX];

static struct mount_call call_of(const char *path)
{
    left[0] = '\0';
    return (struct mount_call){ .mount = &mount->mount, .path = path, .left = left };
}

static void shell(const char *text)
{
    char command[512];

    snprintf(command, sizeof(command), "cd %s && %s", diod_export, text);
    CHECK_EQUAL(system(command), 0);
}

/* Returns the number of what a path names, or an error. */
static int64_t number_of(const char *path, bool follow)
{
    struct mount_call call = call_of(path);
    struct mount_status status;
    int error = ninep_operations.status(&call, follow, &status);

    return error ? error : (int64_t)status.number;
}

static int64_t host_number(const char *path)
{
    char name[256];
    struct stat status;

    snprintf(name, sizeof(name), "%s/%s", diod_export, path);
    return lstat(name, &status) ? -errno : (int64_t)status.st_ino;
}

TEST(a_path_leads_where_it_leads_on_linux)
{
    if (!mount_begin(5000000000))
        return;
    shell("mkdir -p a/b/c/d e && echo text > a/b/file && ln -s ../e a/to_e && ln -s b/c a/to_c && "
          "ln -s file a/b/link && ln -s loop loop && ln -s to_e/ a/slash && echo x > e/f && "
          "mkdir -p l/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20 && ln -s a/b/c/../../to_e/. far && "
          "ln -s a/b/file/ notdir");
    static const struct {
        const char *path, *same;
        bool follow;
    } same[] = {
        { "", "", true },
        { "a", "a", true },
        { "a//b/./file", "a/b/file", true },
        { "a/b/../b/c/../file", "a/b/file", true },
        { "a/b/link", "a/b/link", false },
        { "a/b/link", "a/b/file", true },
        { "a/to_e", "a/to_e", false },
        { "a/to_e/", "e", false },
        { "a/to_e/f", "e/f", true },
        { "a/to_c/../file", "a/b/file", true },
        { "a/slash", "e", true },
        { "far/f", "e/f", true },
        { "l/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20",
          "l/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20", true },
        { "l/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/..",
          "l/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19", true },
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        if (!CHECK_EQUAL(number_of(same[i].path, same[i].follow), host_number(same[i].same)))
            fprintf(stderr, "  %s\n", same[i].path);
    static const struct {
        const char *path;
        int error;
    } errors[] = {
        { "none", -ENOENT },       { "a/none", -ENOENT },      { "a/none/more", -ENOENT },
        { "a/b/file/", -ENOTDIR }, { "a/b/file/x", -ENOTDIR }, { "a/b/file/..", -ENOTDIR },
        { "loop", -ELOOP },        { "loop/x", -ELOOP },       { "a/none/..", -ENOENT },
        { "notdir", -ENOTDIR },    { "a/b/link/", -ENOTDIR },
    };
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (!CHECK_EQUAL(number_of(errors[i].path, true), errors[i].error))
            fprintf(stderr, "  %s\n", errors[i].path);
    char longest[300] = "a/";
    memset(longest + 2, 'x', 256);
    CHECK_EQUAL(number_of(longest, true), -ENAMETOOLONG);
    mount_end();
}

TEST(what_leads_out_says_where_to_go_on)
{
    static const struct {
        const char *path, *left;
    } table[] = {
        { "..", "." },
        { "../x/y", "x/y" },
        { "a/../..", "." },
        { "a/../../x/", "x/" },
        { "a/out/more", "/tmp/there/more" },
        { "a/out", "/tmp/there" },
        { "a/up/more", "up/more" },
        { "a/b/../out/../x", "/tmp/there/../x" },
    };
    struct mount_file *file;

    if (!mount_begin(5000000000))
        return;
    shell("ln -s /tmp/there a/out && ln -s ../../up a/up");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        CHECK_EQUAL(number_of(table[i].path, true), MOUNT_LEFT);
        CHECK_TEXT(left, table[i].left);
    }
    struct mount_call call = call_of("a/out/new");
    CHECK_EQUAL(ninep_operations.make_directory(&call, 0755), MOUNT_LEFT);
    CHECK_TEXT(left, "/tmp/there/new");
    call = call_of("../new/");
    CHECK_EQUAL(ninep_operations.make_directory(&call, 0755), MOUNT_LEFT);
    CHECK_TEXT(left, "./new/");
    call = call_of("a/out");
    CHECK_EQUAL(ninep_operations.open(&call, 0, 0, &file), MOUNT_LEFT);
    /* From a directory within. */
    call = call_of("a/b/c");
    CHECK_EQUAL(ninep_operations.open(&call, O_PATH_FLAG, 0, &file), 0);
    char text[256];
    CHECK_EQUAL(ninep_operations.path(file, text, sizeof(text)), 6);
    CHECK_TEXT(text, "/a/b/c");
    CHECK_EQUAL(ninep_operations.path(file, text, 6), -ERANGE);
    call = call_of("../file");
    call.directory = file;
    struct mount_status status;
    CHECK_EQUAL(ninep_operations.status(&call, true, &status), 0);
    CHECK_EQUAL(status.number, host_number("a/b/file"));
    call = call_of("../../../../out");
    call.directory = file;
    CHECK_EQUAL(ninep_operations.status(&call, true, &status), MOUNT_LEFT);
    CHECK_TEXT(left, "out");
    ninep_operations.close(file);
    mount_end();
}

TEST(a_fifo_is_not_opened)
{
    struct mount_file *file;

    if (!mount_begin(5000000000))
        return;
    shell("mkfifo fifo");
    struct mount_call call = call_of("fifo");
    CHECK_EQUAL(ninep_operations.open(&call, 0, 0, &file), -ENXIO);
    CHECK_EQUAL(ninep_operations.open(&call, O_PATH_FLAG, 0, &file), 0);
    CHECK(S_ISFIFO(file->mode));
    ninep_operations.close(file);
    mount_end();
}

TEST(a_dead_server_answers_eio_within_its_time_and_says_so_once)
{
    unsigned lines = host_lines;

    if (!mount_begin(300000000))
        return;
    struct mount_call call = call_of("a/b/new");
    diod_kill();
    uint64_t start_ns = ninep_now_ns();
    CHECK_EQUAL(number_of("a", true), -EIO);
    CHECK(ninep_now_ns() - start_ns >= 300000000);
    CHECK_EQUAL(host_lines, lines + 1);
    CHECK_CONTAINS(host_line, "does not answer");
    CHECK_EQUAL(ninep_operations.make_directory(&call, 0755), -EIO);
    CHECK_EQUAL(number_of("a", true), -EIO);
    CHECK_EQUAL(host_lines, lines + 1);
    CHECK(diod_start());
    CHECK_EQUAL(ninep_operations.make_directory(&call, 0755), 0);
    CHECK_EQUAL(host_lines, lines + 2);
    CHECK_CONTAINS(host_line, "is back");
    mount_end();
}

TEST(another_user_is_attached_again_and_a_refusal_is_said_at_once)
{
    const uint32_t own = getuid();
    unsigned lines = host_lines;

    if (!mount_begin(600000000000))
        return;
    shell("mkdir -p a");
    CHECK_EQUAL(number_of("a", true), host_number("a"));
    uint32_t generation = mount->session.generation;
    ninep_operations.user_set(&mount->mount, own);
    CHECK_EQUAL(number_of("a", true), host_number("a"));
    CHECK_EQUAL(mount->session.generation, generation);
    mount->session.export = "/nowhere";
    ninep_operations.user_set(&mount->mount, own + 1);
    CHECK_EQUAL(number_of("a", true), -EACCES);
    CHECK_EQUAL(host_lines, lines + 1);
    CHECK_CONTAINS(host_line, "it does not export /nowhere to user ");
    mount->session.export = diod_export;
    ninep_operations.user_set(&mount->mount, own);
    CHECK_EQUAL(number_of("a", true), host_number("a"));
    CHECK(mount->session.generation > generation);
    mount_end();
}

TEST(files_are_opened_again_by_path_and_what_is_lost_says_so)
{
    struct mount_file *kept, *unlinked, *locked, *unsynced;
    struct mount_lock lock = { .type = 1, .process = 7 };
    struct mount_call call;
    char text[8] = "";

    if (!mount_begin(5000000000))
        return;
    shell("echo kept > kept; echo gone > gone; echo locked > locked; echo old > unsynced");
    call = call_of("kept");
    CHECK_EQUAL(ninep_operations.open(&call, 0, 0, &kept), 0);
    call = call_of("gone");
    CHECK_EQUAL(ninep_operations.open(&call, 0, 0, &unlinked), 0);
    call = call_of("locked");
    CHECK_EQUAL(ninep_operations.open(&call, 2, 0, &locked), 0);
    call = call_of("unsynced");
    CHECK_EQUAL(ninep_operations.open(&call, 2, 0, &unsynced), 0);
    CHECK_EQUAL(ninep_operations.lock(locked, &lock), 0);
    CHECK_EQUAL(ninep_operations.write(unsynced, "new", 3, 0), 3);
    CHECK_EQUAL(ninep_operations.write(kept, "x", 1, 0), -EBADF);
    shell("rm gone; echo other > gone");
    diod_kill();
    CHECK(diod_start());
    CHECK_EQUAL(ninep_operations.read(kept, text, 4, 0), 4);
    CHECK_TEXT(text, "kept");
    CHECK_EQUAL(ninep_operations.read(unlinked, text, 4, 0), -ESTALE);
    CHECK_EQUAL(ninep_operations.read(locked, text, 4, 0), -EIO);
    CHECK_EQUAL(ninep_operations.write(unsynced, "mor", 3, 0), 3);
    CHECK_EQUAL(ninep_operations.sync(unsynced, false), -EIO);
    CHECK_EQUAL(ninep_operations.write(unsynced, "end", 3, 0), 3);
    CHECK_EQUAL(ninep_operations.sync(unsynced, false), 0);
    ninep_operations.close(kept);
    ninep_operations.close(unlinked);
    ninep_operations.close(locked);
    ninep_operations.close(unsynced);
    mount_end();
}

TEST(a_lock_excludes_another_client_until_it_is_released)
{
    struct mount_lock lock = { .type = 1, .process = 7 }, query = { .type = 1, .process = 8 };
    struct ninep_mount *first;
    struct mount_file *mine, *others;

    if (!mount_begin(5000000000))
        return;
    struct mount_call call = call_of("locked");
    CHECK_EQUAL(ninep_operations.open(&call, 2, 0, &mine), 0);
    first = mount;
    if (!mount_begin(5000000000))
        return;
    call = call_of("locked");
    CHECK_EQUAL(ninep_operations.open(&call, 2, 0, &others), 0);
    CHECK_EQUAL(ninep_operations.lock(mine, &lock), 0);
    CHECK_EQUAL(ninep_operations.lock(others, &lock), -EAGAIN);
    CHECK_EQUAL(ninep_operations.lock_get(others, &query), 0);
    CHECK_EQUAL(query.type, 1);
    lock.type = 2;
    CHECK_EQUAL(ninep_operations.lock(mine, &lock), 0);
    lock.type = 1;
    CHECK_EQUAL(ninep_operations.lock(others, &lock), 0);
    ninep_operations.close(others);
    ninep_transport_close(&mount->session.transport);
    free(mount);
    mount = first;
    ninep_operations.close(mine);
    mount_end();
}

int main(void)
{
    if (!diod_start())
        return EXIT_FAILURE;
    RUN(a_path_leads_where_it_leads_on_linux);
    RUN(what_leads_out_says_where_to_go_on);
    RUN(a_fifo_is_not_opened);
    RUN(a_dead_server_answers_eio_within_its_time_and_says_so_once);
    RUN(another_user_is_attached_again_and_a_refusal_is_said_at_once);
    RUN(files_are_opened_again_by_path_and_what_is_lost_says_so);
    RUN(a_lock_excludes_another_client_until_it_is_released);
    diod_end();
    return check_report("ninep_mount");
}
