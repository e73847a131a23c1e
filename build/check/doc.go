// Package check holds the tests of what people install. They take packages as they were made and install them, run
// them and take them apart with the tools of those systems:
//
//	go run ./build/package all
//	CHATWRIGHT_DIST=$PWD/dist go test ./build/check
//
// Without CHATWRIGHT_DIST they are skipped, since there is nothing to look at. Installing needs root; it happens on a
// copy of this machine in memory (testdata/machine.sh), so that it leaves nothing behind.
package check
