/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.c: writes its arguments and then its environment, each with the NUL that ends it; an empty string
 * stands between both. With ARGV_ONLY in the environment, the arguments alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(int count, char **arguments)
{
    if (arguments[count])
        return 1;
    for (int i = 0; i < count; i++)
        fwrite(arguments[i], 1, strlen(arguments[i]) + 1, stdout);
    if (getenv("ARGV_ONLY"))
        return 0;
    fwrite("=ENV=", 1, 6, stdout);
    for (char **variable = environ; *variable; variable++)
        fwrite(*variable, 1, strlen(*variable) + 1, stdout);
    return 0;
}
