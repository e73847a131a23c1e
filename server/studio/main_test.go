package studio_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" { // crash_test.go runs this binary to kill it
		child()
		return
	}
	goleak.VerifyTestMain(m)
}
