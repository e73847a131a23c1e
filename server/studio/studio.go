// Package studio keeps the offline copy of the Studio UI: it asks a release for its manifest, decides whether to take
// it, downloads the archive with a bound, unpacks it where nothing else can be touched, and says which copy on disk
// may be served.
//
// Disk is the only state. A copy is a folder {cache}/{version} that appears by one rename with everything in it:
//
//	.manifest.json   the release's manifest, byte for byte
//	.copy.json       when it was installed, and the size and hash of each file
//	.gzip/…          the files that are worth it as gzip has them, ready to be sent
//	.sha256          the archive's hash, written last; without it the folder was never finished
//	index.html …     what is served
//
// A kill at any moment therefore leaves the old copy or the new one, and a file that changed afterwards is noticed.
// Names in the cache that start with a dot are never copies:
//
//	.tmp-*             work in progress
//	.download.*        an archive that is on its way, and how to go on with it
//	.hold.json         what a person rolled back from, until something newer is installed
//	.lock .shelf.lock  keep processes apart: for a whole update, and for the moments in which copies appear and go
//	.use-*             a process that serves a copy holds a shared lock on its file, so that no other removes it
//
// A Store is the cache; it has no state of its own. A Keeper is what a long-lived process has on top of it: what it
// serves, and how far an update is, as a value that everybody can show.
package studio

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aead.dev/minisign"

	"chatwright.dev/tray/server/hint"
)

// DefaultBaseURL is where Studio's newest release is.
const DefaultBaseURL = "https://github.com/chatwright/studio/releases/latest/download/"

// SupportedContract is the contract between Studio and the companion that serves it which this program speaks.
const SupportedContract = 1

// Why an update is not made. In every case the installed copies are as they were.
var (
	ErrManifest = errors.New("no usable manifest")                     // no network, an HTTP error, not a manifest
	ErrContract = errors.New("this Studio speaks another UI contract") // refused outright
	ErrOlder    = errors.New("this Studio is older than the installed one")
	ErrDownload = errors.New("no usable download") // cut short, too big, another hash
	ErrArchive  = errors.New("the archive is refused")
)

// Config says where copies come from and where they are kept.
type Config struct {
	CacheDir        string        // required; made by the first update
	LegacyDir       string        // copies of the command-line companion, only ever read; "" for none
	BaseURL         string        // "": DefaultBaseURL; with or without the last slash
	PublicKey       string        // minisign's, that manifests must be signed with; "": none, they need no signature
	HTTPClient      *http.Client  // nil: honours the proxies of the environment and never goes from https to http
	ManifestTimeout time.Duration // for the whole manifest; 0: 10 s
	StallTimeout    time.Duration // a download that brings nothing for so long is broken off; 0: 30 s
	RetryWait       time.Duration // before a broken download goes on, growing while nothing comes; 0: 500 ms
	MaxDownload     int64         // bytes of an archive; 0: 64 MiB
	Log             *slog.Logger  // nil: silent

	// step is told the name of each step of an update as it is done; an error ends the update there. Tests fail and
	// kill updates with it. nil in production.
	step func(name string) error
}

// Store is the cache of copies. It is safe for concurrent use, in one process and by several.
type Store struct {
	cfg       Config
	base      *url.URL
	key       *minisign.PublicKey // nil: signatures are not asked for
	ownClient bool
}

// Copy is a Studio that can be served from Dir.
type Copy struct {
	Dir         string
	Version     string
	SHA256      string // of the archive it came from, lower case
	UIContract  int
	InstalledAt time.Time
	// Legacy is a copy made by the command-line companion: it has no file hashes, so nothing vouches for its files.
	Legacy bool
	// Files are those that were installed, with the packed twins of some: the twin of "app.js" is PackedName("app.js").
	Files []File
}

// PackedName is where a copy keeps a file in gzip's format, if it does.
func PackedName(name string) string { return packedDir + "/" + name }

// Open checks the config and removes what a killed update left behind. It touches no network, and needs no cache
// folder to be there.
func Open(cfg Config) (*Store, error) {
	if cfg.CacheDir == "" {
		return nil, errors.New("opening the Studio cache: no folder is given")
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("opening the Studio cache: reading the release address: %w", err)
	}
	key, err := parseKey(cfg.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("opening the Studio cache: reading the public key: %w", err)
	}
	if cfg.ManifestTimeout <= 0 {
		cfg.ManifestTimeout = 10 * time.Second
	}
	if cfg.StallTimeout <= 0 {
		cfg.StallTimeout = 30 * time.Second
	}
	if cfg.RetryWait <= 0 {
		cfg.RetryWait = 500 * time.Millisecond
	}
	if cfg.MaxDownload <= 0 {
		cfg.MaxDownload = 64 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.step == nil {
		cfg.step = func(string) error { return nil }
	}
	own := cfg.HTTPClient == nil
	if own {
		cfg.HTTPClient = newClient()
	}
	s := &Store{cfg, base, key, own}
	s.sweep()
	return s, nil
}

// CheckBaseURL says whether text is one that Config.BaseURL may hold. The error does not repeat it: there may be a
// password in it.
func CheckBaseURL(text string) error {
	_, err := parseBase(text)
	return err
}

func parseBase(text string) (*url.URL, error) {
	const way = "give --ui-url as in --ui-url " + DefaultBaseURL
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, hint.With(errors.New("it is not a URL"), way)
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, hint.With(errors.New("it is not an http or https URL"), way)
	case base.User != nil:
		return nil, hint.With(errors.New("it holds a user name or password"), way)
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, hint.With(errors.New("it holds a query or a fragment, to which no file name can be appended"), way)
	}
	if !strings.HasSuffix(base.Path, "/") {
		base = base.JoinPath("/")
	}
	return base, nil
}

// newClient bounds every wait but the body's, which has the stall timeout: a slow line may take its time.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 10 * time.Second,
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
				return errors.New("refused a redirect from https to http")
			}
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			return nil
		},
	}
}
