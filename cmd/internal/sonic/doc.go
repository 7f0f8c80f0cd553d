// Package sonic reads configurations of SONiC and writes them as those of this switch.
//
//	import.go    from config_db.json to YAML, checked by package config
//	database.go  tables, keys and fields of a config_db.json
//	port.go      ports: PORT, PORT_QOS_MAP, CABLE_LENGTH, PFC_WD
//	class.go     traffic classes and queues: the maps, QUEUE, SCHEDULER, WRED_PROFILE
//	buffer.go    BUFFER_PG, BUFFER_QUEUE, BUFFER_PROFILE, BUFFER_POOL
//	vlan.go      VLAN, VLAN_MEMBER
//	left.go      what has no counterpart, and why
//	yaml.go      the text of a configuration
//
// Every field of a file is mapped or listed: what no function has read at the end is listed too.
package sonic
