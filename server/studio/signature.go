package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"aead.dev/minisign"

	"chatwright.dev/tray/server/hint"
)

// ErrSignature says that a public key is configured and the release's manifest is not signed with it.
var ErrSignature = errors.New("the release is not signed as it must be")

const (
	signatureFile = manifestFile + ".minisig"
	maxSignature  = 8 << 10
)

// CheckPublicKey says whether text is one that Config.PublicKey may hold.
func CheckPublicKey(text string) error {
	_, err := parseKey(text)
	return err
}

// parseKey reads a minisign public key: the line of base64 alone, or the whole file with its comment.
func parseKey(text string) (*minisign.PublicKey, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(text)); err != nil {
		return nil, hint.With(errors.New("it is not a minisign public key"),
			"give the second line of minisign.pub, which starts with RW")
	}
	return &key, nil
}

// checkSignature verifies the exact bytes of a manifest, of which nothing has been believed yet.
func (s *Store) checkSignature(ctx context.Context, manifest []byte) error {
	text, err := s.getSmall(ctx, signatureFile, maxSignature)
	if status, ok := errors.AsType[statusError](err); ok && (status == http.StatusNotFound || status == http.StatusGone) {
		return notSigned(fmt.Errorf("there is no %s (%w)", signatureFile, err))
	}
	if err != nil {
		return fmt.Errorf("asking for its signature: %w", err) // which says nothing of the release: a manifest that cannot be had
	}
	var signature minisign.Signature
	if err := signature.UnmarshalText(text); err != nil {
		return notSigned(fmt.Errorf("%s is not a minisign signature", signatureFile))
	}
	if signature.KeyID != s.key.ID() {
		return notSigned(fmt.Errorf("it was signed with the key %016X, the configured one is %016X", signature.KeyID, s.key.ID()))
	}
	if !minisign.Verify(*s.key, manifest, text) {
		return notSigned(errors.New("the signature does not belong to this manifest: one of them was changed"))
	}
	return nil
}

func notSigned(err error) error {
	return hint.With(fmt.Errorf("%w: %w", ErrSignature, err),
		"nothing was installed; ask whoever publishes the release, or take the public key out of the settings if it is not theirs")
}
