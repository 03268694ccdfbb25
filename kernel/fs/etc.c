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
#include "lib/kstring.h"
#include "lib/version.h"
#include "process/process.h"

#define HOME "/tmp"

static const char *const files[][2] = {
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

static void passwd_text(struct file *file)
{
    const struct credentials *who = &process_credentials;

    text_add(file, "root:x:0:0:root:" HOME ":/bin/sh\n");
    if (who->uid)
        text_add(file, "user:x:%u:%u:user:" HOME ":/bin/sh\n", who->uid, who->gid);
}

static void group_text(struct file *file)
{
    const struct credentials *who = &process_credentials;

    text_add(file, "root:x:0:\n");
    if (who->gid)
        text_add(file, "user:x:%u:\n", who->gid);
    for (unsigned i = 0; i < who->group_count; i++)
        if (who->groups[i] && who->groups[i] != who->gid)
            text_add(file, "group%u:x:%u:\n", who->groups[i], who->groups[i]);
}

static int passwd_open(struct file *file)
{
    return text_bind(file, &text_operations, passwd_text);
}

static int group_open(struct file *file)
{
    return text_bind(file, &text_operations, group_text);
}

static const struct inode_operations passwd_operations = { .open = passwd_open },
                                     group_operations = { .open = group_open };

/* ---- Adding the files ---- */

static bool is_there(const struct tree *tree, const char *path)
{
    struct path_lookup found;

    return tree_find(tree, tree->root, path, TREE_FOLLOW, &found) == 0;
}

/* Adds a file that is made when it is opened, unless an archive has it. */
static int made_file_add(struct tree *tree, const char *path, const struct inode_operations *operations,
                         struct message *why)
{
    if (is_there(tree, path))
        return 0;
    struct inode *inode = tree_add(tree, path, S_IFREG | 0644, NULL, 0, why);
    if (!inode)
        return -ENOMEM;
    inode->device = 1; /* not a file with bytes */
    inode->operations = operations;
    return 0;
}

int etc_file_add(struct tree *tree, const char *path, const char *text, struct message *why)
{
    return is_there(tree, path) || tree_add(tree, path, S_IFREG | 0644, text, strlen(text), why) ? 0
                                                                                                 : -EINVAL;
}

int etc_add(struct tree *tree, struct message *why)
{
    static const char mounts[] = "/proc/self/mounts";
    int error = made_file_add(tree, "/etc/passwd", &passwd_operations, why);

    if (!error)
        error = made_file_add(tree, "/etc/group", &group_operations, why);
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
        error = etc_file_add(tree, files[i][0], files[i][1], why);
    if (!error && !is_there(tree, "/etc/mtab") &&
        !tree_add(tree, "/etc/mtab", S_IFLNK | 0777, mounts, sizeof(mounts) - 1, why))
        error = -ENOMEM;
    return error;
}
