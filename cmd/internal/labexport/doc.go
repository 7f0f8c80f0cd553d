// Package labexport writes the files with which containerlab and KNE run a lab in containers: the topology in the
// engine's own form, and a configuration for each switch and host NIC.
//
//	export.go  Write: what both engines need, and what has no counterpart
//	clab.go    containerlab's topology file
//	kne.go     KNE's topology file
//	dot.go     Graph: the lab as a picture, in the language of Graphviz
package labexport
