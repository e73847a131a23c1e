package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"chatwright.dev/tray/app/attach/safetext"
	"chatwright.dev/tray/app/attach/screen"
	"chatwright.dev/tray/app/attach/transcript"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
)

// framesPerSecond is how often the screen may change: what a model says must not wait for the next frame.
const framesPerSecond = 120

// Terminal is the client that takes the whole screen.
type Terminal struct {
	Daemon  Daemon
	Session protocol.Session
	In      io.Reader
	Out     io.Writer
	Env     []string // as os.Environ: TERM, NO_COLOR and the like
}

// Run shows the session until the person leaves or ctx ends. It returns the session that was last attached, which is
// another where the first was resumed.
func (t Terminal) Run(ctx context.Context) (protocol.Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, t.Daemon, t.Session)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithEnvironment(t.Env), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	feeding := make(chan error, 1)
	go func() { feeding <- m.feed.run(ctx, t.Session, func(news any) { program.Send(news) }) }()
	_, err := program.Run()
	cancel()
	if fed := <-feeding; err == nil && !isOver(fed) {
		err = fed
	}
	if errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) { // ctx ended
		err = nil
	}
	if err != nil {
		return m.session, fmt.Errorf("showing the session: %w", err)
	}
	return m.session, nil
}

// model is the state of the client, and what changes it.
type model struct {
	ask     asker
	daemon  Daemon
	feed    *feed
	session protocol.Session
	state   screen.State
	unsent  message // whose answer was lost: the same text again is the same message
	sending bool
	anew    bool // the companion was away, and is back
}

func newModel(ctx context.Context, d Daemon, s protocol.Session) *model {
	return &model{
		daemon: d, session: s,
		ask: func(question func(context.Context) answered) tea.Cmd {
			return func() tea.Msg { return question(ctx) }
		},
		feed: &feed{daemon: d, next: make(chan protocol.Session, 1)},
		state: screen.State{
			Columns: 80, Rows: 24, Method: ansi.WcWidth, Dark: true, Fold: true, Transcript: transcriptOf(s),
		},
	}
}

func transcriptOf(s protocol.Session) *transcript.Transcript {
	return &transcript.Transcript{SessionID: s.ID, Workspace: s.Workspace, Model: s.Model, Title: safetext.Line(s.Title)}
}

// Init asks for the background of the terminal.
func (m *model) Init() tea.Cmd { return tea.RequestBackgroundColor }

// View shows the state.
func (m *model) View() tea.View {
	frame := m.state.Render()
	v := tea.NewView(strings.Join(frame.Rows, "\n"))
	v.AltScreen = true
	v.WindowTitle = windowTitle(frame.Title)
	v.Cursor = tea.NewCursor(frame.X, frame.Y)
	return v
}

// windowTitle is a title that ends where it should: some terminals take the byte 9C for its end, in the middle of a
// character too, and would print the rest.
func windowTitle(title string) string {
	if title = safetext.Line(title); strings.IndexByte(title, 0x9c) >= 0 {
		return "Chatwright"
	}
	return title
}

// Update changes the state after a key, an event or an answer.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.state.Resize(msg.Width, msg.Height)
	case tea.BackgroundColorMsg:
		m.state.Dark = msg.IsDark()
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && (msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet) {
			m.state.Method = ansi.GraphemeWidth // as the renderer counts from now on
		}
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case answered:
		return m, msg(m)
	default:
		m.hear(msg)
	}
	return m, nil
}

// hear takes news of the session.
func (m *model) hear(news any) {
	switch news := news.(type) {
	case events:
		m.state.Link = screen.Connected
		for _, e := range news {
			if e.SessionID != m.session.ID {
				continue // of the session that was followed before
			}
			m.state.Transcript.Apply(e)
			if e.Type == protocol.EventTurnStarted {
				m.state.Notice = ""
			}
		}
		m.remember(news)
	case lost:
		m.state.Link = screen.Lost
	case back:
		m.state.Link, m.state.Notice, m.anew = screen.Connected, "", true
	case trouble:
		m.state.Notice = safetext.Line(news.text)
	case ended:
		m.end(news)
	}
}

// remember makes what was said in this session, by whom ever, part of what the arrow keys go back to.
func (m *model) remember(news events) {
	for _, e := range news {
		if text, ok := transcript.SaidBy(e); ok {
			m.state.Editor.Remember(safetext.Text(text))
		}
	}
}

func (m *model) end(news ended) {
	if news.session.ID != m.session.ID || isOver(news.err) {
		return
	}
	m.session = news.session
	m.state.Link = screen.Recorded
	m.state.Transcript.Turn = ""
	switch {
	case isGone(news.err):
		m.state.Link = screen.Gone
		m.state.Transcript.Fail("This session is gone: somebody removed it, with its record.", "Ctrl-D leaves.")
	case news.err != nil:
		m.state.Transcript.Fail("The session cannot be followed: "+news.err.Error(), hint.Of(news.err))
	case m.anew:
		m.state.Transcript.Note("The companion was started anew. This conversation is recorded: " + howToGoOn)
	default:
		m.state.Transcript.Note("This session has ended; its record is kept: " + howToGoOn)
	}
	m.anew = false
}

const howToGoOn = "your next message carries it on in a new session, /resume does so at once."

// answered is the answer to something that was asked of the daemon: it changes the model and may ask for more.
type answered func(*model) tea.Cmd

// asker makes what asks the daemon, away from the loop, and then does what the returned func says.
type asker func(question func(context.Context) answered) tea.Cmd

// fails shows an error of the daemon where a person looks.
func (m *model) fails(err error) {
	text := err.Error()
	if way := hint.Of(err); way != "" {
		text += ": " + way
	}
	m.state.Notice = safetext.Line(text)
}

// send says what was written, in a new session where this one has ended.
func (m *model) send() tea.Cmd {
	text := m.state.Editor.Text()
	switch {
	case strings.TrimSpace(text) == "" || m.sending:
		return nil
	case m.state.Link == screen.Lost || m.state.Link == screen.Connecting:
		m.state.Notice = "your message stays here until there is a connection"
		return nil
	case m.state.Link == screen.Gone:
		m.state.Notice = "there is no session that could take it"
		return nil
	case m.state.Transcript.Running():
		m.state.Notice = "a turn is running: wait, Ctrl-C interrupts it, or begin with /steer to say it now"
		return nil
	}
	if strings.HasPrefix(text, "//") { // or it would be a command
		text = text[1:]
	}
	msg := m.unsent
	if msg.text != text {
		msg = newMessage(text)
	}
	m.unsent, m.sending, m.state.Notice = msg, true, ""
	m.state.Editor.Take()
	m.state.End()
	old := m.session
	return m.ask(func(ctx context.Context) answered {
		took, err := deliver(ctx, m.daemon, old, msg)
		return func(m *model) tea.Cmd {
			m.sending = false
			m.moveTo(took)
			if err != nil {
				m.fails(err)
				if m.state.Editor.Text() == "" {
					m.state.Editor.Set(msg.text)
				}
				return nil
			}
			m.unsent = message{}
			return nil
		}
	})
}

// resume carries the session on without saying anything.
func (m *model) resume() tea.Cmd {
	if m.state.Link != screen.Recorded {
		m.state.Notice = "this session goes on: there is nothing to resume"
		return nil
	}
	old := m.session
	return m.ask(func(ctx context.Context) answered {
		resumed, err := m.daemon.CreateSession(ctx, protocol.CreateSessionRequest{Resume: old.ID})
		return func(m *model) tea.Cmd {
			if err != nil {
				m.fails(err)
				return nil
			}
			m.moveTo(resumed)
			return nil
		}
	})
}

// moveTo shows the session that carries this one on. Its log holds the conversation so far.
func (m *model) moveTo(s protocol.Session) {
	if s.ID == m.session.ID {
		return
	}
	m.session = s
	m.state.Transcript = transcriptOf(s)
	m.state.Link = screen.Connecting
	m.state.EndSearch()
	m.state.End()
	m.feed.next <- s
}

func (m *model) interrupt() tea.Cmd {
	m.state.Notice = "interrupting …"
	id := m.session.ID
	return m.ask(func(ctx context.Context) answered {
		err := m.daemon.Interrupt(ctx, id)
		return func(m *model) tea.Cmd {
			m.state.Notice = ""
			if err != nil {
				m.fails(err)
			}
			return nil
		}
	})
}
