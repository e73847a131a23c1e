//go:build !windows

package settings

import "io/fs"

// tooOpen reports whether others can read the file.
func tooOpen(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
