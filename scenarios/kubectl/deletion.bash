#!/usr/bin/env bash
# Deleting: with and without dependents, with finalizers, by selector, and waiting for it.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

make_namespace
n=(-n "$STORY")

family() { # NAME: an owner and what it owns
    local uid
    make_map "$1"
    uid=$("$KUBECTL" get cm "$1" -o 'jsonpath={.metadata.uid}' "${n[@]}")
    quiet apply --server-side "${n[@]}" -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: child-of-$1
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: $1, uid: $uid, blockOwnerDeletion: true}]
YAML
}

family back
k delete cm back --cascade=background "${n[@]}"
k wait --for=delete cm/child-of-back --timeout=30s "${n[@]}"
family fore
k delete cm fore --cascade=foreground "${n[@]}"
k get cm child-of-fore "${n[@]}"
family orph
k delete cm orph --cascade=orphan "${n[@]}"
k get cm child-of-orph -o 'jsonpath={.metadata.ownerReferences}{"\n"}' "${n[@]}"

make_map held
quiet patch cm held --type merge -p '{"metadata":{"finalizers":["example.dev/hold"]}}' "${n[@]}"
k delete cm held --wait=false "${n[@]}"
k delete cm held --timeout=1s "${n[@]}"
k get cm held -o 'jsonpath={.metadata.deletionGracePeriodSeconds}{"\n"}' "${n[@]}"
k patch cm held --type merge -p '{"metadata":{"finalizers":null}}' "${n[@]}"
k get cm held "${n[@]}"

make_map forced
k delete cm forced --force --grace-period=0 "${n[@]}"
make_map now
k delete cm now --now "${n[@]}"
make_map dry
k delete cm dry --dry-run=server "${n[@]}"
k get cm dry "${n[@]}"

for name in one two three; do make_map "$name"; done
quiet label cm one two group=x "${n[@]}"
k delete cm -l group=x "${n[@]}"
k get cm -o name "${n[@]}"
k delete cm --field-selector metadata.name=three "${n[@]}"
k delete cm --all "${n[@]}"
k delete namespace "$STORY" --wait=true
k get namespace "$STORY"
k delete namespace default
