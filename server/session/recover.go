package session

import (
	"bytes"
	"errors"
	"os"

	"chatwright.dev/tray/server/protocol"
)

// tailBytes is how much of a record's end tells, nearly always, that nothing is to be done.
const tailBytes = 8 << 10

// recover completes the record of a session that a daemon left behind when it was killed or the power failed: half a
// line at its end goes, and says so; a turn without an end gets one. A record without a single event goes as a whole.
func (m *Manager) recover(id string) error {
	path := m.path(id)
	if settled, err := endsWell(path, id); err != nil || settled {
		return err
	}
	sum, err := summarise(path, id)
	if err != nil {
		return err
	}
	if sum.lastSeq == 0 {
		m.cfg.Log("session " + id + ": its record holds no event and is removed")
		return removeRecord(path)
	}
	now := m.now()
	var drafts []draft
	if sum.torn {
		m.cfg.Log("session " + id + ": the last line of its record was incomplete and is dropped")
		drafts = append(drafts, draft{protocol.EventSessionError, now, protocol.SessionError{
			Message: "the last line of the record was incomplete, as after a power cut, and is dropped",
		}})
	}
	if sum.spoiled && !sum.torn {
		// A good line behind the damage also makes that it reads the same from now on.
		m.cfg.Log("session " + id + ": the end of its record is damaged")
		drafts = append(drafts, draft{protocol.EventSessionError, now, protocol.SessionError{Message: "the end of the record is damaged"}})
	}
	if sum.open != "" {
		drafts = append(drafts, draft{protocol.EventTurnCompleted, now,
			protocol.TurnCompleted{TurnID: sum.open, Reason: protocol.TurnInterrupted}})
	}
	if len(drafts) == 0 {
		return nil
	}
	return m.addTo(id, sum, drafts...)
}

// endsWell reports whether the end of a record shows that the last turn has one. Most records do, so that a start need
// not read them all.
func endsWell(path, id string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, withoutPath(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return false, withoutPath(err)
	}
	tail := make([]byte, min(info.Size(), tailBytes))
	if n, err := file.ReadAt(tail, info.Size()-int64(len(tail))); n < len(tail) {
		return false, errors.Join(withoutPath(err))
	}
	body, whole := bytes.CutSuffix(tail, []byte("\n"))
	if !whole {
		return false, nil
	}
	lines := bytes.Split(body, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		switch _, kind, _ := head(lines[i], id); kind {
		case protocol.EventTurnCompleted, protocol.EventSessionCreated, protocol.EventSessionResumed:
			return true, nil
		case protocol.EventSessionRenamed, protocol.EventSessionError, protocol.EventSessionCompacted:
		default:
			return false, nil // a turn that runs, or damage
		}
	}
	return false, nil
}
