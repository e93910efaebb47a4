#!/usr/bin/env bash
# Watching and waiting while something happens.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

group=$STORY.example.dev
define_toys "$group"
make_namespace
n=(-n "$STORY")

# Starts a watch and returns when it has reported its first line.
watch_begin() { # NAME ARGS...
    local name=$1
    shift
    echo "\$ kubectl $* &"
    : >"$name"
    "$KUBECTL" "$@" >"$name" 2>&1 &
    echo $! >"$name.pid"
}

watch_until() { # NAME LINES: ends the watch when it has said so many lines
    local name=$1 lines=$2
    timeout 20 tail -n +1 -F "$name" 2>/dev/null | head -n "$lines"
    kill "$(cat "$name.pid")" 2>/dev/null
    wait "$(cat "$name.pid")" 2>/dev/null
}

make_map a n=1
watch_begin all get cm -w -o 'jsonpath={.metadata.name}={.data.n}{"\n"}' "${n[@]}"
timeout 20 grep -q -m 1 '^a=1' < <(tail -n +1 -F all 2>/dev/null)
quiet patch cm a --type merge -p '{"data":{"n":"2"}}' "${n[@]}"
make_map b n=5
quiet delete cm b "${n[@]}"
watch_until all 4

watch_begin table get toys -w --output-watch-events "${n[@]}"
"$KUBECTL" apply -f - >/dev/null "${n[@]}" <<YAML
{apiVersion: $group/v1, kind: Toy, metadata: {name: t}, spec: {color: green}}
YAML
timeout 20 grep -q -m 1 ADDED < <(tail -n +1 -F table 2>/dev/null)
quiet patch toy t --type merge -p '{"spec":{"color":"blue"}}' "${n[@]}"
quiet delete toy t "${n[@]}"
watch_until table 4

watch_begin one get cm a -w -o name "${n[@]}"
timeout 20 grep -q -m 1 configmap/a < <(tail -n +1 -F one 2>/dev/null)
quiet label cm a seen=yes "${n[@]}"
watch_until one 2

quiet apply "${n[@]}" -f - <<YAML
{apiVersion: $group/v1, kind: Toy, metadata: {name: w}, spec: {}}
YAML
k wait --for=jsonpath='{.spec.color}'=red toy/w --timeout=5s "${n[@]}"
k wait --for=jsonpath='{.spec.color}'=blue toy/w --timeout=1s "${n[@]}"
k wait --for=condition=Ready toy/w --timeout=1s "${n[@]}"
"$KUBECTL" wait --for=condition=Ready toy/w --timeout=30s "${n[@]}" >waited 2>&1 &
waiting=$!
quiet patch toy w --subresource=status --type merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}' "${n[@]}"
wait "$waiting"
cat waited
k wait --for=create cm/a --timeout=5s "${n[@]}"
"$KUBECTL" wait --for=delete cm/a --timeout=30s "${n[@]}" >waited 2>&1 &
waiting=$!
quiet delete cm a "${n[@]}"
wait "$waiting"
echo "(waited for its end: status $?)"
k wait --for=delete cm/a --timeout=5s "${n[@]}"
k get toys "${n[@]}"
quiet delete namespace "$STORY"
quiet delete crd "toys.$group"
