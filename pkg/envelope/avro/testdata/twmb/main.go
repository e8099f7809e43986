// Command twmb prints the vectors of ../vectors.json in single-object encoding, as github.com/twmb/avro writes them.
//
//	go mod init x && go get github.com/twmb/avro@v1.9.0 && go run . ../vectors.json > ../single_objects.json
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/twmb/avro"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Name, Schema, Data string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		log.Fatal(err)
	}
	out := map[string]string{}
	for _, v := range file.Vectors {
		schema, err := avro.Parse(v.Schema)
		if err != nil {
			log.Fatal(err)
		}
		data, err := hex.DecodeString(v.Data)
		if err != nil {
			log.Fatal(err)
		}
		var datum any
		if _, err := schema.Decode(data, &datum); err != nil {
			log.Fatal(v.Name, err)
		}
		object, err := schema.AppendSingleObject(nil, datum)
		if err != nil {
			log.Fatal(v.Name, err)
		}
		out[v.Name] = hex.EncodeToString(object)
	}
	text, err = json.MarshalIndent(out, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}
