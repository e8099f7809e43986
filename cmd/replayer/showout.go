package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
)

// runShowOut writes the original bytes of a letter into a file, which is there as a whole or not at all.
func (a *app) runShowOut(ctx context.Context, read *reading, id, file string) error {
	if _, err := os.Lstat(file); err == nil && file != "-" {
		return usage("%s exists; it is not overwritten", file)
	}
	s, err := a.browse(ctx, read)
	if err != nil {
		return err
	}
	defer s.Close()
	if file == "-" {
		to := a.env.Out
		if a.env.Terminal {
			to = cleaner{to}
		}
		_, err := s.CopyOriginal(ctx, id, to)
		return err
	}
	done, err := copyInto(file, func(to io.Writer) (dlq.Copied, error) { return s.CopyOriginal(ctx, id, to) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.env.Err, "%d bytes of dead letter %s, read from %s, are in %s (SHA-256 %s)\n", done.Bytes, cli.CleanText(id, cli.OneLine), done.From, file, done.SHA256)
	return err
}

// copyInto fills a file beside its place first. It is readable by its owner alone.
func copyInto(file string, fill func(io.Writer) (dlq.Copied, error)) (done dlq.Copied, err error) {
	out, err := os.CreateTemp(filepath.Dir(file), ".show-*")
	if err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	if done, err = fill(out); err != nil {
		return done, errors.Join(err, out.Close())
	}
	if err = out.Close(); err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	if err = os.Rename(out.Name(), file); err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	return done, nil
}
