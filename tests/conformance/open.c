/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c: flags, names and what they answer; the read-only tree. */
#include "conform.h"

CONFORM(open)
{
    char name[4200];

    result("a file", sys(SYS_open, TEXT, O_RDONLY));
    result("the next one has the next number", sys(SYS_open, TEXT, O_RDONLY));
    result("what is not there", sys(SYS_open, "/data/none", O_RDONLY));
    result("below a file", sys(SYS_open, "/data/text/none", O_RDONLY));
    result("a file with a slash after it", sys(SYS_open, "/data/text/", O_RDONLY));
    result("an empty name", sys(SYS_open, "", O_RDONLY));
    result("nobody's memory", sys(SYS_open, NOWHERE, O_RDONLY));
    result("the kernel's memory", sys(SYS_open, KERNEL_SIDE, O_RDONLY));
    result("a folder", sys(SYS_open, DATA, O_RDONLY));
    result("a folder to write", sys(SYS_open, DATA, O_WRONLY));
    result("a file as a folder", sys(SYS_open, TEXT, O_RDONLY | O_DIRECTORY));
    result("through a link", sys(SYS_open, "/data/link", O_RDONLY));
    result("a link, not followed", sys(SYS_open, "/data/link", O_RDONLY | O_NOFOLLOW));
    result("a link to nothing", sys(SYS_open, "/data/dangling", O_RDONLY));
    result("a link to itself", sys(SYS_open, "/data/loop", O_RDONLY));
    result("up and down", sys(SYS_open, "/data/sub/../sub/./..//text", O_RDONLY));
    result("above the root", sys(SYS_open, "/../../data/text", O_RDONLY));
    result("there, and to be created alone", sys(SYS_open, TEXT, O_RDONLY | O_CREAT | O_EXCL, 0644));
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    result("a path of 4199 bytes", sys(SYS_open, name, O_RDONLY));
    name[256] = 0;
    result("a name of 256 bytes", sys(SYS_open, name, O_RDONLY));
    name[255] = 0;
    result("a name of 255 bytes", sys(SYS_open, name, O_RDONLY));
    strcpy(edge(sizeof(TEXT)), TEXT);
    result("a name up to a page's end", sys(SYS_open, edge(sizeof(TEXT)), O_RDONLY));
    memset(edge(4), 'x', 4);
    result("a name without an end", sys(SYS_open, edge(4), O_RDONLY));
}
