# FRR and BIRD, the routing daemons of the tests. Sourced by ../x, after lab/lab.bash.
# shellcheck shell=bash

# Their packages start services and own /etc/frr. So they are not installed: programs and every library that these need, the
# C library included, are unpacked into the cache. So a machine of any release has the release of FRR that is asked for, and
# a newer one beside it. That needs no root.

# Makes a release available to tests: sets NETLOOM_FRR, or NETLOOM_FRR_TESTING, to a folder in which `sbin` has the daemons,
# vtysh, frr-reload.py and BIRD. Nothing in the environment is needed to run them, but daemons are started from within that
# folder, with `--user root --group root`, and vtysh with `--config_dir` and the `etc` there.
need_frr() { # 8.4|testing
    local variable=NETLOOM_FRR
    [[ $1 != testing ]] || variable=NETLOOM_FRR_TESTING
    plain_paths && fetch_once "frr-$1" && export "$variable=$CACHE/frr-$1"
}

# The Debian release that comes with an FRR.
frr_release() { # VERSION
    case $1 in
        8.4) echo bookworm ;;
        testing) echo testing ;;
    esac
}

# What is unpacked: the programs, and of all that they need what is a library. Perl, for one, is only for their set-up.
frr_packages() { # FOLDER
    private_apt "$1" apt-get install --simulate --no-install-recommends frr frr-pythontools bird2 patchelf |
        awk '$1 == "Inst" && $2 ~ /^(frr|frr-pythontools|bird2|patchelf|zlib1g|lib.*)$/ && $2 !~ /^lib(perl|python|db)/ { print $2 }'
}

fetch_frr_into() { # FOLDER VERSION: FOLDER/tmp is scratch, the rest is kept
    local dir=$1 version=$2 tmp=$1/tmp release packages program
    release=$(frr_release "$version")
    private_apt_open "$tmp" "$release" || return 1
    mapfile -t packages < <(frr_packages "$tmp")
    private_apt_unpack "$tmp" "${packages[@]}" || return 1
    mkdir "$dir/sbin" "$dir/lib" "$dir/etc" "$tmp/lib"
    # Without it vtysh asks for a password, and is content when there is none.
    echo 'username root nopassword' >"$dir/etc/vtysh.conf"
    # All in one folder, so that the loader needs no other.
    find "$tmp/tree" -name '*.so*' -path '*lib/*' ! -type d -exec cp -L -t "$tmp/lib" {} +
    for program in "$tmp"/tree/usr/lib/frr/{zebra,bgpd,staticd,bfdd,mgmtd} "$tmp"/tree/usr/bin/vtysh "$tmp"/tree/usr/sbin/bird{,c}; do
        # Older releases have no mgmtd.
        [[ -e $program ]] || continue
        frr_program "$dir" "$program" || { say "${program##*/} of $release cannot be unpacked"; return 1; }
    done
    cp "$tmp/lib/ld-linux-x86-64.so.2" "$dir/lib/" && frr_models "$dir" && frr_reload "$dir" && frr_runs "$dir" "$version"
}

# Runs a program of the release that is unpacked, whichever release this machine is.
frr_loader() { # FOLDER ARGS...
    local tmp=$1/tmp
    "$tmp/lib/ld-linux-x86-64.so.2" --library-path "$tmp/lib" "${@:2}"
}

# Takes a program and the libraries that it needs, and makes it find those by itself, in the place where they will be: a library
# path in the environment would reach programs of this machine as well.
frr_program() { # FOLDER PROGRAM
    local dir=$1 name=${2##*/} final=$CACHE/frr-$version library
    frr_loader "$dir" --list "$2" | awk '$2 == "=>" { print $3 }' >"$dir/tmp/needed" || return 1
    while read -r library; do
        cp -n "$library" "$dir/lib/" || return 1
    done <"$dir/tmp/needed"
    cp "$2" "$dir/sbin/$name" && frr_loader "$dir" "$dir/tmp/tree/usr/bin/patchelf" \
        --set-interpreter "$final/lib/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$final/lib" "$dir/sbin/$name" || return 1
    # The group that may talk to daemons is a name in them. The package would make it; without it they do not start, and whoever
    # runs them must be in it.
    LC_ALL=C sed -i 's/\x00frrvty\x00/\x00root\x00\x00\x00/' "$dir/sbin/$name"
}

# Newer releases read YANG models at start, from a folder whose name is in a library. It becomes one of the current folder,
# because no other name fits that is the same for everybody.
frr_models() { # FOLDER
    local models=/usr/share/yang/modules/libyang library=("$1"/lib/libyang.so.*)
    [[ -d $1/tmp/tree$models ]] || return 0
    cp -r "$1/tmp/tree$models" "$1/yang" &&
        LC_ALL=C sed -i "s|\\x00$models\\x00|\\x00./yang$(printf '\\x00%.0s' $(seq $((${#models} - 5))))|" "${library[@]}"
}

# It asks for the programs in the folders of the package.
frr_reload() { # FOLDER
    sed "s|/usr/bin/vtysh|$CACHE/frr-$version/sbin/vtysh|g" "$1/tmp/tree/usr/lib/frr/frr-reload.py" >"$1/sbin/frr-reload.py" &&
        chmod 755 "$1/sbin/frr-reload.py"
}

# It has to be what was asked for, and to start, which only root can try.
frr_runs() ( # FOLDER VERSION
    local zebra=(lib/ld-linux-x86-64.so.2 --library-path lib sbin/zebra) printed
    cd "$1" && printed=$("${zebra[@]}" --version) && echo "$printed" || return 1
    [[ $2 == testing || $printed == "zebra version $2".* ]] || { say "not FRR $2: ${printed%%$'\n'*}"; return 1; }
    ((EUID != 0)) || "${zebra[@]}" --user root --group root --dryrun --config_file /dev/null
)
