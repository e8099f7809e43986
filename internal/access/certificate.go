package access

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// keyPair is the certificate of the console. Changed files are read again, because certificates are renewed while the console runs.
type keyPair struct {
	files ServerTLS
	log   *slog.Logger

	mu      sync.Mutex // guards the following fields
	changed [2]time.Time
	pair    *tls.Certificate
}

func readKeyPair(files ServerTLS, log *slog.Logger) (*keyPair, error) {
	k := &keyPair{files: files, log: log}
	return k, k.read()
}

// read reads the files if they have changed. The caller locks.
func (k *keyPair) read() error {
	var changed [2]time.Time
	for i, name := range [...]string{k.files.CertFile, k.files.KeyFile} {
		about, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("find the certificate: %w", err)
		}
		changed[i] = about.ModTime()
	}
	if changed == k.changed {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(k.files.CertFile, k.files.KeyFile)
	if err != nil {
		return fmt.Errorf("read the certificate %s with its key %s: %w", k.files.CertFile, k.files.KeyFile, err)
	}
	k.changed, k.pair = changed, &pair
	return nil
}

// certificate returns the newest certificate that can be read. While it is renewed, its two files do not match for a moment.
func (k *keyPair) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.read(); err != nil {
		k.log.Warn("the console continues with its present certificate", "error", err)
	}
	return k.pair, nil
}

// TLS returns the TLS configuration of the console; nil without TLS.
func (g *Gate) TLS() *tls.Config {
	if g.keys == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: g.keys.certificate}
}
