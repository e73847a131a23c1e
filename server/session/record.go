package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"chatwright.dev/tray/server/wholefile"
)

// A record is the file of one session, as its only writer sees it. It is not safe for concurrent use.
type record struct {
	path string
	size int64    // of what is whole
	file *os.File // open while a turn runs: a thousand idle sessions hold no files
	torn bool     // something behind size is to go before anything is written
}

// createRecord makes the file of a new session.
func createRecord(path string) (record, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return record{}, err
	}
	return record{path: path}, file.Close()
}

// write appends lines, all or none of them. They are with the system when it returns: should the process be killed, they
// are kept.
func (r *record) write(lines []byte) error {
	file := r.file
	if file == nil {
		var err error
		if file, err = r.open(); err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
	}
	if r.torn {
		if err := file.Truncate(r.size); err != nil {
			return err
		}
		r.torn = false
	}
	if _, err := file.WriteAt(lines, r.size); err != nil {
		// Half a line must not stay, nor be written behind.
		r.torn = file.Truncate(r.size) != nil
		return err
	}
	r.size += int64(len(lines))
	return nil
}

// open opens the file, unless it is not the one that we wrote.
func (r *record) open() (*os.File, error) {
	file, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != r.size && !r.torn {
		err = fmt.Errorf("%s was changed by another program", r.path)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// hold keeps the file open until release.
func (r *record) hold() error {
	if r.file != nil {
		return nil
	}
	file, err := r.open()
	if err == nil {
		r.file = file
	}
	return err
}

// release gives back the file that hold opened, to be synced and closed.
func (r *record) release() *os.File {
	file := r.file
	r.file = nil
	return file
}

// syncAndClose makes what was written last through a power cut; so does the file's name, which may be new.
func syncAndClose(file *os.File) error {
	if file == nil {
		return nil
	}
	err := errors.Join(file.Sync(), file.Close())
	wholefile.SyncFolder(filepath.Dir(file.Name()))
	return err
}

// withoutPath takes the path out of an error that people see: they know which session they speak to.
func withoutPath(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		return inner.Err
	}
	return err
}

const (
	// A page is bounded so that a follower costs little while its client reads slowly.
	pageBytes  = 32 << 10
	pageEvents = 1024
)

// readPage reads events behind c from the first size bytes of a record; last is the newest of them.
func readPage(path, id string, size int64, c Cursor, last uint64, limit int) (Page, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Page{}, expired()
	}
	if err != nil {
		return Page{}, fmt.Errorf("reading the record: %w", err)
	}
	defer func() { _ = file.Close() }()
	from := c.known
	if from.seq == 0 || from.seq > c.Seq+1 {
		from = place{seq: 1}
	}
	page := Page{Next: c}
	r := newReader(io.NewSectionReader(file, from.offset, size-from.offset), id, from)
	for bytes := 0; len(page.Entries) < limit && bytes < pageBytes; {
		entry, err := r.read()
		if errors.Is(err, io.EOF) || err == nil && entry.Seq > last {
			break
		}
		if err != nil {
			return Page{}, fmt.Errorf("reading the record: %w", err)
		}
		if entry.Seq <= c.Seq {
			continue
		}
		entry.JSON = append([]byte(nil), entry.JSON...)
		bytes += len(entry.JSON)
		page.Entries = append(page.Entries, entry)
		page.Next = Cursor{entry.Seq, entry.next}
	}
	if len(page.Entries) == 0 && c.Seq < last {
		return Page{}, expired() // somebody cut the file short
	}
	return page, nil
}
