//go:build !amd64 && !arm64

package dataplane

func relax(uint32) {}
