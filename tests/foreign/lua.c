/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lua.c: checks Lua: several threads, each with its own state, run the same script: coroutines, strings,
 * tables, errors, files, garbage. They take work from a queue that this program keeps.
 *
 *     lua [THREADS]      THREADS threads (4)
 */
#include "check.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#define JOBS 400

static const char script[] =
    "local own = ...\n"
    "-- coroutines\n"
    "local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) "
    "end\n"
    "local sum = 0\n"
    "for i in numbers(5000) do sum = sum + i end\n"
    "assert(sum == 12502500)\n"
    "-- strings\n"
    "local text = string.rep('one two three ', 500)\n"
    "local _, words = text:gsub('%a+', string.upper)\n"
    "assert(words == 1500 and #text == 7000)\n"
    "assert(('%5.2f|%-4d|%q'):format(3.14159, own, 'a\\nb'):sub(1, 6) == ' 3.14|')\n"
    "-- tables\n"
    "local t = {}\n"
    "for i = 1, 3000 do t[i] = (i * 7919) % 3001 end\n"
    "table.sort(t)\n"
    "for i = 2, #t do assert(t[i - 1] <= t[i]) end\n"
    "-- errors\n"
    "local ok, message = pcall(function() error({code = own}) end)\n"
    "assert(not ok and message.code == own)\n"
    "local function deep(n) if n == 0 then error('deep') end return 1 + deep(n - 1) end\n"
    "assert(not pcall(deep, 5000))\n"
    "-- files\n"
    "local name = '/tmp/lua' .. own\n"
    "local file = assert(io.open(name, 'w'))\n"
    "for i = 1, 500 do file:write(i, '\\n') end\n"
    "file:close()\n"
    "sum = 0\n"
    "for line in io.lines(name) do sum = sum + tonumber(line) end\n"
    "assert(sum == 125250 and os.remove(name))\n"
    "-- garbage\n"
    "local finalized = 0\n"
    "for i = 1, 200 do setmetatable({}, {__gc = function() finalized = finalized + 1 end}) end\n"
    "collectgarbage() collectgarbage()\n"
    "assert(finalized == 200)\n"
    "-- jobs\n"
    "local done = 0\n"
    "while true do\n"
    "  local job = take()\n"
    "  if not job then break end\n"
    "  local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end\n"
    "  give(f(job % 12))\n"
    "  done = done + 1\n"
    "end\n"
    "return done\n";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int jobs_left, jobs_closed;
static long given;
static _Atomic int done, failed;

static int take(lua_State *lua)
{
    pthread_mutex_lock(&lock);
    while (jobs_left == 0 && !jobs_closed)
        pthread_cond_wait(&filled, &lock);
    if (jobs_left > 0)
        lua_pushinteger(lua, jobs_left--);
    else
        lua_pushnil(lua);
    pthread_mutex_unlock(&lock);
    return 1;
}

static int give(lua_State *lua)
{
    lua_Integer value = luaL_checkinteger(lua, 1);

    pthread_mutex_lock(&lock);
    given += (long)value;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void run(int own)
{
    lua_State *lua = luaL_newstate();

    must("a state", lua != NULL);
    luaL_openlibs(lua);
    lua_register(lua, "take", take);
    lua_register(lua, "give", give);
    if (luaL_loadstring(lua, script) == LUA_OK) {
        lua_pushinteger(lua, own);
        if (lua_pcall(lua, 1, 1, 0) == LUA_OK) {
            done += (int)lua_tointeger(lua, -1);
            lua_close(lua);
            return;
        }
    }
    failed++;
    printf("script %d: %s\n", own, lua_tostring(lua, -1));
    lua_close(lua);
}

/* Fills the queue in portions if it is thread 0; others run the script. */
static void fill_or_run(int number)
{
    if (number != 0) {
        run(number);
        return;
    }
    for (int portion = 0; portion < 20; portion++) {
        pthread_mutex_lock(&lock);
        jobs_left += JOBS / 20;
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    jobs_closed = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    const int threads = count_of(argc, argv, 4);

    crew_run(threads + 1, fill_or_run);
    check("scripts of all threads", failed == 0);
    check("jobs done", done == JOBS);
    check("something came of them", given > 0);
    return wrong != 0;
}
