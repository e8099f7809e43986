package postgis

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// debianBins matches Debian's folders with the programs of each PostgreSQL version, which are not on the PATH.
const debianBins = "/usr/lib/postgresql/*/bin"

// debianExtension is a file that exists if PostGIS is installed for a version.
const debianExtension = "/usr/share/postgresql/%s/extension/postgis.control"

// findBin returns the folder with the programs of the newest PostgreSQL that has PostGIS.
func findBin() (string, error) {
	bins, err := filepath.Glob(debianBins)
	if err != nil {
		return "", err
	}
	slices.SortFunc(bins, func(a, b string) int { return majorOf(b) - majorOf(a) })
	for _, bin := range bins {
		version := filepath.Base(filepath.Dir(bin))
		if exists(filepath.Join(bin, "initdb")) && exists(fmt.Sprintf(debianExtension, version)) {
			return bin, nil
		}
	}
	return pathBin()
}

// pathBin runs the pg_config of the PATH, for systems other than Debian.
func pathBin() (string, error) {
	bin, share := pgConfig("--bindir"), pgConfig("--sharedir")
	switch {
	case bin == "" || !exists(filepath.Join(bin, "initdb")):
		return "", fmt.Errorf("%w: no PostgreSQL server (Debian: apt-get install postgresql-N-postgis-3, N as the distribution has it)", errAbsent)
	case !exists(filepath.Join(share, "extension", "postgis.control")):
		return "", fmt.Errorf("%w: the PostgreSQL in %s has no PostGIS", errAbsent, bin)
	}
	return bin, nil
}

// pgConfig returns one value of pg_config, or "".
func pgConfig(what string) string {
	out, err := osexec.Command("pg_config", what).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func majorOf(bin string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // folders without a number sort last
	return major
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
