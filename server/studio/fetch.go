package studio

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/internal/httpx"
)

const maxManifest = 64 << 10

// fetchManifest returns the release's manifest and its exact bytes.
func (s *Store) fetchManifest(ctx context.Context) (Manifest, []byte, error) {
	m, raw, err := s.getManifest(ctx)
	switch {
	case ctx.Err() != nil:
		return m, nil, ctx.Err()
	case err != nil:
		return m, nil, hint.With(fmt.Errorf("%w at %s: %w", ErrManifest, s.base.JoinPath(manifestFile), err),
			"check the network, or name another release with --ui-url, or serve a folder of your own with --ui-dir")
	}
	return m, raw, nil
}

func (s *Store) getManifest(ctx context.Context) (m Manifest, raw []byte, err error) {
	// One bound for all of it: a host that answers a byte a minute hangs just as much as one that never answers.
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.ManifestTimeout,
		fmt.Errorf("no whole answer within %s", s.cfg.ManifestTimeout))
	defer cancel()
	res, err := s.get(ctx, manifestFile)
	if err != nil {
		return m, nil, err
	}
	defer res.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(res.Body, maxManifest+1))
	if err != nil {
		return m, nil, describe(ctx, err)
	}
	if len(raw) > maxManifest {
		return m, nil, fmt.Errorf("the answer is over %s", httpx.FormatSize(maxManifest))
	}
	m, err = ParseManifest(raw)
	return m, raw, err
}

// get asks for one file of the release; anything but 200 is an error.
func (s *Store) get(ctx context.Context, name string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(name).String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // sizes and hashes are those of the file itself
	res, err := s.cfg.HTTPClient.Do(req)
	if err != nil {
		return nil, describe(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
	}
	return res, nil
}

// describe says in words what stood between us and the server. Our own deadlines name themselves through ctx.
func describe(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the address, which the caller names
		err = wrapped.Err
	}
	var (
		untrusted *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		notTLS    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &untrusted), errors.As(err, &authority):
		return fmt.Errorf("the server's certificate is not trusted (a proxy in between, or a wrong clock?): %w", err)
	case errors.As(err, &notTLS):
		return fmt.Errorf("the server does not speak TLS (http:// instead of https://?): %w", err)
	}
	return err
}

// download writes the archive to file, hashing as it goes, and fails unless it is the one that m promises.
func (s *Store) download(ctx context.Context, m Manifest, file *os.File, report func(Progress)) error {
	// The stall timer, not a deadline, bounds the download: a slow line may take its time, a dead one may not.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(s.cfg.StallTimeout, func() { cancel(fmt.Errorf("nothing came for %s", s.cfg.StallTimeout)) })
	defer stall.Stop()

	res, err := s.get(ctx, archiveFile)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	over := fmt.Errorf("it is over the cap of %s", httpx.FormatSize(s.cfg.MaxDownload))
	if res.ContentLength > s.cfg.MaxDownload {
		return over
	}
	sum := sha256.New()
	p := Progress{Stage: Downloading, Version: m.Version, Total: max(res.ContentLength, 0)}
	report(p)
	body := reading{io.LimitReader(res.Body, s.cfg.MaxDownload+1), func(n int) {
		stall.Reset(s.cfg.StallTimeout)
		p.Received += int64(n)
		report(p)
	}}
	n, err := io.Copy(io.MultiWriter(file, sum), body)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection ended after %s: %w", httpx.FormatSize(n), err)
	case err != nil:
		return describe(ctx, err)
	case n > s.cfg.MaxDownload:
		return over
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return hint.With(fmt.Errorf("its sha256 is %s, the manifest promises %s", got, m.SHA256),
			"try again later: the release may be half uploaded, or something on the way changed it")
	}
	return nil
}

// reading tells each read's length.
type reading struct {
	io.Reader
	read func(n int)
}

func (r reading) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.read(n)
	}
	return n, err
}
