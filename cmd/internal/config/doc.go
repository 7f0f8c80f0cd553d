// Package config reads the switch's YAML file into a Config. A Config has every default filled in; sizes are in bytes,
// rates in bit/s, and times are time.Duration.
//
// A file passes these stations, in this order:
//
//	Load → Parse → document (YAML nodes with lines) → sections → cross checks → Resolve
//
//	document.go, value.go      YAML nodes by key path; unknown and duplicate keys
//	field.go                   keys: each has a reader and a writer, for Parse and Expand
//	problem.go                 errors and warnings: file:line: key: what is wrong: what to do
//	parser.go, quantity.go     single values: sizes, rates, times, lengths, shares, in and out
//	buffer.go … watchdog.go    one section of the file each: its type, defaults and keys
//	tap.go, trunk*.go          ports towards the host's stack; trunks
//	topology.go, topologyports.go  labs, and host NICs without a file
//	topologyfabric.go          fabrics: switches, hosts and links that are written out
//	fabricplan.go              the shapes of fabrics, and their routes
//	topologyparts.go           parts of a lab, each on a machine of its own
//	topologytraffic.go         what the hosts of a lab send
//	topologyfaults.go          what goes wrong meanwhile
//	measure.go                 how headroom is measured
//	check.go                   faults across sections, and limits
//	resolve.go                 values that follow from link speeds: headroom, xon, burst, pool
//	warning.go                 settings that are legal and probably not meant
//	schema.go                  the JSON Schema, which the readers describe themselves
//
// The package reads the configuration file and the files that a topology names, and nothing else: no interface and no
// environment. Its only clock bounds the time for reading a pipe.
package config
