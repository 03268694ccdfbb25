/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sqlite.c: checks SQLite with one database file in /tmp and several threads, each with its own connection.
 * All increment one row, append rows and read while others write, once with a rollback journal and once with
 * a write-ahead log. Then all threads use one connection.
 *
 *     sqlite [THREADS]      THREADS threads (4)
 */
#include "check.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define DATABASE "/tmp/threads.db"
#define ROUNDS   40

static sqlite3 *one_for_all;
static _Atomic int errors, torn;

static sqlite3 *opened(void)
{
    sqlite3 *database = NULL;

    must("the database is opened", sqlite3_open(DATABASE, &database) == SQLITE_OK);
    sqlite3_busy_timeout(database, 60000);
    return database;
}

static void say(sqlite3 *database, const char *sql)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK)
        return;
    errors++;
    printf("%s: %s\n", sql, sqlite3_errmsg(database));
}

static long answer(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    long number = -1;

    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = (long)sqlite3_column_int64(statement, 0);
    else
        errors++;
    sqlite3_finalize(statement);
    return number;
}

static void work(int own)
{
    sqlite3 *database = opened();
    char insert[100];

    snprintf(insert, sizeof(insert),
             "insert into line(thread, text) values (%d, printf('%%0200d', random()))", own);
    for (int round = 0; round < ROUNDS; round++) {
        say(database, "begin immediate");
        say(database, "update counter set value = value + 1");
        say(database, insert);
        say(database, "commit");
        /* Both changes of a transaction must appear together. */
        torn += answer(database, "select (select value from counter) - (select count(*) from line)") != 0;
    }
    sqlite3_close(database);
}

static void work_with_one(int own)
{
    char update[100];

    snprintf(update, sizeof(update), "update counter set value = value + %d", own + 1);
    for (int round = 0; round < ROUNDS; round++)
        say(one_for_all, update);
}

int main(int argc, char **argv)
{
    const char *const journals[] = { "delete", "wal" };
    const int threads = count_of(argc, argv, 4);

    check("the library is thread-safe", sqlite3_threadsafe() == 1);
    for (int i = 0; i < 2; i++) {
        sqlite3 *database = opened();
        char journal[60];

        snprintf(journal, sizeof(journal), "pragma journal_mode = %s", journals[i]);
        say(database, journal);
        say(database, "pragma synchronous = normal");
        say(database, "drop table if exists counter; drop table if exists line");
        say(database, "create table counter(value integer); insert into counter values (0)");
        say(database, "create table line(id integer primary key, thread integer, text text)");
        say(database, "create index by_thread on line(thread)");
        crew_run(threads, work);
        printf("journal: %s\n", journals[i]);
        check("each transaction counted", answer(database, "select value from counter") == threads * ROUNDS);
        check("each row is there",
              answer(database, "select min(n) from (select count(*) as n from line group by "
                               "thread)") == ROUNDS);
        check("whole", answer(database, "select count(*) from pragma_integrity_check where integrity_check = "
                                        "'ok'") == 1);
        sqlite3_close(database);
    }
    one_for_all = opened();
    say(one_for_all, "update counter set value = 0");
    crew_run(threads, work_with_one);
    check("one connection for all",
          answer(one_for_all, "select value from counter") == ROUNDS * threads * (threads + 1) / 2);
    sqlite3_close(one_for_all);
    check("no reader saw a half", torn == 0);
    check("no errors", errors == 0);
    unlink(DATABASE);
    return wrong != 0;
}
