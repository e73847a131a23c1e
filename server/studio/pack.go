package studio

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path"
	"slices"
)

// worthPacking is the size from which a smaller answer is felt: below it the headers are as long.
const worthPacking = 1 << 10

// maxCompress bounds what is compressed here, in memory, because the archive only stored it.
const maxCompress = 8 << 20

// smaller reports whether packing spares at least a tenth.
func smaller(packed, size int64) bool { return packed <= size-size/10 }

// pack keeps a file in gzip's format too, to be sent as it is. The archive holds most files deflated, which is all that
// gzip does: its bytes are taken over between gzip's own header and trailer, and nothing is compressed again.
func (u *unpacker) pack(e entry, written File, checksum uint32) (twin File, made bool, err error) {
	if written.Size < worthPacking || packedAlready(e.name) {
		return twin, false, nil
	}
	var from io.Reader
	if e.file.Method == zip.Deflate {
		packed := int64(e.file.CompressedSize64)
		// Bytes after the end of the deflated ones would be taken for gzip's trailer.
		if !smaller(packed, written.Size) || u.consumed.n != packed {
			return twin, false, nil
		}
		raw, err := e.file.OpenRaw()
		if err != nil {
			return twin, false, err
		}
		from = io.MultiReader(bytes.NewReader(gzipHeader()), raw, bytes.NewReader(gzipTrailer(checksum, written.Size)))
	} else {
		if written.Size > maxCompress {
			return twin, false, nil
		}
		packed, err := u.compress(e.name)
		if err != nil || !smaller(int64(len(packed)), written.Size) {
			return twin, false, err
		}
		from = bytes.NewReader(packed)
	}
	name := PackedName(e.name)
	if err := u.folder(path.Dir(name)); err != nil {
		return twin, false, err
	}
	sum := sha256.New()
	size, err := writeFile(u.root, name, io.TeeReader(from, sum))
	return File{name, size, hex.EncodeToString(sum.Sum(nil))}, true, err
}

// compress packs a file that the archive only stores.
func (u *unpacker) compress(name string) ([]byte, error) {
	file, err := u.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.Copy(w, file); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}

// packedAlready knows formats that are compressed in themselves; the odd byte that gzip would still spare is not worth
// the unpacking.
func packedAlready(name string) bool {
	return slices.Contains([]string{
		".avif", ".br", ".gif", ".gz", ".jpeg", ".jpg", ".mp3", ".mp4", ".ogg", ".png", ".webm", ".webp", ".woff", ".woff2", ".zip",
	}, path.Ext(name))
}

// gzipHeader says: deflated, no name, no time, any system (RFC 1952).
func gzipHeader() []byte { return []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} }

func gzipTrailer(checksum uint32, size int64) []byte {
	trailer := binary.LittleEndian.AppendUint32(nil, checksum)
	return binary.LittleEndian.AppendUint32(trailer, uint32(size)) // at most maxFile
}
