#!/usr/bin/env bash
# The life of a plain object: create, read, change in every way, delete.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

make_namespace
n=(-n "$STORY")
map='{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: value}}'
k create -f - "${n[@]}" < <(yaml "$map")
k create -f - "${n[@]}" < <(yaml "$map")
k get configmap a "${n[@]}"
k get cm/a -o yaml --show-managed-fields "${n[@]}"
k get cm a -o 'jsonpath={.data.key}{"\n"}' "${n[@]}"
k get cm nothing "${n[@]}"
k get nothings "${n[@]}"
k get cm -o name "${n[@]}"
k create -f - --dry-run=server -o yaml "${n[@]}" < <(yaml '{apiVersion: v1, kind: ConfigMap, metadata: {name: dry}, data: {a: b}}')
k get cm dry "${n[@]}"

k label cm a tier=one "${n[@]}"
k label cm a tier=two "${n[@]}"
k label cm a tier=two --overwrite "${n[@]}"
k label cm a tier- "${n[@]}"
k label cm a tier- "${n[@]}"
k annotate cm a note=text "${n[@]}"
k annotate cm a note- "${n[@]}"
k label cm a "not allowed=x" "${n[@]}"

k patch cm a -p '{"data":{"strategic":"1"}}' "${n[@]}"
k patch cm a --type merge -p '{"data":{"merge":"1"}}' "${n[@]}"
k patch cm a --type merge -p '{"data":{"merge":"1"}}' "${n[@]}"
k patch cm a --type json -p '[{"op":"add","path":"/data/json","value":"1"}]' "${n[@]}"
k patch cm a --type json -p '[{"op":"test","path":"/data/json","value":"2"}]' "${n[@]}"
k patch cm a --type json -p '[{"op":"remove","path":"/data/nothing"}]' "${n[@]}"
k patch cm a --type merge -p 'nonsense' "${n[@]}"
k patch cm nothing --type merge -p '{}' "${n[@]}"
k get cm a -o 'jsonpath={.data}{"\n"}' "${n[@]}"

export KUBE_EDITOR="sed -i s/value/edited/"
k edit cm a "${n[@]}"
k get cm a -o 'jsonpath={.data.key}{"\n"}' "${n[@]}"
export KUBE_EDITOR="true"
k edit cm a "${n[@]}"
export KUBE_EDITOR='sed -i "s/edited/again/"'
k edit cm a --output-patch "${n[@]}"

timeout 20 "$KUBECTL" get cm a -o yaml "${n[@]}" | sed 's/again/replaced/' >a.yaml
k replace -f a.yaml "${n[@]}"
k replace -f a.yaml "${n[@]}"
sed -i '/resourceVersion/d; /uid/d' a.yaml
k replace --force -f a.yaml "${n[@]}"
k get cm a -o 'jsonpath={.data.key}{"\n"}' "${n[@]}"

k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: secret}}')
k get secret s -o yaml "${n[@]}"
k create -f - "${n[@]}" < <(yaml '{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None, selector: {x: z}, ports: [{port: 80}]}}')
k set selector service web a=b "${n[@]}"
k get service web "${n[@]}"

k delete cm a "${n[@]}"
k delete cm a "${n[@]}"
k delete cm a --ignore-not-found "${n[@]}"
k delete secret,service --all "${n[@]}"
k get all "${n[@]}"
k delete namespace "$STORY"
k get namespace "$STORY"
