package watch_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReaderIsWokenAndSeesTheNewest(t *testing.T) {
	v := watch.New(1)
	got, changed := v.Watch()
	if got != 1 {
		t.Fatalf("first value: got %d, want 1", got)
	}
	v.Set(2)
	v.Set(3)
	<-changed
	if got := v.Get(); got != 3 {
		t.Errorf("after two sets: got %d, want the newest, 3", got)
	}
}

func TestNoWakeWithoutAChange(t *testing.T) {
	_, changed := watch.New("a").Watch()
	select {
	case <-changed:
		t.Error("woken although nothing was set")
	default:
	}
}

func TestUpdatesAreOneStepEach(t *testing.T) {
	v := watch.New(0)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { v.Update(func(n int) int { return n + 1 }) })
	}
	wg.Wait()
	if got := v.Get(); got != 100 {
		t.Errorf("got %d, want 100: updates were lost", got)
	}
}
