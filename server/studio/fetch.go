package studio

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

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
	case errors.Is(err, ErrSignature):
		return m, nil, err
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
	if raw, err = s.getSmall(ctx, manifestFile, maxManifest); err != nil {
		return m, nil, err
	}
	if s.key != nil { // before a byte of it is parsed
		if err := s.checkSignature(ctx, raw); err != nil {
			return m, nil, err
		}
	}
	m, err = ParseManifest(raw)
	return m, raw, err
}

// getSmall returns a whole file of the release.
func (s *Store) getSmall(ctx context.Context, name string, limit int64) ([]byte, error) {
	res, err := s.get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, statusError(res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, describe(ctx, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the answer is over %s", httpx.FormatSize(limit))
	}
	return data, nil
}

// statusError is an answer that is not the file.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", int(e), http.StatusText(int(e)))
}

// get asks for one file of the release.
func (s *Store) get(ctx context.Context, name string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(name).String(), nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept-Encoding", "identity") // sizes and hashes are those of the file itself
	res, err := s.cfg.HTTPClient.Do(req)
	if err != nil {
		return nil, describe(ctx, err)
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
