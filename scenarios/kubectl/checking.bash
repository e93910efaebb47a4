#!/usr/bin/env bash
# What kubectl says about input that is wrong, strictly, with a warning, and not at all.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

group=$STORY.example.dev
define_toys "$group"
make_namespace
n=(-n "$STORY")
toy() { # SPEC NAME
    yaml "{apiVersion: $group/v1, kind: Toy, metadata: {name: ${2:-t}}, spec: $1}"
}

k create -f - "${n[@]}" < <(toy '{colour: green}')
k create --validate=warn -f - "${n[@]}" < <(toy '{colour: green}' warned)
k create --validate=ignore -f - "${n[@]}" < <(toy '{colour: green}' ignored)
k create --validate=false -f - "${n[@]}" < <(toy '{colour: green}' unchecked)
k create -f - "${n[@]}" < <(toy '{color: purple, count: -1}')
k create -f - "${n[@]}" < <(toy '{count: many}')
k create -f - "${n[@]}" < <(toy '{parts: [{size: 1}]}')
k create -f - "${n[@]}" < <(toy '{parts: [{name: a}, {name: a}]}')
k apply -f - "${n[@]}" < <(toy '{colour: green}')
k apply -f - "${n[@]}" < <(toy '{color: purple}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {a: b}}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: A}}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: Nothing, metadata: {name: a}}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: nothing.example.dev/v1, kind: Nothing, metadata: {name: a}}')
k create -f - "${n[@]}" < <(yaml '{kind: ConfigMap, metadata: {name: a}}')
k create -f - "${n[@]}" <<<'not: [yaml'
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: l1}}, {apiVersion: v1, kind: ConfigMap, metadata: {generateName: l2-}}]}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: l3}, dat: {a: b}}]}')
k create -f - "${n[@]}" < <(yaml "{apiVersion: v1, kind: List, items: [{apiVersion: $group/v1, kind: Toy, metadata: {name: l4}, spec: {colour: red, count: many}}]}")
k create -f - -n nowhere < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}')
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}')
k scale toy unchecked --replicas=7 "${n[@]}"
k scale toy unchecked --replicas=8 --current-replicas=1 "${n[@]}"
k get toys "${n[@]}"
k patch toy unchecked -p '{"spec":{"count":1}}' "${n[@]}"
k patch toy unchecked --type merge -p '{"spec":{"color":"purple"}}' "${n[@]}"
k patch toy unchecked --type merge --subresource=status -p '{"status":{"count":5}}' "${n[@]}"
export KUBE_EDITOR='sed -i "s/color: red/color: purple/"'
k edit toy unchecked "${n[@]}" | sed 's/\/tmp\/kubectl-edit-[0-9]*/FILE/'
k label toy unchecked a=b "${n[@]}"
k replace -f - "${n[@]}" < <(toy '{color: blue}' unchecked)
quiet delete namespace "$STORY"
quiet delete crd "toys.$group"
