#!/usr/bin/env bash
# Apply on the client's side and on the server's, and the way from one to the other.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

group=$STORY.example.dev
define_toys "$group"
make_namespace
n=(-n "$STORY")

cat >one.yaml <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {x: "1"}}
data: {a: "1", b: "2"}
---
apiVersion: $group/v1
kind: Toy
metadata: {name: t}
spec: {color: green, parts: [{name: wheel, size: 3}, {name: door, size: 1}]}
---
apiVersion: v1
kind: Service
metadata: {name: d}
spec: {clusterIP: None, selector: {a: b}, ports: [{name: one, port: 1}, {name: two, port: 2}]}
YAML
sed 's/b: "2"/c: "3"/; s/green/blue/; s/size: 3/size: 4/; s/name: one, port: 1/name: one, port: 1, targetPort: 9/; s/{name: door, size: 1}/{name: lamp}/' one.yaml >two.yaml

k diff -f one.yaml "${n[@]}"
k apply -f one.yaml "${n[@]}"
k apply -f one.yaml "${n[@]}"
k diff -f one.yaml "${n[@]}"
k diff -f two.yaml "${n[@]}"
k apply -f two.yaml --dry-run=server "${n[@]}"
k apply -f two.yaml "${n[@]}"
k get cm a -o yaml --show-managed-fields "${n[@]}"
k get toy t -o yaml --show-managed-fields "${n[@]}"
k get service d -o 'jsonpath={.spec.ports}{"\n"}' "${n[@]}"
k apply view-last-applied cm a "${n[@]}"
quiet patch cm a --type merge -p '{"data":{"other":"kept"}}' "${n[@]}"
k apply -f one.yaml "${n[@]}"
k get cm a -o 'jsonpath={.data}{"\n"}' "${n[@]}"
make_map bare a=1
k apply -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: bare}, data: {b: "2"}}')

k apply --server-side -f two.yaml "${n[@]}"
k apply --server-side --force-conflicts -f two.yaml "${n[@]}"
k get cm a -o yaml --show-managed-fields "${n[@]}"
k diff --server-side -f one.yaml "${n[@]}"
k apply --server-side --field-manager=other -f - "${n[@]}" <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: "99"}
YAML
k apply --server-side --field-manager=other --force-conflicts -f - "${n[@]}" <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {a: "99"}
YAML
k apply --server-side -f - "${n[@]}" <<YAML
apiVersion: $group/v1
kind: Toy
metadata: {name: fresh}
spec: {parts: [{name: seat}]}
YAML
k apply --server-side -f - "${n[@]}" <<YAML
apiVersion: $group/v1
kind: Toy
metadata: {name: fresh}
spec: {colour: green}
YAML
k get toy fresh -o yaml --show-managed-fields "${n[@]}"
k create -f one.yaml "${n[@]}"
k delete -f one.yaml "${n[@]}"
k delete -f one.yaml "${n[@]}"
quiet delete namespace "$STORY"
quiet delete crd "toys.$group"
