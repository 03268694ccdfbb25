/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ninep_diod.c: random calls on a mount that a real diod serves, each compared with the host's own call
 * in another directory: the same answers, and in the end the same files; the server is killed and started
 * again on the way. Large transfers, many threads on one mount, servers that die in the middle.
 */
#include "ninep_mounted.h"
#include <dirent.h>
#include <sys/stat.h>

#define ACTIONS    6000
#define KILL_EVERY 500
#define OPEN_MAX   6
#define BYTES_MAX  300000
#define THREADS    8

static char mirror[64];
static uint64_t seed = 14;
static char left[2][TREE_PATH_MAX];
static unsigned left_out, compared;

static uint64_t below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

static struct mount_call call_of(const char *path, unsigned which)
{
    left[which][0] = '\0';
    return (struct mount_call){ .mount = &mount->mount, .path = path, .left = left[which] };
}

static const char *mirrored(const char *path, char name[512])
{
    snprintf(name, 512, "%s/%s", mirror, path);
    return name;
}

static void some_path(char path[128])
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "dir", ".", "..", "to" };
    unsigned count = 1 + (unsigned)below(3);

    path[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        if (i)
            strcat(path, below(20) ? "/" : "//");
        strcat(path, names[below(sizeof(names) / sizeof(names[0]))]);
    }
    if (below(25) == 0)
        strcat(path, "/");
}

static int64_t host(int64_t result)
{
    return result < 0 ? -errno : result;
}

/* One open file, there and here. */
static struct {
    struct mount_file *file;
    int fd;
    unsigned flags;
} opened[OPEN_MAX];

static void close_one(unsigned i)
{
    if (!opened[i].file)
        return;
    ninep_operations.close(opened[i].file);
    close(opened[i].fd);
    opened[i].file = NULL;
}

static void same(int64_t theirs, int64_t ours, const char *what, const char *path)
{
    compared++;
    if (!CHECK_EQUAL(theirs, ours))
        fprintf(stderr, "  %s %s\n", what, path);
}

static void same_status(const struct mount_status *theirs, const struct stat *ours, const char *path)
{
    same(theirs->mode, ours->st_mode, "mode of", path);
    if (!S_ISDIR(ours->st_mode))
        same((int64_t)theirs->bytes, ours->st_size, "size of", path);
    same((int64_t)theirs->links, (int64_t)ours->st_nlink, "links of", path);
    same(theirs->user, ours->st_uid, "user of", path);
}

static void act_status(const char *path)
{
    struct mount_call call = call_of(path, 0);
    struct mount_status theirs;
    struct stat ours;
    char name[512];
    bool follow = below(2);
    int error = ninep_operations.status(&call, follow, &theirs);

    if (error == MOUNT_LEFT) {
        left_out++;
        return;
    }
    same(error, host(follow ? stat(mirrored(path, name), &ours) : lstat(mirrored(path, name), &ours)), "stat",
         path);
    if (!error)
        same_status(&theirs, &ours, path);
}

static void act_open(const char *path)
{
    unsigned i = (unsigned)below(OPEN_MAX), flags = (unsigned)below(3);
    char name[512];

    flags |= (below(2) ? O_CREAT : 0) | (below(6) ? 0 : O_EXCL) | (below(6) ? 0 : O_TRUNC) |
             (below(6) ? 0 : O_APPEND) | (below(8) ? 0 : O_NOFOLLOW) | (below(10) ? 0 : O_DIRECTORY);
    if ((flags & O_CREAT && flags & O_DIRECTORY) || (flags & O_EXCL && !(flags & O_CREAT)))
        return;
    close_one(i);
    struct mount_call call = call_of(path, 0);
    struct mount_file *file;
    int error = ninep_operations.open(&call, flags, 0640, &file);
    if (error == MOUNT_LEFT) {
        left_out++;
        return;
    }
    int fd = (int)host(open(mirrored(path, name), (int)flags, 0640));
    snprintf(name, sizeof(name), "%s flags 0%o", path, flags);
    same(error, fd < 0 ? fd : 0, "open", name);
    if (error || fd < 0)
        return;
    opened[i].file = file;
    opened[i].fd = fd;
    opened[i].flags = flags;
}

static void act_file(void)
{
    static uint8_t theirs[BYTES_MAX], ours[BYTES_MAX];
    unsigned i = (unsigned)below(OPEN_MAX);
    uint64_t count = 1 + (below(4) ? below(3000) : below(BYTES_MAX - 1)),
             offset = below(2) ? 0 : below(BYTES_MAX);
    int64_t result;

    if (!opened[i].file)
        return;
    switch (below(6)) {
    case 0:
    case 1:
        for (uint64_t at = 0; at < count; at++)
            theirs[at] = (uint8_t)check_random(&seed);
        result = ninep_operations.write(opened[i].file, theirs, count, offset);
        same(result, host(pwrite(opened[i].fd, theirs, count, (off_t)offset)), "write", "");
        break;
    case 2:
    case 3:
        result = ninep_operations.read(opened[i].file, theirs, count, offset);
        same(result, host(pread(opened[i].fd, ours, count, (off_t)offset)), "read", "");
        if (result > 0)
            CHECK(memcmp(theirs, ours, (size_t)result) == 0);
        break;
    case 4: {
        struct mount_change change = { .what = MOUNT_BYTES, .bytes = offset };

        if ((opened[i].flags & O_ACCMODE) == O_RDONLY)
            break; /* the system call refuses that already */
        result = ninep_operations.file_change(opened[i].file, &change);
        same(result, host(ftruncate(opened[i].fd, (off_t)offset)), "ftruncate", "");
        break;
    }
    default: {
        struct mount_status status;
        struct stat host_status;

        result = ninep_operations.file_status(opened[i].file, &status);
        same(result, host(fstat(opened[i].fd, &host_status)), "fstat", "");
        same((int64_t)status.bytes * !S_ISDIR(host_status.st_mode),
             host_status.st_size * !S_ISDIR(host_status.st_mode), "fstat's size", "");
        same((int64_t)status.links * !S_ISDIR(host_status.st_mode),
             (int64_t)host_status.st_nlink * !S_ISDIR(host_status.st_mode), "fstat's links", "");
    }
    }
}

/* Makes a call with two paths, and one that changes something. */
static void act_change(const char *path)
{
    char other[128], name[512], other_name[512], text[4096], host_text[4096];
    struct mount_call call = call_of(path, 0), to = call_of(other, 1);
    struct mount_change change = { .what = MOUNT_MODE, .mode = 0700 | (uint32_t)below(0100) };
    int64_t result, ours;

    some_path(other);
    mirrored(path, name);
    mirrored(other, other_name);
    switch (below(8)) {
    case 0:
        result = ninep_operations.make_directory(&call, 0750);
        ours = result == MOUNT_LEFT ? 0 : host(mkdir(name, 0750));
        break;
    case 1:
        result = ninep_operations.make_symlink(&call, other);
        ours = result == MOUNT_LEFT ? 0 : host(symlink(other, name));
        break;
    case 2:
        result = ninep_operations.remove(&call, false);
        ours = result == MOUNT_LEFT ? 0 : host(unlink(name));
        break;
    case 3:
        result = ninep_operations.remove(&call, true);
        ours = result == MOUNT_LEFT ? 0 : host(rmdir(name));
        break;
    case 4:
        result = ninep_operations.rename(&call, &to, 0);
        ours = result == MOUNT_LEFT ? 0 : host(rename(name, other_name));
        break;
    case 5:
        result = ninep_operations.link(&call, false, &to);
        ours = result == MOUNT_LEFT ? 0 : host(link(name, other_name));
        break;
    case 6:
        result = ninep_operations.change(&call, true, &change);
        ours = result == MOUNT_LEFT ? 0 : host(chmod(name, change.mode));
        break;
    default:
        result = ninep_operations.read_link(&call, text, sizeof(text));
        ours = result == MOUNT_LEFT ? 0 : host(readlink(name, host_text, sizeof(host_text)));
        if (result > 0 && result != MOUNT_LEFT)
            CHECK(memcmp(text, host_text, (size_t)result) == 0);
    }
    if (result == MOUNT_LEFT) {
        left_out++;
        CHECK(left[0][0] || left[1][0]);
        return;
    }
    same(result, ours, path, other);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void act_list(const char *path)
{
    static char theirs[64][64], ours[64][64];
    struct mount_call call = call_of(path, 0);
    struct mount_file *file;
    struct mount_entry entry = { .next = 0 };
    unsigned count = 0, host_count = 0;
    char name[512];
    int result;

    if (ninep_operations.open(&call, O_DIRECTORY, 0, &file))
        return;
    while ((result = ninep_operations.list(file, entry.next, &entry)) == 1 && count < 64)
        snprintf(theirs[count++], 64, "%.40s %u", entry.name, entry.type);
    CHECK_EQUAL(result, 0);
    ninep_operations.close(file);
    DIR *directory = opendir(mirrored(path, name));
    for (struct dirent *at; directory && (at = readdir(directory)) && host_count < 64;)
        snprintf(ours[host_count++], 64, "%.40s %u", at->d_name, at->d_type);
    closedir(directory);
    qsort(theirs, count, 64, by_name);
    qsort(ours, host_count, 64, by_name);
    same(count, host_count, "entries of", path);
    for (unsigned i = 0; i < count && i < host_count; i++)
        CHECK_TEXT(theirs[i], ours[i]);
}

TEST(random_calls_answer_as_the_hosts_own)
{
    char command[256], path[128];

    if (!mount_begin(20000000000))
        return;
    umask(0);
    strcpy(mirror, "/tmp/ninep.XXXXXX");
    CHECK(mkdtemp(mirror) != NULL);
    chmod(mirror, 0755);
    for (unsigned action = 0; action < ACTIONS && check_state.failures < 5; action++) {
        if (action % KILL_EVERY == KILL_EVERY - 1) {
            diod_kill();
            CHECK(diod_start());
        }
        some_path(path);
        switch (below(8)) {
        case 0:
            act_status(path);
            break;
        case 1:
        case 2:
            act_open(path);
            break;
        case 3:
            act_list(path);
            break;
        case 4:
        case 5:
            act_change(path);
            break;
        default:
            act_file();
        }
    }
    for (unsigned i = 0; i < OPEN_MAX; i++)
        close_one(i);
    snprintf(command, sizeof(command), "diff -r --no-dereference %s %s", diod_export, mirror);
    CHECK_EQUAL(system(command), 0);
    CHECK(compared > ACTIONS / 2);
    printf("%u answers compared, %u led out\n", compared, left_out);
    snprintf(command, sizeof(command), "rm -rf %s %s/*", mirror, diod_export);
    CHECK_EQUAL(system(command), 0);
    mount_end();
}

/* ---- Names that change under open files ---- */

#define RENAMES 300

static void *rename_often(void *context)
{
    char own_left[2][TREE_PATH_MAX];
    bool is_right = true;

    (void)context;
    for (unsigned i = 0; i < RENAMES; i++) {
        struct mount_call from = { .mount = &mount->mount,
                                   .path = i % 2 ? "to" : "from",
                                   .left = own_left[0] };
        struct mount_call to = { .mount = &mount->mount, .path = i % 2 ? "from" : "to", .left = own_left[1] };

        own_left[0][0] = own_left[1][0] = '\0';
        is_right &= ninep_operations.rename(&from, &to, 0) == 0;
    }
    return (void *)(uintptr_t)!is_right;
}

TEST(an_open_file_is_never_stale_while_a_folder_above_it_is_renamed)
{
    struct mount_call folder, call;
    struct mount_change change = { .what = MOUNT_BYTES };
    struct mount_file *file, *directory;
    struct mount_status status;
    char command[256];
    pthread_t thread;
    void *result;

    if (!mount_begin(20000000000))
        return;
    folder = call_of("from", 0);
    call = call_of("from/file", 1);
    CHECK_EQUAL(ninep_operations.make_directory(&folder, 0755), 0);
    CHECK_EQUAL(ninep_operations.open(&folder, O_DIRECTORY, 0, &directory), 0);
    CHECK_EQUAL(ninep_operations.open(&call, O_RDWR | O_CREAT, 0600, &file), 0);
    struct mount_call same_name = call_of("from/file", 0);
    call = call_of("from/file", 1);
    CHECK_EQUAL(ninep_operations.rename(&call, &same_name, 0), 0);
    CHECK_EQUAL(ninep_operations.file_status(file, &status), 0);
    CHECK_EQUAL(status.links, 1);
    pthread_create(&thread, NULL, rename_often, NULL);
    for (unsigned i = 0; i < RENAMES && check_state.failures == 0; i++) {
        change.bytes = i;
        CHECK_EQUAL(ninep_operations.file_change(file, &change), 0);
        CHECK_EQUAL(ninep_operations.file_status(file, &status), 0);
        CHECK_EQUAL(status.bytes, i);
        CHECK_EQUAL(ninep_operations.file_status(directory, &status), 0);
    }
    pthread_join(thread, &result);
    CHECK(!result);
    call = (struct mount_call){
        .mount = &mount->mount, .directory = directory, .path = "file", .left = left[1]
    };
    CHECK_EQUAL(ninep_operations.remove(&call, false), 0);
    folder = call_of("from", 0);
    CHECK_EQUAL(ninep_operations.remove(&folder, true), 0); /* the hidden name moves to the root */
    CHECK_EQUAL(ninep_operations.file_status(file, &status), 0);
    CHECK_EQUAL(status.links, 0);
    CHECK_EQUAL(ninep_operations.file_status(directory, &status), 0);
    CHECK_EQUAL(status.links, 0);
    ninep_operations.close(file);
    ninep_operations.close(directory);
    snprintf(command, sizeof(command), "test -z \"$(ls -A %s)\"", diod_export);
    CHECK_EQUAL(system(command), 0);
    mount_end();
}

/* ---- Large ones, many at once ---- */

#define LARGE (8U << 20)

static uint8_t *large[THREADS], *back[THREADS];

static void *transfer(void *context)
{
    unsigned which = (unsigned)(uintptr_t)context;
    char name[16], own_left[TREE_PATH_MAX] = "";
    struct mount_call call = { .mount = &mount->mount, .path = name, .left = own_left };
    uint64_t bytes = LARGE >> which % 4, state = which + 1;
    struct mount_file *file;
    bool is_right = true;

    snprintf(name, sizeof(name), "large%u", which);
    for (uint64_t at = 0; at < bytes; at += 8)
        memcpy(large[which] + at, (uint64_t[]){ check_random(&state) }, 8);
    is_right &= ninep_operations.open(&call, O_RDWR | O_CREAT, 0600, &file) == 0;
    if (!is_right)
        return (void *)1;
    for (unsigned round = 0; round < 3; round++) {
        is_right &= ninep_operations.write(file, large[which], bytes, 0) == (int64_t)bytes;
        memset(back[which], 0, bytes);
        is_right &= ninep_operations.read(file, back[which], bytes + 100, 0) == (int64_t)bytes;
        is_right &= memcmp(back[which], large[which], bytes) == 0;
    }
    ninep_operations.close(file);
    return (void *)(uintptr_t)!is_right;
}

static void *killer(void *context)
{
    struct timespec pause = { .tv_nsec = 30000000 };

    for (unsigned i = 0; i < (unsigned)(uintptr_t)context; i++) {
        nanosleep(&pause, NULL);
        diod_kill();
        nanosleep(&pause, NULL);
        if (!diod_start())
            return (void *)1;
    }
    return NULL;
}

static void transfers_run(unsigned kills)
{
    pthread_t threads[THREADS], killing;
    void *result;

    if (!mount_begin(20000000000))
        return;
    for (unsigned i = 0; i < THREADS; i++) {
        large[i] = malloc(LARGE);
        back[i] = malloc(LARGE + 100);
    }
    /* Files that are there: a creation whose answer is lost is not repeated. */
    for (unsigned i = 0; i < THREADS; i++) {
        char name[128];

        snprintf(name, sizeof(name), "%s/large%u", diod_export, i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, transfer, (void *)(uintptr_t)i);
    pthread_create(&killing, NULL, killer, (void *)(uintptr_t)kills);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        CHECK(!result);
        free(large[i]);
        free(back[i]);
    }
    pthread_join(killing, &result);
    CHECK(!result);
    CHECK_EQUAL(mount->session.inside, 0);
    CHECK(!mount->session.queue.first || mount->session.state == NINEP_UP);
    mount_end();
}

TEST(many_threads_transfer_at_once)
{
    transfers_run(0);
}

TEST(transfers_survive_a_server_that_dies_in_between)
{
    transfers_run(4);
}

TEST(a_directory_of_thousands_is_listed_whole)
{
    char command[256];
    struct mount_entry entry = { .next = 0 };
    struct mount_file *file;
    unsigned count = 0;
    int result;

    if (!mount_begin(20000000000))
        return;
    snprintf(command, sizeof(command), "mkdir %s/many && cd %s/many && seq 3000 | xargs touch", diod_export,
             diod_export);
    CHECK_EQUAL(system(command), 0);
    struct mount_call call = call_of("many", 0);
    CHECK_EQUAL(ninep_operations.open(&call, O_DIRECTORY, 0, &file), 0);
    while ((result = ninep_operations.list(file, entry.next, &entry)) == 1)
        count++;
    CHECK_EQUAL(result, 0);
    CHECK_EQUAL(count, 3002);
    ninep_operations.close(file);
    mount_end();
}

TEST(nothing_is_left_on_the_server_after_thousands_of_files)
{
    struct mount_status status;
    struct mount_file *file;

    if (!mount_begin(20000000000))
        return;
    for (unsigned i = 0; i < 5000; i++) { /* more than there are fids */
        struct mount_call call = call_of("many/17", 0);

        if (!CHECK_EQUAL(ninep_operations.status(&call, true, &status), 0) ||
            !CHECK_EQUAL(ninep_operations.open(&call, 0, 0, &file), 0))
            break;
        ninep_operations.close(file);
    }
    mount_end();
}

int main(void)
{
    if (!diod_start())
        return EXIT_FAILURE;
    RUN(random_calls_answer_as_the_hosts_own);
    RUN(an_open_file_is_never_stale_while_a_folder_above_it_is_renamed);
    RUN(many_threads_transfer_at_once);
    RUN(transfers_survive_a_server_that_dies_in_between);
    RUN(a_directory_of_thousands_is_listed_whole);
    RUN(nothing_is_left_on_the_server_after_thousands_of_files);
    diod_end();
    return check_report("ninep_diod");
}
