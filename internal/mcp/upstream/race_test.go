//go:build race

package upstream_test

const raceDetector = true
