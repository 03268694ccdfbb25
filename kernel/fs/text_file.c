/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.c: see text_file.h. Runs in system calls of the process that opens. A file has one maker, and is
 * nobody else's before that has ended, so it is not locked; its memory is the slice's, which is.
 */
#include "fs/text_file.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "mm/user_bytes.h"

static void text_give_back(struct file *file)
{
    if (file->text_capacity)
        page_pool_free(file->process->vm.pages, arch_physical_of(file->text), file->text_capacity);
    file->text = NULL;
    file->text_capacity = 0;
}

/* Whether there is room for `count` more bytes, in twice the memory if need be. Without memory the text is
 * gone, and a file without one takes no more. */
static bool text_reserve(struct file *file, uint64_t count)
{
    uint64_t capacity = file->text_capacity, memory;

    if (!file->text)
        return false;
    while (count > capacity - file->text_bytes)
        capacity *= 2;
    if (capacity == file->text_capacity)
        return true;
    memory = page_pool_allocate(file->process->vm.pages, capacity, ARCH_PAGE);
    if (memory != PAGE_POOL_NONE)
        memcpy(arch_physical(memory), file->text, file->text_bytes);
    text_give_back(file);
    if (memory == PAGE_POOL_NONE)
        return false;
    file->text = arch_physical(memory);
    file->text_capacity = capacity;
    return true;
}

void text_add_bytes(struct file *file, const void *bytes, uint64_t count)
{
    if (!text_reserve(file, count))
        return;
    memcpy(file->text + file->text_bytes, bytes, count);
    file->text_bytes += count;
}

void text_add_user(struct file *file, uint64_t address, uint64_t count)
{
    if (!text_reserve(file, count) || user_read(file->text + file->text_bytes, address, count))
        return;
    file->text_bytes += count;
}

void text_add(struct file *file, const char *format, ...)
{
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    size_t length = format_va(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < sizeof(line)) {
        text_add_bytes(file, line, length);
        return;
    }
    if (!text_reserve(file, length + 1))
        return;
    va_start(arguments, format);
    format_va(file->text + file->text_bytes, length + 1, format, arguments);
    va_end(arguments);
    file->text_bytes += length;
}

static void sink_add(struct text_sink *sink, const char *line)
{
    text_add(((struct file_sink *)sink)->file, "%s", line);
}

struct file_sink text_sink_of(struct file *file)
{
    return (struct file_sink){ { sink_add }, file };
}

int64_t text_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    if (offset >= file->text_bytes)
        return 0;
    if (bytes > file->text_bytes - offset)
        bytes = file->text_bytes - offset;
    return user_write_partial(buffer, file->text + offset, bytes);
}

uint64_t text_size(const struct file *file)
{
    return file->text_bytes;
}

void text_release(struct file *file)
{
    text_give_back(file);
}

const struct file_operations text_operations = { .read = text_read,
                                                 .size = text_size,
                                                 .release = text_release };

int text_bind(struct file *file, const struct file_operations *operations, void (*make)(struct file *file))
{
    uint64_t memory = page_pool_allocate(file->process->vm.pages, ARCH_PAGE, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    file->operations = operations;
    file->text = arch_physical(memory);
    file->text_capacity = ARCH_PAGE;
    file->text_bytes = 0;
    make(file);
    return file->text ? 0 : -ENOMEM;
}
