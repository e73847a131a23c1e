//go:build !((linux && !android) || freebsd || openbsd || netbsd || windows || darwin)

package notify

import (
	"context"
	"errors"
)

func dial(context.Context, Config) (desktop, error) {
	return nil, errors.New("this system is not known to have notifications")
}
