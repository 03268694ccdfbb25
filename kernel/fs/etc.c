/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * etc.c: see etc.h. Only the names that programs ask for are here: an archive with a longer list replaces a
 * file. Formats: passwd(5), group(5), nsswitch.conf(5), services(5), protocols(5), os-release(5). On the
 * first CPU, without processes.
 *
 * A job has numbers, not names, for its user and groups: "user", and "group" with the number for all but the
 * first. The home is where files can be made.
 */
#include "fs/etc.h"
#include "fs/text_file.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "lib/version.h"
#include "process/process.h"

#define HOME "/tmp"

static const char *const files[][2] = {
    { "/etc/mtab", "/proc/self/mounts" }, /* a symbolic link */
    { "/etc/host.conf", "multi on\n" },
    { "/etc/nsswitch.conf",
      "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
    { "/etc/os-release",
      "NAME=Tacet\nID=tacet\nVERSION_ID=\"" TACET_VERSION "\"\nPRETTY_NAME=\"Tacet " TACET_VERSION "\"\n" },
    { "/etc/protocols", "ip 0 IP\nicmp 1 ICMP\nigmp 2 IGMP\ntcp 6 TCP\nudp 17 UDP\nipv6 41 IPv6\n"
                        "ipv6-icmp 58 IPv6-ICMP\n" },
    { "/etc/services",
      "echo 7/tcp\necho 7/udp\ndiscard 9/tcp\ndiscard 9/udp\nsystat 11/tcp\ndaytime 13/tcp\n"
      "daytime 13/udp\nchargen 19/tcp\nchargen 19/udp\nftp-data 20/tcp\nftp 21/tcp\nssh 22/tcp\n"
      "telnet 23/tcp\nsmtp 25/tcp\ntime 37/tcp\ntime 37/udp\ndomain 53/tcp\ndomain 53/udp\n"
      "bootps 67/udp\nbootpc 68/udp\ntftp 69/udp\nfinger 79/tcp\nhttp 80/tcp www\npop3 110/tcp\n"
      "sunrpc 111/tcp\nsunrpc 111/udp\nntp 123/udp\nimap2 143/tcp imap\nsnmp 161/udp\nldap 389/tcp\n"
      "https 443/tcp\nsyslog 514/udp\n9pfs 564/tcp\nsubmission 587/tcp\nldaps 636/tcp\nrsync 873/tcp\n"
      "imaps 993/tcp\npop3s 995/tcp\nnfs 2049/tcp\nnfs 2049/udp\nmysql 3306/tcp\npostgresql 5432/tcp\n" },
};

/* ---- The job's user, whose numbers are those of the job that opens the file ---- */

static void passwd_describe(struct text_sink *sink)
{
    const struct credentials *who = &process_credentials;

    sink_print(sink, "root:x:0:0:root:" HOME ":/bin/sh\n");
    if (who->uid)
        sink_print(sink, "user:x:%u:%u:user:" HOME ":/bin/sh\n", who->uid, who->gid);
}

static void group_describe(struct text_sink *sink)
{
    const struct credentials *who = &process_credentials;

    sink_print(sink, "root:x:0:\n");
    if (who->gid)
        sink_print(sink, "user:x:%u:\n", who->gid);
    for (unsigned i = 0; i < who->group_count; i++)
        if (who->groups[i] && who->groups[i] != who->gid)
            sink_print(sink, "group%u:x:%u:\n", who->groups[i], who->groups[i]);
}

static struct user_file {
    const char *path;
    void (*describe)(struct text_sink *sink);
    struct inode *inode; /* NULL: an archive has the file */
} user_files[] = { { "/etc/passwd", passwd_describe, NULL }, { "/etc/group", group_describe, NULL } };

#define USER_FILES (sizeof(user_files) / sizeof(user_files[0]))

static void user_file_make(struct file *file)
{
    ((const struct user_file *)file->inode->data)->describe(&file->text.sink);
}

static int user_file_open(struct file *file)
{
    return text_bind(file, &text_operations, user_file_make);
}

static const struct inode_operations user_file_operations = { .open = user_file_open };

struct counter {
    struct text_sink sink;
    uint64_t bytes;
};

static void count(struct text_sink *sink, const char *line)
{
    ((struct counter *)sink)->bytes += strlen(line);
}

void etc_user_changed(void)
{
    for (unsigned i = 0; i < USER_FILES; i++) {
        struct counter counter = { { count }, 0 };

        user_files[i].describe(&counter.sink);
        if (user_files[i].inode)
            user_files[i].inode->bytes = counter.bytes;
    }
}

/* ---- Adding the files ---- */

static bool is_there(const struct tree *tree, const char *path)
{
    struct path_lookup found;

    return tree_find(tree, tree->root, path, TREE_FOLLOW, &found) == 0;
}

/* Adds a file that is made when it is opened, unless an archive has it. */
static int user_file_add(struct tree *tree, struct user_file *file, struct message *why)
{
    file->inode = NULL;
    if (is_there(tree, file->path))
        return 0;
    file->inode = tree_add(tree, file->path, S_IFREG | 0644, file, 0, why);
    if (!file->inode)
        return -ENOMEM;
    file->inode->device = 1; /* not a file with bytes */
    file->inode->operations = &user_file_operations;
    return 0;
}

int etc_file_add(struct tree *tree, const char *path, const char *text, struct message *why)
{
    const uint32_t mode = text[0] == '/' ? S_IFLNK | 0777 : S_IFREG | 0644;

    return is_there(tree, path) || tree_add(tree, path, mode, text, strlen(text), why) ? 0 : -EINVAL;
}

int etc_add(struct tree *tree, struct message *why)
{
    int error = 0;

    for (unsigned i = 0; i < USER_FILES && !error; i++)
        error = user_file_add(tree, &user_files[i], why);
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
        error = etc_file_add(tree, files[i][0], files[i][1], why);
    etc_user_changed();
    return error;
}
