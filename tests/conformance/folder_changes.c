/* SPDX-License-Identifier: BSD-2-Clause */
/* folder_changes.c: what a listing of a folder of /tmp shows: files of all kinds, those that came, not those
 * that went. */
#include "conform.h"

#include <dirent.h>

CONFORM(folder_changes)
{
    char name[32];
    int count = 0, folders = 0, links = 0;
    struct dirent *entry;
    DIR *list;

    if (!in_tmp())
        return;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "file%d", i);
        sys(SYS_close, file_made(name, ""));
    }
    for (int i = 0; i < 300; i += 3) {
        snprintf(name, sizeof(name), "file%d", i);
        sys(SYS_unlink, name);
    }
    sys(SYS_mkdir, "folder", 0755);
    sys(SYS_symlink, "file1", "link");
    list = opendir(".");
    while (list && (entry = readdir(list))) {
        count++;
        folders += entry->d_type == DT_DIR;
        links += entry->d_type == DT_LNK;
    }
    result("names, with \".\" and \"..\"", count);
    result("folders", folders);
    result("links", links);
    if (list)
        rewinddir(list);
    /* Removing what was just listed must not hide the rest. */
    for (count = 0; list && (entry = readdir(list));)
        if (entry->d_type == DT_REG) {
            count++;
            sys(SYS_unlink, entry->d_name);
        }
    if (list)
        closedir(list);
    result("files, each removed when it was seen", count);
    sys(SYS_rmdir, "folder");
    sys(SYS_unlink, "link");
    sys(SYS_chdir, "/tmp");
    result("nothing was left", sys(SYS_rmdir, "folder_changes"));
}
