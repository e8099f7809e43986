//go:build !unix

package statedir

import (
	"fmt"
	"os"
)

func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("%w: this program does not support the file locks of this system", ErrState)
}
