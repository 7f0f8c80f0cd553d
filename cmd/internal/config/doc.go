// Package config reads the switch's YAML file into a Config in which every default stands and
// every size is in bytes, every rate in bit/s, every time a time.Duration.
//
// A file passes these stations, in this order:
//
//	Load → Parse → document (YAML nodes with lines) → sections → cross checks → Resolve
//
//	document.go, value.go      YAML nodes by key path; unknown and duplicate keys
//	problem.go, nearest.go     errors and warnings: file:line: key: what is wrong: what to do
//	parser.go, quantity.go     single values: sizes, rates, times, lengths, shares, in and out
//	buffer.go … watchdog.go    one section of the file each: its type, defaults and keys
//	tap.go, trunk*.go          ports towards the host's stack; trunks, with all that concerns them
//	nic.go                     a host NIC, without a file
//	measure.go                 how headroom is measured
//	preset.go                  keys that one word sets
//	check.go                   what no section can see alone
//	resolve.go                 what follows from the links' speeds: headroom, xon, burst, pool
//	warning.go                 what is legal and probably not meant
//	expand.go                  a Config as the file that says all of it
//	schema.go, keys.go         the JSON Schema, for which the readers say what they would read
//
// The package reads a file, and those of the switches that a topology names, and nothing else: no interface and no environment.
// Its only clock is the patience with a pipe that nobody writes to.
package config
