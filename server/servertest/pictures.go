package servertest

import (
	"os"
	"testing"
)

// Pictures is the folder for pictures that a person may want to look at: the one that CHATWRIGHT_SCREENSHOTS names, which
// is made when it is not there, or one that goes away with the test.
func Pictures(t testing.TB) string {
	t.Helper()
	folder := os.Getenv("CHATWRIGHT_SCREENSHOTS")
	if folder == "" {
		return t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
