# Kea, the second DHCP server of the tests. Sourced by ../x, after lab/lab.bash.
# shellcheck shell=bash

KEA=$CACHE/kea

# Kea's package starts a service that nobody asked for, now and at each boot. So it is not installed: it and the libraries
# that this machine lacks are unpacked into the cache, where only tests find them. That needs no root.
need_kea() {
    ! command -v kea-dhcp4 >/dev/null || return 0
    mkdir -p "$CACHE"
    (
        flock 9
        # What it was unpacked for may have changed: it has to run.
        ! "$KEA/bin/kea-dhcp4" -v >/dev/null 2>&1 || exit 0
        say "unpacking Kea into $KEA (once)"
        rm -rf "$KEA"
        if ! unpack_kea >"$CACHE/fetch-kea.log" 2>&1; then
            tail -n 5 "$CACHE/fetch-kea.log" >&2
            say "could not unpack Kea; all of it: $CACHE/fetch-kea.log"
            exit 1
        fi
    ) 9>"$CACHE/kea.lock" || return 1
    PATH=$KEA/bin:$PATH
}

kea_lists=() # options for package lists other than this machine's

kea_apt() { # ARGS...
    apt-get -q "${kea_lists[@]}" -o "Dir::Cache=$KEA/cache" -o APT::Sandbox::User=root -o Debug::NoLocking=1 \
        -o Acquire::Retries=3 -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# Downloads Kea and what this machine lacks of what it needs.
download_kea() {
    local packages
    packages=$(kea_apt install --simulate --no-install-recommends kea-dhcp4-server | awk '$1 == "Inst" { print $2 }') || return 1
    # shellcheck disable=SC2086 # one word for each package
    (cd "$KEA/packages" && kea_apt download $packages)
}

unpack_kea() {
    local package libraries
    command -v apt-get dpkg >/dev/null || { say "Kea comes from a Debian package; there is no apt here"; return 1; }
    mkdir -p "$KEA"/{lists/partial,cache/archives/partial,packages,tree,bin}
    # Package lists may be missing or older than what the mirror still has, and only root can refresh those of the machine.
    # A source that cannot be read is not a failure yet: Kea need not come from it.
    if ! download_kea; then
        kea_lists=(-o "Dir::State::lists=$KEA/lists")
        kea_apt update || true
        download_kea || return 1
    fi
    for package in "$KEA"/packages/*.deb; do
        dpkg -x "$package" "$KEA/tree" || return 1
    done
    libraries=$(find "$KEA/tree" -name '*.so.*' -printf '%h\n' | sort -u | paste -s -d :)
    # The second is the program that tidies up the leases.
    printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%q KEA_LFC_EXECUTABLE=%q\nexec %q "$@"\n' "$libraries" \
        "$KEA/tree/usr/sbin/kea-lfc" "$KEA/tree/usr/sbin/kea-dhcp4" >"$KEA/bin/kea-dhcp4"
    chmod 755 "$KEA/bin/kea-dhcp4" && "$KEA/bin/kea-dhcp4" -v && rm -rf "$KEA"/{lists,cache,packages}
}
