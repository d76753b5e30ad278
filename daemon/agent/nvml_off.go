//go:build linux && !(nvml && cgo)

package agent

// findNVML finds none: that needs a C compiler, and the build tag nvml.
func findNVML(string) (GPUs, bool) { return nil, false }
