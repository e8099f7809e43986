//go:build !unix

package statedir

import (
	"fmt"
	"os"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w: this system has no file locks that this program knows", ErrState)
}
