# Runs a command on a machine that has just been installed: a root with Debian's base, git, curl and this machine's rustup,
# and with an empty home and empty caches. Sourced by ../x, after lab/lab.bash.
#
# It is this machine's kernel and network. The tree, what was built of it, the kernels of the lab and its peers are there as
# they are here, at the same paths; what is written to them is gone afterwards.
# shellcheck shell=bash

FRESH=$CACHE/fresh
FRESH_DAYS=7 # for so long the unpacked base is not asked for again
FRESH_SHARED=(uml 'qemu*' peers tools) # of the cache: what takes long to fetch or to build
FRESH_CARGO=${CARGO_HOME:-$HOME/.cargo} FRESH_RUSTUP=${RUSTUP_HOME:-$HOME/.rustup}

# A few tests of each tier, such that every program that a tier installs is used by one of them.
FRESH_TESTS=(
    runner::tests::a_filter crates/store/src/lib.rs # unit: a test, and an example of the documentation, which is linked
    pure_crates_reach our_crates_point              # golden: what cargo knows without the network
    story-01-dhcp-kea leases/are-kept               # kernel: Kea, dnsmasq
    leases/wake-nobody                              # kernel: strace
    informer/typed kubectl/two-minors               # cluster
    twice                                           # up: `./x up` as a person has it
)

fresh_suite() { (
    # shellcheck disable=SC1091
    . /etc/os-release
    # Programs that were built here need the C library of here.
    [[ $ID == debian && -n ${VERSION_CODENAME:-} ]] && echo "$VERSION_CODENAME" || echo stable
); }

# Prints the archive with the base system; makes it if there is none, or an old one.
fresh_base() {
    local suite archive mirror options
    suite=$(fresh_suite)
    archive=$FRESH/$suite.tar
    mkdir -p "$FRESH"
    (
        flock 9
        [[ -z $(find "$archive" -mtime "-$FRESH_DAYS" 2>/dev/null) ]] || exit 0
        mirror=$(debian_mirror) || exit 1
        say "fetching a Debian $suite into $archive (once in $FRESH_DAYS days)"
        # The proxies and such of this machine.
        options=$FRESH/apt.conf
        apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|Force)' >"$options" || true
        mmdebstrap --quiet --variant=minbase --include=ca-certificates,curl,git --aptopt="$options" "$suite" "$archive.new.tar" \
            "deb $mirror $suite main" >"$CACHE/logs/fresh.log" 2>&1 ||
            { tail -n 5 "$CACHE/logs/fresh.log" >&2; exit 1; }
        mv "$archive.new.tar" "$archive"
    ) 9>"$FRESH/lock" && echo "$archive"
}

# What the command finds in its environment: what says how to reach others, and how this was built.
fresh_environment() {
    local name
    for name in $(compgen -e); do
        case $name in
            TERM | CI | CARGO_* | RUSTUP_* | RUSTFLAGS | NETLOOM_* | *_proxy | *_PROXY) printf '%s=%s\0' "$name" "${!name}" ;;
        esac
    done
    ! command -v go >/dev/null ||
        for name in GOPROXY GOSUMDB GONOSUMDB GOPRIVATE; do printf '%s=%s\0' "$name" "$(go env "$name")"; done
    # Whoever owns the tree, it is the one that is meant.
    printf '%s\0' "HOME=$HOME" "PATH=$FRESH_CARGO/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        "CARGO_HOME=$FRESH_CARGO" "RUSTUP_HOME=$FRESH_RUSTUP" LANG=C.UTF-8 \
        GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory 'GIT_CONFIG_VALUE_0=*'
}

# A shell of its own, so that what it made goes with it.
fresh_run() ( # CMD ARGS...
    ((EUID == 0)) || { not_run "only root can change into a fresh root"; exit; }
    [[ -x $FRESH_CARGO/bin/rustup ]] || { not_run "there is no rustup in $FRESH_CARGO to hand on"; exit; }
    install_packages mmdebstrap:mmdebstrap || { not_run "mmdebstrap is missing"; exit; }
    mkdir -p "$CACHE/logs"
    base=$(fresh_base) || { not_run "no Debian to begin with (see above)"; exit; }
    place=$(mktemp -d "$FRESH/run.XXXXXX")
    trap 'rm -rf "$place"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir "$place/root" "$place/written"
    tar -xf "$base" -C "$place/root" || exit 1
    fresh_folders "$place"
    mapfile -d '' -t environment < <(fresh_environment)
    say "a fresh Debian $(fresh_suite)"
    unshare --mount --propagation private --pid --fork --kill-child bash "$LAB/fresh-root" "$place" "$PWD" \
        env -i "${environment[@]}" "$@" </dev/null
)

# Writes down what is there as it is here: in `lent` to be read, in `copied` to be written to as well.
fresh_folders() { # PLACE
    local pattern folder target lent=$1/lent copied=$1/copied
    printf '%s\n' "$FRESH_RUSTUP" "$FRESH_CARGO/bin" >"$lent"
    [[ ! -e $FRESH_CARGO/config.toml ]] || echo "$FRESH_CARGO/config.toml" >>"$lent"
    target=$(realpath -m "${CARGO_TARGET_DIR:-$ROOT/target}")
    echo "$ROOT" >"$copied"
    [[ $target == "$ROOT"/* || ! -d $target ]] || echo "$target" >>"$copied"
    for pattern in "${FRESH_SHARED[@]}"; do
        # shellcheck disable=SC2086 # it is a pattern
        for folder in "$CACHE"/$pattern; do [[ ! -d $folder ]] || echo "$folder" >>"$copied"; done
    done
}

# The tier for `./x test fresh`: what `./x` says it installs is installed, and nothing else is needed. What cannot run there
# has failed, and a tier that found none of its tests has shown nothing.
tier_fresh() { # TESTS...
    local tests=("${FRESH_TESTS[@]}") said tier status=0
    ((!$#)) || tests=("$@")
    said=$(mktemp)
    # shellcheck disable=SC2016
    CI=true fresh_run bash -c './x check shell-scripts licences && ./x test -- "$@"' fresh "${tests[@]}" 2>&1 | tee "$said" || status=${PIPESTATUS[0]}
    if ((status == 0)); then
        for tier in unit golden kernel cluster; do
            grep -qE "^   $tier .* passed, tests: [1-9]" "$said" || { say "no test of tier $tier was run in the fresh root"; status=1; }
        done
        grep -q '^up: up: twice: passed' "$said" || { say "\`./x up\` was not run in the fresh root"; status=1; }
    fi
    rm -f "$said"
    return "$status"
}
