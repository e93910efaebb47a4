# Stories for transaction.rs, one function each. Runs as root of a namespace that has only `lo`.
# shellcheck shell=bash
set -euo pipefail
ip link set lo up

cat >one.yaml <<'YAML'
interfaces:
  - name: lo
    ipv4:
      enabled: true
      allow-extra-address: true
      address:
        - ip: 192.0.2.1
          prefix-length: 32
YAML
cat >two.yaml <<'YAML'
interfaces:
  - name: lo
    ipv4:
      enabled: true
      allow-extra-address: true
      address:
        - ip: 192.0.2.2
          prefix-length: 32
YAML

# Seconds in which a command must be done with a change that is then left alone to go back: time enough for the one, and
# waited for in the other. A busy machine needs more of them.
PATIENCE=${NETLOOM_PATIENCE:-1}
BRIEFLY=$((3 * PATIENCE))

fail() { echo "FAILED: $*" >&2; exit 1; }

# Runs netloom; fails unless it ends with the status. What it prints is in ./out and ./err.
netloom() { # STATUS ARGS...
    local expected=$1 status=0
    shift
    "$NETLOOM" "$@" >out 2>err || status=$?
    cat out err
    ((status == expected)) || fail "netloom $*: status $status instead of $expected"
}

addresses() { ip -o address show dev lo; }
routes() { ip route show dev lo; }
has() { [[ $(addresses) == *" $1/"* ]] || fail "$1 is not there"; }
has_not() { [[ $(addresses) != *" $1/"* ]] || fail "$1 is there"; }
says() { grep -q -- "$1" out err || fail "'$1' is not specified"; }

# Waits for an event instead of for a time: `watch` prints it when it happens.
until_gone() { # ADDRESS
    exec 4< <(exec timeout $((20 * PATIENCE)) "$NETLOOM" state watch lo 2>&1)
    read -r <&4
    while [[ $(addresses) == *" $1/"* ]]; do
        read -r <&4 || fail "$1 does not go"
    done
}

# Starts a change that waits for a confirmation; its process id is $waiting.
wait_for_confirmation() { # ARGS...
    rm -f printed
    mkfifo printed
    "$NETLOOM" state set "$@" </dev/null >waiting.out 2>printed &
    waiting=$!
    exec 3<printed
    grep -m1 "The change is in place until" <&3 || fail "it does not wait"
    cat <&3 >waiting.err &
}

ended_with() { # STATUS
    local status=0
    wait "$waiting" || status=$?
    ((status == $1)) || fail "the waiting change ended with $status instead of $1: $(cat waiting.err)"
}

a_kernel_that_is_too_old_is_left_alone() {
    echo 5.9.0-1-amd64 >release
    mount --bind release /proc/sys/kernel/osrelease
    netloom 3 state set one.yaml
    says "kernel 5.9 is too old: netloom needs 5.10 or newer"
    has_not 192.0.2.1
    netloom 0 state show lo
}

# What a kernel keeps is asked of it: a version may say less than is there.
a_feature_that_was_carried_back_is_used() {
    echo 5.10.0-1-amd64 >release
    mount --bind release /proc/sys/kernel/osrelease
    # The kernel marks this address as its own, and gives itself away.
    ip -6 address flush dev lo
    netloom 0 state set one.yaml
    has 192.0.2.1
    netloom 0 state explain 192.0.2.1
    says "put there by netloom"
    [[ $(printf '%s\n' 5.18 "$(uname -r)" | sort -V | head -n 1) != 5.18 ]] || says "address protocol 112"
}

a_document_is_set_once() {
    netloom 3 state diff one.yaml
    says "+ address 192.0.2.1/32 on lo"
    netloom 3 state set one.yaml --dry-run
    has_not 192.0.2.1
    netloom 0 state set one.yaml
    says "1 to add, 0 to change, 0 to remove"
    has 192.0.2.1
    netloom 0 state diff one.yaml
    netloom 0 state set one.yaml
    says "Nothing to do"
    netloom 0 state set one.yaml --quiet
    [[ ! -s out && ! -s err ]] || fail "it is not quiet"
    netloom 0 state show lo
    says "ip: 192.0.2.1"
}

an_open_change_is_committed() {
    netloom 0 state set one.yaml --no-commit
    has 192.0.2.1
    netloom 0 state show lo
    says "waits to be confirmed"
    netloom 0 state commit
    has 192.0.2.1
    netloom 3 state rollback
    says "no change waits"
}

an_open_change_is_rolled_back() {
    netloom 0 state set one.yaml
    netloom 0 state set two.yaml --no-commit --timeout 100
    has 192.0.2.2
    netloom 0 state rollback
    has_not 192.0.2.2
    has 192.0.2.1
    netloom 3 state commit
}

an_open_change_goes_back_by_itself() {
    netloom 0 state set one.yaml --no-commit --timeout "$BRIEFLY"
    until_gone 192.0.2.1
    netloom 3 state commit
    has_not 192.0.2.1
}

an_open_change_bars_the_next_one() {
    netloom 0 state set one.yaml --no-commit
    netloom 3 state set two.yaml
    says "waits to be confirmed"
    has_not 192.0.2.2
    netloom 0 state rollback
}

a_waiting_change_is_confirmed_by_a_signal() {
    wait_for_confirmation one.yaml --timeout 100
    has 192.0.2.1
    kill -USR1 "$waiting"
    ended_with 0
    has 192.0.2.1
}

a_waiting_change_is_confirmed_from_elsewhere() {
    wait_for_confirmation one.yaml --timeout 100
    netloom 0 state commit
    ended_with 0
    has 192.0.2.1
}

a_waiting_change_is_interrupted() {
    wait_for_confirmation one.yaml --timeout 100
    kill -INT "$waiting"
    ended_with 1
    has_not 192.0.2.1
    grep -q "undone" waiting.err || fail "it does not say so"
}

a_waiting_change_runs_out_of_time() {
    wait_for_confirmation one.yaml --timeout "$BRIEFLY"
    ended_with 1
    has_not 192.0.2.1
    netloom 3 state commit
}

a_failed_probe_takes_the_change_back() {
    ip address add 192.0.2.9/32 dev lo
    cat >cut.yaml <<'YAML'
interfaces:
  - name: lo
    ipv4:
      enabled: true
      address:
        - ip: 127.0.0.1
          prefix-length: 8
        - ip: 192.0.2.1
          prefix-length: 32
YAML
    netloom 1 state set cut.yaml --probe ping:192.0.2.9 --allow-cut
    says "ping:192.0.2.9"
    has 192.0.2.9
    has_not 192.0.2.1
    netloom 0 state set cut.yaml --no-probe
    has_not 192.0.2.9
}

the_route_of_a_lease_comes_back_with_an_undo() {
    ip address add 192.0.2.9/32 dev lo
    ip route add default dev lo proto dhcp src 192.0.2.9 metric 100
    cat >cut.yaml <<'YAML'
interfaces:
  - name: lo
    ipv4:
      enabled: true
      address:
        - ip: 127.0.0.1
          prefix-length: 8
YAML
    local before
    before=$(ip route show)
    netloom 3 state diff cut.yaml
    says "route 0.0.0.0/0 dev lo metric 100 of a DHCP lease goes with this change"
    says "it comes back if the change is undone"
    netloom 1 state set cut.yaml --probe ping:192.0.2.9 --allow-cut
    says "of a DHCP lease goes with this change"
    says "undone and the host verified to be as it was"
    [[ $(ip route show) == "$before" ]] || fail "the route is not given back: $(ip route show)"
    netloom 0 state set cut.yaml --no-probe --no-commit --timeout 60 --allow-cut
    [[ -z $(ip route show) ]] || fail "the route is still there: $(ip route show)"
    netloom 0 state rollback
    says "and that was verified"
    [[ $(ip route show) == "$before" ]] || fail "the route is not given back: $(ip route show)"
}

a_probe_that_failed_before_does_not_count() {
    netloom 0 state set one.yaml --probe ping:192.0.2.250
    says "will not count"
    has 192.0.2.1
}

a_killed_change_is_taken_back_by_the_next_command() {
    wait_for_confirmation one.yaml --timeout "$BRIEFLY"
    # The guard would do it at once; this is what happens without one.
    kill -KILL "$(pgrep -f "state guard --quiet --state-dir $NETLOOM_STATE_DIR")" || fail "there is no guard"
    kill -KILL "$waiting"
    has 192.0.2.1
    until "$NETLOOM" state set two.yaml >out 2>err; do says "waits to be confirmed"; done
    says "left behind and is rolled back now: .*; the host is as it was, and that was verified"
    has_not 192.0.2.1
    has 192.0.2.2
}

# Whether the host answers pings: nothing that an undo could put back.
answers_pings() { # yes|no
    if [[ $1 == yes ]]; then echo 0; else echo 1; fi >/proc/sys/net/ipv4/icmp_echo_ignore_all
}

a_killed_change_whose_undo_does_not_help_is_not_called_verified() {
    local answered
    for answered in no yes; do
        wait_for_confirmation one.yaml --probe ping:127.0.0.1 --timeout "$BRIEFLY"
        kill -KILL "$(pgrep -f "state guard --quiet --state-dir $NETLOOM_STATE_DIR")" || fail "there is no guard"
        kill -KILL "$waiting"
        answers_pings "$answered"
        # As a service starts it: one that is heard.
        netloom 0 state guard
        says "left behind and is rolled back now"
        has_not 192.0.2.1
        if [[ $answered == no ]]; then
            says "its configuration is as it was, but probe ping:127.0.0.1 passed before the change and fails after the undo"
        else
            says "the host is as it was, and that was verified"
        fi
        answers_pings yes
    done
}

an_undo_that_does_not_help_is_reported_as_data() {
    wait_for_confirmation one.yaml --probe ping:127.0.0.1 --timeout 100 -o json
    answers_pings no
    kill -INT "$waiting"
    ended_with 1
    grep -q "its configuration is as it was, but probe ping:127.0.0.1" waiting.err || fail "it is called verified"
    grep -q '"result": "rolled-back"' waiting.out || fail "no result"
    tr -d '[:space:]' <waiting.out | grep -q '"unreached":\["ping:127.0.0.1"\]' || fail "not in it: $(cat waiting.out)"
}

the_far_end_of_the_session_is_not_cut_off() {
    ip route add 198.51.100.0/24 dev lo
    cat >cut.yaml <<'YAML'
routes:
  config:
    - destination: 198.51.100.0/24
      next-hop-interface: lo
      state: absent
YAML
    export SSH_CONNECTION="198.51.100.7 50124 192.0.2.1 22"
    netloom 3 state set cut.yaml
    says "198.51.100.7"
    says "keep a route to it, or carry it out all the same with --allow-cut"
    unset SSH_CONNECTION
    # As with sudo: the variable is taken away, and the process that had it is still there.
    SSH_CONNECTION="198.51.100.7 50124 192.0.2.1 22" \
        bash -c 'env -u SSH_CONNECTION "$@" && true' bash "$NETLOOM" state set cut.yaml >out 2>err && fail "it was taken"
    says "198.51.100.7"
    netloom 3 state set cut.yaml --protect 198.51.100.8
    [[ $(routes) == *198.51.100.0/24* ]] || fail "the route is gone"
    netloom 0 state set cut.yaml --protect 198.51.100.8 --allow-cut
    [[ $(routes) != *198.51.100.0/24* ]] || fail "the route is still there"
}

an_owner_that_wants_less_gives_the_rest_back() {
    netloom 0 state set one.yaml --whole-of site
    has 192.0.2.1
    echo "interfaces: []" >none.yaml
    netloom 0 state set none.yaml --whole-of somebody-else
    has 192.0.2.1
    netloom 0 state set none.yaml --whole-of site
    has_not 192.0.2.1
    has 127.0.0.1
}

an_explanation_names_the_line() {
    netloom 0 state set one.yaml
    netloom 0 state explain 192.0.2.1
    says "one.yaml:7"
    says "protocol 112"
    netloom 0 state explain 127.0.0.1
    says "nobody asked"
    netloom 0 state explain lo -o json
    says '"asked-by"'
}

results_come_as_data() {
    netloom 0 state set one.yaml --json
    grep -q '"result": "confirmed"' out || fail "no result"
    grep -q '"add": 1' out || fail "no plan"
    netloom 0 state set one.yaml -o yaml
    grep -q '^result: nothing$' out || fail "no result"
    netloom 0 state revert two.yaml
    netloom 3 state diff two.yaml -o yaml
    says "192.0.2.2"
}

a_repair_that_runs_out_of_time_is_no_success() {
    netloom 0 state set one.yaml
    ip address del 192.0.2.1/32 dev lo
    # The record of who asked for what is the same before and after.
    wait_for_confirmation one.yaml --timeout "$BRIEFLY"
    has 192.0.2.1
    ended_with 1
    has_not 192.0.2.1
    grep -q "the change is undone" waiting.err || fail "it does not say so: $(cat waiting.err)"
}

a_repair_is_confirmed_from_elsewhere() {
    netloom 0 state set one.yaml
    ip address del 192.0.2.1/32 dev lo
    wait_for_confirmation one.yaml --timeout 100
    netloom 0 state commit
    netloom 0 state set two.yaml
    ended_with 0
    has 192.0.2.2
}

a_yes_from_before_does_not_count() {
    mkdir -p "$NETLOOM_STATE_DIR/host"
    mkfifo held
    flock "$NETLOOM_STATE_DIR/host/lock" cat held &
    until ! flock --nonblock "$NETLOOM_STATE_DIR/host/lock" true; do :; done
    "$NETLOOM" state set one.yaml --timeout 1 --wait $((20 * PATIENCE)) </dev/null >waiting.out 2>waiting.err &
    waiting=$!
    # HUP, INT, USR1 and TERM are held back: from here on they are messages.
    until grep -q "^SigBlk:.*4203$" "/proc/$waiting/status"; do :; done
    kill -USR1 "$waiting"
    echo >held
    ended_with 1
    has_not 192.0.2.1
}

a_change_killed_in_its_middle_is_taken_back_at_once() {
    ip address add 192.0.2.9/32 dev lo
    cat >cut.yaml <<'YAML'
interfaces:
  - name: lo
    ipv4:
      enabled: true
      address:
        - ip: 127.0.0.1
          prefix-length: 8
        - ip: 192.0.2.1
          prefix-length: 32
YAML
    mkfifo printed
    "$NETLOOM" state set cut.yaml --probe ping:192.0.2.9 --timeout 1000 </dev/null 2>printed &
    waiting=$!
    exec 3<printed
    # It tries for some seconds more, with the steps carried out.
    grep -m1 "probe ping:192.0.2.9 fails" <&3 || fail "it is over already"
    kill -KILL "$waiting"
    until_gone 192.0.2.1
    until [[ ! -e $NETLOOM_STATE_DIR/host/journal ]]; do :; done
    has 192.0.2.9
}

a_change_killed_at_its_very_end_leaves_no_journal() {
    netloom 0 state set one.yaml --no-commit --timeout 1000
    kill -KILL "$(pgrep -f "state guard --quiet --state-dir $NETLOOM_STATE_DIR")" || fail "there is no guard"
    # What is written last before the journal goes: length and sum of the record follow it.
    ip address del 192.0.2.1/32 dev lo
    echo '"Undone" 00000008 1d361c8c' >>"$NETLOOM_STATE_DIR/host/journal"
    netloom 0 state guard
    [[ ! -e $NETLOOM_STATE_DIR/host/journal ]] || fail "the journal is still there"
    netloom 0 state set two.yaml
    has 192.0.2.2
}

a_namespace_without_a_name_has_its_own_records() {
    netloom 0 state set one.yaml --no-commit --timeout 100
    for verb in commit rollback; do
        status=0
        unshare --net "$NETLOOM" state "$verb" >out 2>err || status=$?
        ((status == 3)) || fail "$verb elsewhere: $status, $(cat err)"
        says "no change waits"
    done
    # Another container with the same state folder.
    status=0
    unshare --net --pid --fork --mount-proc "$NETLOOM" state rollback >out 2>err || status=$?
    ((status == 3)) || fail "rollback in another container: $status, $(cat err)"
    says "another network namespace"
    netloom 0 state rollback
    has_not 192.0.2.1
}

a_named_namespace_is_the_same_from_within() {
    mount -t tmpfs none /run
    ip netns add blue
    nsenter --net=/run/netns/blue "$NETLOOM" state set one.yaml --no-commit --timeout 100
    [[ -e $NETLOOM_STATE_DIR/netns/blue/journal ]] || fail "it has another folder"
    netloom 3 state rollback
    netloom 0 state rollback --netns blue
}

a_namespace_has_no_host_name() {
    mount -t tmpfs none /run
    ip netns add blue
    printf 'interfaces:\n  - name: lo\n    state: up\nhostname:\n  running: blue-1\n' >name.yaml
    for how in "" --dry-run; do
        # shellcheck disable=SC2086
        netloom 3 state set name.yaml --netns blue $how
        says "hostname.running"
    done
    [[ $(ip -n blue -o link show lo) != *UP* ]] || fail "lo was touched"
}

a_feature_is_given_back() {
    offload() { "$NETLOOM" state show lo --ethtool | grep "rx-gro:" | grep -o "true\|false"; }
    printf 'interfaces:\n  - name: lo\n    ethtool:\n      feature:\n        rx-gro: false\n' >feature.yaml
    [[ $(offload) == true ]] || fail "rx-gro is $(offload) from the start"
    netloom 0 state set feature.yaml --whole-of site
    [[ $(offload) == false ]] || fail "rx-gro stays on"
    echo "interfaces: []" >none.yaml
    netloom 0 state set none.yaml --whole-of site
    [[ $(offload) == true ]] || fail "rx-gro is not given back"
}

what_could_not_be_undone_is_mentioned() {
    netloom 0 state set one.yaml
    touch "$NETLOOM_STATE_DIR/host/journal.failed-7-1"
    for verb in "show lo" "diff one.yaml" "set one.yaml"; do
        # shellcheck disable=SC2086
        netloom 0 state $verb
        says "journal.failed-7-1"
    done
    netloom 3 state rollback
    says "journal.failed-7-1"
}

what_was_not_verified_is_not_called_so() {
    netloom 0 state set one.yaml
    says "Done, verified and kept"
    netloom 0 state set two.yaml --no-verify
    says "not verified"
}

"$1"
