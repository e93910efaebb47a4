#!/usr/bin/env bash
# Who am I, what may I, and what may somebody else.
# shellcheck source=scenarios/kubectl/prelude.bash
source "$(dirname "${BASH_SOURCE[0]}")/prelude.bash"

make_namespace
n=(-n "$STORY")
k auth can-i delete deployments "${n[@]}"
k auth can-i '*' '*'
k auth can-i get pods --as=stranger "${n[@]}"
k auth can-i get nothings --as=stranger "${n[@]}"
k auth whoami --as=stranger --as-group=some -o 'jsonpath={.status.userInfo}{"\n"}'
k auth whoami -o 'jsonpath={.status.userInfo.groups}{"\n"}'
k create role reader --verb=get,list --resource=configmaps,toys.example.dev "${n[@]}"
k create role reader --verb=get,list --resource=configmaps "${n[@]}"
k create role reader --verb=get,list --resource=configmaps "${n[@]}"
k create rolebinding readers --role=reader --user=reader --serviceaccount="$STORY:robot" "${n[@]}"
k get role,rolebinding "${n[@]}"
k describe role reader "${n[@]}"
k describe rolebinding readers "${n[@]}"
k auth can-i list configmaps --as=reader "${n[@]}"
k auth can-i delete configmaps --as=reader "${n[@]}"
k auth can-i list configmaps --as="system:serviceaccount:$STORY:robot" "${n[@]}"
k get cm --as=reader "${n[@]}"
k get secrets --as=reader "${n[@]}"
k create cm a --as=reader "${n[@]}"
k create serviceaccount robot "${n[@]}"
k get serviceaccount robot "${n[@]}"
token=$("$KUBECTL" create token robot "${n[@]}")
k --token="$token" get cm "${n[@]}" 2>&1 | sed 's/--token=[^ ]*/--token=TOKEN/'
k auth reconcile -f - "${n[@]}" <<YAML
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: $STORY}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
YAML
k create clusterrole "$STORY" --verb=get --resource=nodes
k create clusterrolebinding "$STORY" --clusterrole="$STORY" --group=some
k auth can-i get nodes --as=x --as-group=some
k delete clusterrole,clusterrolebinding "$STORY"
quiet delete namespace "$STORY"
