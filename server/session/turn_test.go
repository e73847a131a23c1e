package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/session"
)

func asError(err error) (*session.Error, bool) { return errors.AsType[*session.Error](err) }

func TestATurnIsRecordedFromTheQuestionToItsEnd(t *testing.T) {
	var asked session.ModelRequest
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		asked = req
		emit(session.Delta{Reasoning: "they greet me"})
		emit(session.Delta{Text: "Hello, "})
		emit(session.Delta{Text: "Ada"})
		result := done()
		result.ContextWindow = 8192
		return result, nil
	})})
	s, err := m.Create(protocol.CreateSessionRequest{Workspace: m.dir, Model: "llama3.2", Upstream: "work", SandboxMode: "workspace-write"})
	if err != nil {
		t.Fatal(err)
	}
	f := follow(s)
	turn := say(t, s, "  Hi there\nI am Ada")
	end := f.until(t, protocol.EventTurnCompleted)
	wantContiguous(t, f.seen, 1)
	if got := texts(t, f.seen, protocol.EventMessageDelta); got != "Hello, Ada" {
		t.Errorf("the answer: got %q", got)
	}
	if got := texts(t, f.seen, protocol.EventMessageReasoning); got != "they greet me" {
		t.Errorf("the reasoning: got %q", got)
	}
	if f.seen[0].Type != protocol.EventSessionCreated || f.seen[1].Type != protocol.EventTurnStarted {
		t.Errorf("it begins with %s", kinds(f.seen[:2]))
	}
	got := payload[protocol.TurnCompleted](t, end)
	if got.TurnID != turn || got.Reason != protocol.TurnDone || got.Model != "m" || *got.Usage != (protocol.Usage{InputTokens: 3, OutputTokens: 5}) {
		t.Errorf("the end: got %s", end.Payload)
	}
	if asked.SessionID != s.ID() || asked.Model != "llama3.2" || asked.Upstream != "work" || len(asked.Messages) != 1 {
		t.Errorf("the model was asked %+v", asked)
	}
	info := s.Info()
	if info.Title != "Hi there" || info.State != protocol.SessionIdle || !info.Live || info.LastSeq != end.Seq || info.FirstSeq != 1 ||
		info.SandboxMode != "workspace-write" || info.ContextWindow == nil || *info.ContextWindow != 8192 {
		t.Errorf("the session: got %+v", info)
	}
}

// sessions.md, Turns: reasoning never goes back into the history, and the prefix of the conversation is never edited.
func TestTheModelHearsTheConversationAndNoneOfItsReasoning(t *testing.T) {
	var heard []string
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		var said []string
		for _, message := range req.Messages {
			said = append(said, string(message.Role)+":"+message.Text)
		}
		heard = append(heard, strings.Join(said, "|"))
		emit(session.Delta{Reasoning: "secret", Text: fmt.Sprintf("answer %d", len(heard))})
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	for i := range 3 {
		say(t, s, fmt.Sprintf("question %d", i+1))
		f.until(t, protocol.EventTurnCompleted)
	}
	want := "user:question 1|assistant:answer 1|user:question 2|assistant:answer 2|user:question 3"
	if heard[2] != want {
		t.Errorf("the third time: got %q, want %q", heard[2], want)
	}
	for i := range 2 {
		if !strings.HasPrefix(heard[i+1], heard[i]) {
			t.Errorf("call %d: %q does not begin with what was heard before, %q", i+2, heard[i+1], heard[i])
		}
	}
}

func TestAFailedCallEndsTheTurnWithItsCauseAndTheSessionStaysUsable(t *testing.T) {
	var calls atomic.Int64
	m := open(t, session.Config{Model: model(func(_ context.Context, req session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		if calls.Add(1) == 1 {
			emit(session.Delta{Text: "Well"})
			return session.ModelResult{}, hint.With(errors.New("the upstream refused the connection"), "is Ollama up?")
		}
		if got := req.Messages[len(req.Messages)-1]; got.Text != "again" || len(req.Messages) != 3 {
			t.Errorf("the second call hears %+v", req.Messages)
		}
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	turn := say(t, s, "hello")
	cause := payload[protocol.SessionError](t, f.until(t, protocol.EventSessionError))
	if cause.TurnID != turn || cause.Message != "the upstream refused the connection" || cause.Hint != "is Ollama up?" {
		t.Errorf("the cause: got %+v", cause)
	}
	end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted))
	if end.Reason != protocol.TurnError || end.Usage != nil {
		t.Errorf("the end: got %+v, want an error and no usage", end)
	}
	say(t, s, "again")
	if end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted)); end.Reason != protocol.TurnDone {
		t.Errorf("the next turn: got %+v", end)
	}
}

func TestHowAnAnswerEndsIsTheReason(t *testing.T) {
	for finish, want := range map[string]protocol.TurnReason{
		"stop": protocol.TurnDone, "length": protocol.TurnMaxTokens, "": protocol.TurnIncomplete, "tool_calls": protocol.TurnIncomplete,
	} {
		m := open(t, session.Config{Model: model(func(context.Context, session.ModelRequest, func(session.Delta)) (session.ModelResult, error) {
			return session.ModelResult{FinishReason: finish}, nil
		})})
		s := m.create(t)
		say(t, s, "hello")
		got := payload[protocol.TurnCompleted](t, follow(s).until(t, protocol.EventTurnCompleted))
		if got.Reason != want || got.Usage != nil {
			t.Errorf("%q: got %+v, want %s and unknown usage", finish, got, want)
		}
	}
}

// Invariant 4, and the route of turns: the same submission_id again answers the same turn, never a second one.
func TestOneTurnAtATimeAndOnePerSubmission(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: stalls(begun)})
	s := m.create(t)
	type answer struct {
		id  string
		err error
	}
	answers := make(chan answer)
	for range 20 {
		go func() {
			id, err := s.StartTurn(protocol.TurnRequest{Text: "hello", SubmissionID: "one"})
			answers <- answer{id, err}
		}()
	}
	first := <-answers
	for range 19 {
		if got := <-answers; got != first {
			t.Errorf("got %v, want the one turn %v", got, first)
		}
	}
	<-begun
	if s.Info().State != protocol.SessionRunning {
		t.Errorf("the state is %s", s.Info().State)
	}
	for _, other := range []string{"", "two"} {
		_, err := s.StartTurn(protocol.TurnRequest{Text: "hello", SubmissionID: other})
		wantCode(t, err, protocol.CodeTurnActive, "a turn is running")
	}
	s.Interrupt()
	f := follow(s)
	f.until(t, protocol.EventTurnCompleted)
	if id, err := s.StartTurn(protocol.TurnRequest{Text: "hello", SubmissionID: "one"}); err != nil || id != first.id {
		t.Errorf("after its end: got %q, %v, want %q", id, err, first.id)
	}
	if s.Info().State != protocol.SessionIdle {
		t.Error("the old submission began a turn")
	}
}

func TestInterruptKeepsWhatWasSaidAndMayComeTwiceOrTooLate(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: stalls(begun)})
	s := m.create(t)
	s.Interrupt() // nothing runs
	f := follow(s)
	say(t, s, "hello")
	<-begun
	s.Interrupt()
	s.Interrupt()
	end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted))
	if end.Reason != protocol.TurnInterrupted || texts(t, f.seen, protocol.EventMessageDelta) != "one moment" {
		t.Errorf("got %+v after %q", end, texts(t, f.seen, protocol.EventMessageDelta))
	}
	if kinds(f.seen) != "session.created turn.started message.delta turn.completed" {
		t.Errorf("got %s", kinds(f.seen))
	}
	s.Interrupt()
	if info := s.Info(); !info.Interrupted || info.State != protocol.SessionIdle {
		t.Errorf("got %+v", info)
	}
}

// Whoever interrupts an answer that is whole has come too late.
func TestAnAnswerThatIsWholeIsDoneAllTheSame(t *testing.T) {
	begun := make(chan struct{})
	m := open(t, session.Config{Model: model(func(ctx context.Context, _ session.ModelRequest, _ func(session.Delta)) (session.ModelResult, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return done(), nil
	})})
	s := m.create(t)
	say(t, s, "hello")
	<-begun
	s.Interrupt()
	end := payload[protocol.TurnCompleted](t, follow(s).until(t, protocol.EventTurnCompleted))
	if end.Reason != protocol.TurnDone || s.Info().Interrupted {
		t.Errorf("got %+v", end)
	}
}

func TestAnInterruptThatRacesWithTheEndLeavesOneEnd(t *testing.T) {
	m := open(t, session.Config{Model: says("a", "b")})
	s := m.create(t)
	f := follow(s)
	turns := rounds(200)
	for range turns {
		var wg sync.WaitGroup
		say(t, s, "go")
		wg.Go(s.Interrupt)
		wg.Go(s.Interrupt)
		end := payload[protocol.TurnCompleted](t, f.until(t, protocol.EventTurnCompleted))
		if end.Reason != protocol.TurnDone && end.Reason != protocol.TurnInterrupted {
			t.Fatalf("got %+v", end)
		}
		wg.Wait()
	}
	wantContiguous(t, f.seen, 1)
	if got := strings.Count(kinds(all(t, s.After)), "turn.completed"); got != turns {
		t.Errorf("got %d ends of %d turns", got, turns)
	}
}

func TestWhatAModelEmitsTooLateIsDropped(t *testing.T) {
	var late func(session.Delta)
	m := open(t, session.Config{Model: model(func(_ context.Context, _ session.ModelRequest, emit func(session.Delta)) (session.ModelResult, error) {
		late = emit
		return done(), nil
	})})
	s := m.create(t)
	f := follow(s)
	say(t, s, "hello")
	end := f.until(t, protocol.EventTurnCompleted)
	late(session.Delta{Text: "too late"})
	if got := s.Info().LastSeq; got != end.Seq {
		t.Errorf("got %d events, want the end of the turn to be the last, %d", got, end.Seq)
	}
}

func TestTurnsThatSayNothingOrTooMuchAreRefused(t *testing.T) {
	m := open(t, session.Config{})
	s := m.create(t)
	png := protocol.Image{MediaType: "image/png", Data: []byte("\x89PNG")}
	for name, c := range map[string]struct {
		req  protocol.TurnRequest
		code protocol.ErrorCode
	}{
		"nothing":                   {protocol.TurnRequest{}, protocol.CodeInvalidInput},
		"white space":               {protocol.TurnRequest{Text: " \n\t"}, protocol.CodeInvalidInput},
		"no UTF-8":                  {protocol.TurnRequest{Text: "\xff"}, protocol.CodeInvalidInput},
		"more than a MiB":           {protocol.TurnRequest{Text: strings.Repeat("x", 1<<20+1), Images: []protocol.Image{png}}, protocol.CodeTooLarge},
		"a picture of another kind": {protocol.TurnRequest{Text: "x", Images: []protocol.Image{{MediaType: "image/svg+xml", Data: []byte("x")}}}, protocol.CodeInvalidInput},
		"a picture of nothing":      {protocol.TurnRequest{Text: "x", Images: []protocol.Image{{MediaType: "image/png"}}}, protocol.CodeInvalidInput},
		"no PNG after all":          {picture("image/png", "\xff\xd8\xff\xe0"), protocol.CodeInvalidInput},
		"no JPEG after all":         {picture("image/jpeg", "\x89PNG"), protocol.CodeInvalidInput},
		"no GIF after all":          {picture("image/gif", "<svg>"), protocol.CodeInvalidInput},
		"no WebP but a sound":       {picture("image/webp", "RIFF\x00\x00\x00\x00WAVEfmt "), protocol.CodeInvalidInput},
		"no WebP, cut short":        {picture("image/webp", "RIFF"), protocol.CodeInvalidInput},
		"a long submission":         {protocol.TurnRequest{Text: "x", SubmissionID: strings.Repeat("x", 257)}, protocol.CodeInvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.StartTurn(c.req)
			wantCode(t, err, c.code, "")
		})
	}
	if got := s.Info().LastSeq; got != 1 {
		t.Errorf("got %d events, want only the first", got)
	}
}

func picture(mediaType, data string) protocol.TurnRequest {
	return protocol.TurnRequest{Text: "x", Images: []protocol.Image{{MediaType: mediaType, Data: []byte(data)}}}
}

func TestPicturesOfTheKindsThatModelsReadAreTaken(t *testing.T) {
	for mediaType, data := range map[string]string{
		"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff\xe0", "image/gif": "GIF89a", "image/webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
	} {
		s := open(t, session.Config{}).create(t)
		f := follow(s)
		if _, err := s.StartTurn(picture(mediaType, data)); err != nil {
			t.Errorf("%s: %v", mediaType, err)
			continue
		}
		f.until(t, protocol.EventTurnCompleted)
	}
}
