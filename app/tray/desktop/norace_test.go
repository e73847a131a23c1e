//go:build linux && !race

package desktop_test

const raceDetector = false
