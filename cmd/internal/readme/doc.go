// Package readme finds every README.md of the project; its tests execute them.
//
// Every fenced block of them is of one of these kinds, by the words behind its fence:
//
//	sh        commands for the reader's own machine; run as one script, which must end well
//	console   commands behind "$ ", with what they print; run one after the other, each must end well
//	yaml      a configuration; it must load, and its schema must take it
//	yaml lab  a topology of a lab; it must come up, and go
//	yaml lab sim  a topology for virtual time alone; pfcswitch sim must pass it
//	yaml prometheus, yaml web
//	          a file of Prometheus, which promtool must take; one of its exporter-toolkit, which the page must take
//	svg, text pictures and layouts, which nobody can run
//
// A comment on the line above a block, which nobody sees in the rendered text, says what it needs:
//
//	<!-- test: switch -->       a switch with the first configuration of the top README.md runs on eth1 to eth3
//	<!-- test: before NAME -->  testdata/NAME.sh runs before it
//	<!-- test: aside -->        its first command goes on; the others begin when "ready" of testdata/NAME.sh succeeds
//	<!-- test: forever -->      its last command runs until it is interrupted
//	<!-- test: terminal -->     its last command has a terminal, on which somebody soon presses q
//	<!-- test: status 1 -->     its last command ends with this status
//	<!-- test: verdict -->      its last command judges the machine too, which may fail here
//	<!-- test: output -->       what stands below a command is what it prints, but for numbers and lines of "…"
//	<!-- test: by PATH: TEXT --> it takes minutes or would call itself: the file at PATH, which has TEXT, runs it
//	<!-- test: not here: WHY --> it needs what a test machine does not have
//
// Each block runs in namespaces of its own (network, mounts, processes), in a copy of the project, with the program on
// its PATH. Commands between backticks in the text are not run: each has to be one that the program has, with flags
// that it has (package main). Hosts h1 to h3 have an address each, 10.0.0.1/24 to 10.0.0.3/24, and a cable to eth1 to
// eth3. What a block leaves running ends with it. What is not run is counted and listed.
package readme
