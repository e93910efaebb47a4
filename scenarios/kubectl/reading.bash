#!/usr/bin/env bash
# Reading: tables, columns, selectors, describe, explain, and what there is.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

group=$STORY.example.dev
define_toys "$group"
make_namespace
n=(-n "$STORY")
quiet apply "${n[@]}" -f - <<YAML
{apiVersion: $group/v1, kind: Toy, metadata: {name: car, labels: {kind: vehicle}}, spec: {color: green, count: 3, note: fast}}
---
{apiVersion: $group/v1, kind: Toy, metadata: {name: doll}, spec: {count: 1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kind: vehicle}}, data: {k: v}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: v}}
---
{apiVersion: v1, kind: Node, metadata: {name: $STORY}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None, selector: {a: b}, ports: [{port: 80}]}}
YAML

k get toys "${n[@]}"
k get ty -o wide "${n[@]}"
k get playthings "${n[@]}"
k get toy car "${n[@]}" --show-labels
k get toys.v1."$group" -o name "${n[@]}"
k get toys --no-headers "${n[@]}"
k get toys -l kind=vehicle "${n[@]}"
k get toys -l 'kind notin (vehicle)' "${n[@]}"
k get toys --field-selector metadata.name=doll "${n[@]}"
k get toys --field-selector spec.color=green "${n[@]}"
k get toys --sort-by=.spec.count "${n[@]}"
k get toys -o 'custom-columns=NAME:.metadata.name,COUNT:.spec.count,NONE:.spec.none' "${n[@]}"
k get toys -o 'go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}' "${n[@]}"
k get toys,cm,secrets "${n[@]}"
k get toys --chunk-size=1 -o name "${n[@]}"
k get toys -o yaml "${n[@]}"
k get cm a -o json "${n[@]}"
k get toys -A --no-headers -l kind=vehicle
k get --raw "/nothing"
k get svc web "${n[@]}"
k get node "$STORY"
k get crd "toys.$group"
k get toy car --subresource=status -o name "${n[@]}"

k describe toy car "${n[@]}"
k describe cm a "${n[@]}"
k describe secret s "${n[@]}"
k describe namespace "$STORY"
k describe node "$STORY"
k describe service web "${n[@]}"
k describe toy nothing "${n[@]}"
quiet create "${n[@]}" -f - <<YAML
apiVersion: v1
kind: Event
metadata: {name: car.1}
involvedObject: {apiVersion: $group/v1, kind: Toy, name: car, namespace: $STORY, uid: $("$KUBECTL" get toy car -o 'jsonpath={.metadata.uid}' "${n[@]}")}
reason: Rolled
message: it rolled
type: Normal
source: {component: child}
firstTimestamp: 2001-01-01T00:00:00Z
lastTimestamp: 2001-01-01T00:00:00Z
count: 1
YAML
k describe toy car "${n[@]}"
k get events -o 'custom-columns=REASON:.reason,OBJECT:.involvedObject.name' "${n[@]}"
k events --for toy/car "${n[@]}"

k explain toy
k explain toy.spec
k explain toy.spec.parts.size
k explain toy.spec.nothing
k explain toy --recursive
k explain configmap
k explain configmap.data
k explain configmap.metadata.labels
k explain lease.spec
k explain nothing
sorted api-resources --api-group="$group"
sorted api-resources --api-group="$group" -o wide
sorted api-resources --api-group=coordination.k8s.io
sorted api-resources --api-group=rbac.authorization.k8s.io --namespaced=false
k api-versions | grep -E "^($group|v1|coordination|apiextensions|rbac)"
k version -o json | grep -A 3 '"\(client\|server\)Version"' | grep -E '(emulation|)[mM](ajor|inor)'
k cluster-info

quiet delete node "$STORY"
quiet delete namespace "$STORY"
quiet delete crd "toys.$group"
