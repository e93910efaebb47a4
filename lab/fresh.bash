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

# A few tests of each tier, such that every program that the tier installs is used by one of them.
declare -A FRESH_TESTS=(
    [unit]="runner::tests::a_filter crates/server/store/src/lib.rs" # the second is an example in the documentation, which is linked
    [golden]="pure_crates_reach our_crates_point" # what cargo knows without the network
    [kernel]="story-01-dhcp-kea leases/are-kept fabric/line-refused podnet/first-packet" # Kea, dnsmasq, FRR, Go
    [old-kernel]="dummy/create" # QEMU
    [cluster]="informer/typed kubectl/two-minors"
    [up]=twice # `./x up` as a person has it
)
# What must be there afterwards because only tests that take long use it.
declare -A FRESH_PROGRAMS=([kernel]=strace)
fresh_seed= # a root that others begin with, instead of the base system

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

# What must be there before a root can be made; says why not.
fresh_needs() {
    ((EUID == 0)) || { not_run "only root can change into a fresh root"; return; }
    [[ -x $FRESH_CARGO/bin/rustup ]] || { not_run "there is no rustup in $FRESH_CARGO to hand on"; return; }
    install_packages mmdebstrap:mmdebstrap || { not_run "mmdebstrap is missing"; return; }
    mkdir -p "$CACHE/logs" "$FRESH"
    # What a run that was killed left behind.
    find "$FRESH" -mindepth 1 -maxdepth 1 -name 'run.*' -mtime +1 -exec rm -rf {} +
    fresh_base >/dev/null || { not_run "no Debian to begin with (see above)"; return; }
}

# A shell of its own, so that what it made goes with it.
fresh_run() ( # CMD ARGS...
    fresh_needs || exit
    place=$(mktemp -d "$FRESH/run.XXXXXX")
    trap 'rm -rf "$place"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    mkdir "$place/root"
    if [[ -n $fresh_seed ]]; then
        echo "$fresh_seed" >"$place/seed"
    else
        tar -xf "$(fresh_base)" -C "$place/root" || exit 1
    fi
    fresh_enter "$place" "$@"
)

fresh_enter() { # PLACE CMD ARGS...
    local place=$1 environment
    shift
    mkdir "$place/written"
    fresh_folders "$place"
    mapfile -d '' -t environment < <(fresh_environment)
    unshare --mount --propagation private --pid --fork --kill-child bash "$LAB/fresh-root" "$place" "$PWD" \
        env -i "${environment[@]}" "$@" </dev/null
}

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

# --- the tier for `./x test fresh` -------------------------------------------------------------------
# What `./x` says it installs is installed, and nothing else is needed. Each tier has a root of its own, so that none finds
# what another one installed; they begin with what all of them need. What cannot run there has failed.

# The first part: a root in which `./x` has been used, with the compiler that all need.
tier_fresh() {
    fresh_needs || return
    mkdir "$fresh_seed/root" && tar -xf "$(fresh_base)" -C "$fresh_seed/root" || return 1
    CI=true fresh_enter "$fresh_seed" ./x check shell-scripts
}

# The others. A tier that found none of its tests has shown nothing.
fresh_tier() { # TIER
    local printed status=0 words
    printed=$(mktemp)
    read -ra words <<<"${FRESH_TESTS[$1]}"
    # shellcheck disable=SC2016
    CI=true fresh_seed=$fresh_seed/root fresh_run bash -ec './x test "$1" -- "${@:3}"
        for program in $2; do command -v "$program" || { echo "$program is not installed"; exit 1; }; done' \
        fresh "$1" "${FRESH_PROGRAMS[$1]:-}" "${words[@]}" 2>&1 | tee "$printed" || status=${PIPESTATUS[0]}
    if ((status == 0)) && ! grep -qE "passed( \([^)]*\))?, tests: [1-9]|^up: .*: passed" "$printed"; then
        say "no test of tier $1 was run"
        status=1
    fi
    rm -f "$printed"
    return "$status"
}

tier_fresh_unit() { fresh_tier unit; }
tier_fresh_golden() { fresh_tier golden; }
tier_fresh_kernel() { fresh_tier kernel; }
tier_fresh_old_kernel() { fresh_tier old-kernel; }
tier_fresh_cluster() { fresh_tier cluster; }
tier_fresh_up() { fresh_tier up; }
tier_fresh_licences() { CI=true fresh_seed=$fresh_seed/root fresh_run ./x check licences; }

fresh_tiers() {
    mkdir -p "$FRESH"
    fresh_seed=$(mktemp -d "$FRESH/run.XXXXXX")
    # shellcheck disable=SC2031
    leftovers+=("$fresh_seed")
    run_part fresh tier_fresh
    # Without it nothing else can be.
    # shellcheck disable=SC2154 # parts_open sets it
    grep -q ' s  passed' "$results" || return 0
    side_by_side "fresh-unit fresh-golden fresh-up fresh-old-kernel" "fresh-kernel fresh-cluster fresh-licences"
}
