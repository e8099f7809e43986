package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

func main() {
	quakes := flag.String("earthquakes", "", "`file` data/earthquakes.json of the npm package vega-datasets")
	counties := flag.String("counties", "", "`file` counties-10m.json of the npm package us-atlas")
	out := flag.String("out", "examples/data", "`folder` to write to")
	flag.Parse()
	if *quakes == "" || *counties == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := convert(*quakes, *counties, *out); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

// convert writes earthquakes.ndjson.zst, counties.ndjson.zst and states.json to the folder out.
func convert(quakesPath, countiesPath, out string) error {
	quakes, err := readEarthquakes(quakesPath)
	if err != nil {
		return err
	}
	topology, err := readTopology(countiesPath)
	if err != nil {
		return err
	}
	counties, err := topology.features("counties")
	if err != nil {
		return err
	}
	states, err := topology.names("states")
	if err != nil {
		return err
	}
	return errors.Join(
		writeCompressed(filepath.Join(out, "earthquakes.ndjson.zst"), quakes),
		writeCompressed(filepath.Join(out, "counties.ndjson.zst"), counties),
		os.WriteFile(filepath.Join(out, "states.json"), states, 0o644),
	)
}

// writeCompressed writes one line per feature and reports the number of bytes.
func writeCompressed(path string, features [][]byte) error {
	var lines []byte
	for _, f := range features {
		lines = append(append(lines, f...), '\n')
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(zstd.MaxWindowSize/64))
	if err != nil {
		return fmt.Errorf("start the compressor: %w", err)
	}
	packed := enc.EncodeAll(lines, nil)
	if err := os.WriteFile(path, packed, 0o644); err != nil {
		return fmt.Errorf("write the features: %w", err)
	}
	fmt.Printf("%s: %d features, %d bytes, %d compressed\n", path, len(features), len(lines), len(packed))
	return nil
}
