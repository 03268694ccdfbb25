/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount_file.c: reading, writing and sizes of open files of mounts. Bytes go through memory of the calling
 * rank's slice, in pieces of at most BOUNCE_BYTES, which the mount may pipeline. Runs in system calls,
 * without locks; a thread that moves bytes at the file's own offset holds file_offset_claim meanwhile.
 */
#include "fs/mount_file.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"

#define BOUNCE_BYTES (256ULL << 10)

enum claim { UNCLAIMED, CLAIMED, CLAIMED_CONTENDED }; /* by a thread of any process */

int file_offset_claim(struct file *file)
{
    uint8_t expected = UNCLAIMED;
    int error = 0;

    if (__atomic_compare_exchange_n(&file->claim, &expected, CLAIMED, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return 0;
    while (!error && __atomic_exchange_n(&file->claim, CLAIMED_CONTENDED, __ATOMIC_ACQUIRE) != UNCLAIMED)
        error = event_wait_shared(file);
    return error;
}

void file_offset_release(struct file *file)
{
    if (__atomic_exchange_n(&file->claim, UNCLAIMED, __ATOMIC_RELEASE) == CLAIMED_CONTENDED)
        event_notify_shared(file);
}

struct mount_call mount_call_of(const struct inode *inode)
{
    return (struct mount_call){ .mount = inode->mount, .directory = mount_file_of(inode), .path = "" };
}

/* Copies between the program and the kernel as far as the program's memory reaches. Returns the bytes;
 * -EFAULT: none. */
static int64_t vector_copy(struct user_vector *vector, char *kernel, uint64_t bytes, bool to_program)
{
    const uint64_t left = vector->left;
    int error = user_vector_copy(vector, kernel, bytes, to_program);

    return vector->left == left ? error : (int64_t)(left - vector->left);
}

static int64_t piece_move(struct file *file, struct user_vector *vector, char *bounce, uint64_t bytes,
                          uint64_t offset, bool write)
{
    struct mount_file *opened = mount_file_of(file->inode);
    const struct mount_operations *operations = opened->mount->operations;
    int64_t moved =
        write ? vector_copy(vector, bounce, bytes, false) : operations->read(opened, bounce, bytes, offset);

    if (moved <= 0)
        return moved;
    return write ? operations->write(opened, bounce, (uint64_t)moved, offset)
                 : vector_copy(vector, bounce, (uint64_t)moved, true);
}

static uint64_t mount_size(const struct file *file) /* or a negative error */
{
    struct mount_status status;
    int64_t error = file->inode->mount->operations->file_status(mount_file_of(file->inode), &status);

    return error ? (uint64_t)error : status.bytes;
}

/* Moves all pieces, from `offset` on. Returns the bytes, or an error if none were moved. */
static int64_t pieces_move(struct file *file, struct user_vector *vector, uint64_t offset, bool write)
{
    struct page_pool *pages = arch_process()->vm.pages;
    uint64_t bytes, total = 0;
    uint64_t bounce = page_pool_allocate_partial(pages, smaller(page_up(vector->left), BOUNCE_BYTES), &bytes);
    int64_t moved = 0;

    if (bounce == PAGE_POOL_NONE)
        return -ENOMEM;
    for (bool whole = true; whole && vector->left > 0; total += moved > 0 ? (uint64_t)moved : 0) {
        uint64_t part = smaller(vector->left, bytes);

        moved = piece_move(file, vector, arch_physical(bounce), part, offset + total, write);
        whole = moved == (int64_t)part;
    }
    page_pool_free(pages, bounce, bytes);
    return total ? (int64_t)total : moved;
}

/* Moves a vector at *offset, or at the file's own offset if `offset` is NULL. An append counts from the end
 * that the file has now; the server appends at the end that it has then. */
static int64_t mount_move(struct file *file, struct user_vector *vector, const uint64_t *offset, bool write)
{
    bool appends = write && (file->flags & O_APPEND);
    int64_t moved = offset || vector->left == 0 ? 0 : file_offset_claim(file);

    if (moved || vector->left == 0)
        return moved;
    int64_t at = (int64_t)(offset ? *offset : file->offset);
    if (appends)
        at = (int64_t)mount_size(file);
    moved = at < 0 ? at : pieces_move(file, vector, (uint64_t)at, write);
    if (!offset) {
        if (moved > 0)
            file->offset = (uint64_t)(at + moved);
        file_offset_release(file);
    }
    return moved;
}

/* Reads at an offset, for mmap. */
static int64_t mount_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    struct user_vector vector = user_vector_of(buffer, bytes);

    return mount_move(file, &vector, &offset, false);
}

const struct file_operations mount_file_operations = {
    .read = mount_read, .move_at = mount_move, .size = mount_size, .waits = true, .travels = true
};
const struct file_operations mount_directory_operations = { .size = mount_size,
                                                            .waits = true,
                                                            .travels = true };
