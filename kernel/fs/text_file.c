/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.c: see text_file.h. Runs in system calls of the process that opens the file. No other thread can
 * reach a file before its contents are complete, and they never change afterwards, so they need no lock.
 */
#include "fs/text_file.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "mm/user_bytes.h"

void text_release(struct file *file)
{
    if (file->text.capacity)
        page_pool_free(file->process->vm.pages, arch_physical_of(file->text.bytes), file->text.capacity);
    file->text.bytes = NULL;
    file->text.size = file->text.capacity = 0;
}

/* Makes room for `count` more bytes, doubling the memory if need be. If there is none, frees the contents;
 * nothing can be added after that. */
static bool text_reserve(struct file *file, uint64_t count)
{
    uint64_t capacity = file->text.capacity ? file->text.capacity : ARCH_PAGE, size = file->text.size;

    while (count > capacity - size)
        capacity *= 2;
    if (capacity == file->text.capacity || file->text.is_lost)
        return !file->text.is_lost;
    uint64_t memory = page_pool_allocate(file->process->vm.pages, capacity, ARCH_PAGE);
    file->text.is_lost = memory == PAGE_POOL_NONE;
    if (!file->text.is_lost)
        memcpy(arch_physical(memory), file->text.bytes, size);
    text_release(file);
    if (file->text.is_lost)
        return false;
    file->text.bytes = arch_physical(memory);
    file->text.size = size;
    file->text.capacity = capacity;
    return true;
}

void text_add_bytes(void *context, const void *bytes, uint64_t count)
{
    struct file *file = context;

    if (!text_reserve(file, count))
        return;
    memcpy(file->text.bytes + file->text.size, bytes, count);
    file->text.size += count;
}

void text_add_user(struct file *file, uint64_t address, uint64_t end)
{
    uint64_t count = end - address;

    if (!text_reserve(file, count) || user_read(file->text.bytes + file->text.size, address, count))
        return;
    file->text.size += count;
}

/* Formats in place; a second time if there was no room. */
void text_add(struct file *file, const char *format, ...)
{
    va_list arguments;
    uint64_t length, room;

    do {
        room = file->text.capacity - file->text.size;
        va_start(arguments, format);
        length = format_va(file->text.bytes + file->text.size, room, format, arguments);
        va_end(arguments);
    } while (length >= room && text_reserve(file, length + 1));
    file->text.size += length < room ? length : 0;
}

static void sink_add(struct text_sink *sink, const char *line)
{
    text_add((struct file *)((char *)sink - offsetof(struct file, text.sink)), "%s", line);
}

int64_t text_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (offset >= file->text.size)
        return 0;
    return user_write_partial(buffer, file->text.bytes + offset, smaller(bytes, file->text.size - offset));
}

uint64_t text_size(const struct file *file)
{
    return file->text.size;
}

const struct file_operations text_operations = { .read = text_read,
                                                 .size = text_size,
                                                 .release = text_release };

int text_bind(struct file *file, const struct file_operations *operations, void (*make)(struct file *file))
{
    file->operations = operations;
    file->text.sink.add = sink_add;
    make(file);
    return file->text.is_lost ? -ENOMEM : 0;
}
