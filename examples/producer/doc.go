// Command producer publishes GeoJSON features as feature events, as schemas/feature-event.v1.json
// describes them: the value is one Feature with an id, the key is that id, so that all events of one
// feature stay in one partition and in order. It reads a file with one Feature a line or a
// FeatureCollection, or sends the earthquakes that come with the examples.
//
// -format writes the same content in another form: as a CloudEvent in binary mode, or as Avro with
// schemas/feature-event.v1.avsc, registered in a schema registry or in single-object encoding.
//
// It is an example to copy, not a tool to run in production: it checks what a consumer would refuse at
// once (no id, not a Feature) and leaves everything else, geometry included, to the pipeline. -lines leaves
// these two to the pipeline as well and sends each line as it is.
package main
