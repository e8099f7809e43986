// Package examples carries real features, embedded in the binary, for demonstrations and tests:
// the 1,707 earthquakes that USGS published for one week of 2018 and the 3,231 counties of the
// United States in the Census Bureau's edition of 2017. It also carries the pipeline files of the
// demo.
//
// The features are as published. Forty counties are invalid by the OGC rules; the package repairs
// none of them. data/README.md says where the data come from and how they were converted.
package examples
