# What a command in the lab reads as its standard input. Sourced by lab/lab.bash.
# shellcheck shell=bash disable=SC2154

# By itself a lab reads nothing: tests and examples must not take what their caller wanted to read later. `lab_take_input`
# changes that to one of
#   terminal   the command has the caller's terminal, keys like Ctrl-C included
#   stream     the command reads what the caller would have read, to its end
lab_input=
lab_stdin= # a descriptor of the caller's standard input
input_settings= # of the terminal, while a guest has it
input_feeder='' input_given='' input_asked= # who hands a stream on, and its descriptors

lab_take_input() {
    # The caller may have closed it.
    [[ -e /dev/fd/0 ]] || return 0
    # Who is stopped for silence is listened to, which a terminal of its own does not allow.
    if [[ -t 0 && -t 1 ]] && ((${NETLOOM_LAB_SILENCE:-0} == 0)); then
        lab_input=terminal
    elif [[ ! /dev/stdin -ef /dev/null ]]; then
        lab_input=stream
    fi
    exec {lab_stdin}<&0
}

# --- a guest of User-Mode Linux: /dev/tty3 in there is descriptors 7 and 8 of its process -------------------

# Prints what the job in the guest does before its last line, which runs the command.
input_of_job() {
    # Shells want it, and nobody else makes it there.
    [[ -z $lab_input ]] || echo '[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd'
    case $lab_input in
        terminal)
            printf 'export TERM=%q\nexec <>/dev/tty3 >&0 || exit 125\n' "${TERM:-dumb}"
            # Errors that go somewhere else go on doing so.
            [[ ! -t 2 ]] || echo 'exec 2>&0'
            ;;
        stream)
            declare -f guest_input
            printf 'exec < <(guest_input %q) || exit 125\n' "$guest"
            ;;
    esac
}

# Runs in the guest. A terminal line has no end, and bytes were lost on it. So what the caller reads comes in files of the
# folder, each when it is asked for with a line; the line that comes back is its name, or empty at the end.
guest_input() { # FOLDER
    local name
    exec 9<>/dev/tty3
    stty raw -echo <&9
    while echo >&9 && IFS= read -r name <&9 && [[ -n $name ]]; do
        cat "$1/$name" || return
        rm -f "$1/$name"
    done
}

# Runs here, in the background, as the other end.
feed_guest() {
    local number=0 name reader=
    # A shell that is asked to end would leave behind whoever reads for it.
    trap 'kill $reader 2>/dev/null; exit' INT TERM HUP
    while read -r <&"$input_asked"; do
        name=piece.$((++number))
        dd bs=65536 count=1 of="$guest/$name" status=none <&"$lab_stdin" &
        reader=$!
        wait "$reader" || true
        [[ -s $guest/$name ]] || break
        echo "$name" >&"$input_given"
    done
    echo >&"$input_given"
}

# Makes the folder's `in` and `asked`, which become descriptors 7 and 8 of the guest's process.
open_input() {
    case $lab_input in
        terminal)
            # A link: opened again, the terminal stays blocking for the caller, whatever the guest makes of it.
            ln -s "/proc/$$/fd/$lab_stdin" "$guest/in"
            input_settings=$(stty -g <&"$lab_stdin")
            ;;
        stream)
            mkfifo "$guest/in" "$guest/asked"
            # Both ends of both are held here, so that nobody finds them closed.
            exec {input_given}<>"$guest/in" {input_asked}<>"$guest/asked"
            feed_guest &
            input_feeder=$!
            ;;
    esac
    [[ -e $guest/in ]] || ln -s /dev/null "$guest/in"
    [[ -e $guest/asked ]] || ln -s /dev/null "$guest/asked"
}

close_input() {
    [[ -z $input_settings ]] || stty "$input_settings" <&"$lab_stdin" || true
    [[ -z $input_feeder ]] || { kill "$input_feeder" && wait "$input_feeder"; } 2>/dev/null || true
    input_settings='' input_feeder=
}

# --- QEMU ------------------------------------------------------------------------------------------

# A guest of QEMU has no input. Says so, and fails for a shell that would have read its commands there.
refuse_input() { # CMD ARGS...
    [[ -n $lab_input ]] || return 0
    lab_input=
    if [[ "$*" =~ ^([^ ]*/)?(ba|da|k|z)?sh( -[^c ]*)*$ ]]; then
        say "a QEMU guest has no standard input, so a shell would read no commands there: ./x lab -- bash SCRIPT runs them from a file"
        return 1
    fi
    say "a QEMU guest has no standard input: the command finds its own empty"
}
