package simulation

import (
	"bytes"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// Flows with cc: dcqcn are notified, slow down, and stand in the report; others do not.
func TestDCQCNFile(t *testing.T) {
	const text = `name: a
switches: {s1: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 10G}
  l2: {ends: [h2, "s1:p2"], speed: 10G}
  l3: {ends: [h3, "s1:p3"], speed: 10G}
  l4: {ends: [h4, "s1:p4"], speed: 10G}
traffic:
  slowed: {incast: h4, cc: dcqcn, duration: 20ms}
  small: {from: h1, to: h4, size: 10kB, cc: dcqcn, duration: 20ms}
  other: {from: h4, to: h1, duration: 20ms}
`
	r := assert.Got(simulate(t, text, standard)).Must(t)
	plain, err := simulate(t, strings.ReplaceAll(text, ", cc: dcqcn", ", cc: off"), standard)
	assert.Must(t, err)
	assert.MustBeTrue(t, r.Pass && plain.Pass && len(r.Controls) == 4 && len(plain.Controls) == 0,
		"%+v\nwithout: %+v", r.Controls, plain.Controls)
	for i, name := range []string{"h1>h4", "h2>h4", "h3>h4"} {
		c := r.Controls[i]
		assert.True(t, c.Name == name && c.Priority == 3 && c.Marked >= c.Sent && c.Sent != 0 && c.Received != 0 &&
			c.Rate > 0 && c.Rate <= 5e9, "%s: %+v", name, c)
	}
	c := r.Controls[3]
	assert.True(t, c.Name == "small" && c.Rate == 0, "flows with a size: %+v", c)
	with, without := r.held(), plain.held()
	assert.True(t, with["h2"]*10 <= without["h2"], "held with DCQCN for %v, without for %v", with, without)
	var out bytes.Buffer
	err = r.Text(&out)
	assert.True(t, err == nil && strings.Contains(out.String(), "\nh2>h4  3         "), "%v: %s", err, &out)
}
