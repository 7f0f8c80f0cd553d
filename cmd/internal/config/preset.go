package config

// readPreset sets defaults that later keys may override.
func (c *Config) readPreset(v value) {
	var name string
	set(&name, oneOf("roce"))(v)
	if name == "roce" {
		c.presetRoCE()
	}
}

// presetRoCE is common RoCEv2 practice: priority 3 is lossless with ECN, congestion notifications are strict on 6, and
// the rest is best effort with half of the bandwidth.
func (c *Config) presetRoCE() {
	c.Priorities.Trust = TrustPCP
	c.Priorities.Lossless = 1 << 3
	c.Priorities.DSCP[26] = 3
	c.Priorities.DSCP[48] = 6
	c.Queues[0] = Queue{Weight: 50}
	c.Queues[3] = Queue{Weight: 50}
	c.Queues[6] = Queue{Strict: true}
	c.ECN[3] = defaultECN
}
