package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/wholefile"
)

const (
	maxImage = 32 << 20
	// suffixes of what belongs to one session
	recordSuffix = ".jsonl"
	imagesSuffix = ".images"
)

// An imageStore is the folder beside a record that holds its images, each under its hash: an event with megabytes in it
// would be sent to every follower. The folder is made with the first image.
type imageStore string

func imagesOf(record string) imageStore {
	return imageStore(strings.TrimSuffix(record, recordSuffix) + imagesSuffix)
}

// save keeps images and returns how an event names them.
func (s imageStore) save(images []protocol.Image) ([]protocol.ImageRef, error) {
	var refs []protocol.ImageRef
	for _, image := range images {
		if err := os.MkdirAll(string(s), 0o700); err != nil {
			return nil, fmt.Errorf("keeping an image: %w", withoutPath(err))
		}
		sum := sha256.Sum256(image.Data)
		ref := protocol.ImageRef{MediaType: image.MediaType, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(image.Data))}
		if err := wholefile.Write(s.path(ref), image.Data, 0o600); err != nil {
			return nil, fmt.Errorf("keeping an image: %w", withoutPath(err))
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// load reads images back. Of those that are gone, or are not what they were, lost tells the model: a conversation that
// lost a picture can go on.
func (s imageStore) load(refs []protocol.ImageRef) (images []protocol.Image, lost string) {
	for _, ref := range refs {
		data, err := s.read(ref)
		if err != nil {
			lost += "\n\n[There was a picture here, which cannot be read any more.]"
			continue
		}
		images = append(images, protocol.Image{MediaType: ref.MediaType, Data: data})
	}
	return images, lost
}

func (s imageStore) read(ref protocol.ImageRef) ([]byte, error) {
	if !isHash(ref.SHA256) {
		return nil, errors.New("the record names no file of ours")
	}
	data, err := wholefile.Read(s.path(ref), maxImage)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ref.SHA256 {
		return nil, errors.New("it is not what it was")
	}
	return data, nil
}

// size is what the images take, and 0 where there are none.
func (s imageStore) size() (total int64) {
	files, _ := os.ReadDir(string(s))
	for _, file := range files {
		if info, err := file.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

func (s imageStore) path(ref protocol.ImageRef) string { return filepath.Join(string(s), ref.SHA256) }

// isHash guards the file system against a record that somebody wrote into.
func isHash(name string) bool {
	return len(name) == 2*sha256.Size && strings.Trim(name, "0123456789abcdef") == ""
}

// checkImages refuses what no model reads. What was said once goes with every later turn, so a picture that a model
// server chokes on would end the conversation for good.
func checkImages(images []protocol.Image) error {
	for i, image := range images {
		known, fits := looksLike(image.MediaType, image.Data)
		switch {
		case !known:
			return invalid("images[%d]: media_type %q is none of image/png, image/jpeg, image/gif, image/webp", i, image.MediaType)
		case len(image.Data) == 0:
			return invalid("images[%d]: there is no data", i)
		case !fits:
			return invalid("images[%d]: the data is no %s", i, image.MediaType)
		}
	}
	return nil
}

// looksLike reports whether a media type is one that models read, and whether data begins as that type does.
func looksLike(mediaType string, data []byte) (known, fits bool) {
	begins := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch mediaType {
	case "image/png":
		return true, begins("\x89PNG")
	case "image/jpeg":
		return true, begins("\xff\xd8\xff")
	case "image/gif":
		return true, begins("GIF8")
	case "image/webp":
		return true, begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP"
	}
	return false, false
}

// removeRecord removes a record and what belongs to it. What is not there is removed already.
func removeRecord(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(string(imagesOf(path))))
}
