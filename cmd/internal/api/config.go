package api

// Config is the answer to show config.
type Config struct {
	Schema int    `json:"schema"`
	YAML   string `json:"yaml"` // the configuration in force, with every key
}

func (m *moment) readConfig() Reply {
	return &Config{Schema: Schema, YAML: string(m.source.ConfigYAML())}
}

// Text implements Reply: the file alone, so that it can be edited and applied.
func (r *Config) Text() string { return r.YAML }

func (r *Config) schema() int { return r.Schema }
