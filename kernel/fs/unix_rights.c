/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_rights.c: see unix_rights.h. The files of one message stand in a page of the sender's slice. The
 * sender's table counts its files in flight, so that a process that sends for ever what no process receives
 * exhausts only itself. Runs in system calls, and at the end of a process.
 *
 * Source: man 7 unix, cmsg (facts of the interface).
 */
#include "fs/unix_rights.h"
#include "arch.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "process/process.h"
#include "smp/crosscall.h"

_Static_assert(sizeof(struct rights) <= ARCH_PAGE, "the files of one message stand in a page");

static int file_add(struct rights *rights, uint64_t descriptor)
{
    struct file_table *table = rights->sender->files;
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    __atomic_fetch_add(&file->in_flight, 1, __ATOMIC_RELAXED);
    rights->files[rights->count++] = file;
    return __atomic_fetch_add(&table->in_flight, 1, __ATOMIC_RELAXED) <
                   process_soft_limit(rights->sender, LIMIT_FILES)
               ? 0
               : -ETOOMANYREFS;
}

int rights_create(uint64_t address, uint64_t count, struct rights **out)
{
    struct process *process = arch_process();
    int error = 0;

    if (count > RIGHTS_FILES_MAX)
        return -EINVAL;
    uint64_t memory = page_pool_allocate(process->vm.pages, ARCH_PAGE, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    struct rights *rights = arch_physical(memory);
    *rights = (struct rights){ .sender = process };
    for (uint64_t i = 0; i < count && !error; i++) {
        int32_t descriptor;

        error = user_read(&descriptor, address + i * sizeof(descriptor), sizeof(descriptor))
                    ? -EFAULT
                    : file_add(rights, (uint32_t)descriptor);
    }
    if (error)
        rights_put(rights);
    else
        *out = rights;
    return error;
}

unsigned rights_install(const struct rights *rights, uint64_t address, unsigned room, bool close_on_exec)
{
    struct process *process = arch_process();
    unsigned written = 0;

    for (unsigned i = 0; i < rights->count && written < room; i++) {
        struct file *file = rights->files[i];

        if (file->process != process && file->operations->waits && !file->operations->travels)
            break;
        int32_t descriptor = file_install(process, file, 0, close_on_exec);
        if (descriptor < 0)
            break;
        if (user_write(address + written * sizeof(descriptor), &descriptor, sizeof(descriptor))) {
            file_close(process, (uint64_t)descriptor);
            break;
        }
        written++;
    }
    return written;
}

static void rights_end(struct rights *rights)
{
    for (unsigned i = 0; i < rights->count; i++) {
        __atomic_fetch_sub(&rights->files[i]->in_flight, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&rights->sender->files->in_flight, 1, __ATOMIC_RELAXED);
        file_put(rights->files[i]);
    }
    page_pool_free(rights->sender->vm.pages, arch_physical_of(rights), ARCH_PAGE);
}

/* Takes the next rights to end from the queue. Returns NULL if there are none: the next rights_put then ends
 * what it queues. */
static struct rights *ended_next(struct file_table *table)
{
    SPIN_GUARD(&table->lock);
    struct rights *next = table->rights_ended;
    table->rights_ending = next != NULL;
    if (next)
        table->rights_ended = next->next;
    return next;
}

/* Queues the rights; ends all that are queued, unless a call of rights_put in this process does so already. A
 * file that ends may be a socket with more rights: they are queued for the outer call, instead of a call
 * inside another for each. */
void rights_put(struct rights *rights)
{
    struct file_table *table = arch_process()->files;

    if (!rights)
        return;
    spin_lock(&table->lock);
    bool ending = table->rights_ending;
    table->rights_ending = true;
    rights->next = table->rights_ended;
    table->rights_ended = rights;
    spin_unlock(&table->lock);
    while (!ending && (rights = ended_next(table)))
        rights_end(rights);
}

void rights_put_all(struct rights *first)
{
    for (struct rights *next; first; first = next) {
        next = first->next;
        rights_put(first);
    }
}

/* Drops what was sent to a socket of AF_UNIX if all its references are in flight. */
static void rights_abandon(struct file *file)
{
    unsigned references = __atomic_load_n(&file->references, __ATOMIC_ACQUIRE);

    /* Holds a reference, so that no other thread ends the file meanwhile. */
    if (references == 0 || references != __atomic_load_n(&file->in_flight, __ATOMIC_ACQUIRE) ||
        !__atomic_compare_exchange_n(&file->references, &references, references + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    if (file_is_socket(file) && socket_of(file)->family == AF_UNIX && unix_of(file)->in)
        rights_put_all(unix_rights_of(unix_of(file)->in));
    file_put(file);
}

void unix_rights_abandon(struct process *process)
{
    for (struct file_page *page = process->files->files; page; page = page->next) {
        for (unsigned i = 0; i < FILES_A_PAGE; i++)
            rights_abandon(&page->files[i]);
        crosscall_serve();
    }
}
