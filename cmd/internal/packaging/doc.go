// Package packaging has only tests: of what brings the program onto machines and into labs. They look at the files from
// outside, and do what a container engine, systemd and containerlab would do, as far as a machine without those can.
//
//	image_test.go         the Dockerfile: its commands, run here; what they make
//	container_netns_test.go     its last image, run without a container engine
//	capabilities_netns_test.go  the program with few capabilities and no more, from its file and from systemd
//	deb_netns_test.go     the Debian package: lintian; installed, upgraded, removed, purged
//	wireshark_test.go     the profile for Wireshark
//	unit_test.go          the systemd unit
//	notify_netns_test.go  the notifications to systemd
//	engine_netns_test.go  containers started as the files for engines describe them
//	labs_test.go          what lab export writes for containerlab and KNE, and a file for netlab
//	containerlab_netns_test.go  interfaces that come late, as in containerlab
//	start_netns_test.go   from the start to the first frame
//	show_netns_test.go    how long show takes under load
//	zero_netns_test.go    which interfaces a switch without a configuration takes
package packaging
