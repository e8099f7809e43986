package lettermodel

import (
	"time"
)

var at = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
