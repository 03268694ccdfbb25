/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cpio.c: newc archives as cpio(1) and Linux's own generator write them, and broken ones.
 */
#include "archive.h"
#include "check.h"
#include "lib/cpio.h"
#include "lib/errno.h"
#include "lib/file_mode.h"

static struct cpio_entry entry;
static struct message why;
static uint64_t offset;

static int next_of(uint64_t bytes)
{
    return cpio_next(archive.bytes, bytes, &offset, &entry, &why);
}

static int next(void)
{
    return next_of(archive.used);
}

/* Returns the number of entries, or the error. */
static int count_of(uint64_t bytes)
{
    int count = 0, found;

    offset = 0;
    while ((found = next_of(bytes)) > 0)
        count++;
    return found < 0 ? found : count;
}

TEST(entries_come_out_as_they_went_in)
{
    archive_begin();
    archive_add(".", S_IFDIR | 0755, "");
    archive_add("bin/ftq", S_IFREG | 0755, "program");
    archive_add("lnk", S_IFLNK | 0777, "bin/ftq");
    archive_end();
    offset = 0;
    CHECK(cpio_recognise(archive.bytes, archive.used));
    CHECK_EQUAL(next(), 1);
    CHECK_TEXT(entry.name, ".");
    CHECK(entry.begins_archive);
    CHECK(entry.data == NULL);
    CHECK_EQUAL(next(), 1);
    CHECK_TEXT(entry.name, "bin/ftq");
    CHECK_EQUAL(entry.bytes, 7);
    CHECK(memcmp(entry.data, "program", 7) == 0);
    CHECK_EQUAL(entry.mode, S_IFREG | 0755);
    CHECK_EQUAL(entry.inode, 2);
    CHECK_EQUAL(entry.device, 8 << 20 | 1);
    CHECK_EQUAL(entry.mtime_s, 1700000000);
    CHECK(!entry.begins_archive);
    CHECK_EQUAL(next(), 1);
    CHECK_EQUAL(entry.bytes, 7);
    CHECK_EQUAL(next(), 0);
    CHECK_EQUAL(next(), 0);
}

TEST(archives_in_a_row_are_read_on)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "1");
    archive_end();
    archive.used = (archive.used + 511) / 512 * 512;
    archive_add("two", S_IFREG | 0644, "22");
    archive_end();
    CHECK_EQUAL(count_of(archive.used), 2);
    offset = 0;
    next();
    CHECK_EQUAL(next(), 1);
    CHECK_TEXT(entry.name, "two");
    CHECK(entry.begins_archive);
}

TEST(archive_without_trailer_ends_with_its_bytes)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "1");
    CHECK_EQUAL(count_of(archive.used), 1);
    CHECK_EQUAL(count_of(0), 0);
    archive.used += 100;
    CHECK_EQUAL(count_of(archive.used), 1);
}

TEST(last_padding_may_be_missing)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "12345");
    CHECK_EQUAL(count_of(archive.used - 3), 1);
    CHECK_EQUAL(count_of(archive.used - 4), -EINVAL);
}

TEST(truncations_are_refused)
{
    archive_begin();
    archive_add("name", S_IFREG | 0644, "12345678");
    for (uint64_t bytes = 1; bytes < archive.used; bytes++)
        CHECK_EQUAL(count_of(bytes), -EINVAL);
    CHECK_EQUAL(count_of(archive.used - 1), -EINVAL);
    CHECK_CONTAINS(why.text, "truncated in the 8 bytes of \"name\" (header at offset 0)");
}

TEST(compressed_archives_are_named_with_the_remedy)
{
    static const struct {
        const char *bytes, *name;
    } files[] = {
        { "\x1f\x8b\x08", "gunzip" },
        { "\xfd"
          "7zXZ",
          "unxz" },
        { "\x28\xb5\x2f\xfd", "unzstd" },
        { "BZh9", "bunzip2" },
        { "\x04\x22\x4d\x18", "unlz4" },
        { "\x02\x21\x4c\x18", "unlz4" },
        { "070707", "-H newc" },
        { "\xc7\x71", "-H newc" },
        { "garbage", "no newc header" },
    };

    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        archive_begin();
        archive_add("one", S_IFREG | 0644, "1");
        archive_end();
        uint64_t start = archive.used;
        memcpy(archive.bytes + start, files[i].bytes, strlen(files[i].bytes));
        CHECK_EQUAL(count_of(start + strlen(files[i].bytes)), -EINVAL);
        CHECK_CONTAINS(why.text, files[i].name);
    }
}

TEST(archive_off_its_alignment_is_refused)
{
    archive_begin();
    archive.used = 2;
    archive_add("one", S_IFREG | 0644, "1");
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
}

TEST(fields_that_are_no_numbers_are_refused)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "1");
    archive.bytes[20] = 'g';
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
    CHECK_CONTAINS(why.text, "hexadecimal");
    archive.bytes[20] = 'f';
    CHECK_EQUAL(count_of(archive.used), 1);
}

TEST(names_without_end_are_refused)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "");
    memcpy(archive.bytes + 94, "00000003", 8);
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
    CHECK_CONTAINS(why.text, "NUL");
    memcpy(archive.bytes + 94, "00000000", 8);
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
    memcpy(archive.bytes + 94, "FFFFFFFF", 8);
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
}

TEST(checksums_are_verified)
{
    archive_begin();
    archive_add("one", S_IFREG | 0644, "ab");
    archive.bytes[5] = '2';
    CHECK_EQUAL(count_of(archive.used), -EINVAL);
    CHECK_CONTAINS(why.text, "checksum");
    memcpy(archive.bytes + 102, "000000C3", 8);
    CHECK_EQUAL(count_of(archive.used), 1);
}

int main(void)
{
    RUN(entries_come_out_as_they_went_in);
    RUN(archives_in_a_row_are_read_on);
    RUN(archive_without_trailer_ends_with_its_bytes);
    RUN(last_padding_may_be_missing);
    RUN(truncations_are_refused);
    RUN(compressed_archives_are_named_with_the_remedy);
    RUN(archive_off_its_alignment_is_refused);
    RUN(fields_that_are_no_numbers_are_refused);
    RUN(names_without_end_are_refused);
    RUN(checksums_are_verified);
    return check_report("cpio");
}
