/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admission_file.h: the nodes that may have keys, in the file FOLDER/admissions, so that a restarted
 * conductor serves its nodes. Lines: the Ethernet address, the public key (or before the node has asked its
 * fingerprint), when it was heard last, in s since 1970, and its name or "-":
 *
 *      tacet-admissions 1
 *      admitted 525400000001 3f2a…64 digits 1796000123 n1
 *      expected 525400000002 3f2a9-0c417-be5d8-77e10 1796000124 -
 *      end 2
 *
 * The last line has the number of the lines between: a file that is cut is damaged. A damaged file is
 * refused, and so is one that others than its owner can write, for they could admit a node. It has no secret.
 */
#ifndef TACET_SERVICE_ADMISSION_FILE_H
#define TACET_SERVICE_ADMISSION_FILE_H

#include "beat/key_frame.h"

#define ADMISSIONS_FILE "admissions"
#define ADMISSIONS_MAX  16384
#define ADMISSION_LINE  160 /* bytes of a line with its end, at most */

struct admission {
    bool is_expected; /* the node has not asked: its public key is not known */
    uint8_t address[BEAT_ADDRESS_BYTES];
    uint8_t public[CURVE_BYTES];
    char fingerprint[FINGERPRINT_BYTES]; /* of an expected one */
    uint32_t heard_s;
    char name[ANSWER_NAME_BYTES]; /* NUL-padded; "": not known */
};

/* Returns whether a text is a fingerprint, as fingerprint_print writes it. */
bool fingerprint_is_valid(const char *text);

/* Writes a line. Returns its length. */
size_t admission_write(const struct admission *admission, char line[ADMISSION_LINE]);

/* Reads a line without its LF. Returns NULL, or what is wrong with it. */
const char *admission_read(const char *line, struct admission *admission);

/* Writes the file's text, at most ADMISSION_LINE for each admission and two more. Returns its length. */
size_t admissions_print(const struct admission *all, unsigned count, char *text);

/* Reads the file's text, which it changes; calls `take` with each admission. Returns NULL, or what is wrong
 * with line *number. */
const char *admissions_parse(char *text, void (*take)(const struct admission *admission), unsigned *number);

/* Reads the file; calls `take` with each admission. Returns 0, also if there is no file, or -1 with a message
 * in `why`. */
int admissions_read(const char *folder, void (*take)(const struct admission *admission), char *why,
                    size_t room);

/* Replaces the file. Returns NULL, or what is wrong. */
const char *admissions_write(const char *folder, const struct admission *all, unsigned count);

#endif
