// Package definitions names the modules that carry definitions of other projects which tests install.
package definitions
