package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"chatwright.dev/tray/server/protocol"
)

// recorded returns the ids of all records, live ones too, the oldest first.
func (m *Manager) recorded() ([]string, error) {
	files, err := os.ReadDir(m.cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("listing the records: %w", err)
	}
	var ids []string
	for _, file := range files {
		if id, ok := strings.CutSuffix(file.Name(), recordSuffix); ok && ValidID(id) && file.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// List returns the live sessions in the order of their creation; with recorded, then those that are only on disk, newest
// first. A workspace that is not "" leaves out those of others.
func (m *Manager) List(recorded bool, workspace string) ([]protocol.Session, error) {
	if workspace != "" {
		workspace = filepath.Clean(workspace)
	}
	list := []protocol.Session{}
	seen := make(map[string]bool)
	add := func(info protocol.Session) {
		seen[info.ID] = true
		if workspace == "" || info.Workspace == workspace {
			list = append(list, info)
		}
	}
	for _, s := range m.Live() {
		add(s.Info())
	}
	if !recorded {
		return list, nil
	}
	ids, err := m.recorded()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		if seen[id] || m.owned(id) {
			continue
		}
		sum, err := m.summary(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went in the meantime
		}
		if err != nil {
			m.cfg.Log("session " + id + ": reading its record: " + err.Error())
			continue
		}
		add(sum.info(id))
	}
	return list, nil
}

// Info returns a session, live or recorded.
func (m *Manager) Info(id string) (protocol.Session, error) {
	if s := m.Get(id); s != nil {
		return s.Info(), nil
	}
	sum, err := m.find(id)
	if err != nil {
		return protocol.Session{}, err
	}
	return sum.info(id), nil
}

// find returns what the record of a session that is not live says about it.
func (m *Manager) find(id string) (summary, error) {
	if !ValidID(id) {
		return summary{}, notFound()
	}
	sum, err := m.summary(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = notFound()
	}
	return sum, err
}

// After returns events of a session, live or recorded, that follow the cursor.
func (m *Manager) After(id string, c Cursor, limit int) (Page, error) {
	if s := m.Get(id); s != nil {
		return s.After(c, limit)
	}
	sum, err := m.find(id)
	if err != nil {
		return Page{}, err
	}
	if c.Seq >= sum.lastSeq {
		return Page{Next: c, Ended: true}, nil
	}
	if limit <= 0 || limit > pageEvents {
		limit = pageEvents
	}
	return readPage(m.path(id), id, sum.size, c, sum.lastSeq, limit)
}

// Rename names a session, live or recorded; "" takes the name away.
func (m *Manager) Rename(id, name string) error {
	if s := m.Get(id); s != nil {
		return s.Rename(name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	m.disk.Lock()
	defer m.disk.Unlock()
	sum, err := m.find(id)
	if err != nil {
		return err
	}
	return m.addTo(id, sum, draft{protocol.EventSessionRenamed, m.now(), protocol.SessionRenamed{Name: name}})
}

// addTo appends events to the record of a session that is not live. The caller holds disk.
func (m *Manager) addTo(id string, sum summary, drafts ...draft) error {
	owner := Session{manager: m, id: id, last: sum.lastSeq, rec: record{path: m.path(id), size: sum.size, torn: sum.torn}}
	if err := owner.rec.hold(); err != nil {
		return fmt.Errorf("opening the record: %w", withoutPath(err))
	}
	err := owner.append(drafts...)
	return errors.Join(err, syncAndClose(owner.rec.release()))
}

// Delete ends a session and waits for the end of its turn, as long as ctx allows. With purge its record goes too.
func (m *Manager) Delete(ctx context.Context, id string, purge bool) error {
	if s := m.Get(id); s != nil {
		if err := s.end(ctx); err != nil {
			return err
		}
		m.mu.Lock()
		delete(m.live, id)
		m.mu.Unlock()
		m.wake()
	} else if _, err := m.find(id); err != nil {
		return err
	}
	if !purge {
		return nil
	}
	m.disk.Lock()
	defer m.disk.Unlock()
	if err := removeRecord(m.path(id)); err != nil {
		return fmt.Errorf("removing the record: %w", withoutPath(err))
	}
	m.forget(id)
	return nil
}

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.summaries, id)
}
