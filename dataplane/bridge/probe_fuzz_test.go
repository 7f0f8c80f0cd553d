package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// FuzzParseProbe: a parsed probe, appended, parses to the same probe and equals the input in every meaningful octet.
func FuzzParseProbe(f *testing.F) {
	sent := assert.Hex(f, probeHex)
	f.Add(sent)
	f.Add(sent[:50])
	f.Add(sent[:49])
	f.Add(append(sent[:12:12], append([]byte{0x81, 0, 0x60, 0x0A}, sent[12:]...)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ParseProbe(in)
		if err != nil {
			assert.MustEqual(t, p, Probe{}, "a probe beside an error")
			return
		}
		out := AppendProbe(nil, frame.Address(in[6:]), p)
		again, err := ParseProbe(out)
		assert.MustBeTrue(t, err == nil && again == p, "parsed again: %+v, %v; want %+v", again, err, p)
		body := in[12+len(in[12:])-len(untagged(in[12:])):]
		for _, part := range []struct {
			name      string
			got, want []byte
		}{
			{"addresses", out[:12], in[:12]},
			{"EtherType, magic, version", out[12:19], body[:7]},
			{"identity, port, sequence, authenticator", out[20:50], body[8:38]},
		} {
			assert.MustBeSame(t, part.got, part.want, "%s", part.name)
		}
	})
}
