//go:build linux && race

package desktop_test

// raceDetector: the toolkit has a data race of its own, so the process that runs it is not tested under the detector.
const raceDetector = true
