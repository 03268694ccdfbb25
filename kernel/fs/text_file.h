/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_file.h: pseudo files: their contents are made when they are opened, in memory of the process's slice
 * that grows as they do, and stay as they were until the last descriptor is closed.
 */
#ifndef TACET_TEXT_FILE_H
#define TACET_TEXT_FILE_H

#include "fs/file.h"
#include "lib/format.h"

/* What can be done with a pseudo file that only reads. One that takes writes has operations of its own, with
 * these as its others. */
extern const struct file_operations text_operations;
int64_t text_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset);
uint64_t text_size(const struct file *file);
void text_release(struct file *file);

/* Lets `make` write the contents with the functions below. -ENOMEM where the slice has no room for them. */
int text_bind(struct file *file, const struct file_operations *operations, void (*make)(struct file *file));

/* More of the contents, inside a maker. Where memory runs out, the file is cut, and text_bind fails. */
__attribute__((format(printf, 2, 3))) void text_add(struct file *file, const char *format, ...);
void text_add_bytes(struct file *file, const void *bytes, uint64_t count);
/* For those who describe something to a sink (format.h): &sink.sink of the answer leads into the file. */
struct file_sink {
    struct text_sink sink;
    struct file *file;
};
struct file_sink text_sink_of(struct file *file);
/* From the program's memory; what cannot be read is left away. */
void text_add_user(struct file *file, uint64_t address, uint64_t count);

#endif
