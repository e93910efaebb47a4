//go:build tools

// Package cni names the caller of CNI plugins that tests use: libcni's own.
package cni

import _ "github.com/containernetworking/cni/cnitool"
