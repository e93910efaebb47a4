# The real Kubernetes parts that Netloom is compared with, and the caller of CNI plugins, built once and kept. Sourced by ../x,
# after lab/lab.bash.
# shellcheck shell=bash

PEERS=$CACHE/peers
# The one that builds them, whichever go a machine has: what it fetches is then the same everywhere, and is built once.
PEERS_GO=go1.26.8

# What a finished build is recognised by: its sources, its build commands, and the compiler.
peers_stamp() { # NAME
    { cat "$LAB/../tests/peers/$1"/{go.mod,go.sum,*.go} "$LAB/peers.bash" && peers_go "$1" version; } | sha256sum
}

# Go's caches are gigabytes: they stay out of the tree, and out of the person's own.
peers_go() { # MODULE ARGS...
    local module=$1
    shift
    (cd "$LAB/../tests/peers/$module" &&
        GOMODCACHE=$CACHE/go/modules GOCACHE=$CACHE/go/build GOWORK=off GOTOOLCHAIN=$PEERS_GO nice -n 10 go "$@")
}

# Makes `go` the one that builds peers. Since 1.21 any go fetches another one by itself; an older one, as Debian 12 has it,
# can fetch the module that it is in.
need_go() {
    local architecture folder
    command -v go >/dev/null || { say "Go is needed to build the Kubernetes that tests compare with"; return 1; }
    [[ $(peers_go kube version) != *" $PEERS_GO "* ]] || return 0
    architecture=$(go env GOARCH)
    say "fetching $PEERS_GO into $CACHE/go (once)"
    folder=$(cd / && GOMODCACHE=$CACHE/go/modules GOFLAGS=-modcacherw go mod download -json "golang.org/toolchain@v0.0.1-$PEERS_GO.linux-$architecture" |
        sed -n 's/.*"Dir": "\(.*\)",\?$/\1/p') || true
    [[ -n $folder ]] || { say "$PEERS_GO cannot be fetched with $(go version)"; return 1; }
    # Files of modules cannot be run.
    chmod -R a+x "$folder/bin" "$folder/pkg/tool" || return 1
    PATH=$folder/bin:$PATH
    [[ $(peers_go kube version) == *" $PEERS_GO "* ]]
}

# kubectl reads its own version to judge the server's, so it must carry one.
version_flags() { # VERSION
    local minor=${1#v1.} stamp=k8s.io/component-base/version
    echo "-s -w -X $stamp.gitVersion=$1 -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"
}

build_kube() { # FOLDER
    local version
    version=$(peers_go kube list -m -f '{{.Version}}' k8s.io/kubernetes) || return 1
    peers_go kube build -ldflags "$(version_flags "$version")" -o "$1/kube" . &&
        peers_go kube build -ldflags "$(version_flags "$version")" -o "$1/kubectl" k8s.io/kubernetes/cmd/kubectl
}

# An older kubectl, for what people still have. Its module counts from 0 where Kubernetes counts from 1.
build_kubectl() { # FOLDER
    local version
    version=$(peers_go kubectl list -m -f '{{.Version}}' k8s.io/kubectl) || return 1
    peers_go kubectl build -ldflags "$(version_flags "v1.${version#v0.}")" -o "$1/older-kubectl" .
}

build_informer() { # FOLDER
    peers_go informer build -ldflags '-s -w' -o "$1/informer" .
}

# libcni's own caller of plugins, which acts as a runtime does.
build_cni() { # FOLDER
    peers_go cni build -ldflags '-s -w' -o "$1/cnitool" github.com/containernetworking/cni/cnitool
}

# What others install for virtual machines, as a module of the Go proxy has it.
build_definitions() { # FOLDER
    local module=github.com/harvester/harvester-network-controller folder
    folder=$(peers_go definitions mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)",\?$/\1/p') || return 1
    install -m 644 "$folder/manifests/dependency_crds/kubevirt.io_virtualmachineinstances.yaml" "$1/kubevirt-instances.yaml"
}

peers_are_there() { # MODULES...
    local module
    for module in "$@"; do
        [[ $(cat "$PEERS/$module.stamp" 2>/dev/null) == "$(peers_stamp "$module")" ]] || return 1
    done
}

# Builds what is missing or older than its sources. One process builds, others wait for it.
peers_build() { # MODULES...
    need_go || return 1
    # Whoever needs nothing new does not wait for others either.
    ! peers_are_there "$@" || return 0
    mkdir -p "$PEERS" "$CACHE/logs"
    (
        flock 9
        for module in "$@"; do
            peers_build_one "$module" || exit 1
        done
    ) 9>"$CACHE/peers.lock"
}

peers_build_one() { # MODULE
    local module=$1 stamp log=$CACHE/logs/peers-$1.log
    stamp=$(peers_stamp "$module") || return 1
    [[ $(cat "$PEERS/$module.stamp" 2>/dev/null) != "$stamp" ]] || return 0
    say "building the $module peer into $PEERS (once; that of Kubernetes takes some minutes and 7 GB in $CACHE/go)"
    if ! "build_$module" "$PEERS" >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        say "could not build the $module peer; all of it: $log"
        return 1
    fi
    echo "$stamp" >"$PEERS/$module.stamp"
}

# Starts a real kube-apiserver in an empty folder and returns when it is ready: FOLDER/admin.kubeconfig
# is there, $peer_pid is set. It ends by itself after LIMIT.
peer_start() { # FOLDER [LIMIT] [FLAGS...]
    local folder=$1 limit=${2:-30m}
    shift "$(($# < 2 ? $# : 2))"
    mkdir -p "$folder"
    "$PEERS/kube" --dir "$folder" --limit "$limit" "$@" >"$folder/log" 2>&1 </dev/null &
    peer_pid=$!
    # Ready, or ended: whichever comes first.
    tail --pid="$peer_pid" -n +1 -F "$folder/log" 2>/dev/null | grep -q -m 1 '^ready ' ||
        { tail -n 5 "$folder/log" >&2; say "the real server did not start; all of it: $folder/log"; return 1; }
}

peer_stop() { # PID
    { kill "$1" && wait "$1"; } 2>/dev/null || true
}

# Builds the cluster tier's test program and prints its path.
cluster_test_program() {
    cargo test --locked --workspace --test cluster --no-run --message-format=json-render-diagnostics |
        sed -n 's/.*"name":"cluster".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

# To this machine nearly every page of a program in User-Mode Linux is a mapping of its own. One mapping too many is not
# made, and the program faults at that page for ever: a kube-apiserver stood still so, with 65530 allowed.
MAPPINGS=1048576
allow_mappings() {
    local setting=/proc/sys/vm/max_map_count
    (($(<"$setting") < MAPPINGS)) || return 0
    if { echo "$MAPPINGS" >"$setting"; } 2>/dev/null; then
        say "vm.max_map_count of this machine is $MAPPINGS now: large programs in the guest need it"
    else
        say "vm.max_map_count is $(<"$setting"), and only root can raise it: large programs in the guest may stand still"
    fi
}

# Kernels of the lab were seen to stand still under the real server: for want of mappings, and once a thread seemed to wait
# for the signal by which Go stops it, so Go is asked not to send any. Should a kernel stand still all the same, it is given
# up, in words, when a story says nothing for several times as long as any takes, and they are reported in a new one.
# What a story says is never asked for twice.
stories_in_a_kernel() { # COMMAND ARGS...
    local attempt status=0
    allow_mappings
    for attempt in 1 2 3; do
        status=0
        NETLOOM_LAB_SILENCE=${NETLOOM_LAB_SILENCE:-$TOO_SILENT} lab_run "$@" || status=$?
        ((status == 124)) || return "$status"
        say "the kernel stood still (attempt $attempt of 3)"
    done
    return "$status"
}

# The tier for `./x test cluster`. Stories about nodes need a kernel with every device kind, the rest does not.
tier_cluster() {
    local program status=0
    install_packages go:golang-go || { not_run "go is missing"; return; }
    peers_build kube kubectl informer || return 1
    program=$(cluster_test_program) && [[ -n $program ]] || return 1
    build_netloom || return 1
    local with=(env NETLOOM="$(built_netloom)" NETLOOM_PEERS="$PEERS") comparison
    # One waits for servers and the other for kernels.
    timeout -k 10 "${NETLOOM_CLUSTER_TIMEOUT:-3600}" "${with[@]}" "$program" "$@" > >(exec sed -u '') 2>&1 &
    comparison=$!
    # A kernel is only booted for something.
    local stories first
    mapfile -t stories < <("${with[@]}" "$program" --stories --list "$@" | sed -n 's/: test$//p')
    for ((first = 0; first < ${#stories[@]}; first += 8)); do
        stories_in_a_kernel "${with[@]}" GODEBUG=asyncpreemptoff=1 "$program" --stories "${stories[@]:first:8}" || status=$?
        [[ -z $lab_unavailable ]] || break
    done
    wait "$comparison" || status=$?
    [[ -z $lab_unavailable ]] || { not_run "no kernel for the stories about nodes (see above)"; return; }
    return "$status"
}
