package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"chatwright.dev/tray/server/protocol"
)

// A summary is what a record says about its session.
type summary struct {
	size    int64 // of the whole lines
	changed time.Time
	lastSeq uint64
	torn    bool // something behind size is half a line
	spoiled bool // the last events are damaged

	about     protocol.SessionCreated
	createdAt time.Time
	name      string
	derived   string              // title, when there is no name
	reason    protocol.TurnReason // how the last turn ended; "": none has
	open      string              // id of a turn without an end
}

func (s summary) info(id string) protocol.Session {
	return protocol.Session{
		ID: id, State: protocol.SessionClosed,
		Workspace: s.about.Workspace, Model: s.about.Model, Upstream: s.about.Upstream, SandboxMode: s.about.SandboxMode,
		CreatedAt: s.createdAt, LastSeq: s.lastSeq, FirstSeq: 1, Title: cmp.Or(s.name, s.derived),
		Interrupted: s.open != "" || s.reason == protocol.TurnInterrupted,
	}
}

// summary reads the record of a session that nobody writes, unless it has not changed since the last time. Nearly all of
// a record are pieces of answers, which are counted and not decoded.
func (m *Manager) summary(id string) (summary, error) {
	info, err := os.Lstat(m.path(id))
	if err != nil {
		return summary{}, err
	}
	if !info.Mode().IsRegular() {
		return summary{}, os.ErrNotExist
	}
	m.mu.Lock()
	known, ok := m.summaries[id]
	m.mu.Unlock()
	if ok && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known, nil
	}
	sum, err := summarise(m.path(id), id)
	if err != nil {
		return summary{}, err
	}
	sum.changed = info.ModTime()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.summaries[id] = sum
	return sum, nil
}

func summarise(path, id string) (summary, error) {
	file, err := os.Open(path)
	if err != nil {
		return summary{}, err
	}
	defer func() { _ = file.Close() }()
	var sum summary
	r := newReader(file, id, place{seq: 1})
	for {
		entry, err := r.read()
		if errors.Is(err, io.EOF) {
			sum.size, sum.torn, sum.spoiled = r.offset, r.torn, r.spoiled
			return sum, nil
		}
		if err != nil {
			return summary{}, fmt.Errorf("reading the record: %w", withoutPath(err))
		}
		sum.lastSeq = entry.Seq
		sum.take(entry.JSON, id)
	}
}

// take learns from one event.
func (s *summary) take(line []byte, id string) {
	_, kind, _ := head(line, id)
	switch kind {
	case protocol.EventSessionCreated, protocol.EventSessionResumed, protocol.EventSessionRenamed,
		protocol.EventTurnStarted, protocol.EventTurnCompleted:
	default:
		return
	}
	var e protocol.Event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch kind {
	case protocol.EventSessionCreated, protocol.EventSessionResumed: // which has the same members, and more
		if json.Unmarshal(e.Payload, &s.about) == nil {
			s.createdAt = e.At
		}
	case protocol.EventSessionRenamed:
		var p protocol.SessionRenamed
		if json.Unmarshal(e.Payload, &p) == nil {
			s.name = p.Name
		}
	case protocol.EventTurnStarted:
		var p protocol.TurnStarted
		if json.Unmarshal(e.Payload, &p) == nil {
			s.open = p.TurnID
			if s.derived == "" {
				s.derived = deriveTitle(p.Text)
			}
		}
	case protocol.EventTurnCompleted:
		var p protocol.TurnCompleted
		if json.Unmarshal(e.Payload, &p) == nil {
			s.open, s.reason = "", p.Reason
		}
	}
}
