# Brings guest kernels and programs of Debian packages into the cache folder. Sourced by lab/lab.bash.
# shellcheck shell=bash

FETCH_FORMAT=1 # raise it when a change here must replace what is already in people's caches

# The Debian mirror this machine already uses, so that its proxies and pins go on to apply.
debian_mirror() {
    if [[ -n ${NETLOOM_DEBIAN_MIRROR:-} ]]; then
        echo "$NETLOOM_DEBIAN_MIRROR"
        return
    fi
    local mirror
    mirror=$(awk '!/^[ \t]*#/ { for (i = 1; i <= NF; i++) if ($i ~ "^[a-z+]+:.*/debian/?$") { print $i; exit } }' \
        < <(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null))
    [[ -n $mirror ]] || { say "no Debian mirror in this machine's apt sources (NETLOOM_DEBIAN_MIRROR can name one)"; return 1; }
    echo "$mirror"
}

# The Debian release that comes with a kernel; without one the releases to come, whose kernel is the newest.
debian_releases() { # [KERNEL]
    case ${1:-} in
        '') echo testing unstable ;;
        5.10) echo bullseye ;;
        6.1) echo bookworm ;;
        6.12) echo trixie ;;
        *)
            say "there is no kernel '$1' for the lab (NETLOOM_LAB_KERNEL); there are: 5.10 6.1 6.12"
            return 1
            ;;
    esac
}

# apt with lists, cache and sources of its own: the machine's package state stays as it is, and no
# root is needed.
private_apt() { # FOLDER COMMAND ARGS...
    local dir=$1 command=$2
    shift 2
    "$command" -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o "Dir::State=$dir/state" -o "Dir::State::status=$dir/status" -o "Dir::Cache=$dir/cache" \
        -o APT::Architecture=amd64 -o APT::Sandbox::User=root -o Acquire::Retries=3 \
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

private_apt_open() { # FOLDER RELEASE...
    local dir=$1 release mirror key=/usr/share/keyrings/debian-archive-keyring.gpg options=
    [[ $(uname -m) == x86_64 ]] || { say "guest kernels and routing daemons are fetched for x86_64 only"; return 1; }
    command -v apt-get dpkg >/dev/null || { say "guest kernels and routing daemons come from Debian packages; there is no apt here"; return 1; }
    mirror=$(debian_mirror) || return 1
    [[ ! -e $key ]] || options="[signed-by=$key] "
    mkdir -p "$dir"/{state/lists/partial,cache/archives/partial,packages,tree}
    : >"$dir/status"
    for release in "${@:2}"; do
        echo "deb $options$mirror $release main"
    done >"$dir/sources.list"
    private_apt "$dir" apt-get update
}

# Downloads packages and unpacks them all into FOLDER/tree.
private_apt_unpack() { # FOLDER PACKAGE...
    local dir=$1 package
    shift
    (cd "$dir/packages" && private_apt "$dir" apt-get download "$@") || return 1
    for package in "$dir"/packages/*.deb; do
        dpkg -x "$package" "$dir/tree" || return 1
    done
    rm -f "$dir"/packages/*.deb
}

# The User-Mode Linux of older releases does not start on newer processors, so there is only the newest.
fetch_uml_into() { # FOLDER: FOLDER/tmp is scratch, the rest is kept
    local dir=$1 tmp=$1/tmp lib
    local patchelf=(patchelf) packages=(user-mode-linux libc6 busybox-static)
    command -v patchelf >/dev/null || packages+=(patchelf libstdc++6 libgcc-s1)
    private_apt_open "$tmp" testing unstable && private_apt_unpack "$tmp" "${packages[@]}" || return 1
    mkdir "$dir/lib"
    lib=$(dirname "$(find "$tmp/tree" -name libc.so.6 -print -quit)")
    cp -L "$lib"/{ld-linux-x86-64.so.2,libc.so.6} "$dir/lib/" || return 1
    if ! command -v patchelf >/dev/null; then
        patchelf=("$dir/lib/ld-linux-x86-64.so.2" --library-path "$lib" "$tmp/tree/usr/bin/patchelf")
    fi
    cp "$tmp/tree/usr/bin/linux.uml" "$dir/linux" &&
        cp "$(find "$tmp/tree" -path "*bin/busybox" -print -quit)" "$dir/busybox" &&
        mv "$tmp"/tree/usr/lib/uml/modules/* "$dir/modules" || return 1
    # The kernel wants a newer C library than the machine may have. It cannot be started through
    # another loader (its own load address is fixed), so it gets the loader written into it.
    "${patchelf[@]}" --set-interpreter "$CACHE/uml/lib/ld-linux-x86-64.so.2" --set-rpath "$CACHE/uml/lib" "$dir/linux"
}

fetch_qemu_into() { # FOLDER [KERNEL]
    local dir=$1 kernel=${2:-} tmp=$1/tmp image part pieces releases
    read -ra releases < <(debian_releases "$kernel")
    private_apt_open "$tmp" "${releases[@]}" || return 1
    # Of Debian's kernels only the full one has the 9p file system.
    image=$(private_apt "$tmp" apt-cache depends linux-image-amd64 | awk '/Depends: *linux-image/ { print $2; exit }')
    [[ $image == "linux-image-${kernel:+$kernel.}"* ]] ||
        { say "the linux-image-amd64 of ${releases[*]} on the Debian mirror is ${image:-not there}, not a kernel ${kernel:-at all}"; return 1; }
    # Newer releases split it into several packages.
    mapfile -t pieces < <(private_apt "$tmp" apt-cache depends "$image" | awk '/Depends: *linux-(base|binary|modules)-[0-9]/ { print $2 }')
    private_apt_unpack "$tmp" busybox-static "$image" "${pieces[@]}" || return 1
    cp "$(find "$tmp/tree" -name 'vmlinuz*' -type f -print -quit)" "$dir/linux" &&
        cp "$(find "$tmp/tree" -path "*bin/busybox" -print -quit)" "$dir/busybox" || return 1

    # Keep the modules that a network lab can use, uncompressed for busybox.
    local all release
    all=$(dirname "$(find "$tmp/tree" -path "*/lib/modules/*/kernel" -print -quit)")
    release=${all##*/}
    mkdir -p "$dir/ram/lib/modules/$release/kernel/"{drivers,fs} "$dir/ram/bin"
    rm -rf "$all"/kernel/drivers/net/{ethernet,wireless,wwan,can,usb,fddi,arcnet,hamradio}
    for part in net lib crypto arch drivers/net drivers/virtio drivers/char drivers/vhost fs/9p fs/netfs fs/fscache fs/overlayfs; do
        [[ ! -e $all/kernel/$part ]] || cp -r "$all/kernel/$part" "$dir/ram/lib/modules/$release/kernel/$part" || return 1
    done
    cp "$all"/modules.{order,builtin,builtin.modinfo} "$dir/ram/lib/modules/$release/"
    find "$dir/ram" -name '*.ko.xz' -print0 | xargs -0r xz -d || return 1
    depmod -b "$dir/ram" "$release" || return 1
    cp -r "$dir/ram/lib/modules/$release" "$dir/modules"

    # The initial file system needs only enough to reach the host's tree.
    find "$dir/ram" -name '*.ko' ! -path '*/9p/*' ! -path '*/netfs/*' ! -path '*/fscache/*' ! -path '*/virtio/*' \
        ! -name 'virtio*' ! -name overlay.ko -delete
    cp "$dir/busybox" "$dir/ram/bin/busybox" && install -m 755 "$LAB/initramfs-init" "$dir/ram/init" &&
        (cd "$dir/ram" && find . | "$dir/busybox" cpio -o -H newc | gzip -1) >"$dir/initramfs" && rm -rf "$dir/ram"
}

# Fetches a guest kernel (uml, qemu) or the routing daemons (frr), or a certain one such as qemu-5.10, unless it is there. One
# process fetches, others wait.
fetch_once() { # NAME
    local name=$1 dir=$CACHE/$1 version='' new
    [[ $name != *-* ]] || version=${name#*-}
    # The path is part of what is installed (loader), so a moved cache counts as absent.
    local stamp="$dir $FETCH_FORMAT"
    [[ $(cat "$dir/ready" 2>/dev/null) != "$stamp" ]] || return 0
    mkdir -p "$CACHE"
    (
        flock 9
        [[ $(cat "$dir/ready" 2>/dev/null) != "$stamp" ]] || exit 0
        say "fetching $name into $dir (once)"
        new=$(mktemp -d "$CACHE/.$name.XXXXXX")
        # shellcheck disable=SC2064
        trap "rm -rf '$new'" EXIT
        if ! "fetch_${name%%-*}_into" "$new" ${version:+"$version"} >"$CACHE/fetch-$name.log" 2>&1; then
            tail -n 5 "$CACHE/fetch-$name.log" >&2
            say "could not fetch $name; all of it: $CACHE/fetch-$name.log"
            exit 1
        fi
        rm -rf "$new/tmp" "$dir" && chmod 755 "$new" && mv "$new" "$dir" && echo "$stamp" >"$dir/ready"
    ) 9>"$CACHE/fetch.lock"
}
