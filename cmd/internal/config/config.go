package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// Config is a checked configuration with every default filled in. Parse's result never changes; Resolve returns a
// changed copy.
type Config struct {
	Name            string
	Buffer          Buffer
	UnknownLossless UnknownLossless
	Priorities      Priorities
	Queues          [8]Queue // egress queues, by priority
	ECN             [8]ECN   // by egress queue
	Ports           []Port   // in the order of the file
	FDB             []StaticEntry
	Trunks          []Trunk       // in the order of the file
	Ageing          time.Duration // of learned addresses
	Workers         Workers
	Nice            int // of the process
	Assist          Assist
	Pause           Pause
	Headroom        HeadroomDefaults
	LLDP            LLDP
	Watchdog        Watchdog // of ports that say nothing else
	Metrics         Metrics
	API             API
	Capture         Capture

	source
	virtual bool // of a switch in virtual time: no limit of a machine's rings and delay lines holds
}

// Workers says how goroutines serve ports.
type Workers string

// The values of the key workers.
const (
	WorkersAuto    Workers = "auto"     // as many as the processors allow, each with its own ports
	WorkersPerPort Workers = "per-port" // a receive and a transmit goroutine for each port, one for each trunk
)

// Load reads the file at path. See Parse.
func Load(path string) (*Config, []Warning, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	return Parse(path, data)
}

// ReadFile reads the file at path, but not much more than a configuration may have. A pipe, such as a shell makes for
// "<(...)", is read for at most ten seconds; a pipe without a writer is an error.
func ReadFile(path string) ([]byte, error) {
	data, err := readWhole(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w: name a file that exists and may be read", err)
	}
	return data, nil
}

// pipeTimeout bounds the time for a whole file from a pipe.
const pipeTimeout = 10 * time.Second

// readWhole reads a file to its end, or just beyond maxFileBytes.
func readWhole(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	_ = f.SetReadDeadline(time.Now().Add(pipeTimeout)) // fails for a file, which needs none
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if errors.Is(err, os.ErrDeadlineExceeded) || err == nil && len(data) == 0 && isPipe(f) {
		return nil, fmt.Errorf("%s is a pipe, and nobody writes a whole file into it", path)
	}
	return data, err
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// Parse reads a configuration. The name stands for the file in messages. The error is an *Errors with every fault, in
// the order of the file. The warnings are those of Config.Warnings. A link without a configured speed counts as 1G: see
// Resolve.
func Parse(name string, data []byte) (*Config, []Warning, error) {
	return parseDocument(name, data).config()
}

// config reads the document as a configuration.
func (d *document) config() (*Config, []Warning, error) {
	c := defaults()
	d.root.read(c.sections()...)
	c.Buffer.defaultXonOffset()
	c.source = source{file: d.file, lines: d.lines}
	c.virtual = d.virtual
	if c.API.Auto {
		c.API.Socket = "/run/pfcswitch/" + c.Name + ".sock"
	}
	if d.failed() {
		return nil, nil, d.errors()
	}
	d.faults = c.check()
	if d.failed() {
		return nil, nil, d.errors()
	}
	resolved, err := c.Resolve(nil)
	if err != nil {
		return nil, nil, err
	}
	return resolved, resolved.Warnings(), nil
}

// ZeroConfig is the configuration without a file: preset roce on the named interfaces.
func ZeroConfig(interfaces ...string) (*Config, []Warning, error) {
	var b strings.Builder
	b.WriteString("preset: roce\nports:\n")
	for _, name := range interfaces {
		fmt.Fprintf(&b, "  %q: {}\n", name)
	}
	return Parse("(no file)", []byte(b.String()))
}

func defaults() *Config {
	c := &Config{
		Name:            "pfcswitch",
		Buffer:          defaultBuffer(),
		UnknownLossless: Demote,
		Priorities:      defaultPriorities(),
		Ageing:          300 * time.Second,
		Workers:         WorkersAuto,
		Nice:            -10,
		Assist:          defaultAssist(),
		Pause:           Pause{Quanta: 65535},
		LLDP:            defaultLLDP(),
		Headroom:        defaultHeadroom(),
		Metrics:         Metrics{Listen: "127.0.0.1:9808"},
		API:             API{Auto: true},
		Watchdog:        defaultWatchdog(),
		Capture:         defaultCapture(),
	}
	for i := range c.Queues {
		c.Queues[i] = Queue{Weight: 1}
	}
	return c
}

// sections lists the top-level keys in the order in which they must be read. The preset comes before what it presets;
// priorities, headroom and watchdog come before the ports that inherit from them.
func (c *Config) sections() []field {
	return []field{
		key("name", &c.Name, switchName),
		{"preset", c.readPreset, nil},
		inBlock("buffer", c.Buffer.fields()),
		key("unknown_lossless", &c.UnknownLossless, oneOf(Demote, DropUnknown)),
		inBlock("priorities", c.Priorities.fields()),
		{"queues", c.readQueues, late(c.writeQueues)},
		{"ecn", c.readECN, late(c.writeECN)},
		inLine("pause", []field{flagged("quanta", "remaining", &c.Pause.Remaining, &c.Pause.Quanta,
			or(number[uint16]("number of quanta", 1, 65535), "remaining"))}),
		{"headroom", c.Headroom.read, late(c.Headroom.write)},
		{"watchdog", c.Watchdog.read, late(c.Watchdog.write)},
		{"ports", c.readPorts, late(c.writePorts)},
		{"fdb", c.readFDB, single(c.writeFDB)},
		key("ageing", &c.Ageing, duration(time.Second, 1_000_000*time.Second)),
		key("workers", &c.Workers, oneOf(WorkersAuto, WorkersPerPort)),
		key("nice", &c.Nice, number[int]("nice value", -20, 19)),
		{"assist", c.Assist.read, late(c.Assist.write)},
		inLine("lldp", c.LLDP.fields()),
		inLine("metrics", c.Metrics.fields()),
		inLine("api", []field{flagged("socket", "auto", &c.API.Auto, &c.API.Socket, socketPath)}).
			noted(c.API.Auto, c.API.Socket),
		inLine("capture", c.Capture.fields()),
		field{"trunks", c.readTrunks, late(c.writeTrunks)}.when(len(c.Trunks) > 0),
	}
}

// written is the order of the keys in what Expand writes.
const written = "name buffer unknown_lossless priorities queues watchdog ecn ports fdb trunks ageing workers nice " +
	"assist pause headroom lldp metrics api capture"

// Expand writes a configuration with every key, so that Parse makes the same Config of it. Comments show the values of
// automatic keys.
func Expand(c *Config) []byte { return []byte(block("", c.written())[1:] + "\n") }

func (c *Config) written() (all []field) {
	sections := map[string]field{}
	for _, f := range c.sections() {
		sections[f.name] = f
	}
	for _, name := range strings.Fields(written) {
		all = append(all, sections[name])
	}
	return all
}

// switchName is part of the API socket's path.
var switchName = textual(nameForm,
	"is not a name: use 1 to 64 letters, digits, '.', '_' or '-', a letter or digit first",
	func(text string) bool { return identifier(text, 64) })

// identifier reports whether text can be a label, a key and a part of a file name.
func identifier(text string, longest int) bool {
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case i > 0 && (r == '.' || r == '_' || r == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= longest
}
