# What every story of kubectl begins with. Sourced; the runner sets KUBECTL, KUBECONFIG and STORY.
# shellcheck shell=bash
set -u

# Discovery is remembered by address, and ports are used again: each run has a cache of its own.
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
cd "$cache" || exit 2
export KUBECACHEDIR=$cache/discovery

# Runs kubectl and writes down the words, what it reported, and how it ended.
k() {
    local status=0
    echo "\$ kubectl $*"
    timeout 60 "$KUBECTL" "$@" 2>&1 || status=$?
    ((status == 0)) || echo "(status $status)"
}

# The same for what only sets the scene.
quiet() {
    timeout 60 "$KUBECTL" "$@" >/dev/null 2>"$cache/quiet" || { echo "could not set the scene: kubectl $*"; cat "$cache/quiet"; }
}

# The same where the order of lines means nothing.
sorted() {
    echo "\$ kubectl $*"
    timeout 60 "$KUBECTL" "$@" 2>&1 | sort
}

# YAML in one line. Without the mark, older clients take what begins with a brace for JSON.
yaml() {
    printf -- '---\n%s\n' "$1"
}

# The story's namespace, and config maps in it.
make_namespace() {
    quiet create -f - < <(yaml "{apiVersion: v1, kind: Namespace, metadata: {name: $STORY}}")
}

make_map() { # NAME [KEY=VALUE]
    local data=
    (($# < 2)) || data=", data: {${2%%=*}: \"${2#*=}\"}"
    quiet create -n "$STORY" -f - < <(yaml "{apiVersion: v1, kind: ConfigMap, metadata: {name: $1}$data}")
}

# A kind with columns, a status, a scale and a rule.
define_toys() { # GROUP
    "$KUBECTL" apply -f - >/dev/null <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.$1}
spec:
  group: $1
  names: {plural: toys, singular: toy, kind: Toy, shortNames: [ty], categories: [playthings]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Count, type: integer, jsonPath: .spec.count}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A thing to play with.
        properties:
          spec:
            type: object
            description: What the toy is to be.
            properties:
              color: {type: string, description: Its colour., default: red, enum: [red, green, blue]}
              count: {type: integer, description: How many., minimum: 0, default: 1}
              note: {type: string, description: A remark.}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, size: {type: integer}}
          status:
            type: object
            properties:
              count: {type: integer}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
YAML
    quiet wait --for=condition=Established "crd/toys.$1" --timeout=30s
}
