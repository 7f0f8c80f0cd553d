// Package archtest keeps the house in order: it has tests only, and they read the source tree, not the program.
//
//	source_test.go      loads the tree; every check takes a tree and returns findings, so that checks have tests
//	layers_test.go      imports run one way
//	confined_test.go    sockets, netlink, flags, files and Prometheus stay where they belong
//	pure_test.go        the state machines have no clock, no goroutine, no I/O; no panic outside Must…
//	layout_test.go      the top level, names of files and packages, widths and sizes, unfinished work
//	comments_test.go    package comments, comments of exported names
//	units_test.go       units in headings of tables
//	goroutines_test.go  the goroutines of the data plane are those that its package comment lists
//	names_test.go       names that others rely on: metrics, drop reasons, commands (testdata/*.txt)
//	artefacts_test.go   metrics that dashboards and alert rules use
//	readme_test.go      READMEs: headings, length, links, every configuration key; metrics_table_test.go: every metric
//
// A failing check reports all that it found, one line each, with what to do about it.
package archtest
