package retrytopics_test

import (
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// A stranger reads the fields of Config in one go.
func TestConfig_isReadInOneGo(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[retrytopics.Config]().NumField(); n >= 20 {
		t.Errorf("Config has %d fields, want fewer than 20: group them", n)
	}
}
