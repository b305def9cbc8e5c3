//go:build !linux

package supervise

func holdThread() (release func()) { return func() {} }
