/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hdf5.c: checks HDF5, in Debian's thread-safe build. Several threads write data sets, plain and compressed,
 * and each a part of a common data set, into one file in /tmp, and read them back. Then the file is opened
 * again.
 *
 *     hdf5 [THREADS]      THREADS threads (4)
 */
#include "check.h"

#include <hdf5.h>
#include <unistd.h>

#define ROWS      40
#define COLUMNS   500
#define FILE_NAME "/tmp/threads.h5"

static hid_t file, common;
static _Atomic int right_sets;

static int value(int own, int row, int column)
{
    return own * 1000003 + row * 1009 + column * (row % 3);
}

static bool set_right(hid_t set, int own)
{
    static _Thread_local int values[ROWS][COLUMNS];

    if (H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        return false;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            if (values[row][column] != value(own, row, column))
                return false;
        }
    }
    return true;
}

static void work(int own)
{
    static _Thread_local int values[ROWS][COLUMNS];
    const hsize_t size[2] = { ROWS, COLUMNS }, chunk[2] = { 10, 100 };
    const hsize_t from[2] = { (hsize_t)own, 0 }, one_row[2] = { 1, COLUMNS };
    hid_t space = H5Screate_simple(2, size, NULL), plan = H5Pcreate(H5P_DATASET_CREATE), row, rows, set;
    char name[40];

    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            values[i][j] = value(own, i, j);
    }
    H5Pset_chunk(plan, 2, chunk);
    if (own % 2) {
        H5Pset_shuffle(plan);
        H5Pset_deflate(plan, 6);
    }
    snprintf(name, sizeof(name), "of thread %d", own);
    set = H5Dcreate2(file, name, H5T_STD_I32BE, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    must("a data set is written", H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    right_sets += set_right(set, own);
    H5Dclose(set);
    H5Pclose(plan);
    H5Sclose(space);

    /* One row of the common data set. */
    rows = H5Dget_space(common);
    row = H5Screate_simple(2, one_row, NULL);
    H5Sselect_hyperslab(rows, H5S_SELECT_SET, from, NULL, one_row, NULL);
    must("a row is written", H5Dwrite(common, H5T_NATIVE_INT, row, rows, H5P_DEFAULT, values[1]) >= 0);
    H5Sclose(row);
    H5Sclose(rows);
}

int main(int argc, char **argv)
{
    static int values[64][COLUMNS];
    const int threads = count_of(argc, argv, 4);
    const hsize_t size[2] = { (hsize_t)threads, COLUMNS };
    hbool_t safe = 0;
    hid_t space;
    bool right = true;

    H5is_library_threadsafe(&safe);
    check("the library is thread-safe", safe != 0);
    file = H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must("the file is made", file >= 0);
    space = H5Screate_simple(2, size, NULL);
    common = H5Dcreate2(file, "common", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    crew_run(threads, work);
    check("each thread reads what it wrote", right_sets == threads);
    H5Dclose(common);
    H5Sclose(space);
    H5Fclose(file);

    file = H5Fopen(FILE_NAME, H5F_ACC_RDONLY, H5P_DEFAULT);
    must("the file is opened again", file >= 0);
    for (int own = 0; own < threads; own++) {
        char name[40];
        hid_t set;

        snprintf(name, sizeof(name), "of thread %d", own);
        set = H5Dopen2(file, name, H5P_DEFAULT);
        right = set_right(set, own) && right;
        H5Dclose(set);
    }
    common = H5Dopen2(file, "common", H5P_DEFAULT);
    right = H5Dread(common, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0 && right;
    for (int own = 0; own < threads; own++) {
        for (int column = 0; column < COLUMNS; column++)
            right = right && values[own][column] == value(own, 1, column);
    }
    check("all is in the file", right);
    H5Dclose(common);
    H5Fclose(file);
    unlink(FILE_NAME);
    return wrong != 0;
}
