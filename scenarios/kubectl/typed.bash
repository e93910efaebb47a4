#!/usr/bin/env bash
# Commands for which kubectl has a typed client: those send protobuf.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

n=(-n "$STORY")
k create namespace "$STORY"
k create namespace "$STORY"
k create configmap a --from-literal=key=value "${n[@]}"
k create configmap a --from-literal=key=value "${n[@]}"
k create configmap dry --from-literal=a=b --dry-run=server -o yaml "${n[@]}"
k create secret generic s --from-literal=password=secret "${n[@]}"
k create service clusterip web --clusterip=None "${n[@]}"
k create serviceaccount robot "${n[@]}"
k create role reader --verb=get --resource=configmaps "${n[@]}"
k create rolebinding readers --role=reader --serviceaccount="$STORY:robot" "${n[@]}"
k get configmap,secret,serviceaccount,role,rolebinding "${n[@]}"
k get secret s -o yaml --show-managed-fields "${n[@]}"
k delete namespace "$STORY"
