package studio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
	"chatwright.dev/tray/server/wholefile"
)

// A download in the cache, under updateLock: the archive so far and, where the server can go on, how to ask it to.
const (
	partName   = ".download.zip"
	resumeName = ".download.json"
)

func isPartial(name string) bool { return name == partName || name == resumeName }

// A download goes on where it broke off, within one update as well as in a later process, and starts again when the
// server has another file now or cannot go on.
const (
	maxFruitless = 3  // tries in a row that bring nothing
	maxTries     = 50 // in all: a server that gives a byte at a time is broken too
)

// resumption is what .download.json holds. It is written before the bytes that it speaks of.
type resumption struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"` // as the manifest promises it
	ETag   string `json:"etag"`   // a strong one: equal means the same bytes
	Total  int64  `json:"total"`  // 0: unknown
}

type download struct {
	store  *Store
	file   *os.File
	report func(Progress)

	wanted  Manifest
	sum     hash.Hash // of what is in file
	have    int64     // its length
	resumed bool      // some of it came with an earlier answer
	how     resumption
}

// fetch returns the archive that m promises, open, in the cache. What it leaves behind when it fails can be resumed.
func (s *Store) fetch(ctx context.Context, m Manifest, report func(Progress)) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(s.cfg.CacheDir, partName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d := &download{store: s, file: file, report: report, wanted: m, sum: sha256.New()}
	err = d.begin()
	if err == nil {
		err = d.run(ctx)
	}
	if err == nil {
		return file, nil
	}
	file.Close()
	way := "check the network, then update again: the download goes on where it ended"
	if !d.worthKeeping(err) {
		s.dropDownload()
		way = "check the network, then update again"
	}
	if hint.Of(err) == "" {
		err = hint.With(err, way)
	}
	return nil, err
}

// dropDownload forgets a download. The record goes first: a file without one is never taken for the begin of an archive.
func (s *Store) dropDownload() {
	for _, name := range []string{resumeName, partName} {
		if err := os.Remove(filepath.Join(s.cfg.CacheDir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.cfg.Log.Warn("Studio cache holds a download that is of no more use", "name", name, "err", err)
		}
	}
}

// worthKeeping reports whether a later update can go on from what is there. A full disk had better be given its room
// back.
func (d *download) worthKeeping(err error) bool {
	_, unwanted := errors.AsType[unwantedError](err)
	return d.how.ETag != "" && d.have > 0 && !errors.Is(err, errDisk) && !unwanted
}

var errDisk = errors.New("writing the download")

// unwantedError is an archive of which more would be of no use.
type unwantedError struct{ error }

// begin takes up what an earlier update left, if it is of the same archive at the same place.
func (d *download) begin() error {
	data, err := wholefile.Read(filepath.Join(d.store.cfg.CacheDir, resumeName), maxManifest)
	var how resumption
	if err != nil || json.Unmarshal(data, &how) != nil ||
		how.URL != d.url() || how.SHA256 != d.wanted.SHA256 || !isStrong(how.ETag) {
		return d.restart()
	}
	d.have, err = io.Copy(d.sum, io.LimitReader(d.file, d.store.cfg.MaxDownload+1))
	if err != nil || d.have > d.store.cfg.MaxDownload || how.Total > 0 && d.have > how.Total {
		return d.restart()
	}
	d.how, d.resumed = how, d.have > 0
	return nil
}

func (d *download) url() string { return d.store.base.JoinPath(archiveFile).String() }

// restart empties the file.
func (d *download) restart() error {
	err := os.Remove(filepath.Join(d.store.cfg.CacheDir, resumeName))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, d.file.Truncate(0)); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	_, err = d.file.Seek(0, io.SeekStart)
	d.sum.Reset()
	d.have, d.resumed, d.how = 0, false, resumption{}
	return err
}

// run tries until the archive is there, or it makes no sense to go on.
func (d *download) run(ctx context.Context) error {
	fruitless, anew := 0, false
	for tries := 1; ; tries++ {
		before := d.have
		err := d.try(ctx)
		if err == nil && d.promised() {
			return nil
		}
		if err == nil {
			// Pieces may not belong together, whatever their ETag said, or a power cut took some of them. That is worth one
			// more download, in one piece.
			if !d.resumed || anew {
				return d.unpromised()
			}
			anew = true
			if err := d.restart(); err != nil {
				return err
			}
			continue
		}
		if fruitless++; d.have > before {
			fruitless = 0
		}
		_, refused := errors.AsType[statusError](err)
		if refused || ctx.Err() != nil || !d.worthKeeping(err) || fruitless > maxFruitless || tries >= maxTries {
			return err
		}
		d.store.cfg.Log.Info("Studio download broke off and goes on", "at", d.have, "err", err)
		d.resumed = true
		if err := pause(ctx, d.store.cfg.RetryWait<<fruitless); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *download) promised() bool { return hex.EncodeToString(d.sum.Sum(nil)) == d.wanted.SHA256 }

func (d *download) unpromised() error {
	return hint.With(unwantedError{fmt.Errorf("its sha256 is %x, the manifest promises %s", d.sum.Sum(nil), d.wanted.SHA256)},
		"try again later: the release may be half uploaded, or something on the way changed it")
}

// try makes one request and takes what comes. No error: the server has given all it has.
func (d *download) try(ctx context.Context) error {
	if d.have > 0 && d.have == d.how.Total { // killed between the last byte and the next step
		return nil
	}
	// The stall timer, not a deadline, bounds the download: a slow line may take its time, a dead one may not.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := d.store.cfg.StallTimeout
	stall := time.AfterFunc(patience, func() { cancel(fmt.Errorf("nothing came for %s", patience)) })
	defer stall.Stop()

	res, err := d.ask(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := d.note(res); err != nil {
		return err
	}
	d.tell()
	body := reading{io.LimitReader(res.Body, d.store.cfg.MaxDownload-d.have+1), func(int) { stall.Reset(patience) }}
	_, err = io.Copy(d, body)
	switch {
	case errors.Is(err, errDisk):
		return err
	case d.have > d.store.cfg.MaxDownload:
		return d.over()
	case err == nil && d.have < d.how.Total:
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the connection ended after %s: %w", httpx.FormatSize(d.have), err)
	}
	if err != nil {
		return describe(ctx, err)
	}
	return nil
}

// ask returns an answer whose body goes on where the file ends.
func (d *download) ask(ctx context.Context) (*http.Response, error) {
	for {
		header := http.Header{}
		if d.have > 0 {
			header.Set("Range", fmt.Sprintf("bytes=%d-", d.have))
			header.Set("If-Range", d.how.ETag)
		}
		res, err := d.store.get(ctx, archiveFile, header)
		if err != nil {
			return nil, err
		}
		switch {
		case res.StatusCode == http.StatusOK && d.have == 0, d.have > 0 && d.continues(res):
			return res, nil
		case res.StatusCode == http.StatusOK: // another file by now, or a server that knows no ranges
			if err := d.restart(); err != nil {
				res.Body.Close()
				return nil, err
			}
			return res, nil
		}
		res.Body.Close()
		unusable := res.StatusCode == http.StatusPartialContent || res.StatusCode == http.StatusRequestedRangeNotSatisfiable
		if d.have == 0 || !unusable {
			return nil, statusError(res.StatusCode)
		}
		if err := d.restart(); err != nil {
			return nil, err
		}
	}
}

// continues reports whether an answer is the rest of the very file that we have the begin of.
func (d *download) continues(res *http.Response) bool {
	if res.StatusCode != http.StatusPartialContent || res.Header.Get("Etag") != d.how.ETag {
		return false
	}
	var first, last, total int64
	_, err := fmt.Sscanf(res.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total)
	return err == nil && first == d.have && last == total-1 && (d.how.Total == 0 || d.how.Total == total)
}

// note records how to go on from an answer, before its body is taken.
func (d *download) note(res *http.Response) error {
	rest := max(res.ContentLength, 0)
	if d.have+rest > d.store.cfg.MaxDownload {
		return d.over()
	}
	how := resumption{URL: d.url(), SHA256: d.wanted.SHA256}
	if rest > 0 {
		how.Total = d.have + rest
	}
	if etag := res.Header.Get("Etag"); isStrong(etag) && res.Header.Get("Accept-Ranges") != "none" {
		how.ETag = etag
	}
	if how == d.how {
		return nil
	}
	d.how = how
	if how.ETag == "" {
		return nil // there is no record: the file was emptied
	}
	data, err := json.Marshal(how)
	if err == nil {
		err = wholefile.Write(filepath.Join(d.store.cfg.CacheDir, resumeName), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	return d.store.cfg.step("download noted")
}

func (d *download) over() error {
	return hint.With(unwantedError{fmt.Errorf("it is over the cap of %s", httpx.FormatSize(d.store.cfg.MaxDownload))},
		"nothing was installed; whoever publishes this release has to mend it")
}

// Write takes the next bytes of the archive.
func (d *download) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	d.sum.Write(p[:n]) // a hash takes everything
	d.have += int64(n)
	if err != nil {
		return n, hint.With(fmt.Errorf("%w: %w", errDisk, err), "make room on the disk, then update again")
	}
	d.tell()
	if err := d.store.cfg.step("downloading"); err != nil {
		return n, fmt.Errorf("%w: %w", errDisk, err)
	}
	return n, nil
}

func (d *download) tell() {
	d.report(Progress{Stage: Downloading, Version: d.wanted.Version, Received: d.have, Total: d.how.Total})
}

// isStrong tells an ETag that stands for the very bytes from one that does not, and from none.
func isStrong(etag string) bool {
	return len(etag) > 2 && strings.HasPrefix(etag, `"`) && strings.HasSuffix(etag, `"`)
}
