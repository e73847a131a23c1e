package session

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// prune removes the records that are over the bounds: the oldest first, live ones and the newest never.
func (m *Manager) prune() {
	m.disk.Lock()
	defer m.disk.Unlock()
	ids, err := m.recorded()
	if err != nil {
		m.cfg.Log(err.Error())
		return
	}
	type file struct {
		id   string
		at   time.Time // of its last event
		size int64
	}
	var files []file
	var total int64
	for _, id := range ids {
		info, err := os.Lstat(m.path(id))
		if err != nil {
			continue
		}
		size := info.Size() + imagesOf(m.path(id)).size()
		total += size
		if !m.owned(id) {
			files = append(files, file{id, info.ModTime(), size})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return strings.Compare(a.id, b.id)
	})
	oldest := m.now().Add(-m.cfg.MaxAge)
	for _, f := range files[:max(0, len(files)-m.cfg.Keep)] {
		if total <= m.cfg.MaxBytes && !f.at.Before(oldest) {
			break // those behind it are newer
		}
		if err := removeRecord(m.path(f.id)); err != nil {
			m.cfg.Log("session " + f.id + ": removing its record: " + err.Error())
			continue
		}
		m.forget(f.id)
		total -= f.size
	}
}

// removeOrphans removes images whose record went just before the daemon was killed.
func (m *Manager) removeOrphans() {
	files, err := os.ReadDir(m.cfg.Dir)
	if err != nil {
		return // recorded has said so
	}
	for _, file := range files {
		id, isImages := strings.CutSuffix(file.Name(), imagesSuffix)
		if !isImages || !ValidID(id) {
			continue
		}
		if _, err := os.Lstat(m.path(id)); errors.Is(err, fs.ErrNotExist) {
			if err := removeRecord(m.path(id)); err != nil {
				m.cfg.Log("session " + id + ": removing its images: " + err.Error())
			}
		}
	}
}
