/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.c: see text_file.h. Runs in system calls of the process that opens the file. Nobody else can
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
        vm_pages_free(&file->process->vm, arch_physical_of(file->text.bytes), file->text.capacity);
    file->text.bytes = NULL;
    file->text.capacity = 0;
}

/* Makes room for `count` more bytes, doubling the memory if need be. Where there is none, frees the contents;
 * nothing can be added after that. */
static bool text_reserve(struct file *file, uint64_t count)
{
    uint64_t capacity = file->text.capacity, memory;

    if (!file->text.bytes)
        return false;
    while (count > capacity - file->text.size)
        capacity *= 2;
    if (capacity == file->text.capacity)
        return true;
    memory = vm_pages_allocate(&file->process->vm, capacity, ARCH_PAGE);
    if (memory != PAGE_POOL_NONE)
        memcpy(arch_physical(memory), file->text.bytes, file->text.size);
    text_release(file);
    if (memory == PAGE_POOL_NONE)
        return false;
    file->text.bytes = arch_physical(memory);
    file->text.capacity = capacity;
    return true;
}

void text_add_bytes(struct file *file, const void *bytes, uint64_t count)
{
    if (!text_reserve(file, count))
        return;
    memcpy(file->text.bytes + file->text.size, bytes, count);
    file->text.size += count;
}

void text_add_user(struct file *file, uint64_t address, uint64_t count)
{
    if (!text_reserve(file, count) || user_read(file->text.bytes + file->text.size, address, count))
        return;
    file->text.size += count;
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
    format_va(file->text.bytes + file->text.size, length + 1, format, arguments);
    va_end(arguments);
    file->text.size += length;
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
    if (offset >= file->text.size)
        return 0;
    if (bytes > file->text.size - offset)
        bytes = file->text.size - offset;
    return user_write_partial(buffer, file->text.bytes + offset, bytes);
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
    uint64_t memory = vm_pages_allocate(&file->process->vm, ARCH_PAGE, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    file->operations = operations;
    file->text.bytes = arch_physical(memory);
    file->text.capacity = ARCH_PAGE;
    file->text.size = 0;
    make(file);
    return file->text.bytes ? 0 : -ENOMEM;
}
