# Virtual machines on this machine's own kernel: a guest, and namespaces for daemons. Sourced by x.
# shellcheck shell=bash

# Makes a guest of the lab's kernel in FOLDER: `linux`, and a first file system with what virtio NICs need, which prints on
# its serial console which of its NICs have a carrier.
vm_guest() { # FOLDER
    local dir=$1 ram=$1/ram all release file
    prepare_qemu || return 1
    # shellcheck disable=SC2154 # prepare_qemu sets it
    all=$(dirname "$(find "$qemu/modules" -name modules.order -print -quit)")
    release=$(basename "$(find "$qemu/modules" -maxdepth 2 -name modules.order -printf '%h\n' -quit)")
    mkdir -p "$ram/bin" "$ram/dev" "$ram/proc" "$ram/sys" "$ram/modules" || return 1
    # In the order in which they need each other.
    for file in virtio.ko virtio_ring.ko virtio_pci_modern_dev.ko virtio_pci_legacy_dev.ko virtio_pci.ko failover.ko net_failover.ko virtio_net.ko; do
        find "$all" -name "$file" -exec cp {} "$ram/modules/" \; || return 1
        [[ ! -e $ram/modules/$file ]] || echo "$file" >>"$ram/modules/order"
    done
    [[ -e $ram/modules/virtio_net.ko ]] || { say "the kernel of $release has no module for virtio NICs"; return 1; }
    cp "$qemu/linux" "$dir/linux" && cp "$qemu/busybox" "$ram/bin/busybox" && install -m 755 "$LAB/vm-init" "$ram/init" || return 1
    (cd "$ram" && find . | "$qemu/busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$dir/initramfs" && rm -rf "$ram"
}

# Runs a command in fresh namespaces in which daemons of virtual machines can be started; all of them end with it.
vm_run() { # CMD ARGS...
    local users
    users=$(mktemp -d)
    # shellcheck disable=SC2031
    leftovers+=("$users")
    # libvirtd asks for this user even where QEMU runs as another one.
    { grep -v '^libvirt-qemu:' /etc/passwd; echo libvirt-qemu:x:64055:64055::/nonexistent:/bin/false; } >"$users/passwd"
    { grep -v '^libvirt-qemu:' /etc/group; echo libvirt-qemu:x:64055:; } >"$users/group"
    # shellcheck disable=SC2016
    unshare --mount --net --pid --fork --kill-child --mount-proc bash -c '
        mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group &&
            mount -t tmpfs tmpfs /run && ip link set lo up || exit 125
        # Whoever loses its parent becomes a child of this shell, which takes note of its end; daemons wait for that.
        "${@:2}"
        exit $?' vm "$users" "$@"
}

# What daemons of virtual machines and their guests could leave behind: processes, namespaces, taps and files.
vm_traces() {
    local name
    for name in libvirtd qemu-system virtlogd; do pgrep -a "$name" | sed 's/^[0-9]* //' || true; done
    ls /run/netns 2>/dev/null || true
    ip -o link show | sed -n 's/^[0-9]*: \(tap[0-9a-f]\{11\}\)[@:].*/\1/p'
    ls -d "${TMPDIR:-/tmp}"/netloom-vm-* /run/libvirt /var/lib/libvirt/qemu/domain-* 2>/dev/null || true
}
