package protocol

import "time"

// StudioStage is what is being done to the offline copy of Studio.
type StudioStage string

// The stages; an update passes through them in this order and ends at idle.
const (
	StudioIdle        StudioStage = "idle"
	StudioChecking    StudioStage = "checking"    // asking the release for its manifest
	StudioWaiting     StudioStage = "waiting"     // another process works on the same cache
	StudioDownloading StudioStage = "downloading" // Bytes of Total
	StudioUnpacking   StudioStage = "unpacking"
)

// StudioStatus is the state of the offline copy: the answer of GET /studio/status and GET /v1/studio, and a part of
// Status.
type StudioStatus struct {
	Stage     StudioStage `json:"stage"`
	Version   string      `json:"version,omitempty"`   // of the copy that is served; absent: none is
	Previous  string      `json:"previous,omitempty"`  // what a rollback would serve; absent: there is nothing to go back to
	Available string      `json:"available,omitempty"` // the release's version, as far as it is not the one served
	Held      string      `json:"held,omitempty"`      // rolled back from: neither it nor an older one is installed by itself

	Bytes int64 `json:"bytes,omitempty"` // of the archive, while downloading
	Total int64 `json:"total,omitempty"` // absent: the server did not say
	Rate  int64 `json:"rate,omitempty"`  // bytes a second of late

	CheckedAt time.Time `json:"checkedAt,omitzero"` // when the release last gave its manifest
	Error     string    `json:"error,omitempty"`    // why the last check or action failed; gone with the next that does not
	Hint      string    `json:"hint,omitempty"`     // what to do about Error
}

// StudioVersion is the answer of GET /studio/version: which copy is served. An open page that sees another SHA256 than
// it was loaded with is out of date.
type StudioVersion struct {
	Version     string    `json:"version"`
	SHA256      string    `json:"sha256"` // of the release's archive
	UIContract  int       `json:"uiContract"`
	InstalledAt time.Time `json:"installedAt"`
	Source      string    `json:"source"` // StudioRelease or StudioCompanion
}

// Where a copy came from.
const (
	StudioRelease   = "release"   // installed by this program, every file vouched for by its hash
	StudioCompanion = "companion" // made by the command-line companion, unverified
)

// StudioUpdateRequest is the body of POST /v1/studio/update.
type StudioUpdateRequest struct {
	// IgnoreHold installs, or goes forward to, a version that was rolled back from.
	IgnoreHold bool `json:"ignore_hold,omitempty"`
}

// StudioPruned is the answer of POST /v1/studio/prune.
type StudioPruned struct {
	Removed []string `json:"removed"`          // folder and file names in the cache; empty: there was nothing to remove
	Bytes   int64    `json:"bytes"`            // what they took
	InUse   []string `json:"in_use,omitempty"` // kept for now: another process serves them
}
