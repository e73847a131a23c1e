package app

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The log rotates on a goroutine of lumberjack's that never ends; there is one a log.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"))
}
