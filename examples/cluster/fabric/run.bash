# The fabric of ../run: two VRFs over a spine, workloads in them, and a VLAN on a bond. Sourced there.
# shellcheck shell=bash

workloads=()

# A workload behind the trunk of a node, as a container or virtual machine would be.
add_workload() { # NAME NODE VLAN GATEWAY ADDRESS...
    local name=$1 netns=netloom-$2 vlan=$3 gateway=$4 address
    shift 4
    workloads+=("$name")
    ip netns add "netloom-$name"
    ip -n "$netns" link add link host0 name "w$vlan" type vlan id "$vlan"
    ip -n "$netns" link set "w$vlan" netns "netloom-$name" name eth0
    ip -n "netloom-$name" link set eth0 mtu 1400 up
    for address in "$@"; do ip -n "netloom-$name" address add "$address" dev eth0; done
    ip -n "netloom-$name" route add default via "$gateway"
    # It asks its gateway first, as hosts do, and so is known to the fabric.
    until ip netns exec "netloom-$name" ping -c 1 -W 1 -q "$gateway" >/dev/null; do :; done
}

remove_workloads() {
    local name
    for name in "${workloads[@]}"; do ip netns delete "netloom-$name" || true; done
    workloads=()
}

# A route comes over BGP a moment after the node says that it has all lines.
ping_when_routed() { # WORKLOAD ADDRESS
    local tries
    for ((tries = 30; tries > 0; tries--)); do
        ! ip netns exec "netloom-$1" ping -c 1 -W 1 -q "$2" >/dev/null || break
    done
    ping_from "$1" "$2"
}

show_fabric() {
    say "A spine leads from node to node, with FRR on it and on each. Two VRFs: two networks of workloads share a shop in one, guests have the other for themselves."
    show 0 netloom apply --wait -f 50-fabric.yaml
    add_workload front1 node1 2101 10.30.1.1 10.30.1.11/24 2001:db8:301::11/64
    add_workload front2 node2 2101 10.30.1.1 10.30.1.12/24 2001:db8:301::12/64
    add_workload back3 node3 2102 10.30.2.1 10.30.2.13/24
    add_workload guest2 node2 2103 10.30.3.1 10.30.3.12/24
    ip -n netloom-front1 route add default via 2001:db8:301::1

    say "Workloads of one network reach each other, another network of the VRF, and the shop behind the spine in both families."
    ping_when_routed front1 10.30.1.12
    ping_when_routed front1 10.30.2.13
    ping_when_routed front1 198.51.100.1
    ping_when_routed front1 2001:db8:51::1
    ping_when_routed back3 198.51.100.1
    ping_when_routed guest2 203.0.113.1

    say "Guests do not reach the shop, nor workloads of the other VRF."
    show 1 ip netns exec netloom-guest2 ping -c 3 -i 0.2 -W 1 -q 198.51.100.1
    show 1 ip netns exec netloom-guest2 ping -c 3 -i 0.2 -W 1 -q 10.30.1.11

    show 0 netloom state set --quiet --netns netloom-switch fabric/switch.yaml
    say "A VLAN on a bond needs no fabric: node addresses, and a next hop to what is behind a router."
    show 0 netloom apply --wait -f 60-bond.yaml
    ping_when_routed node1 192.168.77.1
    ping_when_routed node3 192.168.77.1

    say "Who asked for the VRF on this node?"
    show 0 netloom state explain --netns netloom-node1 vx.10100
}
