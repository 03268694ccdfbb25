# SPDX-License-Identifier: BSD-2-Clause
#
# apt.sh: functions, sourced by ports/*/fetch.sh, that take Debian packages without installing them and
# without root. They run Debian's own apt-get over a private state in the cache, so that signatures and
# checksums are verified as ever and neither the machine's package lists nor its installed packages change.
# Mirrors are those of the machine's own apt configuration; proxies and the like in /etc/apt/apt.conf.d count
# too.
#
#   debs_get NAME RELEASE-SUFFIX PACKAGE...   packages into the cache, and what they need and is not installed
#   debs_get_matching NAME PATTERN PACKAGE... of the packages and all that they need, only those whose names
#                                             match the whole PATTERN (grep -E), installed or not
#   debs_cached NAME                          true when the cache holds NAME; a damaged one ends the script
#                                             with status 1
#   debs_unpack NAME FOLDER                   the packages' files below FOLDER, as one step
#
# NAME is a folder of the cache. It holds *.deb and SHA256SUMS, which is written last: without it nothing
# counts.

cache=${TACET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tacet}
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac
codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")

# unavailable REASON: the package is not available here. Status 3 means that this is not an error in the tree.
unavailable()
{
    echo "${0##*/ports/}: $*" >&2
    exit 3
}

# out_of_reach NAME REASON: the cache's folder NAME cannot be fetched; say how it may come there otherwise.
out_of_reach()
{
    name=$1
    shift
    for folder in linux linux-rt qemu10 qemu10-ppc64 go rust libraries network; do
        [ -f "$cache/$folder/SHA256SUMS" ] && there="${there:-} $folder" || absent="${absent:-} $folder"
    done
    unavailable "$*; without network, copy the folder $name of another machine's cache to $cache" \
        "(there:${there:- none}; missing:${absent:- none})"
}

# The machine's Debian sources as lines "URI SUITE COMPONENT".
debian_sources()
{
    apt-get indextargets --no-release-info \
        --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(CREATED_BY)' 2>/dev/null |
        awk -v c="$codename" '$4 == "Packages" && $3 == "main" && $1 ~ /debian/ &&
            ($2 == c || index($2, c "-") == 1) { print $1, $2, $3 }' | sort -u
}

# Write the private configuration. Hooks that belong to installing are cleared: nothing is installed here.
private_configuration()
{
    private=$cache/apt
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$private/lists/partial" "$private/cache/archives/partial" "$private/apt.conf.d"
    find "$private/apt.conf.d" -mindepth 1 -delete
    for part in /etc/apt/apt.conf.d/*; do
        [ ! -f "$part" ] || ln -s "$part" "$private/apt.conf.d/"
    done
    cat >"$private/apt.conf" <<END
Dir::Etc::Parts "$private/apt.conf.d";
END
    cat >"$private/apt.conf.d/zz-tacet" <<END
#clear APT::Update;
#clear DPkg;
Dir::Etc::SourceList "$private/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$private/lists";
Dir::Cache "$private/cache";
APT::Sandbox::User "";
APT::Install-Recommends "false";
APT::Get::Assume-Yes "true";
APT::Update::Error-Mode "any";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Debug::NoLocking "true";
END
    sources=$(debian_sources)
    [ -n "$sources" ] || unavailable "apt's configuration here names no mirror of Debian's main archive"
    options="targets=Packages"
    [ ! -r "$keyring" ] || options="$options signed-by=$keyring"
    {
        printf '%s\n' "$sources" | sed "s|^|deb [$options] |"
        # The requested suite, from the mirror that has the main suite.
        [ -z "$1" ] || printf '%s\n' "$sources" | awk -v c="$codename" -v s="$codename$1" -v o="$options" \
            '$2 == c { print "deb [" o "] " $1 " " s " " $3 }'
    } | sort -u >"$private/sources.list"
}

private_apt()
{
    APT_CONFIG=$private/apt.conf LC_ALL=C apt-get -q "$@"
}

debs_cached()
{
    [ -f "$cache/$1/SHA256SUMS" ] || return 1
    if ! damaged=$(cd "$cache/$1" && sha256sum --check --quiet --strict SHA256SUMS 2>/dev/null); then
        echo "${0##*/ports/}: wrong checksum in $cache/$1: $(echo $damaged);" \
            "remove that folder and try again" >&2
        exit 1
    fi
}

# Fresh package lists for NAME: the machine's own suites and, with a suffix, another one. One at a time:
# they and the downloads share the private state.
debs_lists()
{
    command -v apt-get >/dev/null || out_of_reach "$1" "there is no apt-get here"
    if ! { mkdir -p "$cache" && : >>"$cache/apt.lock"; } 2>/dev/null; then
        echo "${0##*/ports/}: the cache $cache cannot be written; name another folder with TACET_CACHE" >&2
        exit 1
    fi
    exec 9>>"$cache/apt.lock"
    flock 9
    private_configuration "$2"
    # What the machine's own lists hold, which are often of this minute, need not come again.
    for list in /var/lib/apt/lists/*debian*_InRelease /var/lib/apt/lists/*debian*_main_binary-*_Packages*; do
        [ ! -r "$list" ] || cp -pu "$list" "$private/lists/"
    done
    log=$private/log
    echo "  FETCH   $1: Debian's package lists" >&2
    private_apt update >"$log" 2>&1 ||
        out_of_reach "$1" "no package lists: $(grep -m1 '^[EW]:' "$log" || tail -n1 "$log")"
}

# debs_save NAME APT-GET-ARGUMENTS: run a command that downloads into the current folder, keep what it
# brought.
debs_save()
{
    part=$cache/$1.part
    begun=$(date +%s)
    rm -rf "$part"
    mkdir -p "$part/partial"
    echo "  FETCH   $1: $(cd "$part" && shift && private_apt --print-uris "$@" 2>/dev/null |
        awk '/^.*:\/\// { n++; b += $3 } END { printf "%d packages, %d MB", n, b / 1000000 }')" >&2
    (cd "$part" && shift && private_apt "$@" >"$log" 2>&1) ||
        out_of_reach "$1" "cannot download $1: $(grep -m1 '^E:' "$log" || tail -n1 "$log")"
    rm -rf "$part/partial" "$part/lock"
    (cd "$part" && sha256sum -- *.deb >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS)
    rm -rf "${cache:?}/$1"
    mv "$part" "$cache/$1"
    echo "  FETCHED $1 in $(($(date +%s) - begun)) s" >&2
}

debs_get()
{
    name=$1
    suffix=$2
    shift 2
    debs_lists "$name" "$suffix"
    debs_save "$name" install --download-only --reinstall -t "$codename$suffix" \
        -o "Dir::Cache::Archives=$cache/$name.part" "$@"
}

debs_get_matching()
{
    name=$1
    pattern=$2
    shift 2
    debs_lists "$name" ""
    found=$(APT_CONFIG=$private/apt.conf LC_ALL=C apt-cache depends --recurse --important "$@" 2>/dev/null |
        grep -Ex "$pattern" | sort -u)
    [ -n "$found" ] || unavailable "$* depends on no $pattern"
    debs_save "$name" download $found
}

debs_unpack()
{
    part=$2.part
    rm -rf "$part" "$2"
    mkdir -p "$part"
    for deb in "$cache/$1"/*.deb; do
        dpkg-deb -x "$deb" "$part"
    done
    mv "$part" "$2"
}
