package session

import (
	"context"
	"os"
	"slices"
	"strconv"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// deltaGap is the least time between two deltas: twenty a second are more than a person reads.
const deltaGap = 50 * time.Millisecond

// A turn is what happens between a user's message and the end of the answer. Its fields are guarded by Session.mu.
type turn struct {
	id   string
	done chan struct{} // closed when it is over and nothing of it runs any more

	interrupt func() // ends the call in hand; nil until there is one
	stopped   bool   // somebody asked for the end
	failed    error  // an event could not be recorded

	// steers counts what was said during the turn; pending is what of it the model has not heard yet. What the call
	// emits that a steer has cut off is dropped.
	steers  int
	pending []string
	heard   *conversation

	usage   protocol.Usage // of the calls so far
	unknown bool           // one of them did not say
	model   string         // the one that answered last

	// Pieces that no event holds yet.
	text, reasoning []byte
	notBefore       time.Time // of the next delta
	flushing        *time.Timer
}

// stop asks for the end of the turn.
func (t *turn) stop() {
	t.stopped = true
	if t.interrupt != nil {
		t.interrupt()
	}
}

// StartTurn says something to the model and returns the id of the turn at once; what comes of it, the events tell. The
// same submission id again returns the same turn.
func (s *Session) StartTurn(req protocol.TurnRequest) (turnID string, err error) {
	if err := checkText(req.Text, req.Images); err != nil {
		return "", err
	}
	if len(req.SubmissionID) > 256 {
		return "", invalid("submission_id: it has more than 256 bytes")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := submissionOf(req.SubmissionID)
	if seq, known := s.submissions[sub]; known && req.SubmissionID != "" {
		return turnIDOf(seq), nil
	}
	if s.turn != nil {
		return "", hint.With(&Error{protocol.CodeTurnActive, "a turn is running"}, "interrupt it, steer it, or wait for its end")
	}
	if err := s.ready(); err != nil {
		return "", err
	}
	refs, err := imagesOf(s.rec.path).save(req.Images)
	if err != nil {
		return "", err
	}
	if !s.manager.begin() {
		return "", &Error{protocol.CodeConflict, "the daemon is ending"}
	}
	t := &turn{id: turnIDOf(s.last + 1), done: make(chan struct{})}
	started := protocol.TurnStarted{TurnID: t.id, Text: req.Text, Images: refs, SubmissionID: req.SubmissionID}
	if err = s.rec.hold(); err != nil {
		err = recordError(err)
	} else {
		err = s.append(draft{protocol.EventTurnStarted, s.manager.now(), started})
	}
	if err != nil {
		_ = syncAndClose(s.rec.release())
		s.manager.running.Done()
		return "", err
	}
	if req.SubmissionID != "" {
		if s.submissions == nil {
			s.submissions = make(map[submission]uint64)
		}
		s.submissions[sub] = s.last
	}
	if s.derived == "" {
		s.derived = deriveTitle(req.Text)
	}
	s.turn, s.interrupted = t, false
	s.manager.wake()
	go s.run(t, s.rec.size) // what is steered from now on is not in there
	return t.id, nil
}

// turnIDOf is the id of the turn that begins with the event of this number.
func turnIDOf(seq uint64) string { return "t" + strconv.FormatUint(seq, 10) }

// Interrupt ends the turn that runs, if one does. It returns at once; the turn's end is in the events.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.stop()
	}
}

// Steer cuts off what the model is saying, keeps it, and says text to it in the same turn. A model that has just
// finished is asked again, so that nothing the user said goes unheard.
func (s *Session) Steer(text string) error {
	if err := checkText(text, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil || t.stopped || t.failed != nil {
		return hint.With(&Error{protocol.CodeNoActiveTurn, "no turn is running"}, "begin one")
	}
	if s.flush(t); t.failed != nil {
		return t.failed
	}
	if err := s.append(draft{protocol.EventTurnSteered, s.manager.now(), protocol.TurnSteered{TurnID: t.id, Text: text}}); err != nil {
		return err
	}
	t.steers++
	t.pending = append(t.pending, text)
	if t.interrupt != nil {
		t.interrupt()
	}
	return nil
}

// run calls the model until it has nothing more to say. The conversation so far is in the first size bytes of the record.
func (s *Session) run(t *turn, size int64) {
	defer s.manager.running.Done()
	defer close(t.done)
	var file *os.File
	heard, err := readConversation(s.rec.path, s.id, size)
	for again := true; again; {
		var result ModelResult
		if err == nil {
			result, err = s.call(t, heard)
		}
		again, file = s.endCall(t, result, err)
		err = nil // a call that was cut off is not what went wrong with the next
	}
	if err := syncAndClose(file); err != nil {
		s.manager.cfg.Log("session " + s.id + ": syncing the record: " + err.Error())
	}
	s.manager.wake()
}

// call asks the model once.
func (s *Session) call(t *turn, heard *conversation) (ModelResult, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.mu.Lock()
	t.heard, t.interrupt = heard, cancel
	for _, text := range t.pending {
		heard.said(text, nil)
	}
	t.pending = nil
	steers, stopped := t.steers, t.stopped
	req := ModelRequest{SessionID: s.id, Upstream: s.about.Upstream, Model: s.about.Model, Messages: slices.Clone(heard.messages)}
	s.mu.Unlock()
	if stopped {
		return ModelResult{}, context.Canceled
	}
	return s.manager.cfg.Model.Stream(ctx, req, func(d Delta) { s.emit(t, steers, d) })
}

// emit takes a piece of an answer. It becomes an event at once, or together with what follows it closely.
func (s *Session) emit(t *turn, steers int, d Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != t || steers != t.steers || t.failed != nil || t.stopped {
		return
	}
	t.text = append(t.text, d.Text...)
	t.reasoning = append(t.reasoning, d.Reasoning...)
	if len(t.text)+len(t.reasoning) == 0 || t.flushing != nil {
		return
	}
	wait := time.Until(t.notBefore)
	if wait <= 0 {
		s.flush(t)
		return
	}
	t.flushing = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.flushing != nil {
			s.flush(t)
		}
	})
}

// flush makes events of the pieces that came. A record that does not take them ends the turn: nothing is shown that was
// not recorded.
func (s *Session) flush(t *turn) {
	if t.flushing != nil {
		t.flushing.Stop()
		t.flushing = nil
	}
	var drafts []draft
	now := s.manager.now()
	drafts = appendText(drafts, protocol.EventMessageReasoning, now, t.id, string(t.reasoning))
	drafts = appendText(drafts, protocol.EventMessageDelta, now, t.id, string(t.text))
	if len(drafts) == 0 || t.failed != nil {
		return
	}
	if err := s.append(drafts...); err != nil {
		t.failed = err
		t.interrupt()
		return
	}
	t.heard.answer.Write(t.text)
	t.text, t.reasoning = t.text[:0], t.reasoning[:0]
	t.notBefore = time.Now().Add(time.Duration(len(drafts)) * deltaGap)
}

// endCall takes the result of a call. again means that something is left to be said to the model; otherwise the turn is
// over, and the record's file is handed over to be synced.
func (s *Session) endCall(t *turn, result ModelResult, err error) (again bool, file *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush(t)
	t.add(result, err)
	if result.ContextWindow > 0 {
		s.contextWindow = result.ContextWindow
	}
	if len(t.pending) > 0 && t.heard != nil && !t.stopped && t.failed == nil {
		return true, nil
	}
	s.complete(t, result, err)
	return false, s.rec.release()
}

// add sums up what the calls of a turn cost. A call that does not say makes the sum unknown.
func (t *turn) add(result ModelResult, err error) {
	if result.Model != "" {
		t.model = result.Model
	}
	if err != nil || result.Usage == nil {
		t.unknown = true
		return
	}
	t.usage.InputTokens += result.Usage.InputTokens
	t.usage.OutputTokens += result.Usage.OutputTokens
	if cached := result.Usage.CacheReadTokens; cached != nil {
		sum := *cached
		if t.usage.CacheReadTokens != nil {
			sum += *t.usage.CacheReadTokens
		}
		t.usage.CacheReadTokens = &sum
	}
}

// complete ends the turn. Where not even that can be recorded, the end is owed to the record.
func (s *Session) complete(t *turn, result ModelResult, err error) {
	completed := protocol.TurnCompleted{TurnID: t.id, Reason: t.reason(result, err), Model: t.model}
	if !t.unknown {
		completed.Usage = &t.usage
	}
	now := s.manager.now()
	var drafts []draft
	if completed.Reason == protocol.TurnError {
		if t.failed != nil {
			err = t.failed
		}
		drafts = append(drafts, draft{protocol.EventSessionError, now,
			protocol.SessionError{TurnID: t.id, Message: err.Error(), Hint: hint.Of(err)}})
	}
	drafts = append(drafts, draft{protocol.EventTurnCompleted, now, completed})
	s.turn, s.interrupted = nil, completed.Reason == protocol.TurnInterrupted
	if err := s.append(drafts...); err != nil {
		s.owe(err, drafts...)
	}
	s.trim(idleWindow)
}

// reason is how the turn ended. Whoever interrupts an answer that is whole has come too late.
func (t *turn) reason(result ModelResult, err error) protocol.TurnReason {
	switch {
	case t.failed != nil:
		return protocol.TurnError
	case t.stopped && (err != nil || result.FinishReason == ""):
		return protocol.TurnInterrupted
	case err != nil:
		return protocol.TurnError
	case result.FinishReason == "stop":
		return protocol.TurnDone
	case result.FinishReason == "length":
		return protocol.TurnMaxTokens
	}
	return protocol.TurnIncomplete
}
