# Runs a command in a kernel that has every device kind Netloom manages. Sourced by ../x.
# shellcheck shell=bash

LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${NETLOOM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/netloom}
LAB_NO_RESULT=125 # exit status when the command's own is not known
# shellcheck disable=SC2034
LAB_UNAVAILABLE=126 # the same, because there was no kernel to run in: of `lab_run_parts`
# shellcheck disable=SC2034
lab_unavailable=

say() { echo "lab: $*" >&2; }

# What goes when the script ends, however it does.
leftovers=()
trap 'rm -rf "${leftovers[@]}"' EXIT

# shellcheck source=lab/fetch.bash
source "$LAB/fetch.bash"
# shellcheck source=lab/input.bash
source "$LAB/input.bash"

# A namespace set of its own: network, mounts, and processes so that nothing outlives the command.
fresh_namespaces=(unshare --net --mount --pid --fork --kill-child --mount-proc)
((EUID == 0)) || fresh_namespaces+=(--map-root-user)

# Prints what the host kernel lacks; succeeds when that is nothing.
host_lacks() {
    "${fresh_namespaces[@]}" bash "$LAB/probe" 2>/dev/null && return 1
    return 0
}

# Leaves $lab_unavailable set when there was no kernel to run in.
lab_run() { # CMD ARGS...
    local kernel=${NETLOOM_LAB:-} lacks
    if [[ -n ${NETLOOM_LAB_KERNEL:-} ]]; then
        case $kernel in
            '' | qemu) kernel=qemu ;;
            *)
                say "NETLOOM_LAB_KERNEL=$NETLOOM_LAB_KERNEL runs in QEMU only, and NETLOOM_LAB is '$kernel'"
                return "$LAB_NO_RESULT"
                ;;
        esac
    fi
    case $kernel in
        host)
            if lacks=$(host_lacks); then
                say "host kernel (NETLOOM_LAB=host), although it lacks: ${lacks:-namespaces for this user}"
            else
                say "host kernel (NETLOOM_LAB=host)"
            fi
            ;;
        uml | qemu)
            "prepare_$kernel" || { lab_unavailable=1; return "$LAB_NO_RESULT"; }
            say "$kernel kernel${NETLOOM_LAB_KERNEL:+ $NETLOOM_LAB_KERNEL (NETLOOM_LAB_KERNEL)}${NETLOOM_LAB:+ (NETLOOM_LAB=$NETLOOM_LAB)}"
            ;;
        '')
            if ! lacks=$(host_lacks); then
                kernel=host
                say "host kernel: it has every device kind"
            elif prepare_uml; then
                kernel=uml
                say "uml kernel: the host kernel lacks ${lacks:-namespaces for this user}"
            elif prepare_qemu; then
                kernel=qemu
                say "qemu kernel: the host kernel lacks ${lacks:-namespaces for this user}, and User-Mode Linux does not run here"
            else
                # shellcheck disable=SC2034
                lab_unavailable=1
                say "no kernel to run in: the host kernel lacks ${lacks:-namespaces for this user}"
                return "$LAB_NO_RESULT"
            fi
            ;;
        *)
            say "NETLOOM_LAB is '$kernel'; it can be host, uml or qemu"
            return "$LAB_NO_RESULT"
            ;;
    esac
    "run_$kernel" "$@"
}

# Runs a test program in several kernels at once, each with its part of the tests.
lab_run_parts() { # COUNT CMD ARGS...
    local count=$1 part processes=() process status=0
    shift
    # What all of them would fetch is fetched once.
    lab_run true || { [[ -z $lab_unavailable ]] || return "$LAB_UNAVAILABLE"; return 1; }
    for ((part = 1; part <= count; part++)); do
        {
            # What ends a script does not come with it into the background.
            # shellcheck disable=SC2030,SC2031
            leftovers=()
            trap 'rm -rf "${leftovers[@]}"' EXIT
            lab_run "$@" "--part=$part/$count"
        } > >(exec sed -u '') 2>&1 & # line by line
        processes+=($!)
    done
    for process in "${processes[@]}"; do
        wait "$process" || status=$?
    done
    return "$status"
}

# The kernel command line has no way to quote a path.
plain_paths() {
    case $CACHE$LAB in *[[:space:]]*)
        say "a guest kernel cannot be given paths with spaces: $CACHE, $LAB"
        return 1
        ;;
    esac
}

# User-Mode Linux dies at start on some CPUs; one boot tells, and its success is remembered.
prepare_uml() {
    plain_paths && fetch_once uml || return 1
    [[ ! -e $CACHE/uml/boots ]] || return 0
    if (lab_input='' NETLOOM_LAB_TIMEOUT=300 run_uml true); then
        : >"$CACHE/uml/boots"
    else
        say "the User-Mode Linux kernel does not run here"
        return 1
    fi
}

# Leaves the folder of the kernel in $qemu. Each one that was chosen has its own.
prepare_qemu() {
    debian_releases "${NETLOOM_LAB_KERNEL:-}" >/dev/null || return 1
    plain_paths && install_packages qemu-system-x86_64:qemu-system-x86 depmod:kmod xz:xz-utils || return 1
    local name=qemu${NETLOOM_LAB_KERNEL:+-$NETLOOM_LAB_KERNEL}
    fetch_once "$name" || return 1
    qemu=$CACHE/$name
}

# Stops a lab that has sent nothing for NETLOOM_LAB_SILENCE seconds: copies of its words are in $heard. On a machine that is busy with other things too,
# how long all of it takes says little about a kernel; a test that begins and does not end does.
silence_watch() { # PID: of the lab's `timeout`
    local last
    while sleep 5 && kill -0 "$1" 2>/dev/null; do
        last=$(stat -c %Y "$heard"/printed.* | sort -n | tail -n 1)
        if (($(date +%s) - last > NETLOOM_LAB_SILENCE)); then
            : >"$heard/silent"
            kill -TERM "$1"
            return
        fi
    done
}

# Runs `timeout` on a command in the background, so that Ctrl-C reaches the trap at once. It reads from
# the descriptor $reads_from, if that is set.
bounded() { # COMMAND ARGS...
    local limit=${NETLOOM_LAB_TIMEOUT:-0} status=0 started=$SECONDS child watch=
    # --preserve-status is not used: 124 must mean the limit. -k: a stuck kernel ignores SIGTERM.
    local timeout=(timeout -k 2)
    # Only who is in the terminal's foreground may read from it; and what is in the background of a script ignores Ctrl-C.
    [[ $lab_input != terminal ]] || timeout=(env --default-signal=INT --default-signal=QUIT timeout --foreground -k 2)
    if [[ -n ${reads_from:-} ]]; then
        "${timeout[@]}" "$limit" "$@" <&"$reads_from" &
    else
        "${timeout[@]}" "$limit" "$@" </dev/null &
    fi
    child=$!
    open_way_in "$child"
    if ((${NETLOOM_LAB_SILENCE:-0} > 0)); then
        silence_watch "$child" >/dev/null 2>&1 &
        watch=$!
    fi
    trap 'stop_child; exit 130' INT
    trap 'stop_child; exit 143' TERM HUP
    # The shell's own word on a killed child says less than the lines below.
    wait "$child" 2>/dev/null || status=$?
    trap - INT TERM HUP
    close_way_in
    [[ -z $watch ]] || { kill "$watch" && wait "$watch"; } 2>/dev/null || true
    if [[ -n $way_in_folder && -e $way_in_folder/lost ]]; then
        say "stopped: nobody can get in any more, because the listener on 127.0.0.1:$NETLOOM_LAB_FORWARD has ended" \
            "$(tail -n 1 "$way_in_folder/log")"
        return "$LAB_NO_RESULT"
    fi
    if ((status == 124 || status == 137)) && ((limit > 0 && SECONDS - started >= limit)); then
        say "stopped: the time limit of $limit s is over (NETLOOM_LAB_TIMEOUT sets it)"
        return 124
    fi
    if [[ -n $watch && -e $heard/silent ]]; then
        say "stopped: nothing was printed for $NETLOOM_LAB_SILENCE s (NETLOOM_LAB_SILENCE sets it)"
        return 124
    fi
    return "$status"
}

stop_child() {
    # Who reads this may have ended by the same Ctrl-C; everything is stopped all the same.
    trap '' PIPE
    say interrupted || true
    close_way_in
    close_input
    { kill -TERM "$child" && wait "$child"; } 2>/dev/null || true
}

# --- a way in ----------------------------------------------------------------------------------
# With NETLOOM_LAB_FORWARD=PORT, connections to 127.0.0.1:PORT of this machine reach that port of the lab's own
# loopback. Whoever listens here enters the lab's network again for each connection, so nothing is made in the network
# of this machine, and nothing has to be taken away.
LAB_OUTSIDE=169.254.77.1 LAB_INSIDE=169.254.77.2 # the ends of the cable between a guest kernel and its namespace
way_in_address= # where the lab's port is reached from the network that leads into it
way_in= # who listens
way_in_folder= # and what it complains about: `log`, and `lost` when it ended before the lab

open_way_in() { # PID: of the process whose only child has that network
    [[ -n ${NETLOOM_LAB_FORWARD:-} && -n $way_in_address ]] || return 0
    way_in_folder=$(mktemp -d)
    # shellcheck disable=SC2031
    leftovers+=("$way_in_folder")
    listen "$1" &
    way_in=$!
}

# Listens in the background, and stops the lab when that ends: nobody could get in, or somebody got into another one.
listen() { # PID
    local listener='' both held=''
    # Whoever writes to this lives.
    mkfifo "$way_in_folder/held"
    exec {both}<>"$way_in_folder/held"
    trap 'end_connections "$listener" "$held"; wait "$listener"; exit' INT TERM HUP
    # A group of its own, in which connections end with it.
    setsid socat "TCP-LISTEN:$NETLOOM_LAB_FORWARD,bind=127.0.0.1,reuseaddr,fork" \
        EXEC:"$LAB/way-in $1 $way_in_address $NETLOOM_LAB_FORWARD" 2>"$way_in_folder/log" &
    listener=$!
    # Only they can write to it from here on, so that its end is theirs.
    exec {held}<"$way_in_folder/held" {both}>&- 2>/dev/null
    wait "$listener" || true
    : >"$way_in_folder/lost"
    end_connections "$listener" "$held"
    kill -TERM "$1"
}

# Ends whoever is still in a group, and waits for it. They are nobody's children here, but the pipe that they hold ends with
# the last of them.
end_connections() { # GROUP PIPE
    kill -- "-$1" || kill "$1" || true
    read -r -t 2 -u "$2" || (($? <= 128)) || kill -KILL -- "-$1" || true
}

close_way_in() {
    [[ -z $way_in ]] || { kill "$way_in" && wait "$way_in"; } 2>/dev/null || true
    way_in=
}

run_host() { # CMD ARGS...
    local heard
    way_in_address=127.0.0.1
    if ((${NETLOOM_LAB_SILENCE:-0} == 0)); then
        # People in front keep their terminal.
        run_in_namespaces "$@"
        return
    fi
    heard=$(mktemp -d)
    # shellcheck disable=SC2031
    leftovers+=("$heard")
    touch "$heard/printed.out" "$heard/printed.err"
    run_in_namespaces "$@" > >(exec tee "$heard/printed.out") 2> >(exec tee "$heard/printed.err" >&2)
}

run_in_namespaces() { # CMD ARGS...
    local reads_from=
    [[ -z $lab_input ]] || reads_from=$lab_stdin
    # shellcheck disable=SC2016
    bounded "${fresh_namespaces[@]}" bash -c '
        mount -t sysfs sysfs /sys && mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/netns /run/lock && ip link set lo up || exit 125
        export NETLOOM_LAB=host
        exec "$@"' lab "$@"
}

# A guest writes to its own memory, but for the tree and, with NETLOOM_LAB_SHARED=DIR, this folder.
#
# Guests have four ethernet cards, vec0 to vec3, which tests use as physical ones: links of type ether
# and no kind in the first network namespace. What they send is lost. The host kernel has none to spare.
CARD_MAC=02:00:00:ca:fd:0 # and the number of the card

run_uml() { # CMD ARGS...
    local cards=() i input=null
    case $lab_input in
        terminal) input=fd:7 ;;
        stream) input=fd:7,fd:8 ;;
    esac
    # Of the driver's transports UDP alone can be opened again and again (a card does so each time it
    # is set up) without root or a process at the other end. Port 0 is any free one, 9 discards.
    for i in 0 1 2 3; do
        cards+=("vec$i:transport=l2tpv3,udp=1,src=127.0.0.1,srcport=0,dst=127.0.0.1,dstport=9,tx_session=1,rx_session=1,mac=$CARD_MAC$i")
    done
    local around=()
    if [[ -n ${NETLOOM_LAB_FORWARD:-} ]]; then
        way_in_address=$LAB_INSIDE
        cards+=("vec4:transport=tap,ifname=lab0,depth=128,gro=1")
        around=(unshare --net)
        ((EUID == 0)) || around+=(--map-root-user)
        # shellcheck disable=SC2016
        around+=(bash -c 'ip tuntap add lab0 mode tap && ip address add "$1/30" dev lab0 && ip link set lab0 up &&
            ip link set lo up && exec "${@:2}"' lab "$LAB_OUTSIDE")
    fi
    guest_open "$@"
    # The guest's memory is a file in TMPDIR: on disk it costs only what is touched.
    guest_boot "${around[@]}" env TMPDIR="$guest" HOME="$guest" "$CACHE/uml/linux" mem=4096M seccomp=on \
        root=/dev/root rootfstype=hostfs rootflags=/ rw quiet \
        con=null con0=null,fd:1 con1=null,fd:5 con2=null,fd:6 con3="$input" uml_dir="$guest" umid=guest "${cards[@]}" \
        netloom_run="$guest" netloom_busybox="$CACHE/uml/busybox" netloom_modules="$CACHE/uml/modules" \
        netloom_out=/dev/tty1 netloom_err=/dev/tty2 netloom_way_in="$way_in_address" netloom_forward="${NETLOOM_LAB_FORWARD:-}" init="$CACHE/uml/busybox" -- sh "$LAB/init"
}

run_qemu() { # CMD ARGS...
    local cards=() i
    refuse_input "$@" || return "$LAB_NO_RESULT"
    for i in 0 1 2 3; do
        cards+=(-netdev "hubport,id=card$i,hubid=$i" -device "virtio-net-pci,netdev=card$i,mac=$CARD_MAC$i,romfile=")
    done
    if [[ -n ${NETLOOM_LAB_FORWARD:-} ]]; then
        # QEMU listens itself, and takes the guest's end of this network for 10.0.2.15.
        cards+=(-netdev "user,id=way-in,restrict=on,hostfwd=tcp:127.0.0.1:$NETLOOM_LAB_FORWARD-:$NETLOOM_LAB_FORWARD"
            -device "virtio-net-pci,netdev=way-in,romfile=")
    fi
    guest_open "$@"
    guest_boot qemu-system-x86_64 -M pc -accel tcg,thread=multi -cpu max -m 4096 -smp 1 -nodefaults -no-reboot \
        -display none -monitor none -serial stdio -kernel "$qemu/linux" -initrd "$qemu/initramfs" \
        -device virtio-serial-pci -chardev file,id=out,path=/dev/fd/5 -chardev file,id=err,path=/dev/fd/6 \
        -device virtserialport,nr=1,chardev=out -device virtserialport,nr=2,chardev=err \
        -fsdev local,id=host,path=/,security_model=none,multidevs=remap -device virtio-9p-pci,fsdev=host,mount_tag=host "${cards[@]}" \
        -append "console=ttyS0 quiet panic=-1 netloom_run=$guest netloom_busybox=$qemu/busybox \
netloom_modules=$qemu/modules netloom_init=$LAB/init netloom_out=/dev/vport0p1 netloom_err=/dev/vport0p2 ${NETLOOM_LAB_FORWARD:+netloom_way_in=10.0.2.15 netloom_forward=$NETLOOM_LAB_FORWARD}"
}

# Writes what the guest is to do into a folder of this run: $guest.
guest_open() { # CMD ARGS...
    local name
    mkdir -p "$CACHE/run" "$CACHE/logs"
    find "$CACHE/run" -mindepth 1 -maxdepth 1 -mtime +1 -exec rm -rf {} +
    guest=$(mktemp -d "$CACHE/run/XXXXXX")
    # shellcheck disable=SC2031
    leftovers+=("$guest")
    log=$CACHE/logs/$(date +%Y%m%d-%H%M%S)-${guest##*/}.log
    printf '%s\n' "$guest" "$(cd "$LAB/.." && pwd)" "$PWD" ${NETLOOM_LAB_SHARED:+"$NETLOOM_LAB_SHARED"} >"$guest/writable"
    {
        for name in $(compgen -e); do
            case $name in
                PATH | HOME | USER | LOGNAME | LANG | LC_* | TZ | CI | TMPDIR | NETLOOM_* | RUST_* | RUSTUP_* | CARGO_* | PROPTEST_* | INSTA_*)
                    printf 'export %s=%q\n' "$name" "${!name}"
                    ;;
            esac
        done
        # The guest has every device kind, so a lab inside it is the guest itself.
        # shellcheck disable=SC2016
        printf 'unset NETLOOM_LAB_KERNEL\nexport NETLOOM_LAB=host TMPDIR="${TMPDIR:-/tmp}"\nmkdir -p "$TMPDIR"\ncd %q || exit 125\n' "$PWD"
        input_of_job
        printf exec
        printf ' %q' "$@"
        echo
    } >"$guest/job"
}

# Boots a guest with the caller's output on descriptors 5 and 6, its input on 7 and 8, and returns the command's status.
guest_boot() { # COMMAND ARGS...
    local status=0 heard=$guest out err
    # Guests set their descriptors to non-blocking; pipes of our own keep that from the caller's.
    mkfifo "$guest/out" "$guest/err"
    # The copies say when something last came; nothing can before the guest has opened the pipes.
    touch "$guest/printed.out" "$guest/printed.err"
    tee "$guest/printed.out" <"$guest/out" &
    out=$!
    tee "$guest/printed.err" <"$guest/err" >&2 &
    err=$!
    open_input
    # shellcheck disable=SC2016
    bounded bash -c 'exec "${@:3}" >"$1" 2>&1 5>"$2/out" 6>"$2/err" 7<>"$2/in" 8>"$2/asked"' guest "$log" "$guest" "$@" || status=$?
    close_input
    # A guest that ended before it opened them would be waited for.
    : <>"$guest/out" <>"$guest/err"
    wait "$out" "$err"
    # shellcheck disable=SC2012
    ls -1t "$CACHE/logs"/*.log | tail -n +11 | xargs -r rm -f
    if [[ -n $way_in_folder && -e $way_in_folder/lost ]]; then
        : # that was printed
    elif ((status == 124)); then
        say "console log: $log"
    elif [[ -s $guest/status ]]; then
        status=$(<"$guest/status")
        ((status == 0)) || say "the command ended with status $status; console log: $log"
    else
        say "the guest kernel ended without a result (its own status: $status); console log: $log"
        tail -n 5 "$log" >&2
        status=$LAB_NO_RESULT
    fi
    rm -rf "$guest"
    return "$status"
}
