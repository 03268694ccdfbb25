/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c: descriptors and open files; see file.h. Each process owns its table, whose lock is held for a few
 * steps, and never while a file ends or a page is allocated. Runs in system calls, and when a rank starts or
 * ends.
 */
#include "fs/file.h"
#include "lib/errno.h"
#include "fs/file_lock.h"
#include "fs/linux_files.h"
#include "fs/mount_file.h"
#include "fs/unix_rights.h"
#include "fs/user_vector.h"
#include "process/process.h"
#include "mm/page_pool.h"
#include "mm/shared_memory.h"
#include "process/event.h"
#include "smp/crosscall.h"

#define NUMBER_WORDS (FILE_DESCRIPTORS_MAX / 64)

/* ---- Numbers. The caller holds the table's lock ---- */

/* Returns the row of a number, an int, whose upper half is undefined; NULL if it has no row. */
static struct descriptor *row_of(const struct file_table *table, uint64_t number)
{
    const uint32_t n = (uint32_t)number;
    struct descriptor *page = n < FILE_DESCRIPTORS_MAX ? table->pages[n / DESCRIPTORS_A_PAGE] : NULL;

    return page ? &page[n % DESCRIPTORS_A_PAGE] : NULL;
}

static void number_take(struct file_table *table, unsigned number)
{
    table->taken[number / 64] |= 1ULL << number % 64;
    table->lowest += number == table->lowest;
}

static void number_free(struct file_table *table, unsigned number)
{
    table->taken[number / 64] &= ~(1ULL << number % 64);
    table->lowest = number < table->lowest ? number : table->lowest;
}

/* Returns the lowest number from `from` on that is taken, or, with all bits of `flip` set, free;
 * FILE_DESCRIPTORS_MAX: none. */
static unsigned number_scan(const struct file_table *table, unsigned from, uint64_t flip)
{
    for (unsigned word = from / 64; word < NUMBER_WORDS; word++, from = 64 * word) {
        uint64_t taken = __atomic_load_n(&table->taken[word], __ATOMIC_RELAXED);
        uint64_t bits = (taken ^ flip) & UINT64_MAX << from % 64;

        if (bits)
            return 64 * word + (unsigned)__builtin_ctzll(bits);
    }
    return FILE_DESCRIPTORS_MAX;
}

/* Returns the lowest free number from `lowest` on. */
static unsigned number_lowest(struct file_table *table, unsigned lowest)
{
    const bool is_lowest = lowest <= table->lowest;
    const unsigned number = number_scan(table, is_lowest ? table->lowest : lowest, UINT64_MAX);

    if (is_lowest)
        table->lowest = number;
    return number;
}

unsigned descriptor_next(const struct process *process, unsigned lowest)
{
    return number_scan(process->files, lowest, 0);
}

/* ---- Growing. No locks held ---- */

/* Adds the page with a number's row, unless it is there; -ENOMEM. */
static int row_add(struct process *process, unsigned number)
{
    struct file_table *table = process->files;
    struct descriptor **place = &table->pages[number / DESCRIPTORS_A_PAGE];
    uint64_t page;

    if (__atomic_load_n(place, __ATOMIC_ACQUIRE))
        return 0;
    page = page_pool_allocate_zeroed(process->vm.pages);
    if (page == PAGE_POOL_NONE)
        return -ENOMEM;
    spin_lock(&table->lock);
    bool is_first = !*place;
    if (is_first)
        __atomic_store_n(place, arch_physical(page), __ATOMIC_RELEASE);
    spin_unlock(&table->lock);
    if (!is_first)
        page_pool_free_zeroed(process->vm.pages, page);
    return 0;
}

/* Adds a page of open files. */
static int files_add(struct process *process)
{
    struct file_table *table = process->files;
    uint64_t memory = page_pool_allocate_zeroed(process->vm.pages);
    struct file_page *page;

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    page = arch_physical(memory);
    for (unsigned i = 0; i + 1 < FILES_A_PAGE; i++)
        page->files[i].next_free = &page->files[i + 1];
    SPIN_GUARD(&table->lock);
    page->files[FILES_A_PAGE - 1].next_free = table->free;
    table->free = page->files;
    page->next = table->files;
    table->files = page;
    return 0;
}

int file_table_create(struct process *process)
{
    const uint64_t bytes = page_up(sizeof(struct file_table));
    uint64_t memory = page_pool_allocate(process->vm.pages, bytes, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    process->files = arch_physical(memory);
    arch_zero(process->files, bytes);
    if (!row_add(process, 0) && !files_add(process))
        return 0;
    process->files = NULL;
    return -ENOMEM;
}

/* ---- Descriptors ---- */

struct file *file_get(struct process *process, uint64_t number)
{
    struct file_table *table = process->files;

    SPIN_GUARD(&table->lock);
    struct descriptor *row = row_of(table, number);
    struct file *file = row ? row->file : NULL;
    if (file)
        __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
    return file;
}

struct file *file_in_table(const struct file_table *table, uint32_t tid)
{
    const struct descriptor *row = row_of(table, tree_number_of(tid));

    return row ? row->file : NULL;
}

/* Reserves the lowest free number from `lowest` on; -EMFILE, -ENOMEM. */
static int number_reserve(struct process *process, unsigned lowest)
{
    struct file_table *table = process->files;
    const uint64_t limit = process_soft_limit(process, LIMIT_FILES);
    int error = lowest < limit ? 0 : -EMFILE;

    while (!error) {
        spin_lock(&table->lock);
        unsigned number = number_lowest(table, lowest);
        bool fits = number < limit, has_row = fits && row_of(table, number);
        if (has_row)
            number_take(table, number);
        spin_unlock(&table->lock);
        if (has_row)
            return (int)number;
        error = fits ? row_add(process, number) : -EMFILE;
    }
    return error;
}

/* Releases the locks that `owner` has on a file. */
static void locks_release(struct file *file, const void *owner)
{
    struct tree *tree = file->process->tree;

    spin_lock(&tree->lock);
    file_locks_release(tree, file->inode, owner);
    spin_unlock(&tree->lock);
    event_notify_shared(file->inode);
}

/* Ends a file after its last reference was dropped: its row of the table is free again, and a number that was
 * reserved for it. */
static void file_end(struct file *file)
{
    struct file_table *table = file->process->files;
    struct tree *tree = file->process->tree;

    if (!(file->flags & O_PATH))
        file_notify(file, (file->flags & O_ACCMODE) == O_RDONLY ? TREE_CLOSE : TREE_CLOSE_WRITE);
    if (file->operations && file->operations->release)
        file->operations->release(file);
    if (file->inode) {
        if (file->has_locks)
            locks_release(file, file);
        inode_drop(tree, file->inode);
        shared_memory_reclaim();
    }
    SPIN_GUARD(&table->lock);
    if (file->reserved >= 0)
        number_free(table, (unsigned)file->reserved);
    file->next_free = table->free;
    table->free = file;
    table->file_count--;
}

void file_put(struct file *file)
{
    if (__atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) == 0)
        file_end(file);
}

int file_install(struct process *process, struct file *file, unsigned lowest, bool close_on_exec)
{
    const int number = file->reserved >= 0 ? file->reserved : number_reserve(process, lowest);
    struct file_table *table = process->files;

    if (number < 0)
        return number;
    if (file->reserved >= 0)
        file->reserved = -1; /* only the thread that has made it knows it yet */
    __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
    SPIN_GUARD(&table->lock);
    *row_of(table, (unsigned)number) = (struct descriptor){ file, close_on_exec };
    return number;
}

/* Drops a descriptor's reference. Closing any descriptor of a file releases all POSIX locks that the process
 * has on it. */
static void descriptor_release(struct process *process, struct file *file)
{
    bool locked = file->inode && __atomic_load_n(&file->inode->locks, __ATOMIC_RELAXED);
    int held = locked && file->inode->mount ? mount_lock_held(file) : F_UNLCK;

    if (locked)
        locks_release(file, process);
    if (held != F_UNLCK)
        mount_lock_reduce(file, held);
    file_put(file);
}

int file_install_at(struct process *process, struct file *file, unsigned descriptor, bool close_on_exec)
{
    struct file_table *table = process->files;
    int error = row_add(process, descriptor);

    if (error)
        return error;
    spin_lock(&table->lock);
    if (file->reserved >= 0) {
        number_free(table, (unsigned)file->reserved);
        file->reserved = -1;
    }
    struct descriptor *row = row_of(table, descriptor);
    struct file *old = row->file;
    bool is_busy = !old && table->taken[descriptor / 64] >> descriptor % 64 & 1;
    if (!is_busy) {
        *row = (struct descriptor){ file, close_on_exec };
        number_take(table, descriptor);
        __atomic_fetch_add(&file->references, 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&table->lock);
    if (old)
        descriptor_release(process, old);
    return is_busy ? -EBUSY : 0;
}

bool *file_close_on_exec(struct process *process, uint64_t descriptor)
{
    return &row_of(process->files, descriptor)->close_on_exec;
}

/* ---- Open files ---- */

/* Takes a row without an open file; NULL if there is none yet, or as many files as there may be. */
static struct file *row_take(struct file_table *table)
{
    SPIN_GUARD(&table->lock);
    struct file *file = table->file_count < FILES_MAX ? table->free : NULL;

    if (file) {
        table->free = file->next_free;
        table->file_count++;
    }
    return file;
}

/* Makes one open file, as files_allocate; *out is NULL on errors. */
static int file_create(struct process *process, struct file **out)
{
    struct file_table *table = process->files;
    struct file *file;

    *out = NULL;
    while (!(file = row_take(table))) {
        if (__atomic_load_n(&table->file_count, __ATOMIC_RELAXED) >= FILES_MAX)
            return -ENFILE;
        if (files_add(process))
            return -ENOMEM;
    }
    *file = (struct file){
        .process = process,
        .references = 1,
        .serial =
            (uint64_t)process->rank << 40 | __atomic_add_fetch(&table->last_serial, 1, __ATOMIC_RELAXED),
    };
    const int number = file->reserved = number_reserve(process, 0);
    if (number < 0) {
        file_put(file);
        return number;
    }
    *out = file;
    return 0;
}

int files_allocate(struct process *process, struct file **files, unsigned count)
{
    unsigned made = 0;
    int error = 0;

    for (; made < count && !error; made += !error)
        error = file_create(process, &files[made]);
    while (error && made > 0)
        file_put(files[--made]);
    return error;
}

struct file *file_allocate(struct process *process)
{
    struct file *file = NULL;

    return files_allocate(process, &file, 1) ? NULL : file;
}

int file_make(const struct file_operations *operations, unsigned flags, struct file **out)
{
    int error = files_allocate(arch_process(), out, 1);

    if (error)
        return error;
    (*out)->operations = operations;
    (*out)->flags = flags & (O_ACCMODE | O_NONBLOCK);
    (*out)->mode = 0600;
    return 0;
}

uint64_t file_changes(struct file *file)
{
    return __atomic_load_n(&file->changes, __ATOMIC_RELAXED);
}

int file_close(struct process *process, uint64_t number)
{
    struct file_table *table = process->files;

    spin_lock(&table->lock);
    struct descriptor *row = row_of(table, number);
    struct file *file = row ? row->file : NULL;
    if (file) {
        row->file = NULL;
        number_free(table, (uint32_t)number);
    }
    spin_unlock(&table->lock);
    if (!file)
        return -EBADF;
    descriptor_release(process, file);
    return 0;
}

void files_close(struct process *process)
{
    for (unsigned d = 0; (d = descriptor_next(process, d)) < FILE_DESCRIPTORS_MAX; d++) {
        file_close(process, d);
        crosscall_serve();
    }
    if (process->messages)
        file_put(process->messages);
    unix_rights_abandon(process);
}

int64_t file_move(struct file *file, struct user_vector *vector, uint64_t offset, bool write)
{
    int64_t (*move)(struct file *, uint64_t, uint64_t, uint64_t) =
        write ? file->operations->write : file->operations->read;
    int64_t total = 0, moved;

    do {
        uint64_t bytes = vector->bytes;

        moved = move(file, vector->base, bytes, offset + (uint64_t)total);
        if (moved < 0)
            break;
        total += moved;
        if ((uint64_t)moved < bytes)
            break;
        vector->left -= bytes;
        moved = vector->parts ? user_vector_next(vector) : 0;
    } while (moved > 0);
    return total ? total : moved;
}

int file_wait(struct file *file)
{
    const struct file_operations *operations = file->operations;

    if (file->flags & O_NONBLOCK)
        return -EAGAIN;
    return event_wait(file_events(file),
                      operations->deadline ? operations->deadline(file, false) : WAIT_FOREVER);
}

int64_t file_read_records(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t record[RECORD_BYTES_MAX / sizeof(uint64_t)], done = 0;
    int64_t taken;

    (void)offset;
    do {
        taken = file->operations->take(file, record, bytes - done);
        if (taken == -EAGAIN && !done)
            taken = file_wait(file);
        else if (taken > 0 && user_write(buffer + done, record, (uint64_t)taken))
            taken = -EFAULT;
        done += taken > 0 ? (uint64_t)taken : 0;
    } while (taken >= 0 && (!done || done < bytes));
    return done ? (int64_t)done : taken;
}

int64_t file_read_value(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    return bytes < sizeof(uint64_t) ? -EINVAL : file_read_records(file, buffer, sizeof(uint64_t), offset);
}

unsigned file_ready(struct file *file)
{
    return file->operations->ready ? file->operations->ready(file) : READY_IN | READY_OUT;
}

uint64_t file_events(const struct file *file)
{
    return file->operations->events ? file->operations->events(file) : event_of(file);
}
