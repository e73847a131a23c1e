//go:build !race

package desktop_test

const raceDetector = false
